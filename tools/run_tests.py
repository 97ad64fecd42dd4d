#!/usr/bin/env python3
"""Builds and runs the parts of `./dev test` one after another and adds up their results.

The last line is `N passed, M failed`, alone; the exit code is 0 only if something passed and
nothing failed. Whatever cannot be counted (a crash, a time-out, a build that fails, a program that
runs no test) is one failure.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEL_CASES = "../shared/cel-conformance"


@dataclass
class Part:
    """One line of the table in `./dev help`.

    `minutes` is rough, for two cores, without the build; update it when it is off by half.
    A part with `command` runs that; any other runs GoogleTest programs of `preset`: those named in
    `programs`, or all. `target` is built in `preset` first (a part whose target is not in the build
    is left out), `files` must exist.
    """

    name: str
    what: str
    minutes: float
    preset: str = "dev"
    command: list = field(default_factory=list)
    target: str = ""
    files: list = field(default_factory=list)
    programs: list = field(default_factory=list)
    only_all: bool = False
    timeout_s: int = 600
    env: dict = field(default_factory=dict)


def python_with(*modules):
    """A python3 that has these modules: the first on the path may be one that knows nothing of the packages."""
    for folder in os.get_exec_path():
        python = os.path.join(folder, "python3")
        if os.access(python, os.X_OK) and subprocess.run([python, "-c", "import " + ", ".join(modules)],
                                                         capture_output=True, check=False).returncode == 0:
            return python
    return "python3"


PYTEST_MODULES = ("pytest", "requests", "jsonschema", "yaml")


def pytest_command(folder, *more):
    return ["@pytest", "-m", "pytest", "-q", "-p", "no:cacheprovider", folder, *more]


PARTS = [
    Part("tidy", "rules of the source tree (tools/tidy.py)", 0.1,
         command=["python3", "tools/tidy.py"]),
    Part("tools", "tests of the tools themselves", 0.1,
         command=["python3", "-m", "unittest", "discover", "-s", "tools", "-p", "*_test.py"]),
    Part("unit", "GoogleTest programs, stores and scenarios included", 4),
    Part("cel", "public CEL conformance cases", 0.1, target="cel_conformance",
         files=[CEL_CASES], command=["build/dev/bin/cel_conformance", CEL_CASES]),
    Part("fuzz", "a short fuzzing run of CEL under the sanitizers", 1, files=["tests/cel/corpus"],
         command=["python3", "tools/fuzz_smoke.py"], timeout_s=900),
    Part("schedule", "recurring windows compared with python3-dateutil", 0.5, target="schedule_probe",
         files=["tests/schedule/differential_test.py"], command=["@dateutil", "tests/schedule/differential_test.py"]),
    Part("api", "the program over its sockets, on SQLite and PostgreSQL", 7, target="ctrlplane", files=["tests/api"],
         command=pytest_command("tests/api"), timeout_s=1200),
    Part("stress", "clients start, claim, retry and force jobs while freezes come and go", 0.7, target="ctrlplane",
         files=["tests/stress"], command=["@pytest", "-B", "tests/stress/freeze_stress.py"], timeout_s=600),
    Part("sim", "simulator, seeds 1 to 400", 5, preset="release", target="sim", timeout_s=3600,
         command=["build/release/bin/sim", "--seeds", "1..400"]),
    Part("long-sim", "simulator, seeds 401 to 2000", 20, preset="release", target="sim", timeout_s=3600,
         only_all=True, command=["build/release/bin/sim", "--seeds", "401..2000"]),
    Part("crash", "kill -9 of the server under load, 20 times on each store", 5, target="ctrlplane", only_all=True,
         files=["tests/api/test_crash.py"], command=pytest_command("tests/api/test_crash.py"), timeout_s=1800,
         env={"CTRLPLANE_CRASHES": "20"}),
    Part("faults", "three replicas on one PostgreSQL, a minute of faults", 2, target="ctrlplane",
         only_all=True, files=["tests/faults"], command=["@pytest", "-B", "tests/faults/run.py", "--minutes", "1"],
         timeout_s=900),
    Part("asan", "unit under the address and undefined sanitizers", 7, preset="asan", only_all=True,
         timeout_s=1800),
    Part("tsan", "loop and stores under the thread sanitizer", 1, preset="tsan", only_all=True,
         programs=["runtime_test", "net_test", "store_test", "store_conformance_test"], timeout_s=1800),
    Part("planted", "faults planted in a copy of the tree, each to be found", 20, only_all=True,
         target="sim", files=["tools/planted_faults.py"], command=["python3", "tools/planted_faults.py"],
         timeout_s=7200),
]

# What a first build of each preset takes on two cores with an empty ccache, in minutes.
BUILD_MINUTES = {"dev": 16, "release": 9, "asan": 16, "tsan": 10}

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        skipped = f" ({self.skipped} skipped)" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


# ---- running a program --------------------------------------------------------------------------


def run(command, timeout_s, env=None, on_line=None, cwd=ROOT):
    """Output and exit code; the code is None when the time was up. `on_line` sees each line as it comes."""
    process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})}, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    lines = []

    def read():
        for line in process.stdout:
            lines.append(line)
            if on_line:
                on_line(line.rstrip("\n"))

    # A thread, because a server the program left behind may hold the pipe open for ever.
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        code = None
    finally:  # also after Ctrl-C: the program has a session of its own and would live on
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    reader.join(5)
    if not reader.is_alive():
        process.stdout.close()
    return "".join(lines), code


def how_it_ended(code, timeout_s):
    if code is None:
        return f"no end after {timeout_s} s, killed"
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


# ---- GoogleTest ---------------------------------------------------------------------------------


def count_report(report):
    """The tally in a GoogleTest JSON report."""
    tally = Tally()
    for suite in report.get("testsuites", []):
        for test in suite.get("testsuite", []):
            if test.get("status") != "RUN":
                continue
            if test.get("failures"):
                tally.failed += 1
            elif test.get("result") == "SKIPPED":
                tally.skipped += 1
            else:
                tally.passed += 1
    return tally


def failing_output(output):
    """The output of failed tests only, each from its RUN line to its FAILED line."""
    blocks, block = [], []
    for line in output.splitlines():
        if line.startswith("[ RUN "):
            block = []
        block.append(line)
        if line.startswith("[  FAILED  ]") and len(block) > 1:
            blocks += block
            block = []
    return "\n".join(blocks)


def run_gtest(program, folder, timeout_s, pattern=None, prefix=(), env=None):
    """Runs one GoogleTest program: its tally, and what to show of it."""
    folder.mkdir(parents=True, exist_ok=True)
    report_file = folder / f"{program.name}.json"
    report_file.unlink(missing_ok=True)
    command = [*prefix, str(program), f"--gtest_output=json:{report_file}", "--gtest_color=no"]
    if pattern:
        command.append(f"--gtest_filter={pattern}")
    if not program.exists():
        return Tally(failed=1), f"{program} was not built"
    output, code = run(command, timeout_s, env)
    log_file = folder / f"{program.name}.log"
    log_file.write_text(output)

    try:
        tally = count_report(json.loads(report_file.read_text()))
    except (OSError, ValueError):  # the program ended before it could write its report
        passed = len(re.findall(r"^\[       OK \]", output, re.M))
        last = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
        where = f" in {last[-1]}" if last else ""
        tail = "\n".join(output.splitlines()[-80:])
        return (Tally(passed=passed, failed=1),
                f"{tail}\n{program.name}: {how_it_ended(code, timeout_s)}{where}; log: {log_file}")
    if tally.failed:
        return tally, f"{failing_output(output)}\nlog: {log_file}"
    if code != 0:  # e.g. a leak found after the last test
        tally.failed += 1
        tail = "\n".join(output.splitlines()[-80:])
        return tally, f"{tail}\n{program.name}: {how_it_ended(code, timeout_s)}; log: {log_file}"
    if tally.passed == 0 and not pattern:
        return Tally(failed=1, skipped=tally.skipped), f"{program.name} ran no test"
    return tally, ""


# ---- other programs -----------------------------------------------------------------------------


def count_output(output, code, timeout_s):
    """The tally a program prints: its last `N passed, M failed`, or the summary of pytest or unittest."""
    tally = None
    own = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
    pytest = re.findall(r"^(?:=+ )?((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", output, re.M)
    unittest = re.findall(r"^Ran (\d+) tests? in ", output, re.M)
    if own:
        tally = Tally(int(own[-1][0]), int(own[-1][1]))
    elif pytest:
        counts = {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?)", pytest[-1])}
        tally = Tally(counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0))
    elif unittest:
        end = output[output.rindex("\nRan "):]
        failed = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", end))
        tally = Tally(max(int(unittest[-1]) - failed, 0), failed)
    if tally is None:
        return Tally(failed=1), f"no `N passed, M failed` line; {how_it_ended(code, timeout_s)}"
    if tally.passed + tally.failed == 0:
        return Tally(failed=1), "it ran no test"
    if code != 0 and tally.failed == 0:
        tally.failed = 1
        return tally, f"it counted no failure, but: {how_it_ended(code, timeout_s)}"
    return tally, ""


def run_command(part):
    def show(line):
        print(f"  {line}".rstrip(), flush=True)

    modules = {"@pytest": PYTEST_MODULES, "@dateutil": ("dateutil",)}.get(part.command[0])
    command = [python_with(*modules), *part.command[1:]] if modules else part.command
    output, code = run(command, part.timeout_s, part.env, on_line=show)
    tally, problem = count_output(output, code, part.timeout_s)
    if problem:
        print(f"  {part.name}: {problem}")
    return tally


# ---- the build ----------------------------------------------------------------------------------


def build(preset, targets=()):
    """True if it built; the output goes to the terminal."""
    sys.stdout.flush()
    start = time.monotonic()
    code = subprocess.call(["./dev", "build", preset, *targets], cwd=ROOT)
    print(f"build {preset}: {'done' if code == 0 else 'FAILED'} {time.monotonic() - start:.1f} s\n",
          flush=True)
    return code == 0


def programs_in_build(preset):
    """Program name → path in the build folder, for every program the build describes."""
    listing = subprocess.run(["ninja", "-C", f"build/{preset}", "-t", "targets", "all"], cwd=ROOT,
                             text=True, capture_output=True, check=True).stdout
    paths = re.findall(r"^(\S+): CXX_EXECUTABLE_LINKER", listing, re.M)
    return {Path(p).name: ROOT / "build" / preset / p for p in paths}


def test_programs(preset):
    """The GoogleTest programs among them."""
    return {n: p for n, p in programs_in_build(preset).items() if p.parent.name == "tests_bin"}


def prefix_for(preset):
    """The thread sanitizer of g++ 12 does not start where addresses are randomised widely."""
    if preset != "tsan" or not shutil.which("setarch"):
        return ()
    prefix = ("setarch", os.uname().machine, "-R")
    works = subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode == 0
    return prefix if works else ()


# ---- parts --------------------------------------------------------------------------------------


def run_programs(part, pattern):
    programs = test_programs(part.preset)
    for name in part.programs:
        if name not in programs:
            print(f"  {name:<28} not in this tree")
    if part.programs:
        programs = {n: p for n, p in programs.items() if n in part.programs}

    total = Tally()
    prefix = prefix_for(part.preset)
    for name, path in sorted(programs.items()):
        print(f"  {name:<28} ", end="", flush=True)
        start = time.monotonic()
        tally, report = run_gtest(path, ROOT / "build" / part.preset / "test_logs", part.timeout_s,
                                  pattern, prefix, SANITIZER_OPTIONS)
        total.add(tally)
        print(f"{tally}  {time.monotonic() - start:.1f} s", flush=True)
        if report:
            print(report, flush=True)
    if total.passed + total.failed == 0:
        print(f"  {part.name}: no test ran")
        total.failed = 1
    return total


def why_left_out(part, known):
    if part.target and part.target not in known:
        return f"the build has no target {part.target}"
    for name in part.files:
        if not (ROOT / name).exists():
            return f"there is no {name}"
    if part.programs and not set(part.programs) & set(known):
        return "the build has none of " + ", ".join(part.programs)
    return ""


def run_part(part, pattern):
    """Builds what the part needs beyond preset dev, and runs it: its tally, and seconds without the build."""
    if part.preset != "dev":
        known = test_programs("dev")  # every preset describes the same programs
        targets = [part.target] if part.target else [n for n in known if not part.programs or n in part.programs]
        if not build(part.preset, targets):
            return Tally(failed=1), 0.0
    start = time.monotonic()
    tally = run_command(part) if part.command else run_programs(part, pattern)
    return tally, time.monotonic() - start


def print_table():
    print("parts of ./dev test, in order (minutes on two cores, without the build):\n")
    for part in PARTS:
        when = "--all" if part.only_all else ""
        print(f"  {part.name:<9}{part.minutes:>5g} min  {when:<6} {part.what}")
    cold = ", ".join(f"{preset} {minutes}" for preset, minutes in BUILD_MINUTES.items())
    print(f"\ncold builds, in minutes: {cold}; a rebuild after a small change takes seconds")


def select(names, everything):
    if not names:
        return [p for p in PARTS if everything or not p.only_all]
    unknown = set(names) - {p.name for p in PARTS}
    if unknown:
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; see ./dev help")
    return [p for p in PARTS if p.name in names]


def main():
    parser = argparse.ArgumentParser(prog="./dev test", description="Builds and runs the tests.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these parts; see --list")
    parser.add_argument("--all", action="store_true", help="the slow parts too")
    parser.add_argument("--filter", metavar="PATTERN",
                        help="only unit tests whose name contains PATTERN (or a --gtest_filter pattern)")
    parser.add_argument("--list", action="store_true", help="print the table of parts")
    args = parser.parse_args()
    if args.list:
        return print_table()

    pattern = args.filter
    if pattern and not set(pattern) & set("*?:"):
        pattern = f"*{pattern}*"
    parts = select(args.parts or (["unit"] if pattern else []), args.all)

    start = time.monotonic()
    total, lines, known = Tally(), [], {}
    if any(not p.command or p.target for p in parts):
        if build("dev"):
            known = programs_in_build("dev")
        else:  # go on with what needs no build: one run should tell as much as it can
            total.failed += 1
            lines.append("build dev   FAILED")
            parts = [p for p in parts if p.command and not p.target]
    for part in parts:
        reason = why_left_out(part, known)
        if reason:
            lines.append(f"{part.name:<11} left out: {reason}")
            continue
        print(f"{part.name}: {part.what}", flush=True)
        tally, seconds = run_part(part, pattern)
        total.add(tally)
        lines.append(f"{part.name:<11} {tally}  {seconds:.1f} s")
        print(f"{lines[-1]}\n", flush=True)

    print("\n".join(lines))
    print(f"{'all':<11} {time.monotonic() - start:.1f} s with builds")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 0 if total.passed and not total.failed else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends children as Ctrl-C does
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
