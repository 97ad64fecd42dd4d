"""Who passes freezes, how they begin and end by themselves, and that no crash and no replica loses one."""

import pytest

from harness import Cluster, World, complaint_paths, eventually, moment, new_id, refusal
from test_events import Stream
from test_freeze_rules import BYPASS, person  # noqa: F401  (a fixture)
from test_freezes import actions, freeze, get, instant, thaw


def force(world, name, version, status=None, client=None, **more):
    path = f"/release-targets/{world.key(name)}/force-deploy"
    return (client or world.ws).post(path, {"versionId": version, "reason": "urgent", **more}, status=status)


def versions(world):
    return world.ws.get(f"/deployments/{world.deployment}/versions", status=200).json()["items"]


def bypassed(ws, made):
    return [e["metadata"]["versionId"] for e in get(ws, made)["events"] if e["action"] == "bypassed"]


# ---- Bypass --------------------------------------------------------------------------------------------


def test_a_version_that_bypasses_goes_out_and_the_freeze_says_so_once(world):
    made = freeze(world.ws)
    version = world.publish("hotfix", bypassFreeze=True)
    world.wait_for_jobs(3)
    assert len(world.finish_everything()) == 3
    assert bypassed(world.ws, made) == [version]
    shown = world.ws.get(f"/deployment-versions/{version}", status=200).json()
    assert shown["bypassFreeze"] is True and "bypassFreezeIds" not in shown


def test_a_bypass_without_the_permission_is_403_and_makes_nothing(world, person):  # noqa: F811
    path = f"/deployments/{world.deployment}/versions"
    for client in (person("operator"), person("deployer"), world.ws.as_role("operator")):
        no = refusal(client.post(path, {"tag": "hotfix", "status": "ready", "bypassFreeze": True}), 403)
        assert BYPASS in no["message"]
    assert versions(world) == []
    ci = person("deployer", [BYPASS])
    ci.post(path, {"tag": "hotfix", "status": "ready", "bypassFreeze": True}, status=200)


def test_a_bypass_can_be_for_some_freezes_only(world):
    wide, narrow = freeze(world.ws), freeze(world.ws, scope="environment", scopeEntityId=world.prod)
    world.publish("v1", bypassFreeze=True, bypassFreezeIds=[narrow["id"]])
    assert world.claim() is None, "the wide one stops it"
    thaw(world.ws, wide)
    world.wait_for_jobs(3)
    path = f"/deployments/{world.deployment}/versions"
    for body in ({"bypassFreezeIds": [narrow["id"]]}, {"bypassFreeze": True, "bypassFreezeIds": [new_id()]},
                 {"bypassFreeze": True, "bypassFreezeIds": ["x"]}, {"bypassFreeze": "yes"}):
        answer = world.ws.post(path, {"tag": "v2", "status": "ready", **body})
        assert complaint_paths(answer)[0].startswith("bypassFreeze")
    assert len(versions(world)) == 1


def test_a_bypass_does_not_outlive_its_incident(world):
    hotfix = world.publish("hotfix", bypassFreeze=True)
    world.publish("v2", status="building")
    made = freeze(world.ws)
    assert world.queued() == [] and world.claim() is None and bypassed(world.ws, made) == []
    assert hotfix in [v["id"] for v in versions(world)]


def test_a_skip_that_names_a_freeze_passes_it_and_needs_the_permission(world, person):  # noqa: F811
    version = world.publish("v1")
    world.wait_for_jobs(3)
    made = freeze(world.ws)
    body = {"ruleId": made["id"], "versionId": version, "environmentId": world.staging, "reason": "urgent"}
    assert BYPASS in refusal(person("operator").post("/policy-skips", body), 403)["message"]
    assert world.claim() is None
    person("viewer", [BYPASS]).post("/policy-skips", body, status=201)
    eventually(lambda: len(world.queued()) == 1, what="the one in staging")
    assert world.claim()["dispatchContext"]["environment"]["id"] == world.staging
    assert world.claim("another") is None
    assert bypassed(world.ws, made) == [version]


def test_force_does_not_pass_a_freeze_unless_one_may_and_says_so(world, person):  # noqa: F811
    version = world.publish("v1")
    world.wait_for_jobs(3)
    world.finish_everything()
    made = freeze(world.ws)
    no = refusal(force(world, "prod-a", version), 409, "frozen")
    assert no["message"] == "Deployment frozen: an incident"
    refusal(world.ws.post(f"/release-targets/{world.key('prod-a')}/redeploy"), 409, "frozen")
    operator = person("operator")
    refusal(force(world, "prod-a", version, client=operator), 409, "frozen")
    no = refusal(force(world, "prod-a", version, client=operator, bypassFreeze=True), 403)
    assert BYPASS in no["message"]
    assert world.queued() == [] and world.ws.get("/policy-skips").json()["total"] == 0
    started = force(world, "prod-a", version, status=202, bypassFreeze=True).json()["jobIds"]
    assert world.claim()["id"] == started[0]
    assert bypassed(world.ws, made) == [version]
    refusal(force(world, "prod-b", version), 409, "frozen")
    skips = world.ws.get("/policy-skips", status=200).json()["items"]
    assert [(s["ruleId"], s["versionId"], s["resourceId"]) for s in skips] == [
        (made["id"], version, world.resources["prod-a"])]


def test_retries_are_held_too(world):
    world.ws.post("/policies", {"name": "again", "rules": [{"retry": {"maxRetries": 2}}]}, status=202)
    job = world.running_job()
    made = freeze(world.ws)
    world.report(job, "failure", instanceId="instance-1")
    assert world.claim() is None and world.queued() == []
    thaw(world.ws, made)
    world.wait_for_jobs(3)
    again = [j for j in world.queued() if j["cause"] == "retry"]
    assert len(again) == 1


