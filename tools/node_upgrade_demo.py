#!/usr/bin/env python3
"""Upgrades ten nodes two at a time, with real agents, and counts: what `./dev demo node-upgrade` runs after the build.

Starts a server on an empty store in a temporary folder, loads examples/node-upgrade, publishes three new versions
and shows what happens on each node. At the end it counts, from what the stand-ins of kubectl and ssh wrote down,
the drains and the nodes that were out at the same time. The exit code is 1 if these are not 10 and 2.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "node-upgrade"
WORKSPACE = "node-upgrade"
MEMBERS = ["drain", "os-patch", "kubelet", "containerd", "uncordon"]
NEW_VERSIONS = [("os-patch", "2026-03"), ("kubelet", "v1.33.2"), ("containerd", "2.0.5")]
NODES = 10
MOST_OUT = 2  # 20 % of them
MOST_SECONDS = 300


class Failure(Exception):
    """Ends the demo with exit code 1."""


@dataclass
class Pace:
    """How fast everything goes; `fast` is for tests."""

    minute_ms: int = 500
    window_s: int = 6
    between_versions_s: float = 1.2
    poll_s: float = 0.2
    look_s: float = 0.2


NORMAL = Pace()
FAST = Pace(minute_ms=5, window_s=2, between_versions_s=0.1, poll_s=0.05, look_s=0.1)


# ---- What the stand-ins wrote down -----------------------------------------------------------------------


@dataclass
class Measured:
    drains: int = 0
    most_out: int = 0
    out: list = field(default_factory=list)  # nodes that are out now, in the order in which they went
    faults: list = field(default_factory=list)


def measure(lines):
    """Counts over the lines of a record. A node is out from the beginning of its drain to the end of its uncordon.

    Work on a node must lie between the two, the patch before the rest; whatever does not is a fault.
    """
    m = Measured()
    done = {}  # by node: what has ended since its drain began
    needs = {"os-patch": ["drain"], "reboot": ["os-patch"], "kubelet": ["reboot"], "containerd": ["reboot"],
             "uncordon": ["kubelet", "containerd"]}
    for line in lines:
        _, node, what, edge = line.split()
        if what == "drain" and edge == "begin":
            m.drains += 1
            done[node] = set()
            if node not in m.out:
                m.out.append(node)
            m.most_out = max(m.most_out, len(m.out))
            continue
        if node not in m.out:
            m.faults.append(f"{what} on {node}, which was not drained")
            continue
        missing = [need for need in needs.get(what, []) if need not in done[node]]
        if edge == "begin" and missing:
            m.faults.append(f"{what} on {node} before the end of {' and '.join(missing)}")
        if edge == "end":
            done[node].add(what)
            if what == "uncordon":
                m.out.remove(node)
    return m


def complete_lines(file):
    """The lines of a file that grows; the last one counts when it has its end."""
    if not file.exists():
        return []
    text = file.read_text(encoding="ascii")
    return text[:text.rfind("\n") + 1].splitlines()


def what_is_wrong(m, lines):
    """Everything that is not as promised."""
    wrong = list(m.faults)
    if m.drains != NODES:
        wrong.append(f"{m.drains} drains, not {NODES}")
    if m.most_out != MOST_OUT:
        wrong.append(f"at most {m.most_out} nodes were out at once, not {MOST_OUT}")
    if m.out:
        wrong.append(f"still out at the end: {', '.join(m.out)}")
    ended = Counter(what for _, _, what, edge in map(str.split, lines) if edge == "end")
    wrong += [f"{ended[what]} times {what}, not {NODES}" for what in MEMBERS if ended[what] != NODES]
    return wrong


# ---- What is shown ---------------------------------------------------------------------------------------


@dataclass
class Node:
    status: str = "-"
    members: dict = field(default_factory=dict)  # what each is at


@dataclass
class Picture:
    """One look at everything."""

    seconds: float
    nodes: dict
    active: int = 0
    most: int = 0
    total: int = 0
    measured: Measured = field(default_factory=Measured)


MARKS = {"waiting": "·", "running": "▶ running", "succeeded": "✓", "failed": "✗ failed", "unchanged": "="}
COLOURS = {"running": "33", "succeeded": "32", "failed": "31", "stuck": "31", "executing": "33", "completed": "32",
           "new": "36"}


def node_order(name):
    head, _, number = name.rpartition("-")
    return (head, int(number) if number.isdigit() else 0, name)


def states_of(group, published):
    """What each member of a group is at, in a word."""
    if "readyAt" not in group:
        return {name: "new" if name in published else "waiting" for name in MEMBERS}
    return {m["deploymentName"]: "unchanged" if m["participation"] == "skipped" else m["outcome"]
            for m in group["members"]}


def nodes_of(groups, names, published=()):
    """The newest group of each node; groups come newest first."""
    nodes = {name: Node() for name in sorted(names, key=node_order)}
    for group in groups:
        node = nodes.get(group["resource"].get("name"))
        if node and node.status == "-":
            node.status, node.members = group["status"], states_of(group, published)
    return nodes


def gauge(active, most, total):
    return f"[{'#' * active}{'-' * max(total - active, 0)}] {active}/{most} of {total}"


def grid(picture, colour):
    """The picture as lines for a terminal."""
    def cell(word, width):
        text = f"{MARKS.get(word, word):<{width}}"
        return f"\033[{COLOURS[word]}m{text}\033[0m" if colour and word in COLOURS else text

    width = 12
    lines = [f"{'':<9}" + "".join(f"{m:<{width}}" for m in MEMBERS) + "group"]
    for name, node in picture.nodes.items():
        cells = "".join(cell(node.members.get(m, ""), width) for m in MEMBERS)
        lines.append(f"{name:<9}{cells}{cell(node.status, 0)}")
    m = picture.measured
    lines += ["", f"slots {gauge(picture.active, picture.most, picture.total)}   "
              f"out now: {', '.join(m.out) or 'nobody'}   drains: {m.drains}   {picture.seconds:5.1f} s"]
    return [line.rstrip() for line in lines]


class TerminalView:
    """Draws the grid over the one before."""

    def __init__(self, out, colour):
        self.out, self.colour, self.height = out, colour, 0

    def show(self, picture):
        lines = grid(picture, self.colour)
        up = f"\033[{self.height}A\r\033[J" if self.height else "\033[?25l"
        self.out.write(up + "\n".join(lines) + "\n")
        self.out.flush()
        self.height = len(lines)

    def close(self):
        if self.height:
            self.out.write("\033[?25h")  # the cursor is back
            self.out.flush()
            self.height = 0


class LineView:
    """A line for each thing that changed."""

    def __init__(self, out):
        self.out, self.seen = out, {}

    def show(self, picture):
        for name, node in picture.nodes.items():
            now = {"": node.status, **node.members}
            before = self.seen.get(name, {})
            for what, state in now.items():
                if before.get(what, "-" if not what else "waiting") != state:
                    self.out.write(f"{picture.seconds:6.1f} s  {name:<8} {what or 'group':<11} {state:<11} "
                                   f"slots {picture.active}/{picture.most}, {len(picture.measured.out)} out\n")
            self.seen[name] = now
        self.out.flush()

    def close(self):
        pass


# ---- Server and agents -----------------------------------------------------------------------------------


class Stage:
    """What the demo has started: it ends with close(), by the ids of these processes alone."""

    def __init__(self, binary, folder, pace):
        self.binary, self.folder, self.pace = str(Path(binary).resolve()), folder, pace
        self.processes = []
        self.key = f"{secrets.token_hex(8)}.{secrets.token_hex(32)}"
        # Whatever server the person works with otherwise, this is another one.
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("CTRLPLANE_", "NODE_UPGRADE_"))}
        self.environment |= {"CTRLPLANE_ADMIN_KEY": self.key, "CTRLPLANE_ADMIN_PASSWORD": secrets.token_hex(12),
                             "CTRLPLANE_API_KEY": self.key}

    def start(self, name, *arguments, **options):
        log = open(self.folder / f"{name}.log", "a", encoding="utf-8")
        # A session of its own: Ctrl-C reaches this script, which then ends them in order.
        process = subprocess.Popen([self.binary, *arguments], stdin=subprocess.DEVNULL, stderr=log, text=True,
                                   start_new_session=True, **options)
        self.processes.append(process)
        return process

    def start_server(self):
        server = self.start("server", "serve", "--listen", "127.0.0.1:0", "--database",
                            f"sqlite:{self.folder / 'ctrlplane.db'}", env=self.environment, stdout=subprocess.PIPE)
        for line in server.stdout:
            if line.startswith("ctrlplane is serving on "):
                self.environment["CTRLPLANE_URL"] = line.split()[-1]
                return
        raise Failure("the server did not start")

    def start_agent(self, name, record, minute_ms, concurrency):
        record.mkdir(exist_ok=True)
        environment = {**self.environment, "CTRLPLANE_WORKSPACE": WORKSPACE, "NODE_UPGRADE_STAND_IN": str(record),
                       "NODE_UPGRADE_MINUTE_MS": str(minute_ms)}
        return self.start(name, "agent", "--name", "nodes", "--concurrency", str(concurrency), "--poll-seconds",
                          str(self.pace.poll_s), "--", str(EXAMPLE / "run.sh"), env=environment,
                          stdout=subprocess.DEVNULL)

    def run(self, *arguments, workspace=WORKSPACE):
        """The program as a person would call it."""
        environment = dict(self.environment)
        if workspace:
            environment["CTRLPLANE_WORKSPACE"] = workspace
        done = subprocess.run([self.binary, *arguments], env=environment, capture_output=True, text=True,
                              check=False, timeout=60)
        if done.returncode != 0:
            raise Failure(f"ctrlplane {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")

    def get(self, path):
        request = urllib.request.Request(f"{self.environment['CTRLPLANE_URL']}/api/v1/workspaces/{WORKSPACE}{path}",
                                         headers={"x-api-key": self.key})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def check(self):
        for process in self.processes:
            if process.poll() is not None:
                raise Failure(f"ctrlplane {process.args[1]} ended by itself with {process.returncode}")

    def stop(self, processes, seconds=20):
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + seconds
        for process in processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # its own session: nobody else is in it
                process.wait()
            self.processes.remove(process)

    def close(self):
        # Agents first: they report the end of what they run.
        self.stop([p for p in self.processes if p.args[1] == "agent"])
        self.stop(list(self.processes))


# ---- The story -------------------------------------------------------------------------------------------


def policy_file(folder, pace):
    """The example's policy, with another window if the pace asks for one."""
    text = (EXAMPLE / "policy.yaml").read_text(encoding="utf-8")
    wanted = text.replace("readinessWindowSeconds: 6\n", f"readinessWindowSeconds: {pace.window_s}\n")
    if wanted == text and pace.window_s != 6:
        raise Failure("examples/node-upgrade/policy.yaml has another window than the demo expects")
    file = folder / "policy.yaml"
    file.write_text(wanted, encoding="utf-8")
    return file


