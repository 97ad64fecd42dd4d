#!/usr/bin/env python3
"""Plants known faults in a copy of the tree, one at a time, and expects each to be found.

A fault is tests/planted/NN_name.patch: a line that says what is wrong, a line `detect: PROGRAM ARGS`, and
the patch. PROGRAM must pass on the unpatched copy and fail on the patched one; a patch that no longer
applies or does not build counts as a failure, not as found. Ends with `N passed, M failed`.
"""

import argparse
import filecmp
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "planted"
BUILD = TREE / "build" / "release"


def run(command, timeout_s, **kwargs):
    return subprocess.run(command, cwd=TREE, timeout=timeout_s, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)


def copy_tree():
    """Only what changed is copied, so that a second run builds little."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True,
                            capture_output=True, check=True).stdout.split("\n")
    wanted = {f for f in listed if f and (ROOT / f).is_file()}
    for old in TREE.rglob("*"):
        relative = old.relative_to(TREE)
        if old.is_file() and relative.parts[0] != "build" and str(relative) not in wanted:
            old.unlink()
    for name in wanted:
        source, target = ROOT / name, TREE / name
        if not target.exists() or not filecmp.cmp(source, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)


def build(target):
    if not (BUILD / "build.ninja").exists():
        configured = run(["cmake", "--preset", "release"], 300)
        if configured.returncode != 0:
            return configured
    return run(["cmake", "--build", str(BUILD), "--target", target], 1800)


def program(name):
    return next((p for p in (BUILD / "bin" / name, BUILD / "tests_bin" / name) if p.exists()), None)


def detect(command):
    """True if the program passes, False if it fails; None with the output if it cannot be built."""
    name, *args = command.split()
    built = build(name)
    if built.returncode != 0:
        return None, built.stdout[-2000:]
    try:
        done = run([str(program(name)), *args], 900)
    except subprocess.TimeoutExpired:
        return False, "timed out"
    return done.returncode == 0, done.stdout


def first_complaint(output):
    for line in output.split("\n"):
        if re.search(r"promise \d|Failure|FAILED", line):
            return line.strip()[:150]
    return output.strip().split("\n")[-1][:150]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--only", default="", help="part of a fault's name")
    only = arguments.parse_args().only
    patches = [p for p in sorted((ROOT / "tests" / "planted").glob("*.patch")) if only in p.name]
    copy_tree()
    passed = failed = 0
    healthy = {}
    for patch in patches:
        text = patch.read_text()
        why = text.split("\n", 1)[0]
        command = re.search(r"^detect: (.*)$", text, re.M).group(1)
        if command not in healthy:
            healthy[command], output = detect(command)
            if not healthy[command]:
                print(f"  the unpatched tree does not pass {command}:\n{output[-2000:]}")
        started = time.monotonic()
        found, said = False, "not tried: the unpatched tree fails already"
        if healthy[command]:
            applied = run(["patch", "-p1", "--no-backup-if-mismatch", "-i", str(patch)], 60)
            if applied.returncode == 0:
                passes, output = detect(command)
                found = passes is False
                said = first_complaint(output) if found else (output if passes is None else "NOT FOUND")
            else:
                said = "the patch does not apply:\n" + applied.stdout
            run(["patch", "-p1", "-R", "--no-backup-if-mismatch", "-i", str(patch)], 60)
        passed, failed = passed + found, failed + (not found)
        print(f"{'found ' if found else 'MISSED'} {patch.stem} ({time.monotonic() - started:.0f} s): {why}\n"
              f"       {said}", flush=True)
    print(f"planted faults found: {passed} of {passed + failed}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
