"""Freezes as things that are made, listed, changed and thawed. What they do to work: test_freeze_rules.py."""

from datetime import datetime, timedelta, timezone

import pytest

from harness import complaint_paths, eventually, moment, new_id, refusal, unique


def freeze(ws, status=201, **body):
    """A new freeze, of the whole workspace if nothing else is said."""
    return ws.post("/freezes", {"scope": "workspace", "reason": "an incident", **body}, status=status).json()


def thaw(ws, made, status=200, **body):
    return ws.post(f"/freezes/{made['id']}/thaw", body, status=status).json()


def get(ws, made):
    return ws.get(f"/freezes/{made['id']}", status=200).json()


def actions(ws, made):
    return [event["action"] for event in get(ws, made)["events"]]


def ids(page):
    return [item["id"] for item in page.json()["items"]]


def instant(**ahead):
    return (datetime.now(timezone.utc) + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def plain(made):
    """The freeze without what only some answers have."""
    return {name: value for name, value in made.items() if name not in ("impact", "events")}


# ---- Creation ------------------------------------------------------------------------------------------


def test_a_freeze_is_answered_whole(world):
    body = {"scope": "workspace", "reason": "Elevated error rates", "incidentUrl": "https://example.org/4521",
            "expiresIn": "PT2H", "selector": "environment.name == 'prod'", "inFlight": "cancel",
            "metadata": {"team": "sre"}}
    made = freeze(world.ws, **body)
    assert {name: made[name] for name in body if name != "expiresIn"} == {
        name: value for name, value in body.items() if name != "expiresIn"}
    assert (made["status"], made["workspaceId"]) == ("active", world.ws.id)
    assert made["createdBy"].endswith("admin@localhost")
    assert moment(made["expiresAt"]) - moment(made["effectiveAt"]) == timedelta(hours=2)
    assert made["createdAt"] == made["effectiveAt"]
    assert {"thawedAt", "thawedBy", "thawReason", "scopeEntityId"} & set(made) == set()
    impact = {"targets": 2, "undetermined": 0, "heldJobs": 0, "inFlightJobs": [], "openBrackets": []}
    assert made["impact"] == impact


@pytest.mark.parametrize("scope, targets", [("system", 3), ("environment", 2), ("deployment", 3)])
def test_a_freeze_of_each_scope_counts_its_targets(world, scope, targets):
    entity = {"system": world.system, "environment": world.prod, "deployment": world.deployment}[scope]
    made = freeze(world.ws, scope=scope, scopeEntityId=entity)
    assert (made["scope"], made["scopeEntityId"], made["impact"]["targets"]) == (scope, entity, targets)
    assert (made["inFlight"], made["metadata"]) == ("finish_jobs", {})
    assert "expiresAt" not in made and "selector" not in made


def test_a_system_freeze_is_not_about_targets_of_other_systems(world):
    other = world.ws.make_system("other")
    assert freeze(world.ws, scope="system", scopeEntityId=other)["impact"]["targets"] == 0
    world.ws.link(other, [world.deployment])
    assert freeze(world.ws, scope="system", scopeEntityId=other)["impact"]["targets"] == 0
    world.ws.link(other, [], [world.prod])
    assert freeze(world.ws, scope="system", scopeEntityId=other)["impact"]["targets"] == 2


def test_the_impact_names_the_jobs_that_agents_have_and_counts_those_that_wait(world):
    version = world.publish()
    world.wait_for_jobs(3)
    job = world.claim()
    made = freeze(world.ws)
    assert [j["id"] for j in made["impact"]["inFlightJobs"]] == [job["id"]]
    listed = made["impact"]["inFlightJobs"][0]
    assert (listed["versionId"], listed["jobAgentId"]) == (version, world.agent)
    assert listed["status"] == "inProgress"
    assert listed["releaseTargetKey"] in [world.key(name) for name in world.resources]
    assert (made["impact"]["targets"], made["impact"]["heldJobs"]) == (3, 2)
    world.report(job["id"], "successful", instanceId="instance-1")
    assert get(world.ws, made)["impact"]["inFlightJobs"] == []


def test_a_selector_that_fails_covers_and_one_whose_key_is_missing_does_not(world):
    selected = freeze(world.ws, selector="int(resource.metadata['env']) == 1")
    assert (selected["impact"]["targets"], selected["impact"]["undetermined"]) == (3, 3)
    assert freeze(world.ws, selector="resource.metadata['none'] == 'x'")["impact"]["targets"] == 0


def test_a_dry_run_tells_the_impact_and_changes_nothing(world):
    world.publish()
    world.wait_for_jobs(3)
    body = {"scope": "environment", "scopeEntityId": world.prod, "reason": "x"}
    answer = world.ws.post("/freezes?dryRun=true", body, status=200).json()
    assert set(answer) == {"impact"} and answer["impact"]["targets"] == 2
    assert answer["impact"]["heldJobs"] == 2
    assert world.ws.get("/freezes?status=all").json()["total"] == 0
    assert len(world.queued()) == 3
    assert complaint_paths(world.ws.post("/freezes?dryRun=true", {**body, "reason": ""})) == ["reason"]
    refusal(world.ws.post("/freezes?dryRun=maybe", body), 400)


@pytest.mark.parametrize("body, path", [
    ({"reason": ""}, "reason"), ({"reason": None}, "reason"), ({"reason": 1}, "reason"),
    ({"reason": "a\0b"}, "reason"),
    ({"scope": "galaxy"}, "scope"), ({"scope": ""}, "scope"), ({"scope": None}, "scope"),
    ({"scope": "environment"}, "scopeEntityId"), ({"scope": "system", "scopeEntityId": "x"}, "scopeEntityId"),
    ({"scope": "deployment", "scopeEntityId": new_id()}, "scopeEntityId"),
    ({"scopeEntityId": new_id()}, "scopeEntityId"), ({"scopeEntityId": 7}, "scopeEntityId"),
    ({"expiresIn": "-PT1H"}, "expiresIn"), ({"expiresIn": "PT0S"}, "expiresIn"),
    ({"expiresIn": "soon"}, "expiresIn"), ({"expiresIn": ""}, "expiresIn"), ({"expiresIn": 60}, "expiresIn"),
    ({"expiresIn": "P20Y"}, "expiresIn"), ({"expiresIn": "PT99999999999999999999S"}, "expiresIn"),
    ({"expiresIn": "P9999999D"}, "expiresIn"), ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
    ({"expiresAt": "tomorrow"}, "expiresAt"),
    ({"expiresIn": "PT1H", "expiresAt": "2099-01-01T00:00:00Z"}, "expiresIn"),
    ({"effectiveAt": "2098-01-01T00:00:00Z"}, "effectiveAt"), ({"effectiveAt": "later"}, "effectiveAt"),
    ({"effectiveAt": instant(hours=3), "expiresAt": instant(hours=2)}, "expiresAt"),
    ({"selector": "resource.nme =="}, "selector"), ({"selector": "deploymnt.name == 'x'"}, "selector"),
    ({"selector": "'text'"}, "selector"), ({"selector": 1}, "selector"),
    ({"inFlight": "explode"}, "inFlight"), ({"inFlight": ""}, "inFlight"),
    ({"metadata": {"a": 1}}, "metadata.a"), ({"metadata": "x"}, "metadata"),
    ({"incidentUrl": 1}, "incidentUrl"), ({"incidentUrl": "javascript:alert(1)"}, "incidentUrl"),
])
def test_bad_input_is_400_by_its_field_and_freezes_nothing(ws, body, path):
    answer = ws.post("/freezes", {"scope": "workspace", "reason": "x", **body})
    assert complaint_paths(answer) == [path]
    assert ws.get("/freezes?status=all").json()["total"] == 0


def test_a_selector_that_does_not_compile_says_where(ws):
    answer = ws.post("/freezes", {"scope": "workspace", "reason": "x", "selector": "resource.kind == \n !"})
    message = refusal(answer, 400)["details"][0]["message"]
    assert "2:" in message or "line 2" in message, message


def test_another_workspaces_entity_is_400(admin, world):
    other = admin.new_workspace()
    for scope, entity in (("system", world.system), ("environment", world.prod),
                          ("deployment", world.deployment)):
        answer = other.post("/freezes", {"scope": scope, "scopeEntityId": entity, "reason": "x"})
        assert complaint_paths(answer) == ["scopeEntityId"]
    wrong_kind = {"scope": "system", "scopeEntityId": world.prod, "reason": "x"}
    assert complaint_paths(world.ws.post("/freezes", wrong_kind)) == ["scopeEntityId"]


def test_a_repeat_with_the_same_key_is_the_first_answer(world):
    world.publish()
    world.wait_for_jobs(3)
    job = world.claim()["id"]
    headers = {"Idempotency-Key": unique("key")}
    body = {"scope": "workspace", "reason": "x"}
    first = world.ws.post("/freezes", body, headers=headers, status=201).json()
    world.report(job, "successful", instanceId="instance-1")
    again = world.ws.post("/freezes", body, headers=headers, status=201).json()
    assert again["id"] == first["id"]
    assert [j["id"] for j in again["impact"]["inFlightJobs"]] == [job], "as it was when the freeze was made"
    assert world.ws.get("/freezes").json()["total"] == 1
    refusal(world.ws.post("/freezes", {**body, "reason": "y"}, headers=headers), 409)


# ---- Lists ---------------------------------------------------------------------------------------------


def test_freezes_are_listed_by_status_and_paged(ws):
    ended = freeze(ws, reason="ended")
    thaw(ws, ended)
    active = freeze(ws, reason="active")
    planned = freeze(ws, reason="planned", effectiveAt=instant(hours=1))
    for status, wanted in (("active", [active]), ("scheduled", [planned]), ("ended", [ended]),
                           ("all", [planned, active, ended])):
        assert set(ids(ws.get(f"/freezes?status={status}", status=200))) == {f["id"] for f in wanted}
    page = ws.get("/freezes?status=all&limit=2", status=200)
    rest = ws.get("/freezes?status=all&limit=2&offset=2", status=200)
    assert page.json()["total"] == 3 and len(ids(page)) == 2
    assert set(ids(page) + ids(rest)) == {f["id"] for f in (ended, active, planned)}
    assert set(ids(ws.get("/freezes", status=200))) == {f["id"] for f in (ended, active, planned)}
    assert ids(ws.get("/freezes/active", status=200)) == [active["id"]]
    refusal(ws.get("/freezes?status=melted"), 400)


def test_since_leaves_out_what_ended_before(ws):
    old = freeze(ws)
    thaw(ws, old)
    since = eventually(lambda: (now := instant()) > get(ws, old)["thawedAt"] and now)
    later, active = freeze(ws), freeze(ws)
    thaw(ws, later)
    found = ids(ws.get(f"/freezes?status=ended&since={since}", status=200))
    assert found == [later["id"]]
    assert active["id"] in ids(ws.get(f"/freezes?since={since}", status=200))
    assert old["id"] not in ids(ws.get(f"/freezes?since={since}", status=200))
    refusal(ws.get("/freezes?since=yesterday"), 400)


def test_another_workspaces_freeze_is_404(admin, ws):
    made, other = freeze(ws), admin.new_workspace()
    path = f"/freezes/{made['id']}"
    for answer in (other.get(path), other.patch(path, {"reason": "x"}), other.post(f"{path}/thaw", {}),
                   other.get(f"{path}/report")):
        refusal(answer, 404)
    assert other.get("/freezes?status=all").json()["total"] == 0
    refusal(ws.get(f"/freezes/{new_id()}"), 404)
    refusal(ws.get("/freezes/x"), 404)
    assert get(ws, made)["status"] == "active"


# ---- Changes -------------------------------------------------------------------------------------------


def test_an_extension_counts_from_now_and_keeps_the_reason(ws):
    made = freeze(ws, reason="the reason", expiresIn="PT1H")
    body = {"expiresIn": "PT5H", "reason": "not yet"}
    changed = ws.patch(f"/freezes/{made['id']}", body, status=200).json()
    assert moment(changed["expiresAt"]) > moment(made["createdAt"]) + timedelta(hours=5)
    assert changed["reason"] == "the reason"
    event = get(ws, made)["events"][-1]
    assert (event["action"], event["note"]) == ("extended", "not yet")
    assert event["actor"] == made["createdBy"]
    forever = ws.patch(f"/freezes/{made['id']}", {"expiresAt": None}, status=200).json()
    assert "expiresAt" not in forever
    assert actions(ws, made) == ["activated", "extended", "extended"]


def test_a_reason_alone_replaces_it_and_both_are_in_the_history(ws):
    made = freeze(ws, reason="old")
    body = {"reason": "new", "incidentUrl": "https://example.org/1"}
    assert ws.patch(f"/freezes/{made['id']}", body, status=200).json()["reason"] == "new"
    now = get(ws, made)
    assert now["incidentUrl"] == "https://example.org/1"
    modified = [e["metadata"] for e in now["events"] if e["action"] == "modified"]
    assert any({"old", "new"} <= set(m.values()) for m in modified)
    assert ws.patch(f"/freezes/{made['id']}", {"reason": "new"}, status=200).json() == plain(now)
    assert len(get(ws, made)["events"]) == len(now["events"]), "nothing changed, nothing is told"


def test_a_selector_is_changed_and_taken_away(world):
    made = freeze(world.ws, selector="environment.name == 'prod'")
    path = f"/freezes/{made['id']}"
    assert world.ws.patch(path, {"selector": None}, status=200).json().get("selector") is None
    assert get(world.ws, made)["impact"]["targets"] == 3
    world.ws.patch(path, {"selector": "environment.name == 'staging'"}, status=200)
    assert get(world.ws, made)["impact"]["targets"] == 1
    assert actions(world.ws, made) == ["activated", "modified", "modified"]


@pytest.mark.parametrize("body, path", [
    ({"reason": ""}, "reason"), ({"expiresIn": "PT0S"}, "expiresIn"), ({"expiresIn": "-PT1S"}, "expiresIn"),
    ({"expiresIn": "x"}, "expiresIn"), ({"expiresIn": "P20Y"}, "expiresIn"),
    ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"), ({"expiresAt": "x"}, "expiresAt"),
    ({"expiresIn": "PT1H", "expiresAt": "2099-01-01T00:00:00Z"}, "expiresIn"),
    ({"effectiveAt": instant(hours=1)}, "effectiveAt"), ({"selector": "resource.kind =="}, "selector"),
])
def test_bad_changes_are_400_and_change_nothing(ws, body, path):
    made = freeze(ws, expiresIn="PT3H")
    assert complaint_paths(ws.patch(f"/freezes/{made['id']}", body)) == [path]
    assert plain(get(ws, made)) == plain(made)
    assert actions(ws, made) == ["activated"]


def test_a_planned_freeze_can_be_moved_and_cancelled(ws):
    made = freeze(ws, effectiveAt=instant(hours=2), expiresIn="PT1H")
    assert (made["status"], actions(ws, made)) == ("scheduled", ["scheduled"])
    assert moment(made["expiresAt"]) - moment(made["effectiveAt"]) == timedelta(hours=1)
    later = instant(hours=2, minutes=30)
    moved = ws.patch(f"/freezes/{made['id']}", {"effectiveAt": later}, status=200).json()
    assert moment(moved["effectiveAt"]) == moment(later)
    assert complaint_paths(ws.patch(f"/freezes/{made['id']}",
                                    {"effectiveAt": instant(hours=9)})) == ["effectiveAt"]
    assert thaw(ws, made)["status"] == "ended"
    assert get(ws, made)["events"][-1]["metadata"].get("cancelled") is True


# ---- Thaw ----------------------------------------------------------------------------------------------


def test_a_thaw_ends_it_and_a_second_one_says_who_and_when(ws):
    made = freeze(ws)
    ended = thaw(ws, made, reason="fixed")
    assert (ended["status"], ended["thawReason"], ended["thawedBy"]) == ("ended", "fixed", made["createdBy"])
    again = refusal(ws.post(f"/freezes/{made['id']}/thaw", {"reason": "again"}), 409)
    assert made["createdBy"] in again["message"] and ended["thawedAt"][:19] in again["message"]
    assert actions(ws, made) == ["activated", "thawed"]
    assert get(ws, made)["events"][-1]["note"] == "fixed"
    refusal(ws.patch(f"/freezes/{made['id']}", {"expiresIn": "PT1H"}), 409)
    assert "impact" not in get(ws, made)
    refusal(ws.post(f"/freezes/{new_id()}/thaw", {}), 404)


def test_a_cascade_also_thaws_what_is_inside(world):
    inner = freeze(world.ws, scope="environment", scopeEntityId=world.prod)
    wide = freeze(world.ws)
    thaw(world.ws, wide)
    assert get(world.ws, inner)["status"] == "active", "by itself each stands alone"
    wide = freeze(world.ws)
    thaw(world.ws, wide, cascade=True)
    assert get(world.ws, inner)["status"] == "ended"
    assert get(world.ws, inner)["events"][-1]["metadata"]["cascadeFrom"] == wide["id"]


@pytest.mark.parametrize("body, path", [
    ({"resume": {"perMinute": 0}}, "resume.perMinute"), ({"resume": {"perMinute": -1}}, "resume.perMinute"),
    ({"resume": {"perMinute": "30"}}, "resume.perMinute"), ({"resume": {}}, "resume.perMinute"),
    ({"resume": 30}, "resume"), ({"resume": {"perMinute": 10**9}}, "resume.perMinute"),
    ({"cascade": "yes"}, "cascade"), ({"reason": 1}, "reason"),
])
def test_bad_thaws_are_400_and_thaw_nothing(ws, body, path):
    made = freeze(ws)
    assert complaint_paths(ws.post(f"/freezes/{made['id']}/thaw", body)) == [path]
    assert get(ws, made)["status"] == "active"


def test_the_pace_of_a_thaw_is_shown(ws):
    made = freeze(ws)
    assert thaw(ws, made, resume={"perMinute": 30})["resume"] == {"perMinute": 30}
    assert get(ws, made)["resume"] == {"perMinute": 30}