def wait_for(stage, what, is_there):
    deadline = time.monotonic() + MOST_SECONDS
    while not is_there():
        stage.check()
        if time.monotonic() > deadline:
            raise Failure(f"{what} did not come about in {MOST_SECONDS} s")
        time.sleep(stage.pace.look_s)


def set_the_stage(stage, say):
    stage.start_server()
    say(f"server on {stage.environment['CTRLPLANE_URL']}, its data in {stage.folder}")
    stage.run("apply", "-f", str(EXAMPLE / "workspace.yaml"), workspace=None)
    files = (EXAMPLE / f"{name}.yaml" for name in ("deployments", "nodes", "versions"))
    stage.run("apply", *(part for file in files for part in ("-f", str(file))))
    say(f"{NODES} new nodes get what they begin with; nothing runs on them yet, so nothing is drained")
    installer = stage.start_agent("installer", stage.folder / "first", 0, 8)
    wait_for(stage, "the first installation", lambda: all(
        "currentVersion" in t["state"] for t in stage.get("/release-targets?limit=200")["items"]))
    stage.stop([installer])
    stage.run("apply", "-f", str(policy_file(stage.folder, stage.pace)))
    say("from now on there is a policy: one drain per node and round, at most 20 % of the nodes at a time")
    for i in range(1, 4):
        stage.start_agent(f"agent-{i}", stage.folder / "round", stage.pace.minute_ms, 2)


