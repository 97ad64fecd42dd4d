"""The figures at the end are right."""

import unittest
from types import SimpleNamespace

from report import alone, longest_silence


def fault(kind, began, ended):
    return SimpleNamespace(kind=kind, began=began, ended=ended)


class SilenceTest(unittest.TestCase):
    def silence(self, times, began=10, ended=15, run_end=100):
        return longest_silence([fault("x", began, ended)], {"w": times}, run_end)["x"]

    def test_it_counts_from_the_fault_on(self):
        self.assertEqual(self.silence([1, 13, 14, 16]), 3)

    def test_it_goes_on_after_the_fault(self):
        self.assertEqual(self.silence([1, 9, 24, 60]), 14)

    def test_what_comes_later_is_another_matter(self):
        self.assertEqual(self.silence([11, 12, 15, 17, 60]), 3)

    def test_without_a_write_it_lasts_to_the_end(self):
        self.assertEqual(self.silence([1, 2]), 90)

    def test_the_worst_workspace_counts(self):
        found = longest_silence([fault("x", 0, 1)], {"a": [1, 2, 3], "b": [1, 7]}, 10)
        self.assertEqual(found, {"x": 6})

    def test_faults_that_overlap_are_not_alone(self):
        a, b, c = fault("a", 0, 5), fault("b", 4, 6), fault("c", 20, None)
        self.assertEqual([alone(f, [a, b, c], 30) for f in (a, b, c)], [False, False, True])


if __name__ == "__main__":
    unittest.main()
