"""How many nodes are worked on at a time: the limit, who holds a slot, who waits in line."""

import pytest

from harness import World, complaint_paths, eventually, new_id, refusal
from test_brackets import LIMIT, Nodes, limit


class Fleet(World):
    """A world whose clusters are limited, without any bracket."""

    def __init__(self, ws, **changes):
        super().__init__(ws)
        rule = limit(groupSelector="resource.kind == 'Cluster'", **changes)
        self.policy = ws.post("/policies", {"name": "slow", "rules": [rule]}, status=202).json()
        self.rule = self.policy["rules"][0]["id"]

    def set(self, **changes):
        rule = {"id": self.rule, **limit(groupSelector="resource.kind == 'Cluster'", **changes)}
        self.ws.put(f"/policies/{self.policy['id']}", {"name": "slow", "rules": [rule]}, status=202)


def limits(ws):
    return ws.get("/concurrency", status=200).json()["items"]


def settled(ws, waiting):
    """The one limit, once so many wait."""
    return eventually(lambda: (found := limits(ws)[0])["waitingTotal"] == waiting and found,
                      what=f"{waiting} in line")


@pytest.mark.parametrize("changes, path", [
    ({"groupSelector": ...}, "groupSelector"), ({"groupSelector": ""}, "groupSelector"),
    ({"groupSelector": 1}, "groupSelector"), ({"groupSelector": "resource.knd == 'a'"}, "groupSelector"),
    ({"groupSelector": "deployment.name == 'a'"}, "groupSelector"),
    ({"limitType": ...}, "limitType"), ({"limitType": "share"}, "limitType"), ({"limitType": 1}, "limitType"),
    ({"limitValue": ...}, "limitValue"), ({"limitValue": -1}, "limitValue"),
    ({"limitValue": "1"}, "limitValue"), ({"limitValue": 1.5}, "limitValue"),
    ({"limitValue": 10 ** 18}, "limitValue"),
    ({"limitType": "percentage", "limitValue": 0}, "limitValue"),
    ({"limitType": "percentage", "limitValue": 101}, "limitValue"),
])
def test_a_bad_limit_is_400_by_its_field(ws, changes, path):
    answer = ws.post("/policies", {"name": "p", "rules": [limit(**changes)]})
    assert complaint_paths(answer) == [f"rules[0].resourceConcurrency.{path}"], answer.text
    assert limits(ws) == []


def test_a_limit_is_not_skipped_but_raised(ws):
    fleet = Fleet(ws)
    version = fleet.publish("v1")
    answer = ws.post("/policy-skips", {"ruleId": fleet.rule, "versionId": version})
    assert complaint_paths(answer) == ["ruleId"]
    assert "raise the limit" in answer.json()["details"][0]["message"]
    fleet.wait_for_jobs(1)
    fleet.set(limitValue=3)
    fleet.wait_for_jobs(3)


def test_holders_and_those_who_wait_are_shown_in_order(ws):
    fleet = Fleet(ws)
    assert limits(ws)[0] == {
        "ruleId": fleet.rule, "policyId": fleet.policy["id"], "policyName": "slow", "limitType": "count",
        "limitValue": 1, "groupSelector": "resource.kind == 'Cluster'", "total": 3, "max": 1, "active": 0,
        "quarantined": 0, "holders": [], "waiting": [], "waitingTotal": 0,
        "unlimited": {"count": 0, "identifiers": []}}
    fleet.publish("v1")
    seen = []
    for left in (2, 1, 0):
        fleet.wait_for_jobs(1)
        shown = settled(ws, left)
        assert (shown["active"], shown["max"]) == (1, 1)
        holder = shown["holders"][0]
        assert (holder["why"], holder["name"]) == ("active jobs of checkout", holder["identifier"])
        assert holder["since"] and "groupId" not in holder
        assert [w["position"] for w in shown["waiting"]] == list(range(1, left + 1))
        if seen:
            assert holder["identifier"] == seen[-1], "who was first in line"
        seen += [w["identifier"] for w in shown["waiting"][:1]]
        job = fleet.claim()
        assert job["dispatchContext"]["resource"]["identifier"] == holder["identifier"]
        fleet.report(job["id"], "successful", instanceId="instance-1")
    eventually(lambda: limits(ws)[0]["active"] == 0, what="all slots to be free")


