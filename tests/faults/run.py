#!/usr/bin/env python3
"""Replicas of the program on one PostgreSQL under load, while everything around them fails; then a check of
all that was promised. See docs/replicas.md, Faults. The last line is `N passed, M failed`: unit tests and
promises."""

import argparse
import os
import random
import re
import resource
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "api"), str(FOLDER.parent / "stress")]

import checker  # noqa: E402
from cluster import Cluster  # noqa: E402
from faults import Injector, kinds_for  # noqa: E402
from load import Caller, Load  # noqa: E402
from proxy import ProxyThread  # noqa: E402
from report import Progress, print_faults, print_figures, print_verdicts  # noqa: E402

RECOVERY_SECONDS = 45  # after the last fault of a batch, until every workspace has taken a write
ANSWER_SECONDS = 60  # after all faults, until every write that was begun is answered
SETTLE_SECONDS = 90  # then, until every target runs the last version
MISSED = re.compile(r'^ctrlplane_missed_wakeups_total\{workspace="([^"]+)"\} (\d+)$', re.M)


class Run:
    def __init__(self, arguments, folder):
        self.minutes, self.seed = arguments.minutes, arguments.seed
        self.chance = random.Random()  # for looking; what happens is drawn from the seed
        self.folder = folder
        self.proxies = ProxyThread()
        self.progress = Progress()
        self.cluster = Cluster(self.proxies, folder, arguments.replicas, self.minutes,
                               random.Random(self.seed + 1))
        self.load = self.injector = None
        self.endings, self.failed_starts = [], 0
        self.missed = {}
        self.next_metrics = 0.0
        self.restart_at = {}  # process that ended by itself → when it is started again
        self.resting_since = None
        self.load_ended = self.settled_after = 0.0

    # ---- The stages ------------------------------------------------------------------------------------

    def set_up(self):
        self.progress.show("starting", force=True)
        self.cluster.start()
        urls = [replica.url for replica in self.cluster.replicas]
        self.load = Load(urls, self.cluster.key, self.seed)
        for workspace in self.load.workspaces:
            for _ in range(2):
                self.cluster.add_agent(workspace.slug, workspace.agent_key)
        self.injector = Injector(self.cluster, random.Random(self.seed), on_begin=self.note_fault)
        self.load.start()

    def inject(self):
        end = time.monotonic() + self.minutes * 60
        while (now := time.monotonic()) < end:
            self.supervise(now)
            self.injector.move(now, self.is_well)
            self.resting_since = self.resting_since if self.injector.resting else None
            self.watch(now)
            self.show()
            self.load.stopping.wait(0.05)
        self.load_ended = time.monotonic()
        self.injector.finish()
        self.cluster.make_healthy()

    def is_well(self):
        """Everything works again after a batch of faults. That it does not for long is a violation."""
        now = time.monotonic()
        if self.resting_since is None:
            self.resting_since = now
        if self.load.is_well(self.resting_since) and all(r.ready() for r in self.cluster.replicas):
            return True
        if now - self.resting_since < RECOVERY_SECONDS:
            return False
        late = [w.slug for w in self.load.workspaces
                if self.load.ledger.last_acknowledged(w.id) < self.resting_since]
        silent = [r.name for r in self.cluster.replicas if not r.ready()]
        self.load.ledger.surprise(
            "every workspace is writable again soon after faults",
            f"{RECOVERY_SECONDS} s after the last fault: no write in {late}, not ready: {silent}")
        return True

    def settle(self):
        """Everything that was begun is answered, and one more version reaches every target."""
        self.progress.show("all faults are over; waiting for writes to be answered", force=True)
        self.load.stopping.set()
        deadline = time.monotonic() + ANSWER_SECONDS
        threads = [*self.load.publishers, *self.load.workers]
        while any(t.is_alive() for t in threads) and time.monotonic() < deadline:
            self.supervise(time.monotonic())
            threads[0].join(0.05)
        self.load.stop(0)
        self.load.publish_last()
        self.progress.show("waiting for the last versions to reach their targets", force=True)
        deadline = time.monotonic() + SETTLE_SECONDS
        while (missing := self.missing()) and time.monotonic() < deadline:
            self.supervise(time.monotonic())
            self.watch(time.monotonic())
            self.progress.show(f"not settled: {len(missing)}, e.g. {missing[0]}")
        self.settled_after = SETTLE_SECONDS - (deadline - time.monotonic())
        return missing

    def missing(self):
        """Targets that do not run the newest version or still have a job; replicas that do not agree yet."""
        caller = Caller(self.load.urls, self.cluster.key, self.seed)
        try:
            missing = [line for workspace in self.load.workspaces for line in self.behind(caller, workspace)]
            if self.cluster.count > 1:
                views = {r.name: checker.ApiReader(caller, r.url).replicas() for r in self.cluster.replicas}
                seen = checker.Seen(replicas=views, replica_count=self.cluster.count)
                missing += checker.replicas_agree(seen)
            return missing
        except AssertionError as error:  # one does not answer
            return [str(error)]

    def behind(self, caller, workspace):
        reader = checker.ApiReader(caller, self.chance.choice(self.load.urls))
        for key, target in reader.targets(workspace).items():
            newest = self.load.ledger.newest.get(target["deployment"])
            if target["current"] != newest or target["job"]:
                yield (f"{workspace.slug} {key}: runs {target['current']}, should run {newest}, "
                       f"job {target['job']}: {target['reason']}")

    def check(self, unsettled):
        self.progress.show("checking", force=True)
        caller = Caller(self.load.urls, self.cluster.key, self.seed)
        self.watch(time.monotonic(), force=True)
        self.cluster.stop_agents()
        seen = checker.gather(self.cluster, self.load, caller)
        seen.missed_wakeups, seen.endings, seen.unsettled = self.missed, self.endings, unsettled
        return seen, checker.judge(seen)

    # ---- Meanwhile -------------------------------------------------------------------------------------

    def note_fault(self, fault):
        with open(Path(self.folder, "faults.log"), "a", encoding="utf-8") as log:
            log.write(f"{time.time():.3f} {fault.kind}: {getattr(fault.subject, 'name', '')}\n")

    def supervise(self, now):
        """Starts again what has ended by itself. A replica may do so only before it was ever ready."""
        for process in [*self.cluster.replicas, *self.cluster.agents]:
            if not process.wanted or process.running():
                continue
            if process not in self.restart_at:
                self.note_ending(process)
                self.restart_at[process] = now + 1
            elif now >= self.restart_at[process]:
                del self.restart_at[process]
                process.start()

    def note_ending(self, process):
        code = process.process.returncode
        if code > 0 and not getattr(process, "was_ready", True):
            self.failed_starts += 1
            return
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        when = f"{process.name} (start {process.starts}) at {time.time():.3f}"
        self.endings.append(f"{when}: {how}\n{process.tail()}")

    def watch(self, now, force=False):
        """Reads the figures of one replica at a time: they end with its process."""
        if now < self.next_metrics and not force:
            return
        self.next_metrics = now + 0.5
        for replica in self.cluster.replicas if force else [self.chance.choice(self.cluster.replicas)]:
            if any(fault.subject is replica for fault in self.injector.active):
                continue  # it would hold up the injector
            for workspace, count in MISSED.findall(replica.metrics()):
                key = (f"{replica.name}.{replica.starts}", workspace)
                self.missed[key] = max(self.missed.get(key, 0), int(count))

    def show(self):
        counts = self.load.ledger.counts
        active = ", ".join(f"{f.kind} ({getattr(f.subject, 'name', 'PostgreSQL')})"
                           for f in self.injector.active)
        done = "  ".join(f"{name} {counts[name]}" for name in ("acknowledged", "retried", "reads"))
        self.progress.show(f"faults {len(self.injector.past)}  {done}  now: {active or 'all well'}")

    def close(self):
        if self.load:
            self.load.stopping.set()
            self.load.give_up.set()
        self.cluster.close()
        self.proxies.close()


