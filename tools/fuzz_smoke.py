#!/usr/bin/env python3
"""A short fuzzing run of CEL's parser, checker and evaluator under the sanitizers, from the corpus that is kept.

Works on a copy of the corpus; ends with `N passed, M failed`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = 20000
SECONDS = 60


def main():
    if subprocess.call(["./dev", "build", "fuzz", "cel_fuzz"], cwd=ROOT) != 0:
        print("0 passed, 1 failed")
        return 1
    program = next((ROOT / "build" / "fuzz").rglob("cel_fuzz"))
    with tempfile.TemporaryDirectory(prefix="ctrlplane-fuzz-") as folder:
        shutil.copytree(ROOT / "tests" / "cel" / "corpus", Path(folder) / "corpus")
        limits = [f"-runs={RUNS}", f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=4096"]
        done = subprocess.run([program, *limits, Path(folder) / "corpus"], cwd=folder, capture_output=True, text=True,
                              check=False)
    tail = done.stderr.splitlines()[-3:]
    print("\n".join(tail if done.returncode == 0 else done.stderr.splitlines()[-60:]))
    print("1 passed, 0 failed" if done.returncode == 0 else "0 passed, 1 failed")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
