"""Planted faults fit the tree they are planted in: a patch that has gone stale is found here, not an hour later."""

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHES = sorted((ROOT / "tests" / "planted").glob("*.patch"))


class PlantedFaults(unittest.TestCase):
    def test_every_patch_applies(self):
        self.assertGreater(len(PATCHES), 0)
        for patch in PATCHES:
            with self.subTest(patch.stem):
                tried = subprocess.run(["patch", "-p1", "--dry-run", "--force", "-i", str(patch)], cwd=ROOT,
                                       text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(tried.returncode, 0, tried.stdout)

    def test_every_patch_says_what_finds_it(self):
        for patch in PATCHES:
            with self.subTest(patch.stem):
                lines = patch.read_text().split("\n")
                self.assertTrue(lines[0].endswith("."), lines[0])
                self.assertRegex(lines[1], r"^detect: \S+")


if __name__ == "__main__":
    unittest.main()
