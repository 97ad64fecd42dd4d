"""Policies, and what people say about versions: approvals, skips, dependencies, force, explanations."""

import pytest

from harness import all_at_once, complaint_paths, eventually, new_id, refusal

APPROVAL = {"anyApproval": {"minApprovals": 1}}
RULES = [
    APPROVAL,
    {"versionCooldown": {"intervalSeconds": 60}},
    {"versionSelector": {"selector": "version.tag != 'bad'", "description": "no bad ones"}},
    {"gradualRollout": {"rolloutType": "linear", "timeScaleInterval": 30}},
    {"deploymentWindow": {"rrule": "FREQ=WEEKLY;BYDAY=MO", "durationMinutes": 60, "allowWindow": True,
                          "timezone": "Europe/Berlin"}},
    {"environmentProgression": {"dependsOnEnvironmentSelector": "environment.name == 'staging'",
                                "minimumSoakTimeMinutes": 0}},
    {"retry": {"maxRetries": 3}},
]


def make_policy(ws, rules=(), **more):
    return ws.post("/policies", {"name": "p", "rules": list(rules), **more}, status=202).json()


def kind(rule):
    return next(name for name in rule if name not in ("id", "policyId", "createdAt"))


@pytest.fixture()
def gated(world):
    """A world in which versions need one approval on prod; `rule` is the rule's id."""
    policy = make_policy(world.ws, [APPROVAL], selector="environment.name == 'prod'")
    world.policy, world.rule = policy["id"], policy["rules"][0]["id"]
    return world


def prod_jobs(world):
    return [job for name in ("prod-a", "prod-b")
            for job in world.ws.get(f"/release-targets/{world.key(name)}/jobs").json()["items"]]


# ---- Policies ------------------------------------------------------------------------------------------


def test_a_policy_is_made_read_changed_and_deleted(ws):
    body = {"name": "p", "description": "d", "selector": "environment.name == 'prod'", "priority": 7,
            "enabled": False, "metadata": {"k": "v"}, "rules": RULES}
    made = ws.post("/policies", body, status=202).json()
    assert {name: made[name] for name in body if name != "rules"} == {n: v for n,
                                                                      v in body.items() if n != "rules"}
    rules = [{kind(rule): rule[kind(rule)]} for rule in made["rules"]]
    assert rules == RULES, "nothing added, in the same order"
    assert all(rule["policyId"] == made["id"] for rule in made["rules"])
    assert ws.get(f"/policies/{made['id']}", status=200).json() == made
    assert ws.get("/policies", status=200).json()["items"] == [made]
    assert ws.put(f"/policies/{made['id']}", made,
                  status=202).json() == made, "rules keep their ids and times"
    bare = {"name": "q", "selector": "true", "rules": [], "priority": 0, "enabled": True, "metadata": {}}
    changed = ws.put(f"/policies/{made['id']}", bare, status=202).json()
    assert (changed["rules"], changed["metadata"], changed["createdAt"]) == ([], {}, made["createdAt"])
    assert changed.get("description") is None
    assert ws.delete(f"/policies/{made['id']}", status=202).json()["id"] == made["id"]
    refusal(ws.get(f"/policies/{made['id']}"), 404)
    refusal(ws.delete(f"/policies/{made['id']}"), 404)


def test_defaults_of_a_policy(ws):
    made = make_policy(ws)
    assert (made["priority"], made["enabled"], made["metadata"], made["selector"]) == (0, True, {}, "true")


def test_rule_ids_and_times_that_a_client_invents_are_kept(ws):
    rule = {"id": new_id(), "createdAt": "2026-01-02T03:04:05Z", "policyId": new_id(), **APPROVAL}
    made = make_policy(ws, [rule])
    again = ws.put(f"/policies/{made['id']}", {"name": "p", "rules": [rule]}, status=202).json()
    shown = again["rules"][0]
    assert (shown["id"], shown["createdAt"], shown["policyId"]) == (rule["id"], rule["createdAt"], made["id"])


@pytest.mark.parametrize("rules, path", [
    ([{}], "rules[0]"), ([{"unknownRule": {}}], "rules[0]"),
    ([APPROVAL, {**APPROVAL, **RULES[1]}], "rules[1]"),
    ([{"anyApproval": {}}], "rules[0].anyApproval"),
    ([{"anyApproval": {"minApprovals": "1"}}], "rules[0].anyApproval"),
    ([{"versionSelector": {"selector": "version.tg == 'a'"}}], "rules[0].versionSelector"),
    ([{"deploymentWindow": {"rrule": "FREQ=NEVER", "durationMinutes": 1}}], "rules[0].deploymentWindow"),
    ([{"gradualRollout": {"rolloutType": "wavy", "timeScaleInterval": 1}}], "rules[0].gradualRollout"),
    ([{"versionCooldown": {"intervalSeconds": -1}}], "rules[0].versionCooldown"),
    ([{"retry": {"maxRetries": -1}}], "rules[0].retry"),
    ([{"id": "x", **APPROVAL}], "rules[0].id"), ("all", "rules"), ([1], "rules[0]"),
    ([{"anyApproval": 1}], "rules[0].anyApproval"),
])
def test_bad_rules_are_400_by_their_place(ws, rules, path):
    answer = ws.post("/policies", {"name": "p", "rules": rules})
    assert complaint_paths(answer)[0].startswith(path)
    assert ws.get("/policies").json()["total"] == 0