# ---- By themselves -------------------------------------------------------------------------------------


def test_a_freeze_expires_by_itself_and_work_goes_on(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    made = freeze(world.ws, expiresIn="PT1S")
    assert world.claim() is None
    world.wait_for_jobs(3)
    ended = get(world.ws, made)
    assert (ended["status"], ended["thawedAt"]) == ("ended", made["expiresAt"])
    assert "thawedBy" not in ended
    found = eventually(lambda: (a := actions(world.ws, made)) and "expired" in a and a, what="the event")
    assert found == ["activated", "expiring_soon", "expired"]
    assert "actor" not in get(world.ws, made)["events"][-1]
    assert "expired" in refusal(world.ws.post(f"/freezes/{made['id']}/thaw", {}), 409)["message"]


def test_a_planned_freeze_begins_by_itself(world):
    made = freeze(world.ws, effectiveAt=instant(seconds=1), expiresIn="PT1H")
    assert made["status"] == "scheduled"
    world.publish("v1")
    world.wait_for_jobs(3)
    eventually(lambda: get(world.ws, made)["status"] == "active", what="its beginning")
    assert world.claim() is None
    eventually(lambda: "activated" in actions(world.ws, made), what="the event")
    assert actions(world.ws, made) == ["scheduled", "activated"]
    thaw(world.ws, made)
    world.wait_for_jobs(3)


def test_an_extension_outlives_the_first_expiry(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    made = freeze(world.ws, expiresIn="PT2S")
    world.ws.patch(f"/freezes/{made['id']}", {"expiresIn": "PT1H"}, status=200)
    first_end = moment(made["expiresAt"])
    eventually(lambda: moment(instant()) > first_end, what="the first end")
    assert world.claim() is None and get(world.ws, made)["status"] == "active"


def test_the_stream_tells_of_freezes(world):
    with Stream(world.ws) as stream:
        made = freeze(world.ws)

        def tells(event):
            changes = event["data"].get("changes", [])  # a reset has none
            return any(c["entity"] == "freeze" and c["id"] == made["id"] for c in changes)

        stream.until(tells)
        thaw(world.ws, made)
        stream.until(tells)


def test_the_record_names_who_froze_and_thawed(ws):
    made = freeze(ws)
    thaw(ws, made, reason="over")
    entries = ws.get("/audit", status=200).json()["items"]
    of_it = [(e["action"], e["actor"]) for e in entries if e["subject"] == made["id"]]
    assert sorted(of_it) == [("freeze.activated", made["createdBy"]), ("freeze.thawed", made["createdBy"])]


# ---- Crashes and replicas ------------------------------------------------------------------------------


def test_a_freeze_survives_a_kill_and_still_expires(own_server):
    world = World(own_server.client().new_workspace())
    world.publish("v1")
    world.wait_for_jobs(3)
    lasting = freeze(world.ws, scope="environment", scopeEntityId=world.prod)
    passing = freeze(world.ws, expiresIn="PT3S")
    own_server.restart(kill=True)
    world.ws = own_server.client().workspace(world.ws.id)
    eventually(lambda: len(world.queued()) == 1, what="the expiry of one of them")
    assert get(world.ws, passing)["status"] == "ended" and get(world.ws, lasting)["status"] == "active"
    assert world.claim()["dispatchContext"]["environment"]["id"] == world.staging
    assert world.claim("another") is None
    assert actions(world.ws, passing).count("expired") == 1
    thaw(world.ws, lasting)
    eventually(lambda: len(world.queued()) == 2, what="the rest")


@pytest.fixture(scope="module")
def three(postgres):
    cluster = Cluster(postgres, 3)
    yield cluster
    cluster.close()


def test_a_freeze_made_through_any_replica_holds_through_every_replica(three):
    world = World(three.client(0).new_workspace())
    world.publish("v1")
    world.wait_for_jobs(3)
    owner = three.owner_of(world.ws)
    through = three.another_than(owner).client().workspace(world.ws.id)
    job = world.claim()["id"]
    made = freeze(through)
    assert [j["id"] for j in made["impact"]["inFlightJobs"]] == [job]
    for n, client in enumerate(three.everywhere(world.ws)):
        path = f"/job-agents/{world.agent}"
        assert client.get(f"{path}/jobs?status=queued", status=200).json()["items"] == []
        client.post(f"{path}/claim", {"instanceId": f"i{n}"}, status=204)
        assert client.get("/freezes/check", status=200).json()["freezeId"] == made["id"]
        refusal(client.post(f"/release-targets/{world.key('prod-a')}/redeploy"), 409)
    thaw(three.everywhere(world.ws)[0], made)
    eventually(lambda: len(through.get(f"{path}/jobs?status=queued").json()["items"]) == 2, what="the rest")


def test_a_freeze_outlives_its_owner(postgres):
    cluster = Cluster(postgres, 2)
    try:
        world = World(cluster.client(0).new_workspace())
        world.publish("v1")
        world.wait_for_jobs(3)
        made = freeze(world.ws)
        owner = cluster.owner_of(world.ws)
        other = cluster.another_than(owner)
        owner.kill()
        world.ws = other.client().workspace(world.ws.id)
        path = f"/job-agents/{world.agent}/claim"
        eventually(lambda: world.ws.post(path, {"instanceId": "i"}).status_code == 204, within=40,
                   what="the other to take over, and to hold the jobs")
        thaw(world.ws, made)
        world.wait_for_jobs(3)
    finally:
        cluster.close()
