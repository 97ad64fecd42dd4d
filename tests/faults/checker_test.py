"""Each check finds what it is there for, and nothing in a run where all is well."""

import copy
import tempfile
import unittest
from pathlib import Path

import checker
from checker import NOBODY, Content, Seen
from freeze_sets import Frozen

W, D = "workspace", "deployment"
KEY = "-".join(word * 18 for word in ("re", "en", "de"))  # three of 36 characters, like ids
FIRST = {"workspace": W, "epoch": 1, "seq": 0, "token": "t1", "replica": "r1", "process": "p1", "at": ""}


def content():
    return {W: Content(objects={("system", "a"): [("id-a", 2)], ("system", "shop"): [("id-s", None)]},
                       versions={"id-v": (D, "v1")},
                       targets={"key": {"deployment": D, "current": "v1", "job": None,
                                        "reason": "up to date with v1"}})}


def job(ident, created, ended, status="successful"):
    return {"id": ident, "workspace": W, "version": "id-v", "target": KEY, "status": status,
            "live": 0, "group": None, "created_at": created, "handed_over_at": created,
            "started_at": created, "ended_at": ended}


def change(before, **more):
    return {**before, **more}


def good():
    """A run without a violation."""
    commit = change(FIRST, seq=1)
    release = change(commit, replica=NOBODY)
    acquire = change(release, epoch=2, token="t2", replica="r2", process="p2")
    view = {"items": [{"state": "alive", "address": "u", "workspaces": [{"id": W}]}], "withoutOwner": []}
    rows = content()
    rows[W].targets = {}  # the rows do not say it
    return Seen(live={W: {("system", "a"): ("id-a", 2)}}, gone={W: {("system", "b")}},
                versions={W: {"id-v": (D, "v1")}}, newest={D: "v1"}, targets={W: 1},
                content={"replica-1": content(), "replica-2": content(), "the store": rows},
                starts=[("j1", "r", "v1", "agent.1")], ends=[("j1", "r", "v1", "agent.1")],
                jobs=[job("j0", 1, 5, "cancelled"), job("j1", 5, 9)],
                history=[FIRST, commit, change(commit), release, acquire, change(acquire, seq=2)],
                replicas={"replica-1": view, "replica-2": copy.deepcopy(view)}, missed_wakeups={("r", W): 0})


