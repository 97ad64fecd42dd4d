"""Brackets: deployments that run as a unit on each node. Who waits for a slot: test_concurrency.py."""

import json

import pytest

from harness import all_at_once, complaint_paths, eventually, moment, new_id, refusal, unique
from test_accounts import new_user
from test_freezes import freeze
from test_notifications import Hook

BRACKET = {"deploymentSelector": "true", "readinessMode": "wait_for_all", "readinessWindowSeconds": 3600,
           "preHookSelector": "deployment.name == 'drain'",
           "postHookSelector": "deployment.name == 'uncordon'"}
LIMIT = {"groupSelector": "resource.kind == 'Node'", "limitType": "count", "limitValue": 1}
HOOKS = {"drain", "uncordon"}
WORK = {"kubelet", "containerd"}


class Nodes:
    """Nodes that are drained, worked on by kubelet and containerd, and uncordoned; one at a time."""

    def __init__(self, ws, nodes=("n1", "n2", "n3"), bracket=BRACKET, limit=LIMIT, rules=()):
        self.ws = ws
        self.agent = ws.make_agent("puller")
        self.system = ws.make_system("nodes")
        self.environment = ws.make_environment("prod")
        self.deployments = {
            name: ws.make_deployment(name, "resource.kind == 'Node'",
                                     jobAgentSelector=f'jobAgent.id == "{self.agent}"')
            for name in ("drain", "kubelet", "containerd", "uncordon")}
        self.names = {id: name for name, id in self.deployments.items()}
        ws.link(self.system, self.deployments.values(), [self.environment])
        self.nodes = {name: ws.make_resource(name, kind="Node") for name in nodes}
        all_rules = [{"deploymentBracket": bracket}, *rules]
        if limit:
            all_rules.append({"resourceConcurrency": limit})
        self.policy = ws.post("/policies", {"name": "nodes", "rules": all_rules}, status=202).json()
        self.rule = self.policy["rules"][0]["id"]
        self.limit = self.policy["rules"][-1]["id"]
        self.instances = {}  # that have claimed a job: by its id
        self.publish("1", HOOKS)

    def publish(self, tag, names=WORK):
        return {name: self.ws.make_version(self.deployments[name], tag) for name in sorted(names)}

    def key(self, node, name):
        return f"{self.nodes[node]}-{self.environment}-{self.deployments[name]}"

    def groups(self, query=""):
        return self.ws.get(f"/bracket-groups{query}", status=200).json()["items"]

    def get(self, group):
        return self.ws.get(f"/bracket-groups/{group['id']}", status=200).json()

    def act(self, group, action, status=200, client=None, **more):
        path = f"/bracket-groups/{group['id']}/actions"
        return (client or self.ws).post(path, {"action": action, **more}, status=status)

    def wait_for(self, status, count=1):
        """So many groups with this status."""
        return eventually(lambda: len(found := self.groups(f"?status={status}")) == count and found,
                          what=f"{count} groups {status}")

    def claim(self):
        """(node, deployment, job id) of a job that waits, or None."""
        instance = unique("instance")
        answer = self.ws.post(f"/job-agents/{self.agent}/claim", {"instanceId": instance})
        if answer.status_code == 204:
            return None
        job = answer.json()
        self.instances[job["id"]] = instance
        context = job["dispatchContext"]
        return context["resource"]["name"], context["deployment"]["name"], job["id"]

    def next(self, *names):
        """The next job; it is of one of these deployments."""
        node, name, job = eventually(self.claim, what=f"a job of {names}")
        assert name in names, f"{name} on {node} came before {names}"
        return node, name, job

    def end(self, job, status="successful", **more):
        body = {"status": status, "instanceId": self.instances[job], **more}
        self.ws.put(f"/jobs/{job}/status", body, status=202)

    def run(self, *names, status="successful"):
        """Ends one job after the other, each of one of these deployments and each once; where they ran."""
        where, left = set(), set(names)
        while left:
            node, name, job = self.next(*left)
            self.end(job, status)
            left.remove(name)
            where.add(node)
        return where

    def get_stuck(self, failing="kubelet"):
        """A group whose member failed after the other had succeeded."""
        self.publish("1")
        self.run("drain")
        jobs = {name: job for _, name, job in (self.next(*WORK), self.next(*WORK))}
        failed = jobs.pop(failing)
        for job in jobs.values():
            self.end(job)
        self.end(failed, "failure", message="no disk")
        return self.wait_for("stuck")[0]

    def quarantined(self):
        """An aborted group, with its node in quarantine."""
        return self.act(self.get_stuck(), "abort", reason="broken disk").json()


