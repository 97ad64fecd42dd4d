"""What freezes do to work, who may do what with them, and who may pass."""

import pytest

from harness import complaint_paths, eventually, new_id, raw_request, refusal
from test_accounts import new_user
from test_freezes import actions, freeze, get, instant, thaw

BYPASS = "deployment_freeze.bypass"


def target(world, name):
    """As the list of targets shows it."""
    items = world.ws.get("/release-targets", status=200).json()["items"]
    return next(i["state"] for i in items if i["releaseTarget"]["key"] == world.key(name))


def check(ws, query=""):
    return ws.get(f"/freezes/check{query}", status=200).json()


@pytest.fixture()
def person(admin, ws):
    """Makes people: a client of the workspace for a new user with this role and these grants."""
    def make(role, grants=()):
        user = new_user(admin)
        ws.put(f"/members/{user.made['id']}", {"role": role, "grants": list(grants)}, status=200)
        client = user.workspace(ws.id)
        client.actor = f"user:{user.email}"
        return client

    return make


# ---- Work ----------------------------------------------------------------------------------------------


def test_work_that_waits_is_held_and_goes_on_after_the_thaw(world):
    world.publish("v1")
    waiting = world.wait_for_jobs(3)
    made = freeze(world.ws)
    assert world.queued() == [], "an agent sees no job that it cannot have"
    assert world.claim() is None
    path = f"/job-agents/{world.agent}/jobs/{waiting[0]['id']}/claim"
    no = refusal(world.ws.post(path, {"instanceId": "i"}), 409, "frozen")
    assert no["message"] == "Deployment frozen: an incident"
    assert [(d["path"], d["message"]) for d in no["details"]] == [("freezeId", made["id"])]
    job = world.ws.get(f"/jobs/{waiting[0]['id']}", status=200).json()
    assert job["held"] == {"freezeId": made["id"], "reason": "an incident"}
    thaw(world.ws, made)
    assert {j["id"] for j in world.wait_for_jobs(3)} == {j["id"] for j in waiting}
    assert "held" not in world.ws.get(f"/jobs/{waiting[0]['id']}").json()
    assert len(world.finish_everything()) == 3