def look(stage, begun, published):
    groups = stage.get("/bracket-groups?limit=200")["items"]
    limit = stage.get("/concurrency")["items"][0]
    names = [f"node-{i}" for i in range(1, NODES + 1)]
    return Picture(time.monotonic() - begun, nodes_of(groups, names, published), limit["active"], limit["max"],
                   limit["total"], measure(complete_lines(stage.folder / "round" / "record")))


def is_over(picture):
    return all(node.status == "completed" for node in picture.nodes.values())


def run_the_round(stage, view, say):
    """Publishes the versions and looks on until every node has them; the last picture."""
    to_publish = list(NEW_VERSIONS)
    say(f"three new versions arrive within {stage.pace.window_s} s: "
        + ", ".join(f"{name} {tag}" for name, tag in to_publish) + "\n")
    begun = time.monotonic()
    while True:
        stage.check()
        now = time.monotonic() - begun
        if to_publish and now >= (len(NEW_VERSIONS) - len(to_publish)) * stage.pace.between_versions_s:
            name, tag = to_publish.pop(0)
            stage.run("version", "create", name, "--tag", tag)
        picture = look(stage, begun, [name for name, _ in NEW_VERSIONS[:len(NEW_VERSIONS) - len(to_publish)]])
        view.show(picture)
        bad = [name for name, node in picture.nodes.items() if node.status in ("stuck", "failed")]
        if bad:
            raise Failure(f"the group on {', '.join(bad)} is stuck or has failed")
        if not to_publish and is_over(picture):
            return picture
        if now > MOST_SECONDS:
            raise Failure(f"not done after {MOST_SECONDS} s")
        time.sleep(stage.pace.look_s)