@pytest.fixture()
def nodes(ws):
    return Nodes(ws)


@pytest.fixture()
def node(ws):
    """A single one."""
    return Nodes(ws, ["n1"])


def members(group):
    return {m["deploymentName"]: m for m in group["members"]}


def outcomes(group):
    return {name: m["outcome"] for name, m in members(group).items()}


def events(group):
    return [(e["event"], e.get("deploymentName")) for e in group["timeline"]]


# ---- The rule ------------------------------------------------------------------------------------------


def bracket(**changes):
    body = {**BRACKET, **changes}
    return {"deploymentBracket": {name: value for name, value in body.items() if value is not ...}}


def limit(**changes):
    body = {**LIMIT, **changes}
    return {"resourceConcurrency": {name: value for name, value in body.items() if value is not ...}}


@pytest.mark.parametrize("rule", [
    bracket(), bracket(readinessMode=..., preHookSelector="false", postHookSelector="false"),
    bracket(readinessMode="immediate", readinessWindowSeconds=...), bracket(readinessWindowSeconds=0),
    bracket(unchangedMemberStrategy="require_all", overlapStrategy="merge", stuckTimeoutSeconds=600,
            rollbackStrategy="halt_and_notify"),
    limit(), limit(limitValue=0), limit(limitType="percentage", limitValue=100),
    limit(groupSelector="resource.kind == 'Node' && resource.metadata['cluster'] == 'a'"),
])
def test_rules_are_taken_and_returned_as_they_were_sent(ws, rule):
    made = ws.post("/policies", {"name": "p", "rules": [rule]}, status=202).json()
    kind = next(iter(rule))
    assert made["rules"][0][kind] == rule[kind]
    assert ws.get(f"/policies/{made['id']}", status=200).json() == made
    assert ws.put(f"/policies/{made['id']}", made, status=202).json() == made
    assert ws.get("/policies", status=200).json()["items"] == [made]


@pytest.mark.parametrize("changes, path", [
    ({"deploymentSelector": ...}, "deploymentSelector"), ({"deploymentSelector": ""}, "deploymentSelector"),
    ({"deploymentSelector": 1}, "deploymentSelector"),
    ({"deploymentSelector": "deploymnt.name == 'a'"}, "deploymentSelector"),
    ({"deploymentSelector": "resource.kind == 'Node'"}, "deploymentSelector"),
    ({"deploymentSelector": "true AND true"}, "deploymentSelector"),
    ({"readinessMode": "sometimes"}, "readinessMode"), ({"readinessMode": ""}, "readinessMode"),
    ({"readinessMode": 1}, "readinessMode"),
    ({"readinessWindowSeconds": ...}, "readinessWindowSeconds"),
    ({"readinessWindowSeconds": -1}, "readinessWindowSeconds"),
    ({"readinessWindowSeconds": "60"}, "readinessWindowSeconds"),
    ({"readinessWindowSeconds": 10 ** 12}, "readinessWindowSeconds"),
    ({"readinessWindowSeconds": 1.5}, "readinessWindowSeconds"),
    ({"unchangedMemberStrategy": "redeploy"}, "unchangedMemberStrategy"),
    ({"unchangedMemberStrategy": []}, "unchangedMemberStrategy"),
    ({"readinessMode": "immediate", "unchangedMemberStrategy": "require_all"}, "unchangedMemberStrategy"),
    ({"overlapStrategy": "race"}, "overlapStrategy"), ({"overlapStrategy": True}, "overlapStrategy"),
    ({"preHookSelector": "deployment.nme"}, "preHookSelector"), ({"preHookSelector": 1}, "preHookSelector"),
    ({"postHookSelector": "version.tag == 'a'"}, "postHookSelector"),
    ({"postHookSelector": {}}, "postHookSelector"), ({"stuckTimeoutSeconds": 0}, "stuckTimeoutSeconds"),
    ({"stuckTimeoutSeconds": "1"}, "stuckTimeoutSeconds"),
    ({"stuckTimeoutSeconds": 10 ** 15}, "stuckTimeoutSeconds"),
    ({"rollbackStrategy": "none"}, "rollbackStrategy"), ({"rollbackStrategy": 0}, "rollbackStrategy"),
])
def test_a_bad_bracket_is_400_by_its_field(ws, changes, path):
    answer = ws.post("/policies", {"name": "p", "rules": [bracket(**changes)]})
    assert complaint_paths(answer) == [f"rules[0].deploymentBracket.{path}"], answer.text
    assert ws.get("/policies").json()["total"] == 0


