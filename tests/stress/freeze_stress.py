#!/usr/bin/env python3
"""Eight clients start, claim, retry and force jobs while freezes come and go, on SQLite and on PostgreSQL;
then the sets are compared as promise 1 says. The last line is `N passed, M failed`: unit tests and promises.
"""

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "api")]

from freeze_load import Load, Wire  # noqa: E402
from freeze_sets import held_by_nothing, slipped_through, wrongly_listed  # noqa: E402
from harness import Postgres, moment, new_server, unique  # noqa: E402

STORES = ["sqlite", "postgresql"]
LEAST = 1000  # of every kind, over all stores
AT_MOST = 90.0  # seconds for all stores, however slow it goes; longer only if asked for
DRAIN_SECONDS = 60
# Kind → what of the counts it is. Starts and retries are jobs that the server made and agents received.
KINDS = {
    "starts": ("received: policy", "received: redeploy"),
    "claims": ("claims",),
    "retries": ("received: retry",),
    "forces": ("forces",),
}


def reached(counts, kind):
    return sum(counts[name] for name in KINDS[kind])


# ---- One store ---------------------------------------------------------------------------------------------


class Run:
    def __init__(self, server, seed, slug):
        self.server = server
        self.load = Load(server.port, server.key, seed, slug)
        self.notes, self.place = self.load.notes, self.load.place
        self.wire = Wire(server.port, server.key, self.notes.ticks)

    def work(self, seconds, at_most, least):
        """Until the time is over and every kind was seen so often, or there is no more time."""
        began = time.monotonic()
        self.load.start()
        while (passed := time.monotonic() - began) < at_most and not self.notes.surprises:
            if passed >= seconds and all(reached(self.notes.counts, kind) >= least for kind in KINDS):
                break
            self.load.stopping.wait(0.1)
        self.load.stop()

    def drain(self):
        """Everything is thawed: one more version of each deployment reaches its targets. Those without it."""
        publisher, agent = self.load.clients[0], self.load.clients[2]
        for deployment in self.place.deployments:
            publisher.publish(deployment)
        newest = {deployment: self.notes.recent[deployment][-1][1] for deployment in self.place.deployments}
        deadline = time.monotonic() + DRAIN_SECONDS
        while (behind := list(self.behind(newest))) and time.monotonic() < deadline:
            while agent.claim(f"{agent.path}/claim"):
                agent.end(agent.having.popleft(), False)
        return behind

    def behind(self, newest):
        for item in self.wire.all(f"{self.place.base}/release-targets"):
            target, state = item["releaseTarget"], item["state"]
            tag = newest[target["deploymentId"]]
            if state.get("currentVersion", {}).get("tag") != tag:
                yield f"{target['key']} does not run {tag}: {state.get('reason')}"

    # ---- What was promised -----------------------------------------------------------------------------

    def exemptions(self):
        """(freeze, work) → may it pass? By a skip that names the freeze, or by the version itself.

        The skips themselves go with a version that leaves memory, so what made them counts.
        """
        forced = {}  # (version, target) → until when a freeze may have been made that it passes
        for work, answered in self.notes.forced_past:
            forced[work.version, work.key] = max(answered, forced.get((work.version, work.key), 0))
        created = {}  # deployment → when its versions were, by what the server says
        for deployment, _, at, _ in self.notes.versions.values():
            created.setdefault(deployment, []).append(moment(at))

        def exempt(freeze, work):
            if freeze.asked < forced.get((work.version, work.key), 0):
                return True
            _, _, at, bypasses = self.notes.versions[work.version]
            began, mine = moment(freeze.effective_at), moment(at)
            return bypasses and not any(mine < other < began for other in created[work.deployment])

        return exempt

    def unknown_to_us(self, jobs):
        """Jobs that the server says somebody has or had, and that no client received."""
        received = {given.job for given in self.notes.handed}
        for item in jobs:
            if item["job"].get("holder") and item["job"]["id"] not in received:
                yield f"job {item['job']['id']} went to {item['job']['holder']}, who did not get it"

    def told_otherwise(self, jobs):
        """Jobs whose agent was told another version than theirs. From here on they have the right one."""
        versions = {item["job"]["id"]: item["release"]["version"] for item in jobs}
        for given in self.notes.handed:
            version, told = versions[given.job], given.work.tag
            given.work = replace(given.work, version=version["id"], tag=version["tag"])
            if told != version["tag"]:
                yield f"job {given.job} is of {version['tag']}; its agent was told {told}"

    def still_held(self):
        yield from (f"freeze {f['id']}: {f['status']}"
                    for f in self.wire.ask("GET", f"{self.place.base}/freezes/active")["items"])

    def verdicts(self, behind):
        notes, jobs = self.notes, list(self.wire.all(f"{self.place.base}/jobs"))
        told_otherwise = list(self.told_otherwise(jobs))  # first: the others need what it puts right
        return {
            "no agent receives a covered job that is not in the list":
                list(slipped_through(notes.freezes, notes.handed, self.exemptions())),
            "the list has only covered jobs that agents have":
                list(wrongly_listed(notes.freezes, notes.handed)),
            "what is refused as frozen is frozen": list(held_by_nothing(notes.freezes, notes.refused)),
            "every job that was handed over was received": list(self.unknown_to_us(jobs)),
            "an agent is told the version of its job": told_otherwise,
            "what was held goes on after the thaw": [*self.still_held(), *behind],
            "the clients worked": notes.surprises,
        }