class CheckerTest(unittest.TestCase):
    def broken(self, seen):
        return {promise for promise, evidence in checker.judge(seen).items() if evidence}

    def assert_found(self, seen, *words):
        """Exactly the promises that begin so are broken."""
        broken = self.broken(seen)
        self.assertEqual(len(broken), len(words), broken)
        for word in words:
            self.assertTrue(any(promise.startswith(word) for promise in broken), (word, broken))

    def test_a_run_where_all_is_well_has_no_violation(self):
        self.assertEqual(self.broken(good()), set())

    def everywhere(self, seen, change_content):
        for workspaces in seen.content.values():
            change_content(workspaces[W])

    def test_a_lost_write_is_found(self):
        seen = good()
        self.everywhere(seen, lambda c: c.objects.pop(("system", "a")))
        self.assert_found(seen, "no acknowledged write is lost")

    def test_an_older_revision_is_a_lost_write(self):
        seen = good()
        self.everywhere(seen, lambda c: c.objects.update({("system", "a"): [("id-a", 1)]}))
        self.assert_found(seen, "no acknowledged write is lost")

    def test_a_lost_version_is_found(self):
        seen = good()
        self.everywhere(seen, lambda c: c.versions.clear())
        self.assert_found(seen, "no acknowledged write is lost")

    def test_a_delete_that_is_undone_is_found(self):
        seen = good()
        self.everywhere(seen, lambda c: c.objects.update({("system", "b"): [("id-b", 0)]}))
        self.assert_found(seen, "no acknowledged delete")

    def test_a_write_done_twice_is_found(self):
        seen = good()
        self.everywhere(seen, lambda c: c.objects[("system", "a")].append(("id-2", 2)))
        self.assert_found(seen, "no write is done twice")
        seen = good()
        self.everywhere(seen, lambda c: c.versions.update({"id-w": (D, "v1")}))
        self.assert_found(seen, "no write is done twice")

    def test_replicas_that_differ_are_found(self):
        seen = good()
        seen.content["replica-2"][W].objects[("system", "more")] = [("id-m", 0)]
        self.assert_found(seen, "every replica says the same")
        seen = good()
        seen.content["the store"][W].versions["id-w"] = (D, "v2")
        self.assert_found(seen, "every replica says the same")

    def test_a_job_that_starts_twice_is_found(self):
        seen = good()
        seen.starts.append(("j1", "r", "v1", "agent.2"))
        self.assert_found(seen, "no job is started twice")

    def test_a_job_that_ran_without_being_handed_over_is_found(self):
        seen = good()
        seen.jobs[1]["started_at"] = None
        self.assert_found(seen, "a job that ran")
        seen = good()
        seen.starts.append(("unknown", "r", "v1", "agent.1"))
        self.assert_found(seen, "a job that ran")

    def test_a_successful_job_that_did_not_end_is_found_and_one_cut_short_is_none(self):
        seen = good()
        seen.ends.clear()
        self.assert_found(seen, "a job that ran")
        seen.jobs[1]["status"] = "failure"
        self.assertEqual(self.broken(seen), set())

    def test_two_jobs_at_once_on_a_target_are_found(self):
        seen = good()
        seen.jobs[0]["ended_at"] = 6
        self.assert_found(seen, "one active release")
        seen.jobs[0]["ended_at"] = None
        self.assert_found(seen, "one active release")

    def with_a_unit(self):
        """Two deployments on two resources, one resource at a time, the second deployment behind the first."""
        seen = good()
        seen.limits, seen.order = {W: 1}, {W: ["d" * 36, "e" * 36]}
        seen.jobs = []
        for n, (resource, deployment) in enumerate([("r", "d"), ("r", "e"), ("s", "d"), ("s", "e")]):
            target = "-".join(letter * 36 for letter in (resource, "n", deployment))
            seen.jobs.append(change(job(f"j{n}", 10 * n, 10 * n + 10), target=target, group=resource))
        seen.starts = seen.ends = [(f"j{n}", "r", "v1", "agent.1") for n in range(4)]
        return seen

    def test_a_unit_in_order_and_within_its_limit_is_well(self):
        self.assertEqual(self.broken(self.with_a_unit()), set())

    def test_two_resources_at_work_under_a_limit_of_one_are_found(self):
        seen = self.with_a_unit()
        seen.jobs[2]["created_at"] = 19
        self.assert_found(seen, "never more resources")
        seen.limits[W] = 2
        self.assertEqual(self.broken(seen), set())

    def test_members_side_by_side_or_behind_a_failure_are_found(self):
        seen = self.with_a_unit()
        seen.jobs[1]["created_at"] = 9
        self.assert_found(seen, "members of a group")
        seen = self.with_a_unit()
        seen.jobs[0]["status"] = "failure"
        self.assert_found(seen, "members of a group")
        seen = self.with_a_unit()
        seen.jobs[0]["group"] = None
        self.assert_found(seen, "members of a group")

    def test_forgotten_work_is_found_unless_a_reason_is_named(self):
        seen = good()
        seen.newest[D] = "v2"
        self.assert_found(seen, "no held work")
        self.everywhere(seen, lambda c: [t.update(reason="v2 waits for x") for t in c.targets.values()])
        self.assertEqual(self.broken(seen), set())
        self.everywhere(seen, lambda c: [t.update(reason="", job="j2") for t in c.targets.values()])
        self.assertEqual(self.broken(seen), set())

    def test_a_missing_target_is_found(self):
        seen = good()
        seen.targets[W] = 2
        self.assert_found(seen, "no held work")

    def test_missed_wakeups_are_found(self):
        seen = good()
        seen.missed_wakeups["r", W] = 1
        self.assert_found(seen, "no wake-up")

    def test_what_was_seen_meanwhile_is_counted(self):
        for member, promise in (("unanswered", "every write is answered"), ("endings", "no process ends"),
                                ("unsettled", "the system settles")):
            seen = good()
            setattr(seen, member, ["evidence"])
            self.assert_found(seen, promise)
        seen = good()
        seen.surprises = {"answers are as described": ["evidence"]}
        self.assert_found(seen, "answers are")

    def test_replicas_that_disagree_on_owners_are_found(self):
        seen = good()
        seen.replicas["replica-2"]["items"][0]["address"] = "v"
        self.assert_found(seen, "all replicas agree")
        seen = good()
        seen.replica_count = 2
        self.assert_found(seen, "all replicas agree")
        seen = good()
        seen.replicas["replica-1"]["withoutOwner"] = [W]
        self.assert_found(seen, "all replicas agree")
        seen = good()
        for view in seen.replicas.values():
            view["items"][0]["workspaces"].append({"id": "another"})
            view["items"].append({"state": "alive", "address": "v", "workspaces": []})
        seen.replica_count = 2
        self.assert_found(seen, "all replicas agree")