def test_a_bracket_that_can_get_stuck_for_ever_or_infers_its_hooks_is_taken_with_a_warning(ws):
    def warnings(*rules):
        made = ws.post("/policies", {"name": "p", "rules": list(rules)}, status=202).json()
        assert ws.get(f"/policies/{made['id']}").json() == made
        return made.get("warnings", [])

    slot, hooks = "a stuck resource holds its slot", "name them with preHookSelector and postHookSelector"
    bare = bracket(preHookSelector=..., postHookSelector=...)
    assert [slot in warnings(bare)[0], hooks in warnings(bare)[1]] == [True, True]
    assert [slot in w for w in warnings(bracket())] == [True]
    assert [hooks in w for w in warnings({"retry": {"maxRetries": 1}}, bare)] == [True]
    assert warnings(bracket(stuckTimeoutSeconds=60, postHookSelector=...)) == []
    assert warnings(bracket(), {"rollback": {}}) == []
    assert warnings(limit()) == []


def test_a_bracket_that_comes_second_for_a_deployment_says_so(ws):
    for name in ("a", "b", "c", "d", "e"):
        ws.make_deployment(name)

    def put(name, selector, **more):
        rules = [bracket(deploymentSelector=selector, preHookSelector="false", postHookSelector="false"),
                 {"retry": {"maxRetries": 1}}]
        return ws.post("/policies", {"name": name, "rules": rules, **more}, status=202).json()

    first = put("first", "deployment.name != 'e'")
    assert first.get("warnings", []) == []
    second = put("second", "deployment.name in ['b', 'e']")
    assert second["warnings"] == [
        "b belongs also to the bracket of policy first, which comes first where both apply"]
    assert ws.get(f"/policies/{first['id']}").json().get("warnings", []) == []
    put("third", "true", priority=1)
    assert ws.get(f"/policies/{first['id']}").json()["warnings"] == [
        "a, b, c and 1 more belong also to the bracket of policy third, which comes first where both apply"]
    assert put("off", "true", enabled=False).get("warnings", []) == []


def test_a_cycle_in_a_bracket_is_400_and_named(ws):
    for name in ("a", "b", "c"):
        ws.make_deployment(name)

    def depends(of, on):
        return {"deploymentDependency": {"appliesTo": f"deployment.name == '{of}'", "dependsOn": on}}

    def answer(*rules):
        return ws.post("/policies", {"name": "p", "rules": [*rules, bracket()]})

    on = "deployment.name == '{}'".format
    order = [depends("a", on("b")), depends("b", on("c"))]
    refused = answer(*order, depends("c", on("a")))
    assert complaint_paths(refused) == ["rules[3].deploymentBracket"]
    assert "a → b → c → a" in refused.json()["details"][0]["message"]
    together = {"deploymentDependency": {"dependsOn": "deployment.name in ['a', 'b']"}}
    assert "a → b → a" in answer(together).json()["details"][0]["message"]
    made = answer(*order)
    assert made.status_code == 202, "there is an order"
    path = f"/policies/{made.json()['id']}"
    body = {"name": "p", "rules": [*order, depends("c", on("a")), bracket()]}
    assert complaint_paths(ws.put(path, body)) == ["rules[3].deploymentBracket"]
    assert len(ws.get(path).json()["rules"]) == 3, "as it was"
    body["rules"][-1] = bracket(deploymentSelector="deployment.name != 'c'")
    assert ws.put(path, body).status_code == 202, "not inside the bracket"
    by_version = depends("c", on("a") + " && version.tag != 'x'")
    assert answer(*order, by_version).status_code == 202, "that depends on what runs"


# ---- A group from its opening to its end -----------------------------------------------------------------


def test_three_nodes_one_at_a_time_each_drained_worked_on_and_uncordoned(nodes):
    versions = nodes.publish("1", ["kubelet"])
    collecting = nodes.wait_for("collecting", 3)
    assert nodes.claim() is None
    group = nodes.get(collecting[0])
    assert members(group)["kubelet"]["candidate"] == {"id": versions["kubelet"], "tag": "1"}
    assert "candidate" not in members(group)["containerd"]
    assert group["waitingFor"] == f"Collection window closes at {group['collectionEndsAt']}"
    assert group["actions"] == ["close_now", "abort"] and group["terms"] == BRACKET
    versions |= nodes.publish("1", ["containerd"])

    order = []
    for _ in nodes.nodes:
        first = nodes.next("drain")
        executing = nodes.wait_for("executing")[0]
        assert executing["resource"]["name"] == first[0]
        order.append(first[:2])
        nodes.end(first[2])
        work = [nodes.next(*WORK), nodes.next(*WORK)]
        order += [job[:2] for job in work]
        for _, _, job in work:
            nodes.end(job)
        last = nodes.next("uncordon")
        order.append(last[:2])
        nodes.end(last[2])
    nodes.wait_for("completed", 3)
    assert nodes.claim() is None
    at = [node for node, _ in order]
    assert sorted(set(at)) == sorted(nodes.nodes) and all(len(set(at[i:i + 4])) == 1 for i in (0, 4, 8))
    for i in (0, 4, 8):
        assert [name for _, name in order[i:i + 4]][::3] == ["drain", "uncordon"]
        assert {name for _, name in order[i + 1:i + 3]} == WORK


