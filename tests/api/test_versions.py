"""Versions: registering them, their order and their status."""

import pytest

from harness import all_at_once, complaint_paths, new_id, refusal


def versions_path(deployment):
    return f"/deployments/{deployment}/versions"


def test_a_version_is_registered_and_read(ws):
    deployment = ws.make_deployment()
    body = {"tag": "v1.0", "name": "one", "status": "ready", "message": "first",
            "config": {"image": "a:1", "n": 1},
            "jobAgentConfig": {"ref": "main"}, "metadata": {"commit": "abc"}}
    made = ws.post(versions_path(deployment), body, status=200).json()
    assert {name: made[name] for name in body} == body
    assert made["deploymentId"] == deployment
    assert ws.get(f"/deployment-versions/{made['id']}", status=200).json() == made
    page = ws.get(versions_path(deployment), status=200).json()
    assert (page["items"], page["total"]) == ([made], 1)


@pytest.mark.parametrize("name", [{}, {"name": ""}, {"name": None}])
def test_without_a_name_the_tag_is_the_name(ws, name):
    made = ws.post(versions_path(ws.make_deployment()), {"tag": "v1", **name}, status=200).json()
    assert (made["name"], made["status"], made["config"], made["metadata"]) == ("v1", "ready", {}, {})


def test_a_tag_is_used_once_per_deployment(ws):
    deployment, other = ws.make_deployment(), ws.make_deployment()
    first = ws.make_version(deployment, "v1")
    body = refusal(ws.post(versions_path(deployment), {"tag": "v1", "status": "failed"}), 409)
    assert first in body["message"]
    ws.make_version(other, "v1")
    assert ws.get(f"/deployment-versions/{first}").json()["status"] == "ready"


def test_of_20_concurrent_creates_of_one_tag_one_wins(ws):
    path = versions_path(ws.make_deployment())
    answers = all_at_once(20, lambda i: ws.post(path, {"tag": "v1", "name": f"n{i}"}))
    assert sorted(a.status_code for a in answers) == [200] + [409] * 19
    page = ws.get(path).json()
    winner = next(a.json() for a in answers if a.status_code == 200)
    assert page["items"] == [winner]


def test_20_concurrent_creates_of_different_tags_all_succeed(ws):
    path = versions_path(ws.make_deployment())
    ids = all_at_once(20, lambda i: ws.post(path, {"tag": f"v{i}"}, status=200).json()["id"])
    page = ws.get(path).json()
    assert {v["id"] for v in page["items"]} == set(ids)
    assert len({v["createdAt"] for v in page["items"]}) == 20, "each has an instant of its own"


def test_versions_come_newest_first_unless_asked(ws):
    deployment = ws.make_deployment()
    for i in range(5):
        ws.make_version(deployment, f"v{i}")
    path = versions_path(deployment)

    def tags(query):
        return [v["tag"] for v in ws.get(path + query, status=200).json()["items"]]

    assert tags("") == tags("?order=desc") == ["v4", "v3", "v2", "v1", "v0"]
    assert tags("?order=asc") == ["v0", "v1", "v2", "v3", "v4"]
    assert tags("?limit=2&offset=1") == ["v3", "v2"]
    refusal(ws.get(path + "?order=up"), 400)


def test_old_versions_are_still_listed_read_and_their_tags_taken(ws):
    deployment = ws.make_deployment()
    first = ws.make_version(deployment, "v0")
    for i in range(1, 130):  # more than are kept in memory
        ws.make_version(deployment, f"v{i}")
    page = ws.get(versions_path(deployment) + "?limit=1000", status=200).json()
    assert (page["total"], page["items"][-1]["id"]) == (130, first)
    assert ws.get(f"/deployment-versions/{first}", status=200).json()["tag"] == "v0"
    refusal(ws.post(versions_path(deployment), {"tag": "v0"}), 409)


def test_the_status_of_a_retired_version_can_be_changed(ws):
    deployment, other = ws.make_deployment(), ws.make_deployment()
    needs = {other: {"versionSelector": "true"}}
    first = ws.post(versions_path(deployment), {"tag": "v0", "dependencies": needs}, status=200).json()
    for i in range(1, 130):
        ws.make_version(deployment, f"v{i}")
    path = f"/deployment-versions/{first['id']}"
    changed = ws.patch(path, {"status": "rejected", "message": "a hole"}, status=202).json()
    assert changed == {**first, "status": "rejected", "message": "a hole"}
    assert ws.get(path, status=200).json() == changed
    assert ws.get(versions_path(deployment) + "?limit=1000", status=200).json()["items"][-1] == changed
    assert ws.patch(path, {"message": "closed"}, status=202).json()["status"] == "rejected"


