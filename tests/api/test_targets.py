"""Release targets: what they run, should run and wait for; previews, redeploys, releases."""

import pytest

from harness import all_at_once, complaint_paths, eventually, moment, new_id, refusal


def target(world, name, tail=""):
    return f"/release-targets/{world.key(name)}{tail}"


def overview(world, query=""):
    page = world.ws.get(f"/release-targets{query}", status=200).json()
    return {item["resource"]["identifier"]: item for item in page["items"]}


# ---- Overview ------------------------------------------------------------------------------------------


def test_the_overview_shows_every_target(world):
    targets = overview(world)
    assert set(targets) == {"stage-a", "prod-a", "prod-b"}
    for name, item in targets.items():
        assert item["releaseTarget"]["key"] == world.key(name)
        assert item["deployment"] == {"id": world.deployment, "name": "checkout"}
        assert item["state"]["attempts"] == 0 and item["state"].get("desiredVersion") is None


def test_the_overview_follows_a_roll_out(world):
    version = world.publish("v1")
    world.wait_for_jobs(3)
    state = overview(world)["prod-a"]["state"]
    assert state["desiredVersion"] == {"id": version, "tag": "v1"}
    assert (state.get("currentVersion"), state["activeJob"]["status"]) == (None, "queued")
    world.finish_everything()
    state = overview(world)["prod-a"]["state"]
    assert state["currentVersion"] == {"id": version, "tag": "v1"}
    assert state.get("activeJob") is None and state["latestJob"]["status"] == "successful"


def test_the_overview_is_filtered_sorted_and_paged(world):
    other = world.ws.make_deployment("another", 'resource.kind == "Cluster"')
    world.ws.link(world.system, [other])
    page = world.ws.get("/release-targets", status=200).json()
    order = [(i["deployment"]["name"], i["environment"]["name"],
              i["resource"]["identifier"]) for i in page["items"]]
    assert order == sorted(order) and page["total"] == 6
    assert set(overview(world, f"?deploymentId={other}&environmentId={world.staging}")) == {"stage-a"}
    assert len(world.ws.get(f"/release-targets?resourceId={world.resources['prod-b']}").json()["items"]) == 2
    assert len(world.ws.get("/release-targets?limit=4&offset=3").json()["items"]) == 3
    for name in ("deploymentId", "environmentId", "resourceId"):
        refusal(world.ws.get(f"/release-targets?{name}={new_id()}"), 404)
        assert complaint_paths(world.ws.get(f"/release-targets?{name}=x")) == [name]


# ---- State ---------------------------------------------------------------------------------------------


def test_the_state_of_a_target_from_nothing_to_deployed(world):
    assert world.ws.get(target(world, "prod-a", "/state"), status=200).json() == {}
    refusal(world.ws.get(target(world, "prod-a", "/desired-release")), 404)
    version = world.publish("v1")
    world.wait_for_jobs(3)
    state = world.ws.get(target(world, "prod-a", "/state?bypassCache=true"), status=200).json()
    assert state["desiredRelease"]["version"]["id"] == version
    assert state.get("currentRelease") is None
    assert state["latestJob"]["job"]["status"] == "queued" and state["latestJob"]["verifications"] == []
    desired = world.ws.get(target(world, "prod-a", "/desired-release"), status=200).json()["desiredRelease"]
    assert desired == state["desiredRelease"]
    world.finish_everything()
    state = world.ws.get(target(world, "prod-a", "/state")).json()
    assert state["currentRelease"]["id"] == state["desiredRelease"]["id"] == desired["id"]