def test_an_ended_group_is_shown_in_full(node):
    versions = node.publish("1")
    node.run("drain")
    node.run("kubelet", "containerd")
    node.run("uncordon")
    group = node.get(node.wait_for("completed")[0])
    assert (group["ruleId"], group["policyId"], group["policyName"]) == (node.rule, node.policy["id"],
                                                                         "nodes")
    assert group["resource"] == {"id": node.nodes["n1"], "identifier": "n1", "name": "n1"}
    assert group["environment"] == {"id": node.environment, "name": "prod"}
    assert (group["status"], group["course"], group["actions"]) == ("completed", "forward", [])
    assert group["terms"] == BRACKET and "waitingFor" not in group and "quarantine" not in group
    times = [moment(group[name]) for name in ("createdAt", "readyAt", "startedAt", "finishedAt")]
    assert times == sorted(times)
    found = members(group)
    assert {n: (m["role"], m["participation"], m["outcome"]) for n, m in found.items()} == {
        "drain": ("pre_hook", "hook", "succeeded"), "kubelet": ("work", "changed", "succeeded"),
        "containerd": ("work", "changed", "succeeded"), "uncordon": ("post_hook", "hook", "succeeded")}
    assert found["kubelet"]["versionId"] == versions["kubelet"]
    assert all((m["tag"], m["attempts"], m["dependsOn"]) == ("1", 1, []) for m in found.values())
    assert [j["createdAt"] for j in group["jobs"]] == sorted((j["createdAt"] for j in group["jobs"]),
                                                            key=moment, reverse=True)
    jobs = {j["deploymentName"]: j for j in group["jobs"]}
    assert set(jobs) == HOOKS | WORK and len(group["jobs"]) == 4
    assert all((j["status"], j["tag"]) == ("successful", "1") for j in jobs.values())
    assert {name: m["lastJobId"] for name, m in found.items()} == {n: j["id"] for n, j in jobs.items()}
    assert node.ws.get(f"/jobs/{jobs['kubelet']['id']}").json()["bracketGroupId"] == group["id"]
    told = events(group)
    assert told[:4] == [("opened", None), ("closed", None), ("started", None), ("member_started", "drain")]
    assert told[4] == ("member_finished", "drain") and told[-1] == ("ended", None)
    assert told[-3:-1] == [("member_started", "uncordon"), ("member_finished", "uncordon")]
    assert group["timeline"][-1]["status"] == "completed" and len(told) == 12
    at = [moment(e["at"]) for e in group["timeline"]]
    assert at == sorted(at)


def test_the_order_that_rules_ask_for_is_shown_and_kept(ws):
    after = {"deploymentDependency": {"appliesTo": "deployment.name == 'kubelet'",
                                      "dependsOn": "deployment.name == 'containerd'"}}
    node = Nodes(ws, ["n1"], rules=[after])
    node.publish("1")
    _, _, drain = node.next("drain")
    group = members(node.get(node.wait_for("executing")[0]))
    assert group["kubelet"]["dependsOn"] == ["containerd"] and group["containerd"]["dependsOn"] == []
    assert all("drain" in group[name]["waitingFor"] for name in ("kubelet", "containerd", "uncordon"))
    assert "waitingFor" not in group["drain"] and group["drain"]["outcome"] == "running"
    node.end(drain)
    _, _, containerd = node.next("containerd")
    assert node.claim() is None
    assert "containerd" in members(node.get(node.groups()[0]))["kubelet"]["waitingFor"]
    node.end(containerd)
    node.run("kubelet")
    node.run("uncordon")
    node.wait_for("completed")


