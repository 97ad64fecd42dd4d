"""What the test runner makes of programs that fail, crash, hang or run nothing."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run_tests  # noqa: E402
from run_tests import Tally, count_output, run_gtest  # noqa: E402

PASS = {"status": "RUN", "result": "COMPLETED"}
FAIL = {"status": "RUN", "result": "COMPLETED", "failures": [{"failure": "x"}]}
SKIP = {"status": "RUN", "result": "SKIPPED"}
DISABLED = {"status": "NOTRUN", "result": "SUPPRESSED"}

# Stands in for a GoogleTest program: prints, writes its report, ends.
PROGRAM = """\
#!{python}
import os, signal, subprocess, sys, threading
report = next(a for a in sys.argv if a.startswith("--gtest_output")).split(":", 1)[1]
print({output!r}, flush=True)
tests = {tests!r}
if tests is not None:
    import json
    json.dump({{"testsuites": [{{"testsuite": tests}}]}}, open(report, "w"))
{end}
"""


class RunGtest(unittest.TestCase):
    def run_program(self, tests, output="", end="", timeout_s=30, pattern=None):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "fake_test")
            program.write_text(PROGRAM.format(python=sys.executable, tests=tests, output=output, end=end))
            program.chmod(0o755)
            return run_gtest(program, Path(folder, "logs"), timeout_s, pattern)

    def test_counts_what_ran(self):
        tally, report = self.run_program([PASS, PASS, SKIP, DISABLED])
        self.assertEqual((tally, report), (Tally(2, 0, 1), ""))

    def test_shows_only_what_failed(self):
        output = ("[ RUN      ] A.a\nquiet\n[       OK ] A.a (0 ms)\n"
                  "[ RUN      ] A.b\nloud\n[  FAILED  ] A.b (0 ms)\n[  FAILED  ] 1 test, listed below:\n")
        tally, report = self.run_program([PASS, FAIL], output, "sys.exit(1)")
        self.assertEqual(tally, Tally(1, 1))
        self.assertIn("loud", report)
        self.assertNotIn("quiet", report)

    def test_a_crash_is_a_failure_and_names_the_test(self):
        output = "[ RUN      ] A.a\n[       OK ] A.a (0 ms)\n[ RUN      ] A.b\n"
        tally, report = self.run_program(None, output, "os.kill(os.getpid(), signal.SIGABRT)")
        self.assertEqual(tally, Tally(1, 1))
        self.assertIn("killed by SIGABRT in A.b", report)

    def test_a_bad_end_after_good_tests_is_a_failure(self):
        tally, report = self.run_program([PASS], "leak", "sys.exit(23)")
        self.assertEqual(tally, Tally(1, 1))
        self.assertIn("exit code 23", report)

    def test_no_test_is_a_failure(self):
        self.assertEqual(self.run_program([])[0], Tally(0, 1))
        self.assertEqual(self.run_program([SKIP])[0], Tally(0, 1, 1))
        self.assertEqual(self.run_program([], pattern="*x*")[0], Tally(0, 0))

    def test_a_program_that_hangs_is_killed(self):
        tally, report = self.run_program(None, end="threading.Event().wait()", timeout_s=1)
        self.assertEqual(tally, Tally(0, 1))
        self.assertIn("no end after 1 s", report)

    def test_a_program_that_was_not_built(self):
        tally, _ = run_gtest(Path("/nonexistent/x_test"), Path(tempfile.gettempdir()), 1)
        self.assertEqual(tally, Tally(0, 1))


class CountOutput(unittest.TestCase):
    def test_the_last_line_counts(self):
        self.assertEqual(count_output("seeds 1..5\n1 passed, 0 failed\n5 passed, 2 failed\n", 1, 9)[0], Tally(5, 2))

    def test_unittest(self):
        self.assertEqual(count_output("...\nRan 3 tests in 0.1s\n\nOK\n", 0, 9)[0], Tally(3, 0))
        failed = "F\nRan 3 tests in 0.1s\n\nFAILED (failures=1, errors=1)\n"
        self.assertEqual(count_output(failed, 1, 9)[0], Tally(1, 2))

    def test_pytest(self):
        self.assertEqual(count_output("....\n120 passed in 12.34s\n", 0, 9)[0], Tally(120, 0))
        bad = "F.E\n3 failed, 120 passed, 1 error in 61.20s (0:01:01)\n"
        self.assertEqual(count_output(bad, 1, 9)[0], Tally(120, 4))
        self.assertEqual(count_output("no tests ran in 0.01s\n", 5, 9)[0], Tally(0, 1))

    def test_what_cannot_be_counted_failed(self):
        self.assertEqual(count_output("hello\n", 0, 9)[0], Tally(0, 1))
        self.assertEqual(count_output("0 passed, 0 failed\n", 0, 9)[0], Tally(0, 1))
        self.assertEqual(count_output("5 passed, 0 failed\n", -11, 9)[0], Tally(5, 1))
        self.assertEqual(count_output("5 passed, 0 failed\n", None, 9)[0], Tally(5, 1))


class Table(unittest.TestCase):
    def test_slow_parts_need_all(self):
        fast = [p.name for p in run_tests.select([], False)]
        self.assertIn("unit", fast)
        self.assertNotIn("planted", fast)
        self.assertEqual(len(run_tests.select([], True)), len(run_tests.PARTS))
        self.assertEqual([p.name for p in run_tests.select(["planted"], False)], ["planted"])


if __name__ == "__main__":
    unittest.main()