@pytest.mark.parametrize("body, path", [({"name": ""}, "name"), ({"selector": "deploymnt.name"}, "selector"),
                                        ({"priority": "1"}, "priority"), ({"enabled": 1}, "enabled"),
                                        ({"metadata": {"a": 1}}, "metadata.a")])
def test_bad_policies_are_400(ws, body, path):
    assert complaint_paths(ws.post("/policies", {"name": "p", **body})) == [path]


def test_another_workspaces_policy_is_404(admin, ws):
    policy = make_policy(ws)["id"]
    other = admin.new_workspace()
    refusal(other.get(f"/policies/{policy}"), 404)
    refusal(other.delete(f"/policies/{policy}"), 404)
    assert other.get("/policies").json()["total"] == 0


# ---- Approvals -----------------------------------------------------------------------------------------


def test_a_version_waits_for_its_approval(gated):
    version = gated.publish("v1")
    gated.wait_for_jobs(1)
    assert prod_jobs(gated) == []
    path = f"/deployment-versions/{version}/user-approval-records"
    done = gated.ws.put(path, {"status": "approved", "environmentIds": [gated.prod], "reason": "seen"},
                        status=202)
    assert done.json()["id"] == version
    gated.wait_for_jobs(3)
    records = gated.ws.get(path, status=200).json()["items"]
    assert [(r["environmentId"], r["status"], r["reason"]) for r in records] == [(gated.prod, "approved",
                                                                                  "seen")]


def test_an_approval_without_environments_is_for_all_of_the_deployment(gated):
    version = gated.publish("v1")
    gated.ws.put(f"/deployment-versions/{version}/user-approval-records", {"status": "approved"}, status=202)
    gated.wait_for_jobs(3)


def test_20_approvals_of_one_person_are_one(gated):
    version = gated.publish("v1")
    path = f"/deployment-versions/{version}/user-approval-records"
    body = {"status": "approved", "environmentIds": [gated.prod]}
    assert set(all_at_once(20, lambda i: gated.ws.put(path, body).status_code)) == {202}
    assert gated.ws.get(path).json()["total"] == 1


def test_bad_approvals(gated):
    version = gated.publish("v1")
    path = f"/deployment-versions/{version}/user-approval-records"
    assert complaint_paths(gated.ws.put(path, {"status": "maybe"})) == ["status"]
    assert complaint_paths(gated.ws.put(path,
                                        {"status": "approved",
                                         "environmentIds": ["x"]})) == ["environmentIds[0]"]
    refusal(gated.ws.put(path, {"status": "approved", "environmentIds": [new_id()]}), 404)
    refusal(gated.ws.put(path.replace(version, new_id()), {"status": "approved"}), 404)
    assert prod_jobs(gated) == []


# ---- Skips and force -----------------------------------------------------------------------------------


def test_a_skip_lets_a_version_pass(gated):
    version = gated.publish("v1")
    gated.wait_for_jobs(1)
    body = {"ruleId": gated.rule, "versionId": version, "environmentId": gated.prod, "reason": "urgent"}
    skip = gated.ws.post("/policy-skips", body, status=201).json()
    gated.wait_for_jobs(3)
    assert gated.ws.get("/policy-skips", status=200).json()["items"] == [skip]
    assert gated.ws.get(f"/policy-skips?versionId={version}").json()["total"] == 1
    assert gated.ws.get(f"/policy-skips?versionId={new_id()}").json()["total"] == 0
    gated.ws.delete(f"/policy-skips/{skip['id']}", status=202)
    refusal(gated.ws.delete(f"/policy-skips/{skip['id']}"), 404)
    assert gated.ws.get("/policy-skips").json()["total"] == 0


def test_skips_of_what_is_not_there(gated):
    version = gated.publish("v1")
    for body in ({"ruleId": new_id(), "versionId": version}, {"ruleId": gated.rule, "versionId": new_id()},
                 {"ruleId": gated.rule, "versionId": version, "environmentId": new_id()}):
        refusal(gated.ws.post("/policy-skips", body), 404)
    assert complaint_paths(gated.ws.post("/policy-skips",
                                         {"ruleId": "x", "versionId": version})) == ["ruleId"]
    assert prod_jobs(gated) == []


def test_a_forced_version_starts_on_its_target_only(gated):
    version = gated.publish("v1")
    gated.wait_for_jobs(1)
    path = f"/release-targets/{gated.key('prod-a')}/force-deploy"
    answer = gated.ws.post(path, {"versionId": version, "reason": "urgent"}, status=202).json()
    assert [job["id"] for job in prod_jobs(gated)] == answer["jobIds"]
    refusal(gated.ws.post(path, {"versionId": new_id()}), 404)
    refusal(gated.ws.post(path, {}), 400)
    foreign = gated.ws.make_version(gated.ws.make_deployment())
    assert gated.ws.post(path, {"versionId": foreign}).status_code in (400, 404)