def verdict(stage, seconds, say):
    lines = complete_lines(stage.folder / "round" / "record")
    m = measure(lines)
    versions, order = len(NEW_VERSIONS), "broken" if m.faults else "kept"
    naive = versions * NODES
    say(f"""
  drains                  {m.drains:>3}     {versions} new versions on {NODES} nodes: without a bracket {naive}
  most nodes out at once  {m.most_out:>3}     the limit is 20 % of {NODES}
  order on each node     {order}     drain → os-patch → kubelet, containerd → uncordon
  time                   {seconds:4.0f} s
""")
    return what_is_wrong(m, lines)


def play(stage, view, say):
    set_the_stage(stage, say)
    picture = run_the_round(stage, view, say)
    view.close()
    wrong = verdict(stage, picture.seconds, say)
    if wrong:
        raise Failure("not as promised: " + "; ".join(wrong))


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(prog="./dev demo node-upgrade", description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--fast", action="store_true", help="everything at the highest pace; for tests")
    args = parser.parse_args()
    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    view = TerminalView(sys.stdout, not os.environ.get("NO_COLOR")) if terminal else LineView(sys.stdout)
    folder = Path(tempfile.mkdtemp(prefix="ctrlplane-demo-"))
    stage = Stage(args.binary, folder, FAST if args.fast else NORMAL)
    code = 0
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    try:
        play(stage, view, lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        code = 130
    except (Failure, OSError) as failure:
        view.close()
        print(f"demo: {failure}\nits logs stay in {folder}", file=sys.stderr)
        code = 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # nothing of this is left behind, however impatient one is
        view.close()
        stage.close()
        if code != 1:
            shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