def test_what_an_agent_has_may_finish_and_nothing_follows(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    job = world.claim()
    made = freeze(world.ws)
    world.report(job["id"], "successful", instanceId="instance-1")
    world.publish("v2")
    assert world.claim() is None and world.queued() == []
    thaw(world.ws, made)
    world.wait_for_jobs(3)
    world.finish_everything()
    assert {target(world, name)["currentVersion"]["tag"] for name in world.resources} == {"v2"}


def test_only_what_is_covered_is_held(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    made = freeze(world.ws, scope="environment", scopeEntityId=world.prod)
    assert len(world.queued()) == 1
    assert world.claim()["dispatchContext"]["environment"]["id"] == world.staging
    freeze(world.ws, selector="resource.name == 'prod-a'")
    thaw(world.ws, made)
    eventually(lambda: len(world.queued()) == 1, what="the job of prod-b alone")
    assert world.claim("other")["dispatchContext"]["resource"]["name"] == "prod-b"


def test_a_narrower_thaw_lifts_no_wider_freeze(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    wide = freeze(world.ws)
    narrow = freeze(world.ws, scope="deployment", scopeEntityId=world.deployment)
    thaw(world.ws, narrow)
    assert world.claim() is None
    thaw(world.ws, wide)
    world.wait_for_jobs(3)


def test_only_the_newest_version_goes_out_after_the_thaw(world):
    made = freeze(world.ws)
    for tag in ("v1", "v2", "v3"):
        world.publish(tag)
    assert world.queued() == [] and world.ws.get("/jobs").json()["total"] == 0
    thaw(world.ws, made)
    world.wait_for_jobs(3)
    world.finish_everything()
    tags = {j["release"]["version"]["tag"] for j in world.ws.get("/jobs").json()["items"]}
    assert tags == {"v3"}


def test_a_cancelling_freeze_asks_agents_to_stop_and_they_begin_again(world):
    job = world.running_job()
    made = freeze(world.ws, inFlight="cancel")
    beat = {"instanceId": "instance-1", "jobIds": [job]}
    path = f"/job-agents/{world.agent}/heartbeat"
    eventually(lambda: world.ws.post(path, beat, status=200).json()["stop"] == [job], what="the word to stop")
    assert world.ws.get(f"/jobs/{job}").json().get("cancelRequestedAt")
    world.report(job, "cancelled", instanceId="instance-1")
    assert world.claim() is None
    thaw(world.ws, made)
    eventually(lambda: len(world.queued()) == 3, what="all three to be asked for again")


def test_held_work_is_let_go_at_the_pace_of_the_thaw(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    thaw(world.ws, freeze(world.ws), resume={"perMinute": 1})
    assert eventually(world.claim, what="the first")
    assert world.claim("two") is None and world.claim("three") is None


def test_a_target_under_a_freeze_says_so(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    expires = instant(hours=1)
    made = freeze(world.ws, scope="environment", scopeEntityId=world.prod, expiresAt=expires)
    brief = {name: made[name] for name in ("id", "reason", "scope", "expiresAt")}
    assert target(world, "prod-a")["freeze"] == brief
    assert "freeze" not in target(world, "stage-a")
    state = world.ws.get(f"/release-targets/{world.key('prod-a')}/state", status=200).json()
    assert state["freeze"] == brief
    why = world.ws.get(f"/release-targets/{world.key('prod-a')}/explain", status=200).json()
    assert "Deployment frozen: an incident" in str(why)
    blocker = why["versions"][0]["firstBlocker"]
    assert blocker["message"] == "Deployment frozen: an incident"
    assert BYPASS in blocker["unblock"] and "thaw" in blocker["unblock"]
    details = blocker["details"]
    assert (details["freeze_id"], details["frozen_by"]) == (made["id"], made["createdBy"])
    assert [f["id"] for f in details["freezes"]] == [made["id"]]


def test_a_freeze_whose_environment_was_deleted_covers_nothing(world):
    made = freeze(world.ws, scope="environment", scopeEntityId=world.staging)
    world.ws.delete(f"/environments/{world.staging}", status=202)
    assert get(world.ws, made)["impact"]["targets"] == 0
    world.publish("v1")
    world.wait_for_jobs(2)


# ---- Asking --------------------------------------------------------------------------------------------


def test_a_check_says_whether_all_some_or_none_is_frozen(world):
    assert check(world.ws) == {"frozen": False, "partial": False, "freezes": []}
    made = freeze(world.ws, scope="environment", scopeEntityId=world.prod, expiresIn="PT1H")
    some = check(world.ws)
    assert (some["frozen"], some["partial"]) == (False, True)
    whole = check(world.ws, f"?scope=environment&entityId={world.prod}")
    assert (whole["frozen"], whole["partial"], whole["freezeId"]) == (True, False, made["id"])
    assert (whole["reason"], whole["opensAt"]) == (made["reason"], made["expiresAt"])
    assert [f["id"] for f in whole["freezes"]] == [made["id"]]
    assert check(world.ws, f"?scope=environment&entityId={world.staging}")["frozen"] is False
    assert check(world.ws, f"?environmentId={world.prod}&deploymentId={world.deployment}")["frozen"] is True
    assert check(world.ws, f"?resourceId={world.resources['stage-a']}")["frozen"] is False
    assert check(world.ws, f"?resourceId={world.resources['prod-a']}")["frozen"] is True
    assert check(world.ws, f"?scope=system&entityId={world.system}")["partial"] is True
    assert check(world.ws, f"?at={instant(hours=2)}")["freezes"] == []
    freeze(world.ws)
    assert "opensAt" not in check(world.ws), "the wider one never expires by itself"
    assert check(world.ws)["frozen"] is True
    assert len(check(world.ws, f"?environmentId={world.prod}")["freezes"]) == 2


def test_a_check_of_a_later_time_knows_what_is_planned(world):
    freeze(world.ws, effectiveAt=instant(hours=1), expiresIn="PT1H")
    assert check(world.ws)["frozen"] is False
    assert check(world.ws, f"?at={instant(minutes=90)}")["frozen"] is True
    assert check(world.ws, f"?at={instant(minutes=150)}")["frozen"] is False


def test_a_check_of_a_version_knows_its_bypass(world):
    freeze(world.ws)
    plain, hotfix = world.publish("v1"), world.publish("v2", bypassFreeze=True)
    assert check(world.ws, f"?versionId={plain}")["frozen"] is True
    assert check(world.ws, f"?versionId={hotfix}")["frozen"] is False


def test_a_check_of_what_is_not_there_is_404(world):
    for query in (f"scope=environment&entityId={new_id()}", f"scope=system&entityId={world.prod}",
                  f"deploymentId={new_id()}", f"environmentId={new_id()}", f"resourceId={new_id()}",
                  f"versionId={new_id()}"):
        refusal(world.ws.get(f"/freezes/check?{query}"), 404)
    for query in ("scope=galaxy", "at=noon", "scope=environment", f"entityId={world.prod}", "other=1",
                  "deploymentId=x"):
        refusal(world.ws.get(f"/freezes/check?{query}"), 400)


def test_a_report_tells_what_was_held_passed_and_resumed(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    made = freeze(world.ws, scope="environment", scopeEntityId=world.prod, reason="the | incident")
    hotfix = world.publish("v2", bypassFreeze=True, message="hot")
    world.wait_for_jobs(3)
    thaw(world.ws, made, reason="fixed")
    world.finish_everything()
    report = world.ws.get(f"/freezes/{made['id']}/report", status=200).json()
    assert report["freeze"]["id"] == made["id"] and report["durationSeconds"] >= 0
    assert [e["action"] for e in report["timeline"]] == ["activated", "bypassed", "thawed"]
    assert [p["versionId"] for p in report["passed"]] == [hotfix]
    assert {(j["version"], j["releaseTargetKey"]) for j in report["held"]} == {
        ("v1", world.key("prod-a")), ("v1", world.key("prod-b"))}
    same = world.ws.get(f"/freezes/{made['id']}/report?format=json", status=200).json()
    assert same == report
    path = f"{world.ws.base}/freezes/{made['id']}/report?format=markdown"
    status, headers, text = raw_request(world.ws.server, "GET", path, {"x-api-key": world.ws.key})
    assert (status, headers["Content-Type"].split(";")[0]) == (200, "text/markdown")
    assert b"# Freeze: the \\| incident" in text and b"fixed" in text and b"v2" in text
    refusal(world.ws.get(f"/freezes/{made['id']}/report?format=pdf"), 400)
    refusal(world.ws.get(f"/freezes/{new_id()}/report"), 404)


# ---- Who may -------------------------------------------------------------------------------------------


def test_roles_may_what_the_table_says(ws, person):
    viewer, deployer, operator = person("viewer"), person("deployer"), person("operator")
    body = {"scope": "workspace", "reason": "x"}
    assert "deployment_freeze.create" in refusal(viewer.post("/freezes", body), 403)["message"]
    made = freeze(deployer)
    path = f"/freezes/{made['id']}"
    for client in (viewer, deployer, operator):
        assert client.get(path, status=200).json()["id"] == made["id"]
        client.get("/freezes", status=200), client.get("/freezes/active", status=200), check(client)
    for client in (viewer, person("deployer"), person("agent")):
        no = refusal(client.patch(path, {"expiresIn": "PT1H"}), 403, "forbidden")
        assert "deployment_freeze.extend" in no["message"]
        no = refusal(client.post(f"{path}/thaw", {}), 403, "forbidden")
        assert "deployment_freeze.thaw" in no["message"]
    operator.patch(path, {"expiresIn": "PT1H"}, status=200)
    assert thaw(operator, made)["thawedBy"] == operator.actor
    assert thaw(deployer, freeze(deployer))["status"] == "ended", "one's own"


@pytest.mark.parametrize("grant", ["create", "extend", "thaw"])
@pytest.mark.parametrize("by", ["member", "key"])
def test_a_permission_can_be_granted_alone(ws, person, grant, by):
    made = freeze(ws, expiresIn="PT1H")
    calls = {"create": lambda c: c.post("/freezes", {"scope": "workspace", "reason": "x"}),
             "extend": lambda c: c.patch(f"/freezes/{made['id']}", {"expiresIn": "PT3H"}),
             "thaw": lambda c: c.post(f"/freezes/{made['id']}/thaw", {})}
    grants = [f"deployment_freeze.{grant}"]
    if by == "member":
        granted = person("viewer", grants)
        for name in set(calls) - {grant, "extend"}:  # who may thaw may also change
            refusal(calls[name](granted), 403, "forbidden")
    else:  # of the user who made the freeze, and may thaw it anyway
        granted = ws.with_key(ws.at("/api/v1").new_key(role="viewer", workspaceId=ws.id, grants=grants))
    assert calls[grant](granted).status_code in (200, 201)


def test_a_key_can_do_no_more_than_its_user_and_grants_no_more_than_its_maker_has(admin, ws, person):
    deployer = person("deployer")
    keys = deployer.at("/api/v1")
    refusal(keys.post("/api-keys", {"name": "k", "workspaceId": ws.id, "grants": [BYPASS]}), 403)
    answer = keys.post("/api-keys", {"name": "k", "grants": ["system.write"]})
    assert complaint_paths(answer) == ["grants[0]"]
    key = keys.new_key(role="viewer", workspaceId=ws.id, grants=["deployment_freeze.create"])
    freeze(ws.with_key(key))
    assert ws.at("/api/v1").get("/session", status=200)


def test_shortening_or_uncovering_needs_the_right_to_thaw(ws, person):
    made = freeze(ws, expiresIn="PT3H")
    extender = person("viewer", ["deployment_freeze.extend"])
    path = f"/freezes/{made['id']}"
    for body in ({"expiresIn": "PT1H"}, {"selector": "environment.name == 'x'"}):
        assert "deployment_freeze.thaw" in refusal(extender.patch(path, body), 403)["message"]
    extender.patch(path, {"expiresIn": "PT9H"}, status=200)
    extender.patch(path, {"expiresAt": None}, status=200)
    assert actions(ws, made) == ["activated", "extended", "extended"]


# ---- Settings ------------------------------------------------------------------------------------------


def test_settings_are_read_written_and_for_administrators(ws, person):
    default = {"ttlRequired": False, "thawNeedsReason": False, "secondPersonThaws": False,
               "warnBefore": "PT30M"}
    assert ws.get("/freezes/settings", status=200).json() == default
    wanted = {"maxTtl": "PT4H", "ttlRequired": True, "thawNeedsReason": True, "secondPersonThaws": True,
              "warnBefore": "PT10M"}
    assert ws.put("/freezes/settings", wanted, status=200).json() == wanted
    assert person("viewer").get("/freezes/settings", status=200).json() == wanted
    refusal(person("operator").put("/freezes/settings", {}), 403)
    for body, path in (({"maxTtl": "PT0S"}, "maxTtl"), ({"maxTtl": "x"}, "maxTtl"),
                       ({"warnBefore": "-PT1S"}, "warnBefore"), ({"ttlRequired": 1}, "ttlRequired")):
        assert complaint_paths(ws.put("/freezes/settings", body)) == [path]
    assert ws.get("/freezes/settings").json() == wanted
    assert ws.put("/freezes/settings", {}, status=200).json() == default


def test_settings_limit_how_long_a_freeze_lasts(ws):
    ws.put("/freezes/settings", {"ttlRequired": True}, status=200)
    body = {"scope": "workspace", "reason": "x"}
    assert complaint_paths(ws.post("/freezes", body)) == ["expiresIn"]
    ws.put("/freezes/settings", {"maxTtl": "PT1H"}, status=200)
    assert complaint_paths(ws.post("/freezes", {**body, "expiresIn": "PT2H"})) == ["expiresIn"]
    assert complaint_paths(ws.post("/freezes", {**body, "expiresAt": instant(hours=2)})) == ["expiresAt"]
    made = freeze(ws, expiresIn="PT1H")
    path = f"/freezes/{made['id']}"
    assert complaint_paths(ws.patch(path, {"expiresIn": "PT2H"})) == ["expiresIn"]
    assert complaint_paths(ws.patch(path, {"expiresAt": None})) == ["expiresAt"]


def test_settings_ask_for_a_reason_and_a_second_person(ws, person):
    ws.put("/freezes/settings", {"thawNeedsReason": True, "secondPersonThaws": True}, status=200)
    operator, admin = person("operator"), person("admin")
    made = freeze(operator)
    refusal(operator.post(f"/freezes/{made['id']}/thaw", {"reason": "mine"}), 403)
    other = person("operator")
    assert complaint_paths(other.post(f"/freezes/{made['id']}/thaw", {})) == ["reason"]
    thaw(other, made, reason="fixed")
    assert "breakGlass" not in get(ws, made)["events"][-1]["metadata"]
    mine = freeze(admin)
    assert complaint_paths(admin.post(f"/freezes/{mine['id']}/thaw", {})) == ["reason"]
    thaw(admin, mine, reason="alone, knowingly")
    assert get(ws, mine)["events"][-1]["metadata"]["breakGlass"] is True