def test_states_of_a_deployment_in_an_environment(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    body = {"deploymentId": world.deployment, "environmentId": world.prod}
    page = world.ws.post("/release-targets/state", body, status=200).json()
    assert [i["releaseTarget"]["resourceId"] for i in page["items"]] == [world.resources["prod-a"],
                                                                         world.resources["prod-b"]]
    assert all(i["state"]["desiredRelease"]["version"]["tag"] == "v1" for i in page["items"])
    page = world.ws.post("/release-targets/state?limit=1&offset=1", body, status=200).json()
    assert (len(page["items"]), page["total"]) == (1, 2)
    refusal(world.ws.post("/release-targets/state", {**body, "deploymentId": new_id()}), 404)
    assert complaint_paths(world.ws.post("/release-targets/state",
                                         {**body, "deploymentId": "x"})) == ["deploymentId"]


@pytest.mark.parametrize("tail", ["/state", "/desired-release", "/jobs"])
def test_a_key_that_is_no_key_is_404(world, tail):
    good = world.key("prod-a")
    for bad in ("x", good[:-1], good + "0", good.replace("-", "_"), new_id(), "%20", "a" * 110):
        refusal(world.ws.get(f"/release-targets/{bad}{tail}"), 404)


def test_a_key_of_things_that_do_not_meet_is_404(world):
    crossed = f"{world.resources['prod-a']}-{world.staging}-{world.deployment}"
    refusal(world.ws.get(f"/release-targets/{crossed}/state"), 404)
    refusal(world.ws.post(f"/release-targets/{crossed}/redeploy"), 404)


def test_another_workspaces_target_is_404(admin, world):
    world.publish()
    world.wait_for_jobs(3)
    other = admin.new_workspace()
    for answer in (other.get(target(world, "prod-a", "/state")),
                   other.get(target(world, "prod-a", "/desired-release")),
                   other.post(target(world, "prod-a", "/redeploy"))):
        refusal(answer, 404)
    assert other.get(target(world, "prod-a", "/jobs")).json().get("total", 0) == 0
    refusal(other.get(f"/release-targets?deploymentId={world.deployment}"), 404)


def test_the_jobs_of_a_target_newest_first(world):
    for tag in ("v1", "v2"):
        world.publish(tag)
        world.wait_for_jobs(3)
        world.finish_everything()
    page = world.ws.get(target(world, "prod-a", "/jobs"), status=200).json()
    assert page["total"] == 2
    assert moment(page["items"][0]["createdAt"]) > moment(page["items"][1]["createdAt"])
    assert len(world.ws.get(target(world, "prod-a", "/jobs?limit=1")).json()["items"]) == 1


# ---- Redeploy ------------------------------------------------------------------------------------------


def test_a_redeploy_starts_the_desired_release_once_more(world):
    refusal(world.ws.post(target(world, "prod-a", "/redeploy")), 409)
    world.publish("v1")
    world.wait_for_jobs(3)
    world.finish_everything()
    answer = world.ws.post(target(world, "prod-a", "/redeploy"), status=202).json()
    assert answer["jobIds"] == [answer["id"]]
    job = world.ws.get(f"/jobs/{answer['id']}", status=200).json()
    assert (job["status"], job["cause"]) == ("queued", "redeploy")
    assert [j["id"] for j in world.queued()] == [answer["id"]]


def test_of_20_concurrent_redeploys_one_starts(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    world.finish_everything()
    path = target(world, "prod-a", "/redeploy")
    answers = all_at_once(20, lambda i: world.ws.post(path).status_code)
    assert sorted(answers) == [202] + [409] * 19
    assert len(world.queued()) == 1


# ---- Previews ------------------------------------------------------------------------------------------


def test_a_preview_shows_the_targets_a_resource_would_have(world):
    other = world.ws.make_deployment("another", 'resource.name == "x"')
    world.ws.link(world.system, [other])
    body = {"name": "x", "kind": "Cluster", "version": "v1", "identifier": "new", "metadata": {"env": "prod"},
            "config": {}}
    page = world.ws.post("/release-targets/resource-preview", body, status=200).json()
    found = [(i["system"]["id"], i["deployment"]["id"], i["environment"]["id"]) for i in page["items"]]
    assert found == [(world.system, other, world.prod), (world.system, world.deployment, world.prod)]
    assert page["total"] == 2
    assert len(world.ws.post("/release-targets/resource-preview?limit=1", body).json()["items"]) == 1
    nothing = world.ws.post("/release-targets/resource-preview", {**body, "kind": "Other", "name": "y"},
                            status=200)
    assert nothing.json()["items"] == []
    assert world.ws.get("/resources").json()["total"] == 3, "nothing was made"


@pytest.mark.parametrize("member", ["name", "kind", "version", "identifier"])
def test_a_preview_needs_a_whole_resource(world, member):
    body = {"name": "x", "kind": "K", "version": "v1", "identifier": "i"}
    assert complaint_paths(world.ws.post("/release-targets/resource-preview",
                                         {**body, member: ""})) == [member]
    del body[member]
    assert complaint_paths(world.ws.post("/release-targets/resource-preview", body)) == [member]


# ---- Releases ------------------------------------------------------------------------------------------


def test_a_release_is_read_by_its_id(admin, world):
    version = world.publish("v1")
    release = world.wait_for_jobs(3)[0]["releaseId"]
    body = world.ws.get(f"/releases/{release}", status=200).json()
    assert (body["id"], body["version"]["id"]) == (release, version)
    assert body["releaseTarget"]["deploymentId"] == world.deployment
    refusal(admin.new_workspace().get(f"/releases/{release}"), 404)
    refusal(world.ws.get(f"/releases/{new_id()}"), 404)


def test_a_release_is_read_after_its_target_has_gone(world):
    world.publish("v1")
    release = world.wait_for_jobs(3)[0]["releaseId"]
    world.finish_everything()
    world.ws.delete(f"/environments/{world.prod}", status=202)
    world.ws.delete(f"/environments/{world.staging}", status=202)
    assert world.ws.get(f"/releases/{release}", status=200).json()["version"]["tag"] == "v1"


# ---- What decisions look like from outside -------------------------------------------------------------


def test_a_rejected_version_is_replaced_by_the_one_before(world):
    first = world.publish("v1")
    world.wait_for_jobs(3)
    world.finish_everything()
    second = world.publish("v2")
    world.wait_for_jobs(3)
    world.finish_everything()
    world.ws.patch(f"/deployment-versions/{second}", {"status": "rejected"}, status=202)
    world.wait_for_jobs(3)
    assert {i["state"]["desiredVersion"]["id"] for i in overview(world).values()} == {first}


def test_a_failure_is_not_tried_again_by_itself(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    failed = world.finish_everything("failure")
    assert len(failed) == 3
    states = [item["state"] for item in overview(world).values()]
    assert all(state["attempts"] == 1 and state["reason"] for state in states)
    assert world.queued() == []


def test_a_deployment_without_an_agent_says_what_it_waits_for(ws):
    system, environment, deployment = ws.make_system(), ws.make_environment(), ws.make_deployment()
    ws.link(system, [deployment], [environment])
    ws.make_resource("r")
    ws.make_version(deployment)
    reason = eventually(lambda: ws.get("/release-targets").json()["items"][0]["state"].get("reason"))
    assert "agent" in reason
