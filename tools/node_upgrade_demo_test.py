"""What the node-upgrade demo makes of a record, and how it shows what it sees."""

import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import node_upgrade_demo as demo  # noqa: E402
from node_upgrade_demo import EXAMPLE, LineView, Measured, Node, Picture, TerminalView, measure  # noqa: E402

ORDER = ["drain", "os-patch", "reboot", "kubelet", "containerd", "uncordon"]


def record(*events):
    """Lines of a record: "node-1 drain" is its begin and its end, "+node-1 drain" and "-node-1 drain" one of them."""
    lines = []
    for event in events:
        edges = {"+": ["begin"], "-": ["end"]}.get(event[0], ["begin", "end"])
        lines += [f"{len(lines)} {event.lstrip('+-')} {edge}" for edge in edges]
    return lines


def whole(node):
    return [f"{node} {what}" for what in ORDER]


class Measure(unittest.TestCase):
    def test_a_node_is_out_from_the_begin_of_its_drain_to_the_end_of_its_uncordon(self):
        m = measure(record("+node-1 drain"))
        self.assertEqual((m.drains, m.most_out, m.out), (1, 1, ["node-1"]))
        m = measure(record(*whole("node-1")[:-1], "+node-1 uncordon"))
        self.assertEqual(m.out, ["node-1"])
        m = measure(record(*whole("node-1"), *whole("node-2")))
        self.assertEqual((m.drains, m.most_out, m.out, m.faults), (2, 1, [], []))

    def test_nodes_that_overlap_are_counted_together(self):
        m = measure(record("+node-1 drain", "+node-2 drain", "+node-3 drain"))
        self.assertEqual((m.drains, m.most_out), (3, 3))

    def test_a_second_drain_of_a_node_is_a_drain_but_no_second_node(self):
        m = measure(record("node-1 drain", "node-1 drain"))
        self.assertEqual((m.drains, m.most_out), (2, 1))

    def test_work_outside_of_drain_and_uncordon_is_a_fault(self):
        self.assertEqual(measure(record("+node-1 kubelet")).faults, ["kubelet on node-1, which was not drained"])
        m = measure(record(*whole("node-1"), "+node-1 kubelet"))
        self.assertEqual(m.faults, ["kubelet on node-1, which was not drained"])

    def test_work_out_of_order_is_a_fault(self):
        m = measure(record("+node-1 drain", "+node-1 os-patch"))
        self.assertEqual(m.faults, ["os-patch on node-1 before the end of drain"])
        m = measure(record("node-1 drain", "node-1 os-patch", "node-1 reboot", "node-1 kubelet", "+node-1 uncordon"))
        self.assertEqual(m.faults, ["uncordon on node-1 before the end of containerd"])

    def test_ten_nodes_two_at_a_time_are_as_promised(self):
        events = []
        for i in range(1, 11, 2):
            pair = [whole(f"node-{i}"), whole(f"node-{i + 1}")]
            events += [event for both in zip(*pair) for event in both]
        lines = record(*events)
        self.assertEqual(demo.what_is_wrong(measure(lines), lines), [])

    def test_every_other_count_is_wrong(self):
        one_by_one = record(*(event for i in range(1, 11) for event in whole(f"node-{i}")))
        self.assertEqual(demo.what_is_wrong(measure(one_by_one), one_by_one),
                         ["at most 1 nodes were out at once, not 2"])
        nothing = demo.what_is_wrong(Measured(), [])
        self.assertIn("0 drains, not 10", nothing)
        self.assertIn("0 times kubelet, not 10", nothing)

    def test_half_a_line_does_not_count_yet(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "record")
            self.assertEqual(demo.complete_lines(file), [])
            file.write_text("1 node-1 drain begin\n2 node-1 dr")
            self.assertEqual(demo.complete_lines(file), ["1 node-1 drain begin"])


def group(node, status, **outcomes):
    members = [{"deploymentName": name.replace("_", "-"), "participation": "skipped" if state is None else "changed",
                "outcome": state or "waiting"} for name, state in outcomes.items()]
    ready = {} if status == "collecting" else {"readyAt": "2026-01-01T00:00:00Z"}
    return {"resource": {"name": node}, "status": status, "members": members, **ready}


