"""The demo of examples/node-upgrade, as fast as it goes: real agents, real commands, and what they wrote down."""

import os
import re
import signal
import subprocess
import sys

from harness import BINARY, TREE

DEMO = [sys.executable, "-B", str(TREE / "tools" / "node_upgrade_demo.py"), "--binary", BINARY, "--fast"]


def processes_under(folder):
    """Ids of processes whose command line or environment names the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as env, open(f"/proc/{pid}/cmdline", "rb") as line:
                if str(folder).encode() in env.read() + line.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def test_ten_nodes_are_drained_ten_times_and_two_at_a_time(tmp_path):
    done = subprocess.run(DEMO, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
                          check=False, timeout=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert re.search(r"drains +10 ", done.stdout), done.stdout[-1000:]
    assert re.search(r"most nodes out at once +2 ", done.stdout), done.stdout[-1000:]
    assert "order on each node     kept" in done.stdout
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"
    assert processes_under(tmp_path) == []


def test_an_interrupted_demo_leaves_nothing_behind(tmp_path):
    demo = subprocess.Popen(DEMO, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True,
                            start_new_session=True)
    try:
        for line in demo.stdout:
            if "executing" in line:  # agents are at work
                break
        assert len(processes_under(tmp_path)) > 3
        demo.send_signal(signal.SIGINT)
        demo.stdout.read()
        assert demo.wait(60) == 130
    finally:
        demo.kill()
        demo.wait()
    assert processes_under(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