def test_a_rollback_that_is_not_there_is_cleared_without_harm(gated):
    answer = gated.ws.post(f"/release-targets/{gated.key('prod-a')}/clear-rollback")
    assert answer.status_code in (202, 409), answer.text


# ---- Dependencies --------------------------------------------------------------------------------------


def test_a_version_waits_for_what_it_depends_on(world):
    ws = world.ws
    base = ws.make_deployment("base", 'resource.kind == "Cluster"',
                              jobAgentSelector=f'jobAgent.id == "{world.agent}"')
    ws.link(world.system, [base])
    version = world.publish("v1", status="building")
    path = f"/deployment-versions/{version}/dependencies"
    assert ws.put(f"{path}/{base}", {"versionSelector": "version.tag == 'b1'"},
                  status=202).json()["id"] == version
    assert [d["dependencyDeploymentId"] for d in ws.get(path, status=200).json()] == [base]
    ws.patch(f"/deployment-versions/{version}", {"status": "ready"}, status=202)
    ws.make_version(base, "b1")
    world.wait_for_jobs(3)
    of_it = f"/jobs?deploymentId={world.deployment}"
    assert ws.get(of_it).json()["total"] == 0, "it waits"

    def deployed():
        world.finish_everything()
        return ws.get(f"{of_it}&status=successful").json()["total"] == 3

    eventually(deployed, what="the version that waited")
    ws.delete(f"{path}/{base}", status=202)
    refusal(ws.delete(f"{path}/{base}"), 404)
    assert ws.get(path).json() == []


def test_bad_dependencies(world):
    version = world.publish("v1")
    path = f"/deployment-versions/{version}/dependencies"
    good = {"versionSelector": "true"}
    refusal(world.ws.put(f"{path}/{new_id()}", good), 404)
    refusal(world.ws.put(f"{path}/{world.deployment}", good), 400)
    other = world.ws.make_deployment()
    assert complaint_paths(world.ws.put(f"{path}/{other}",
                                        {"versionSelector": "version.tg"})) == ["versionSelector"]
    assert complaint_paths(world.ws.put(f"{path}/{other}", {})) == ["versionSelector"]


# ---- Explanations --------------------------------------------------------------------------------------


def test_a_target_explains_what_it_waits_for(gated):
    version = gated.publish("v1")
    gated.wait_for_jobs(1)
    body = gated.ws.get(f"/release-targets/{gated.key('prod-a')}/explain", status=200).json()
    assert body["summary"] and body["releaseTarget"]["key"] == gated.key("prod-a")
    candidate = body["versions"][0]
    assert (candidate["version"]["id"], candidate["verdict"]) == (version, "pending")
    blocker = candidate["firstBlocker"]
    assert (blocker["ruleId"], blocker["policyId"], blocker["needsApproval"]) == (gated.rule, gated.policy,
                                                                                  True)
    assert blocker["message"]


def test_a_version_is_evaluated_by_environment(gated):
    version = gated.publish("v1")
    gated.wait_for_jobs(1)
    body = gated.ws.get(f"/deployments/{gated.deployment}/versions/{version}/evaluations", status=200).json()
    verdicts = {e["environment"]["name"]: (e["targets"], e["allowed"],
                                           e["pending"]) for e in body["environments"]}
    assert verdicts == {"prod": (2, 0, 2), "staging": (1, 1, 0)}
    refusal(gated.ws.get(f"/deployments/{new_id()}/versions/{version}/evaluations"), 404)


def test_eligible_versions_are_those_every_rule_allows(gated):
    first, second = gated.publish("v1"), gated.publish("v2")
    gated.ws.put(f"/deployment-versions/{first}/user-approval-records", {"status": "approved"}, status=202)
    path = f"/release-targets/{gated.key('prod-a')}/eligible-versions"

    def ids(**body):
        return [v["id"] for v in gated.ws.post(path, body, status=200).json()["items"]]

    assert ids() == [first]
    assert ids(excludeRuleIds=[gated.rule]) == [second, first]
    assert ids(excludeRuleIds=[gated.rule], filter="version.tag == 'v2'") == [second]
    assert ids(filter="version.tag == 'none'") == []
    assert complaint_paths(gated.ws.post(path, {"filter": "version.tg"})) == ["filter"]


def test_people_need_the_right_to_say_so(gated):
    version = gated.publish("v1")
    viewer, deployer = gated.ws.as_role("viewer"), gated.ws.as_role("deployer")
    path = f"/deployment-versions/{version}/user-approval-records"
    assert "version.approve" in refusal(viewer.put(path, {"status": "approved"}), 403)["message"]
    body = {"ruleId": gated.rule, "versionId": version}
    assert "policy.skip" in refusal(deployer.post("/policy-skips", body), 403)["message"]
    assert prod_jobs(gated) == []