class Views(unittest.TestCase):
    def test_nodes_show_their_newest_group(self):
        groups = [group("node-10", "executing", kubelet="running", os_patch=None),
                  group("node-10", "completed", kubelet="succeeded"), group("node-2", "collecting", kubelet="waiting"),
                  group("other", "stuck")]
        nodes = demo.nodes_of(groups, ["node-10", "node-2", "node-1"], ["kubelet"])
        self.assertEqual(list(nodes), ["node-1", "node-2", "node-10"])
        self.assertEqual(nodes["node-10"], Node("executing", {"kubelet": "running", "os-patch": "unchanged"}))
        self.assertEqual(nodes["node-2"].members["kubelet"], "new")
        self.assertEqual(nodes["node-1"], Node())

    def picture(self, state="running"):
        return Picture(12.34, {"node-1": Node("executing", {"drain": "succeeded", "os-patch": state})}, 1, 2, 10,
                       measure(record("+node-1 drain")))

    def test_a_terminal_gets_a_grid_that_is_drawn_over_the_one_before(self):
        self.assertEqual(demo.grid(self.picture(), False), [
            "         drain       os-patch    kubelet     containerd  uncordon    group",
            "node-1   ✓           ▶ running                                       executing",
            "",
            "slots [#---------] 1/2 of 10   out now: node-1   drains: 1    12.3 s"])
        out = io.StringIO()
        view = TerminalView(out, True)
        view.show(self.picture())
        view.show(self.picture())
        view.close()
        view.close()
        self.assertEqual(out.getvalue().count("\033[4A"), 1)
        self.assertEqual((out.getvalue().count("\033[?25l"), out.getvalue().count("\033[?25h")), (1, 1))

    def test_others_get_a_line_for_each_change(self):
        out = io.StringIO()
        view = LineView(out)
        view.show(self.picture("waiting"))
        view.show(self.picture())
        view.show(self.picture())
        self.assertEqual(out.getvalue(),
                         "  12.3 s  node-1   group       executing   slots 1/2, 1 out\n"
                         "  12.3 s  node-1   drain       succeeded   slots 1/2, 1 out\n"
                         "  12.3 s  node-1   os-patch    running     slots 1/2, 1 out\n")

    def test_the_gauge_holds_more_than_the_limit(self):
        self.assertEqual(demo.gauge(3, 2, 2), "[###] 3/2 of 2")


class Example(unittest.TestCase):
    """The scripts that agents run."""

    def run_step(self, deployment, node="node-3", version="v1.2.3"):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([EXAMPLE / "run.sh"], capture_output=True, text=True, check=False, timeout=60,
                                  env={"PATH": os.environ["PATH"], "NODE_UPGRADE_STAND_IN": folder,
                                       "NODE_UPGRADE_MINUTE_MS": "0", "CTRLPLANE_DEPLOYMENT_NAME": deployment,
                                       "CTRLPLANE_RESOURCE_NAME": node, "CTRLPLANE_VERSION_TAG": version})
            return done, [line.split()[1:] for line in demo.complete_lines(Path(folder, "record"))]

    def test_every_step_writes_down_its_begin_and_its_end(self):
        for name in demo.MEMBERS:
            done, lines = self.run_step(name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(lines[:2], [["node-3", name, "begin"], ["node-3", name, "end"]])

    def test_names_that_are_no_names_run_nothing(self):
        for node, version in (("node;3", "1"), ("node-3", "1 2"), ("-oProxyCommand=x", "1"), ("node-3", "$(id)")):
            done, lines = self.run_step("kubelet", node, version)
            self.assertEqual((done.returncode, lines), (1, []), done.stdout)
        done, lines = self.run_step("../steps/drain")
        self.assertEqual((done.returncode, lines), (1, []))

    def test_the_policy_has_the_window_that_the_demo_replaces(self):
        with tempfile.TemporaryDirectory() as folder:
            text = demo.policy_file(Path(folder), demo.FAST).read_text()
            self.assertIn(f"readinessWindowSeconds: {demo.FAST.window_s}\n", text)


if __name__ == "__main__":
    unittest.main()