def figures(run, seen):
    counts, ledger = run.load.ledger.counts, run.load.ledger
    ended = {job for job, *_ in seen.ends}
    freezes = [freeze for of_one in ledger.freezes.values() for freeze in of_one]
    return {
        "writes acknowledged": counts["acknowledged"],
        "tries repeated": counts["retried"],
        "reads checked": counts["reads"],
        "reads without an answer": counts["reads not answered"],
        "freezes": len(freezes),
        "jobs in their lists": sum(len(freeze.in_flight) for freeze in freezes),
        "versions published": sum(map(len, ledger.versions.values())),
        "jobs run": len(seen.starts),
        "jobs cut short (agent killed)": sum(job not in ended for job, *_ in seen.starts),
        "commits": sum(1 for row in seen.history) - sum(1 for _ in acquisitions(seen)),
        "acquisitions": sum(1 for _ in acquisitions(seen)),
        "starts that failed meanwhile": run.failed_starts,
        "settled after, s": run.settled_after,
    }


def acquisitions(seen):
    tokens = set()
    for row in seen.history:
        if row["token"] not in tokens:
            tokens.add(row["token"])
            yield row


def unit_tests():
    """The proxy and the checks themselves, before they are trusted."""
    suite = unittest.defaultTestLoader.discover(str(FOLDER), pattern="*_test.py")
    result = unittest.TextTestRunner(stream=open(os.devnull, "w"), verbosity=0).run(suite)
    for test, trace in [*result.failures, *result.errors]:
        print(f"{test}\n{trace}")
    failed = len(result.failures) + len(result.errors)
    return result.testsRun - failed - len(result.skipped), failed


def parse():
    parser = argparse.ArgumentParser(prog="./dev faults", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1, help="how long faults are injected (1)")
    parser.add_argument("--seed", type=int, help="of the faults and the load; made up if not given")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="keep the logs also when all is well")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(1_000_000)
    return arguments


def run_all(arguments, folder):
    """Promise → evidence."""
    run = Run(arguments, folder)
    try:
        run.set_up()
        run.inject()
        unsettled = run.settle()
        seen, verdicts = run.check(unsettled)
        run.progress.end()
        print_faults(run.injector.past, kinds_for(run.cluster), run.load.ledger.acknowledged_at, run.load_ended)
        if not run.cluster.disk:
            print("PostgreSQL's disk was not filled: a file system to fill takes root to mount")
        print_figures(figures(run, seen))
        print_verdicts(verdicts)
        return verdicts
    finally:
        run.close()


def main():
    arguments = parse()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
    passed, failed = unit_tests()
    print(f"unit tests: {passed} passed, {failed} failed; seed {arguments.seed}, "
          f"{arguments.replicas} replicas, {arguments.minutes:g} minutes of faults", flush=True)
    folder = tempfile.mkdtemp(prefix="ctrlplane-faults-")
    try:
        verdicts = run_all(arguments, folder)
    except Exception:
        traceback.print_exc()
        verdicts = {"the run comes to its end": ["see above"]}
    broken = sum(1 for evidence in verdicts.values() if evidence)
    if broken or arguments.keep:
        print(f"\nlogs: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    if broken or failed:
        print(f"again with the same faults: ./dev faults --seed {arguments.seed} "
              f"--minutes {arguments.minutes:g} --replicas {arguments.replicas}")
    print(f"{passed + len(verdicts) - broken} passed, {failed + broken} failed", flush=True)
    return 1 if broken or failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