class FreezeTest(unittest.TestCase):
    """One job from 5 to 9 by the rows, from 6 to 8 by the agents' record, and one freeze."""

    def seen(self, begun, thawed, asked, answered, thaw_asked, listed=(), covers=True):
        seen = good()
        seen.jobs = seen.jobs[1:]
        seen.started_at, seen.ended_at = {"j1": 6}, {"j1": 8}
        freeze = Frozen("f", lambda work: covers and work.deployment == "de" * 18, asked, answered,
                        {job: (KEY, "id-v") for job in listed}, thaw_asked)
        seen.freezes = {W: [freeze]}
        seen.freeze_rows = {"f": {"effective_at": begun, "thawed_at": thawed}}
        return seen

    def found(self, **more):
        seen = self.seen(**more)
        return len(list(checker.freezes_are_barriers(seen))), len(list(checker.lists_are_exact(seen)))

    def test_a_job_that_starts_under_a_freeze_is_found_by_the_record_and_by_the_rows(self):
        around = {"begun": 3, "thawed": 10, "asked": 2, "answered": 4, "thaw_asked": 9}
        self.assertEqual(self.found(**around), (1, 1))
        self.assertEqual(self.found(**around, listed=["j1"]), (0, 1))
        self.assertEqual(self.found(**around, covers=False), (0, 0))

    def test_a_job_that_an_agent_had_is_to_be_listed(self):
        later = {"begun": 7, "thawed": 12, "asked": 6.5, "answered": 7.5, "thaw_asked": 11}
        self.assertEqual(self.found(**later), (1, 1))
        self.assertEqual(self.found(**later, listed=["j1"]), (0, 0))
        self.assertEqual(self.found(**later, listed=["j1"], covers=False), (0, 1))

    def test_a_job_that_had_ended_is_not_to_be_listed(self):
        after = {"begun": 10, "thawed": 12, "asked": 9.5, "answered": 10.5, "thaw_asked": 11}
        self.assertEqual(self.found(**after), (0, 0))
        self.assertEqual(self.found(**after, listed=["j1"]), (0, 1))

    def test_what_the_server_gave_up_may_run_on(self):
        seen = self.seen(begun=7, thawed=12, asked=6.5, answered=7.5, thaw_asked=11)
        seen.jobs[0]["ended_at"] = 6.8
        self.assertEqual(list(checker.freezes_are_barriers(seen)), [])

    def test_a_freeze_that_was_lost_is_found(self):
        seen = self.seen(begun=10, thawed=12, asked=9.5, answered=10.5, thaw_asked=11)
        seen.freeze_rows = {}
        self.assertEqual(len(list(checker.lists_are_exact(seen))), 1)


class HistoryTest(unittest.TestCase):
    """Changes of an owner row that must not be."""

    def assert_wrong(self, *changes):
        seen, row = good(), FIRST
        seen.history = [FIRST]
        for one in changes:
            row = change(row, **one)
            seen.history.append(row)
        self.assertEqual(len(list(checker.one_owner(seen))), 1)

    def test_an_epoch_that_does_not_rise(self):
        self.assert_wrong({"token": "t2", "process": "p2"})

    def test_an_epoch_that_rises_without_a_token(self):
        self.assert_wrong({"epoch": 2})

    def test_a_seq_that_is_left_out(self):
        self.assert_wrong({"seq": 2})

    def test_a_seq_that_falls(self):
        self.assert_wrong({"seq": 1}, {"seq": 0})

    def test_a_commit_by_another_process(self):
        self.assert_wrong({"seq": 1, "process": "p2"})

    def test_a_commit_of_the_deposed(self):
        self.assert_wrong({"epoch": 2, "token": "t2", "process": "p2"}, {"seq": 1, "process": "p1"})

    def test_an_acquisition_that_commits(self):
        self.assert_wrong({"epoch": 2, "token": "t2", "process": "p2", "seq": 1})

    def test_a_commit_after_the_release(self):
        self.assert_wrong({"replica": NOBODY}, {"seq": 1})

    def test_another_replica_without_a_token(self):
        self.assert_wrong({"replica": "r2"})


class RecordTest(unittest.TestCase):
    def test_the_record_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "record")
            path.write_text("start j1 r v1 agent.1 1.0\nstart j2 r v1 agent.2 1.1\nend j1 r v1 agent.1 1.2\n")
            starts, ends = checker.read_record(path)
            times = checker.read_times(path)
        self.assertEqual([line[0] for line in starts], ["j1", "j2"])
        self.assertEqual(ends, [("j1", "r", "v1", "agent.1")])
        self.assertEqual(times, ({"j1": 10**9, "j2": 11 * 10**8}, {"j1": 12 * 10**8}))


if __name__ == "__main__":
    unittest.main()
