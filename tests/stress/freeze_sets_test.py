"""The comparison finds what it is there for, and nothing where all is well."""

import unittest
from math import inf

from freeze_sets import Frozen, Handed, Refused, Work, held_by_nothing, slipped_through, wrongly_listed

WORK, OTHER = Work("d", "e", "r", "v", "1"), Work("other", "e", "r", "v", "1")


def freeze(asked=10, answered=20, listed=(), thaw_asked=inf, thaw_answered=inf):
    return Frozen("f", lambda work: work.deployment == "d", asked, answered,
                  {job: (WORK.key, "v") for job in listed}, thaw_asked, thaw_answered)


def handed(asked, answered, end_asked=inf, end_answered=inf, work=WORK):
    return Handed("j", work, asked, answered, end_asked, end_answered)


def slips(frozen, given, **more):
    return len(list(slipped_through([frozen], [given], **more)))


class SlippedThroughTest(unittest.TestCase):
    def test_a_claim_after_the_201_that_gets_a_job_is_found(self):
        self.assertEqual(slips(freeze(), handed(21, 22)), 1)
        self.assertEqual(slips(freeze(thaw_asked=23), handed(21, 22)), 1)

    def test_a_claim_that_may_have_come_after_the_thaw_is_none(self):
        self.assertEqual(slips(freeze(thaw_asked=22), handed(21, 23)), 0)
        self.assertEqual(slips(freeze(thaw_asked=22), handed(24, 25)), 0)

    def test_a_job_that_an_agent_had_is_found_unless_it_is_listed(self):
        self.assertEqual(slips(freeze(), handed(1, 2)), 1)
        self.assertEqual(slips(freeze(listed=["j"]), handed(1, 2)), 0)
        self.assertEqual(slips(freeze(thaw_asked=30), handed(1, 2, 31)), 1)

    def test_a_claim_at_the_same_time_as_the_freeze_is_found_unless_it_is_listed(self):
        for asked, answered in ((5, 15), (11, 19), (15, 25), (5, 25)):
            self.assertEqual(slips(freeze(), handed(asked, answered)), 1)
            self.assertEqual(slips(freeze(listed=["j"]), handed(asked, answered)), 0)

    def test_what_may_have_ended_before_the_freeze_is_none(self):
        self.assertEqual(slips(freeze(), handed(1, 2, 3, 4)), 0)
        self.assertEqual(slips(freeze(), handed(1, 2, 19, 21)), 0)
        self.assertEqual(slips(freeze(), handed(1, 2, 21, 22)), 1)

    def test_what_is_not_covered_or_exempt_is_none(self):
        self.assertEqual(slips(freeze(), handed(21, 22, work=OTHER)), 0)
        self.assertEqual(slips(freeze(), handed(21, 22), exempt=lambda f, work: work is WORK), 0)


class WronglyListedTest(unittest.TestCase):
    def wrong(self, frozen, *given):
        return len(list(wrongly_listed([frozen], given)))

    def test_what_an_agent_had_is_listed_rightly(self):
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(1, 2)), 0)
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(15, 25)), 0)
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(1, 2, 9, 11)), 0)

    def test_what_nobody_had_is_found(self):
        self.assertEqual(self.wrong(freeze(listed=["j"])), 1)
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(21, 22)), 1)

    def test_what_had_ended_is_found(self):
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(1, 2, 3, 4)), 1)

    def test_what_is_not_covered_is_found(self):
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(1, 2, work=OTHER)), 1)

    def test_another_target_or_version_is_found(self):
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(1, 2, work=Work("d", "e", "x", "v"))), 1)
        self.assertEqual(self.wrong(freeze(listed=["j"]), handed(1, 2, work=Work("d", "e", "r", "w"))), 1)


class HeldByNothingTest(unittest.TestCase):
    def held(self, frozen, asked, answered, work=WORK, named=""):
        return len(list(held_by_nothing([frozen], [Refused(work, asked, answered, named)])))

    def over(self, asked, answered, named):
        return self.held(freeze(thaw_asked=25, thaw_answered=30), asked, answered, WORK, named)

    def test_a_refusal_while_the_freeze_may_stand_is_right(self):
        for asked, answered in ((5, 11), (21, 22), (29, 40)):
            for named in ("", "f"):
                self.assertEqual(self.over(asked, answered, named), 0)

    def test_a_refusal_before_or_after_it_is_found(self):
        for asked, answered in ((5, 9), (31, 32)):
            for named in ("", "f"):
                self.assertEqual(self.over(asked, answered, named), 1)

    def test_a_refusal_elsewhere_or_by_an_unknown_freeze_is_found(self):
        self.assertEqual(self.held(freeze(), 21, 22, OTHER), 1)
        self.assertEqual(self.held(freeze(), 21, 22, named="g"), 1)


if __name__ == "__main__":
    unittest.main()