def run_store(store, seed, seconds, at_most, least, folder):
    """(counts, promise → evidence)"""
    postgres = Postgres() if store == "postgresql" else None
    server = new_server(store, postgres, folder)
    try:
        run = Run(server, seed, unique("stress"))
        run.work(seconds, at_most, least)
        behind = [] if run.notes.surprises else run.drain()
        verdicts = run.verdicts(behind)
        if server.process.poll() is not None or server.stop() != 0:
            verdicts["the server ends when it is asked to"] = [server.output()[-2000:]]
        counts = run.notes.counts
        counts["freezes"] = len(run.notes.freezes)
        counts["in flight"] = sum(len(freeze.in_flight) for freeze in run.notes.freezes)
        return counts, verdicts
    finally:
        server.kill()
        if postgres:
            postgres.close()


# ---- The report --------------------------------------------------------------------------------------------


def line(store, counts):
    forced, claimed = counts["forces frozen"], counts["claims frozen"]
    return (f"{store:<11} starts {reached(counts, 'starts')}, claims {counts['claims']} ({claimed} frozen), "
            f"retries {reached(counts, 'retries')}, forces {counts['forces']} ({forced} frozen); "
            f"versions {counts['published']}, freezes {counts['freezes']}, jobs in their lists "
            f"{counts['in flight']}")


def enough(counts, least):
    """A run that tried little, or was never refused anything, proves nothing."""
    for kind in KINDS:
        if reached(counts, kind) < least:
            yield f"{kind}: {reached(counts, kind)} instead of at least {least}"
    for name in ("forces frozen", "claims frozen", "in flight"):
        if not counts[name]:
            yield f"{name}: none"


def unit_tests():
    """The comparison itself, before it is trusted."""
    suite = unittest.defaultTestLoader.discover(str(FOLDER), pattern="*_test.py")
    result = unittest.TextTestRunner(stream=open(os.devnull, "w"), verbosity=0).run(suite)
    for test, trace in [*result.failures, *result.errors]:
        print(f"{test}\n{trace}")
    failed = len(result.failures) + len(result.errors)
    return result.testsRun - failed, failed


def show(store, promise, evidence, most=8):
    print(f"VIOLATED on {store}: {promise}")
    for text in evidence[:most]:
        print(f"  {text}")
    if len(evidence) > most:
        print(f"  … and {len(evidence) - most} more")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=24, help="how long, over all stores (24)")
    parser.add_argument("--seed", type=int, help="of what the clients do; made up if not given")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    arguments = parser.parse_args()
    arguments.store = arguments.store or STORES
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(1_000_000)
    return arguments


def run_all(arguments, folder):
    """Promise → evidence, by store."""
    share = len(arguments.store)
    least = LEAST * max(1, int(arguments.seconds / 24))
    total, found = Counter(), []
    for store in arguments.store:
        counts, verdicts = run_store(store, arguments.seed, arguments.seconds / share,
                                     max(AT_MOST, 3 * arguments.seconds) / share, -(-least // share), folder)
        print(line(store, counts), flush=True)
        total.update(counts)
        found += [(store, promise, evidence) for promise, evidence in verdicts.items()]
    print(line("together", total), flush=True)
    found.append(("all stores", f"each kind was tried {least} times", list(enough(total, least))))
    return found


def main():
    arguments = parse()
    passed, failed = unit_tests()
    print(f"unit tests: {passed} passed, {failed} failed; seed {arguments.seed}, {arguments.seconds:g} s",
          flush=True)
    folder = tempfile.mkdtemp(prefix="ctrlplane-stress-")
    try:
        found = run_all(arguments, folder)
    except Exception:
        traceback.print_exc()
        found = [("some store", "the run comes to its end", ["see above"])]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for store, promise, evidence in found:
        if evidence:
            show(store, promise, evidence)
    broken = sum(1 for *_, evidence in found if evidence)
    print(f"{passed + len(found) - broken} passed, {failed + broken} failed", flush=True)
    return 1 if broken or failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