def test_a_percentage_is_rounded_up_and_nothing_starts_under_a_count_of_none(ws):
    fleet = Fleet(ws, limitType="percentage", limitValue=34)
    shown = limits(ws)[0]
    assert (shown["total"], shown["max"], shown["limitType"]) == (3, 2, "percentage")
    fleet.set(limitValue=0)
    assert limits(ws)[0]["max"] == 0
    fleet.publish("v1")
    assert settled(ws, 3)["active"] == 0 and fleet.queued() == []
    explained = ws.get(f"/release-targets/{fleet.key('prod-a')}/explain", status=200).json()
    assert "Concurrency limit reached: 0/0" in explained["summary"]
    fleet.set(limitType="percentage", limitValue=100)
    fleet.wait_for_jobs(3)


def test_a_lower_limit_ends_no_work(ws):
    fleet = Fleet(ws, limitValue=2)
    fleet.publish("v1")
    fleet.wait_for_jobs(2)
    fleet.set(limitValue=1)
    shown = settled(ws, 1)
    assert (shown["active"], shown["max"]) == (2, 1) and len(fleet.queued()) == 2


def test_resources_of_the_policy_that_the_limit_does_not_count_are_named(ws):
    fleet = Fleet(ws)
    rule = {"id": fleet.rule, **limit(groupSelector="resource.metadata['env'] == 'prod'")}
    ws.put(f"/policies/{fleet.policy['id']}", {"name": "slow", "rules": [rule]}, status=202)
    ws.make_resource("elsewhere", kind="Database")
    shown = eventually(lambda: (found := limits(ws)[0])["total"] == 2 and found, what="the count")
    assert shown["unlimited"] == {"count": 1, "identifiers": ["stage-a"]}
    fleet.publish("v1")
    fleet.wait_for_jobs(2)
    assert settled(ws, 1)["active"] == 1
    disabled = {"name": "slow", "enabled": False, "rules": [rule]}
    ws.put(f"/policies/{fleet.policy['id']}", disabled, status=202)
    assert limits(ws) == []
    fleet.wait_for_jobs(3)


def test_a_bracket_group_holds_its_slot_from_its_start_to_its_end(ws):
    nodes = Nodes(ws)
    nodes.publish("1")
    node, _, job = nodes.next("drain")
    shown = settled(ws, 2)
    group = nodes.wait_for("executing")[0]
    holder = shown["holders"][0]
    assert (holder["identifier"], holder["groupId"], holder["why"]) == (node, group["id"],
                                                                       "bracket group executing")
    assert node not in [w["identifier"] for w in shown["waiting"]]
    nodes.end(job)
    for _ in range(2):
        _, _, job = nodes.next("kubelet", "containerd")
        nodes.end(job, "failure")
    nodes.wait_for("stuck")
    held = limits(ws)[0]
    assert held["holders"] == [{**holder, "why": "bracket group stuck"}], "the slot is held"
    nodes.act(group, "abort")
    after = eventually(lambda: (found := limits(ws)[0])["quarantined"] == 1 and found, what="the quarantine")
    assert after["active"] == 0 and nodes.claim() is None, "as many are in quarantine as there are slots"
    ready = nodes.get(nodes.wait_for("ready", 2)[0])
    assert "quarantine" in ready["waitingFor"]
    nodes.act(group, "clear_quarantine")
    assert nodes.next("drain")[0] != node, "its place in line is behind those who waited"


def test_the_limits_of_another_workspace_are_not_seen(admin, ws):
    fleet = Fleet(ws)
    other = admin.new_workspace()
    assert limits(other) == []
    version = other.make_version(other.make_deployment())
    refusal(other.post("/policy-skips", {"ruleId": fleet.rule, "versionId": version}), 404)
    refusal(ws.get("/concurrency?colour=red"), 400)
    refusal(ws.post("/policy-skips", {"ruleId": new_id(), "versionId": version}), 404)
    assert LIMIT["limitValue"] == 1