def test_a_group_that_is_ready_says_what_it_waits_for(nodes):
    nodes.publish("1")
    nodes.next("drain")
    ready = nodes.wait_for("ready", 2)
    for group in ready:
        assert group["waitingFor"] == "Concurrency limit reached: 1/1 resources active", "lists say it too"
    for group in map(nodes.get, ready):
        assert group["waitingFor"] == "Concurrency limit reached: 1/1 resources active"
        assert group["actions"] == ["skip_member", "abort"] and group["readyAt"]


def test_close_now_takes_what_there_is(node):
    node.publish("1")
    node.run("drain")
    node.run("kubelet", "containerd")
    node.run("uncordon")
    node.wait_for("completed")
    node.publish("2", ["kubelet"])
    group = node.wait_for("collecting")[0]
    assert node.claim() is None
    answer = node.act(group, "close_now", reason="no time").json()
    assert answer["id"] == group["id"] and answer["closedBy"].endswith("admin@localhost")
    node.run("drain")
    shown = node.get(group)
    found = members(shown)
    assert (found["kubelet"]["participation"], found["kubelet"]["tag"]) == ("changed", "2")
    assert found["kubelet"]["previousTag"] == "1"
    assert found["containerd"]["participation"] == "skipped" and "tag" not in found["containerd"]
    closed = next(e for e in shown["timeline"] if e["event"] == "closed")
    assert closed["by"] == shown["closedBy"]
    refusal(node.act(group, "close_now", status=409), 409)
    node.run("kubelet")
    node.run("uncordon")
    node.wait_for("completed", 2)
    refusal(node.act(group, "close_now", status=409), 409)


# ---- Stuck ---------------------------------------------------------------------------------------------


def test_a_failed_member_makes_it_stuck_and_a_retry_goes_on(node):
    group = node.get(node.get_stuck())
    assert (group["status"], group["stuckSince"]) == ("stuck", group["timeline"][-1]["at"])
    assert "kubelet failed" in group["note"] and group["timeline"][-1]["event"] == "stuck"
    assert group["actions"] == ["retry", "skip_member", "abort"]
    assert outcomes(group) == {"drain": "succeeded", "kubelet": "failed", "containerd": "succeeded",
                               "uncordon": "waiting"}
    assert "stuck" in members(group)["kubelet"]["waitingFor"]
    assert "kubelet" in members(group)["uncordon"]["waitingFor"]
    assert node.claim() is None
    refusal(node.act(group, "retry", status=409, deploymentId=node.deployments["drain"]), 409)
    refusal(node.act(group, "close_now", status=409), 409)
    refusal(node.act(group, "clear_quarantine", status=409), 409)
    answer = node.act(group, "retry", deploymentId=node.deployments["kubelet"]).json()
    assert outcomes(answer)["kubelet"] in ("waiting", "running")
    node.run("kubelet")
    node.run("uncordon")
    node.wait_for("completed")
    jobs = [j for j in node.get(group)["jobs"] if j["deploymentName"] == "kubelet"]
    assert [j["status"] for j in jobs] == ["successful", "failure"]
    refusal(node.act(group, "retry", status=409), 409)


def test_a_retry_with_relock_takes_the_newest_version(node):
    group = node.get_stuck()
    newer = node.publish("2", ["kubelet"])
    answer = node.act(group, "retry", relock=True).json()
    assert members(answer)["kubelet"]["versionId"] == newer["kubelet"]
    node.run("kubelet")
    node.run("uncordon")
    node.wait_for("completed")
    assert members(node.get(group))["kubelet"]["tag"] == "2"


def test_a_member_is_left_out(node):
    group = node.get_stuck()
    unknown = node.act(group, "skip_member", status=400, deploymentId=new_id())
    assert complaint_paths(unknown) == ["deploymentId"]
    refusal(node.act(group, "skip_member", status=409, deploymentId=node.deployments["drain"]), 409)
    answer = node.act(group, "skip_member", deploymentId=node.deployments["kubelet"]).json()
    assert outcomes(answer)["kubelet"] == "skipped"
    node.run("uncordon")
    ended = node.get(node.wait_for("completed")[0])
    assert outcomes(ended)["kubelet"] == "skipped"
    assert ("member_finished", "kubelet") in events(ended)


def test_an_abort_with_post_hooks_closes_the_node_and_leaves_no_quarantine(node):
    group = node.get_stuck()
    answer = node.act(group, "abort", runPostHooks=True, reason="later").json()
    assert answer["course"] == "wind_down" and "later" in answer["note"]
    node.run("uncordon")
    ended = node.get(node.wait_for("failed")[0])
    assert outcomes(ended)["uncordon"] == "succeeded" and "later" in ended["note"]
    assert "quarantine" not in ended and ended["actions"] == []
    assert node.ws.get("/brackets").json()["items"][0]["quarantined"] == 0


