import os
import shutil
import tempfile
import unittest

from disk import small_disk


class SmallDiskTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.disk = small_disk(f"{folder}/disk", 2)
        if not self.disk:
            self.skipTest("a file system cannot be mounted here")
        self.addCleanup(self.disk.close)

    def write(self, count):
        with open(self.disk.folder / "file", "wb") as file:
            file.write(b"x" * count)

    def test_is_of_its_size(self):
        self.write(1 << 20)
        with self.assertRaises(OSError):
            self.write(3 << 20)

    def test_takes_nothing_when_full_and_again_when_cleared(self):
        self.write(4096)
        self.disk.fill()
        self.assertEqual(self.disk.free_bytes(), 0)
        with self.assertRaises(OSError):
            self.write(8192)
        self.disk.clear()
        self.write(8192)

    def test_may_be_empty_when_it_is_filled(self):
        self.disk.fill()
        with self.assertRaises(OSError):
            self.write(8192)

    def test_is_full_again_after_something_was_given_back(self):
        (self.disk.folder / "kept").write_bytes(b"x")
        self.write(1 << 20)
        self.disk.fill()
        os.unlink(self.disk.folder / "file")
        self.disk.fill()
        self.assertEqual(self.disk.free_bytes(), 0)


if __name__ == "__main__":
    unittest.main()