@pytest.mark.parametrize("status", ["unspecified", "building", "ready", "failed", "rejected", "paused"])
def test_every_status_can_be_given_and_set(ws, status):
    deployment = ws.make_deployment()
    version = ws.make_version(deployment, status=status)
    assert ws.get(f"/deployment-versions/{version}").json()["status"] == status
    other = ws.make_version(deployment, status="building")
    changed = ws.patch(f"/deployment-versions/{other}", {"status": status, "message": "why"},
                       status=202).json()
    assert (changed["status"], changed["message"]) == (status, "why")


def test_the_older_path_of_a_status_change_works_too(ws):
    version = ws.make_version(ws.make_deployment())
    body = {"id": version, "status": "paused"}
    assert ws.patch(f"/deploymentversions/{version}", body, status=202).json()["status"] == "paused"


def test_a_message_alone_can_be_changed(ws):
    version = ws.make_version(ws.make_deployment(), status="building")
    changed = ws.patch(f"/deployment-versions/{version}", {"message": "still going"}, status=202).json()
    assert (changed["status"], changed["message"]) == ("building", "still going")


@pytest.mark.parametrize("member", [{"tag": "v2"}, {"config": {}}, {"metadata": {}}, {"name": "n"},
                                    {"createdAt": "x"}])
def test_nothing_else_of_a_version_can_be_changed(ws, member):
    version = ws.make_version(ws.make_deployment(), "v1")
    answer = ws.patch(f"/deployment-versions/{version}", {"status": "paused", **member})
    assert complaint_paths(answer) == list(member)
    assert ws.get(f"/deployment-versions/{version}").json()["status"] == "ready"


@pytest.mark.parametrize("body, path", [
    ({"tag": ""}, "tag"), ({"tag": "x" * 256}, "tag"), ({"tag": "v", "status": "done"}, "status"),
    ({"tag": "v", "createdAt": "yesterday"}, "createdAt"), ({"tag": "v", "config": []}, "config"),
    ({"tag": "v", "metadata": {"a": 1}}, "metadata.a"),
    ({"tag": "v", "dependencies": {"a": {}}}, "dependencies"),
    ({"tag": "v\0"}, "tag"), ({"tag": "v", "jobAgentConfig": 1}, "jobAgentConfig"),
])
def test_bad_versions_are_400(ws, body, path):
    deployment = ws.make_deployment()
    assert complaint_paths(ws.post(versions_path(deployment), body))[0].startswith(path)
    assert ws.get(versions_path(deployment)).json()["total"] == 0


def test_dependencies_are_stored_with_the_version_or_refused_with_it(ws):
    deployment, other = ws.make_deployment(), ws.make_deployment()
    path = versions_path(deployment)
    needs = {other: {"versionSelector": "version.tag == 'v1'"}}
    made = ws.post(path, {"tag": "v1", "dependencies": needs}, status=200).json()
    listed = ws.get(f"/deployment-versions/{made['id']}/dependencies", status=200).json()
    assert [(d["dependencyDeploymentId"], d["versionSelector"]) for d in listed] == [(other,
                                                                                      "version.tag == 'v1'")]
    assert made["dependencies"] == needs
    assert ws.get(f"/deployment-versions/{made['id']}", status=200).json() == made
    free = ws.post(path, {"tag": "v2", "dependencies": {}}, status=200).json()
    assert free["dependencies"] == {}
    assert ws.get(path, status=200).json()["items"] == [free, made]
    refusal(ws.post(path, {"tag": "v3", "dependencies": {new_id(): {"versionSelector": "true"}}}), 404)
    for wrong in ({"x": {"versionSelector": "true"}}, {other: {"versionSelector": "version.tg"}},
                  {other: {"versionSelector": ""}}, {deployment: {"versionSelector": "true"}}):
        assert complaint_paths(ws.post(path,
                                       {"tag": "v3", "dependencies": wrong}))[0].startswith("dependencies")
    assert ws.get(path).json()["total"] == 2


def test_a_given_time_does_not_change_the_order(ws):
    deployment = ws.make_deployment()
    ws.make_version(deployment, "v1")
    ws.make_version(deployment, "v2", createdAt="0001-01-01T00:00:00Z")
    ws.make_version(deployment, "v3", createdAt="2020-01-02T03:04:05+02:00")
    assert [v["tag"] for v in ws.get(versions_path(deployment)).json()["items"]] == ["v3", "v2", "v1"]


def test_another_workspaces_version_is_404(admin, ws):
    version = ws.make_version(ws.make_deployment())
    other = admin.new_workspace()
    refusal(other.get(f"/deployment-versions/{version}"), 404)
    refusal(other.patch(f"/deployment-versions/{version}", {"status": "rejected"}), 404)
    assert ws.get(f"/deployment-versions/{version}").json()["status"] == "ready"


def test_only_a_ready_version_is_deployed(world):
    version = world.publish("v1", status="building")
    assert world.queued() == []
    world.ws.patch(f"/deployment-versions/{version}", {"status": "ready"}, status=202)
    world.wait_for_jobs(3)