def test_an_abort_without_post_hooks_puts_the_node_in_quarantine_until_it_is_cleared(node):
    group = node.quarantined()
    assert (group["status"], group["timeline"][-1]["event"]) == ("failed", "ended")
    assert "broken disk" in group["note"] and outcomes(group)["uncordon"] == "aborted"
    assert group["actions"] == ["clear_quarantine"]
    assert group["quarantine"]["groupId"] == group["id"] and "clearedAt" not in group["quarantine"]
    shown = node.ws.get("/brackets").json()["items"][0]
    assert shown["quarantined"] == 1 and shown["quarantines"][0]["resource"]["name"] == "n1"
    refusal(node.act(group, "abort", status=409), 409)
    node.publish("2")
    assert node.claim() is None and node.groups("?status=collecting,ready,queued,executing") == []
    answer = node.act(group, "clear_quarantine", reason="new disk").json()
    assert answer["quarantine"]["clearedBy"].endswith("admin@localhost")
    assert answer["quarantine"]["clearedAt"] and answer["actions"] == []
    assert node.get(group)["quarantine"] == answer["quarantine"]
    refusal(node.act(group, "clear_quarantine", status=409), 409)
    node.run("drain")
    node.run("kubelet", "containerd")
    node.run("uncordon")
    node.wait_for("completed")


def test_an_abort_before_the_start_cancels(nodes):
    nodes.publish("1")
    nodes.next("drain")
    group = nodes.wait_for("ready", 2)[0]
    answer = nodes.act(group, "abort", reason="not this one").json()
    assert (answer["status"], answer["actions"]) == ("cancelled", [])
    assert "not this one" in answer["note"] and "quarantine" not in answer
    refusal(nodes.act(group, "retry", status=409), 409)


def test_a_stuck_group_fails_by_itself_when_its_time_is_over(ws):
    node = Nodes(ws, ["n1"], bracket={**BRACKET, "stuckTimeoutSeconds": 1})
    group = node.get_stuck()
    eventually(lambda: node.get(group)["status"] == "failed", what="the end of its patience")
    assert node.get(group)["quarantine"]["groupId"] == group["id"]


def test_force_deploy_of_the_member_that_failed_is_a_retry(node):
    group = node.get_stuck()
    found = members(node.get(group))
    path = f"/release-targets/{node.key('n1', 'kubelet')}/force-deploy"
    body = {"versionId": found["kubelet"]["versionId"], "reason": "now"}
    other = node.publish("2", ["kubelet"])["kubelet"]
    refusal(node.ws.post(path, {"versionId": other}), 409)
    answer = node.ws.post(path, body, status=202).json()
    assert (answer["id"], answer["jobIds"]) == (group["id"], [])
    node.run("kubelet")
    node.run("uncordon")
    eventually(lambda: node.get(group)["status"] == "completed", what="its end")


def test_of_two_that_abort_at_once_one_does(node):
    group = node.get_stuck()
    path = f"/bracket-groups/{group['id']}/actions"
    answers = all_at_once(2, lambda _: node.ws.post(path, {"action": "abort"}).status_code)
    assert sorted(answers) == [200, 409]


def test_a_repeat_with_the_same_key_is_the_first_answer(node):
    group = node.get_stuck()
    path, headers = f"/bracket-groups/{group['id']}/actions", {"Idempotency-Key": unique("key")}
    first = node.ws.post(path, {"action": "retry"}, headers=headers, status=200).json()
    node.run("kubelet")
    assert node.ws.post(path, {"action": "retry"}, headers=headers, status=200).json() == first
    refusal(node.ws.post(path, {"action": "abort"}, headers=headers), 409)


# ---- Freezes and news ----------------------------------------------------------------------------------


def test_a_freeze_names_the_groups_it_stops_half_way_and_finish_lets_one_go_on(node):
    node.publish("1")
    node.run("drain")
    eventually(lambda: len(node.get(node.groups()[0])["jobs"]) == 3, what="its next jobs")
    group = node.wait_for("executing")[0]
    made = freeze(node.ws)
    assert made["impact"]["openBrackets"] == [{"id": group["id"], "resourceId": node.nodes["n1"],
                                               "resourceName": "n1", "status": "executing",
                                               "membersLeft": 3}]
    shown = node.ws.get(f"/freezes/{made['id']}").json()["impact"]["openBrackets"]
    assert shown == made["impact"]["openBrackets"]
    planned = {"scope": "deployment", "scopeEntityId": node.deployments["drain"], "reason": "x"}
    preview = node.ws.post("/freezes?dryRun=true", planned, status=200).json()["impact"]
    assert preview["openBrackets"] == [], "that member is done"
    job = f"/jobs/{node.get(group)['jobs'][0]['id']}"
    queue = f"/job-agents/{node.agent}/jobs?status=queued"
    assert node.claim() is None and node.ws.get(queue).json()["total"] == 0
    assert node.ws.get(job).json()["held"]["freezeId"] == made["id"]
    assert "finish" in node.get(group)["actions"]
    operator = node.ws.as_role("operator")
    no = refusal(node.act(group, "finish", status=403, client=operator), 403)
    assert "deployment_freeze.bypass" in no["message"]
    answer = node.act(group, "finish", reason="half-way is worse").json()
    assert answer["finishBy"].endswith("admin@localhost") and "finish" not in answer["actions"]
    assert "held" not in node.ws.get(job).json()
    eventually(lambda: node.ws.get(queue).json()["total"] == 2, what="both to be offered")
    node.run("kubelet", "containerd")
    node.run("uncordon")
    node.wait_for("completed")
    assert node.ws.get(f"/freezes/{made['id']}").json()["impact"]["openBrackets"] == []
    refusal(node.act(group, "finish", status=409), 409)


def test_channels_hear_of_a_group_that_is_stuck_or_has_failed(node):
    hook = Hook()
    body = {"name": "ops", "kind": "webhook", "config": {"url": hook.url}}
    node.ws.post("/notification-channels", body, status=201)
    group = node.quarantined()
    for kind in ("bracket.stuck", "bracket.failed"):
        _, sent = hook.wait_for(lambda headers, _: headers["X-Ctrlplane-Event"] == kind)
        told = json.loads(sent)
        assert (told["type"], told["groupId"], told["resource"]) == (kind, group["id"], "n1")
        assert told["ruleId"] == node.rule and told["note"]
    hook.close()


# ---- Lists ---------------------------------------------------------------------------------------------


def test_brackets_are_listed_with_their_open_groups(nodes):
    nodes.publish("1")
    nodes.next("drain")
    nodes.wait_for("ready", 2)
    nodes.ws.post("/policies", {"name": "off", "enabled": False, "rules": [bracket()]}, status=202)
    items = nodes.ws.get("/brackets", status=200).json()["items"]
    assert [i["policyName"] for i in items] == ["nodes"], "only rules in force"
    shown = items[0]
    assert (shown["ruleId"], shown["policyId"], shown["terms"]) == (nodes.rule, nodes.policy["id"], BRACKET)
    assert shown["counts"] == {"collecting": 0, "ready": 2, "queued": 0, "executing": 1, "stuck": 0}
    assert [g["status"] for g in shown["groups"]] == ["executing", "ready", "ready"]
    assert set(members(shown["groups"][0])) == HOOKS | WORK
    assert (shown["quarantined"], shown["quarantines"]) == (0, [])


def test_groups_are_listed_by_status_resource_and_rule_and_paged(nodes):
    nodes.publish("1")
    first = nodes.run("drain").pop()
    nodes.run("kubelet", "containerd")
    nodes.run("uncordon")
    nodes.next("drain")
    nodes.wait_for("completed")
    nodes.act(nodes.wait_for("ready")[0], "abort")
    by_status = {g["status"]: g for g in nodes.groups()}
    assert set(by_status) == {"executing", "completed", "cancelled"}

    def ids(query):
        return [g["id"] for g in nodes.groups(query)]

    def of(*statuses):
        return {by_status[s]["id"] for s in statuses}

    for query in ("?status=executing,completed", "?status=executing&status=completed"):
        assert set(ids(query)) == of("executing", "completed")
    assert set(ids("?status=completed,cancelled")) == of("completed", "cancelled")
    assert ids("?status=stuck") == [] and ids("?status=failed") == []
    assert ids("?status=executing") == [by_status["executing"]["id"]]
    assert ids(f"?resourceId={nodes.nodes[first]}") == [by_status["completed"]["id"]]
    assert ids(f"?resourceId={nodes.nodes[first]}&status=executing") == []
    assert len(ids(f"?ruleId={nodes.rule}")) == 3 and ids(f"?ruleId={new_id()}") == []
    assert ids(f"?resourceId={new_id()}") == []
    everything = ids("")
    assert everything[0] == by_status["executing"]["id"], "what has not ended comes first"
    page = nodes.ws.get("/bracket-groups?limit=2", status=200).json()
    rest = nodes.ws.get("/bracket-groups?limit=2&offset=2", status=200).json()
    assert [g["id"] for g in page["items"] + rest["items"]] == everything and page["total"] == 3
    assert rest["total"] == 3 and ids("?offset=3") == []
    assert outcomes(by_status["completed"])["kubelet"] == "succeeded"
    assert members(by_status["completed"])["kubelet"]["tag"] == "1"
    for query, path in (("?status=melted", "status"), ("?status=executing,", "status"),
                        ("?status=", "status"), ("?status=executing&status=x", "status"),
                        ("?resourceId=x", "resourceId"), ("?ruleId=x", "ruleId"), ("?limit=0", "limit")):
        assert complaint_paths(nodes.ws.get(f"/bracket-groups{query}")) == [path]


def test_groups_of_what_is_gone_are_still_shown(node):
    node.publish("1")
    node.run("drain")
    node.run("kubelet", "containerd")
    node.run("uncordon")
    group = node.wait_for("completed")[0]
    node.ws.delete(f"/policies/{node.policy['id']}", status=202)
    node.ws.delete("/resources/identifier/n1", status=202)
    shown = node.get(group)
    assert shown["resource"] == {"id": node.nodes["n1"]} and "policyId" not in shown
    assert shown["ruleId"] == node.rule and shown["terms"] == BRACKET
    assert [g["id"] for g in node.groups(f"?resourceId={node.nodes['n1']}")] == [group["id"]]
    assert node.ws.get("/brackets").json()["items"] == []


# ---- Who may, and what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("body, path", [
    ({}, "action"), ({"action": "explode"}, "action"), ({"action": ""}, "action"), ({"action": 1}, "action"),
    ({"action": None}, "action"), ({"action": "skip_member"}, "deploymentId"),
    ({"action": "skip_member", "deploymentId": "x"}, "deploymentId"),
    ({"action": "abort", "deploymentId": new_id()}, "deploymentId"),
    ({"action": "retry", "deploymentId": 7}, "deploymentId"),
    ({"action": "retry", "relock": "yes"}, "relock"), ({"action": "abort", "relock": True}, "relock"),
    ({"action": "retry", "runPostHooks": True}, "runPostHooks"),
    ({"action": "abort", "runPostHooks": 1}, "runPostHooks"),
    ({"action": "abort", "reason": 1}, "reason"), ({"action": "abort", "reason": "a\0b"}, "reason"),
])
def test_bad_actions_are_400_by_their_field_and_change_nothing(ws, body, path):
    node = Nodes(ws, ["n1"])
    node.publish("1", ["kubelet"])
    group = node.wait_for("collecting")[0]
    assert complaint_paths(ws.post(f"/bracket-groups/{group['id']}/actions", body)) == [path]
    assert node.get(group)["status"] == "collecting"


def test_what_is_not_there_or_another_workspaces_is_404(admin, node):
    group = node.get_stuck()
    other = admin.new_workspace()
    for ws, id in ((other, group["id"]), (node.ws, new_id()), (node.ws, "x")):
        refusal(ws.get(f"/bracket-groups/{id}"), 404)
        for action in ("retry", "abort", "finish", "clear_quarantine"):
            refusal(ws.post(f"/bracket-groups/{id}/actions", {"action": action}), 404)
    assert other.get("/bracket-groups").json()["total"] == 0
    assert other.get("/brackets").json() == {"items": []}
    assert node.get(group)["status"] == "stuck"


def test_viewers_look_and_operators_act(admin, node):
    group = node.get_stuck()
    viewer, deployer = node.ws.as_role("viewer"), node.ws.as_role("deployer")
    for path in ("/brackets", "/bracket-groups", f"/bracket-groups/{group['id']}", "/concurrency"):
        viewer.get(path, status=200)
    for client in (viewer, deployer, node.ws.as_role("agent")):
        no = refusal(node.act(group, "retry", status=403, client=client), 403)
        assert "bracket.act" in no["message"]
    node.act(group, "retry", client=node.ws.as_role("operator"))
    # A grant of the bypass alone is not enough for what operators do, but completes it.
    user = new_user(admin)
    grant = {"grants": ["deployment_freeze.bypass"]}
    node.ws.put(f"/members/{user.made['id']}", {"role": "deployer", **grant}, status=200)
    refusal(node.act(group, "finish", status=403, client=user.workspace(node.ws.id)), 403)
    node.ws.put(f"/members/{user.made['id']}", {"role": "operator", **grant}, status=200)
    answer = node.act(group, "finish", client=user.workspace(node.ws.id)).json()
    assert answer["finishBy"] == f"user:{user.email}"
