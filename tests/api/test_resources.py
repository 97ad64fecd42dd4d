"""Resources: upserting, searching, deleting."""

from urllib.parse import quote, quote_plus

import pytest

from harness import all_at_once, complaint_paths, moment, new_id, refusal

RESOURCE = {"name": "Name", "kind": "Cluster", "version": "v1"}


def one(identifier):
    return f"/resources/identifier/{quote(identifier, safe='')}"


@pytest.fixture()
def fleet(ws):
    """Ten resources of two kinds; returns the workspace's client."""
    for i in range(10):
        ws.make_resource(f"id-{i}", name=f"Node {9 - i}", kind="A" if i < 4 else "B", version=f"v{i % 3}",
                         metadata={"region": "eu" if i % 2 else "us", "n": str(i)}, config={"cpus": i})
    return ws


def identifiers(answer):
    assert answer.status_code == 200, answer.text
    return [item["identifier"] for item in answer.json()["items"]]


# ---- One resource --------------------------------------------------------------------------------------


def test_a_resource_is_made_read_changed_and_deleted(ws):
    body = {**RESOURCE, "config": {"a": {"b": [1]}}, "metadata": {"k": "v"}}
    made = ws.put(one("web-1"), body, status=202).json()
    assert made["message"] == "Resource upsert requested"
    resource = ws.get(one("web-1"), status=200).json()
    created = resource["createdAt"]
    assert {name: resource[name] for name in body} == body
    assert (resource["id"], resource["workspaceId"], resource["identifier"]) == (made["id"], ws.id, "web-1")
    assert resource.get("providerId") is None
    again = ws.put(one("web-1"), {**RESOURCE, "name": "Other"}, status=202).json()
    assert again["id"] == made["id"]
    resource = ws.get(one("web-1")).json()
    assert (resource["name"], resource["config"], resource["metadata"]) == ("Other", {}, {})
    assert resource["createdAt"] == created and moment(resource["updatedAt"]) > moment(created)
    assert ws.delete(one("web-1"), status=202).json() == {"id": made["id"], "message": "Resource deleted"}
    refusal(ws.get(one("web-1")), 404)
    refusal(ws.delete(one("web-1")), 404)


def test_the_same_put_again_changes_nothing(ws):
    ws.put(one("r"), RESOURCE, status=202)
    before = ws.get(one("r")).json()
    ws.put(one("r"), RESOURCE, status=202)
    assert ws.get(one("r")).json() == before


def test_a_resource_made_anew_has_a_new_id(ws):
    first = ws.make_resource("r")
    ws.delete(one("r"), status=202)
    assert ws.make_resource("r") != first


def test_null_config_and_metadata_are_empty(ws):
    ws.put(one("r"), {**RESOURCE, "config": None, "metadata": None, "variables": None}, status=202)
    resource = ws.get(one("r")).json()
    assert (resource["config"], resource["metadata"]) == ({}, {})


@pytest.mark.parametrize("body, path", [
    ({"name": ""}, "name"), ({"kind": ""}, "kind"), ({"version": ""}, "version"),
    ({"name": "x" * 1025}, "name"),
    ({"kind": "x" * 256}, "kind"), ({"config": []}, "config"), ({"config": "a"}, "config"),
    ({"metadata": {"a": 1}}, "metadata.a"), ({"variables": []}, "variables"), ({"name": "a\0"}, "name"),
])
def test_bad_resources_are_400(ws, body, path):
    assert complaint_paths(ws.put(one("r"), {**RESOURCE, **body})) == [path]
    refusal(ws.get(one("r")), 404)


def test_a_very_long_identifier_is_400(ws):
    ws.put(one("x" * 1024), RESOURCE, status=202)
    assert complaint_paths(ws.put(one("x" * 1025), RESOURCE)) == ["identifier"]


def test_large_metadata_comes_back_whole(ws):
    metadata = {f"key-{i}": "v" * 100 for i in range(500)}
    ws.put(one("r"), {**RESOURCE, "metadata": metadata}, status=202)
    assert ws.get(one("r")).json()["metadata"] == metadata


def test_concurrent_puts_of_one_identifier_make_one_resource(ws):
    ids = all_at_once(20, lambda i: ws.put(one("r"), {**RESOURCE, "name": f"n{i}"}, status=202).json()["id"])
    assert len(set(ids)) == 1
    assert ws.get("/resources").json()["total"] == 1


def test_concurrent_deletes_of_one_resource_find_it_once(ws):
    ws.make_resource("r")
    answers = all_at_once(20, lambda i: ws.delete(one("r")).status_code)
    assert sorted(answers) == [202] + [404] * 19


def test_another_workspaces_resource_is_404(admin, ws):
    ws.make_resource("r")
    other = admin.new_workspace()
    refusal(other.get(one("r")), 404)
    refusal(other.delete(one("r")), 404)
    other.make_resource("r")
    ws.get(one("r"), status=200)


# ---- Variables -----------------------------------------------------------------------------------------


def test_no_variables_are_accepted_and_some_are_refused(ws):
    ws.put(one("r"), {**RESOURCE, "variables": {}}, status=202)
    resource = ws.get(one("r")).json()["id"]
    assert ws.patch(f"{one('r')}/variables", {}, status=202).json()["id"] == resource
    refusal(ws.patch(f"{one('r')}/variables", {"a": 1}), 400)
    assert complaint_paths(ws.put(one("r"), {**RESOURCE, "variables": {"a": 1}})) == ["variables"]
    assert ws.get(f"{one('r')}/variables", status=200).json()["items"] == []
    refusal(ws.patch(f"{one('none')}/variables", {}), 404)
    refusal(ws.get(f"{one('none')}/variables"), 404)


# ---- Lists ---------------------------------------------------------------------------------------------


def test_pages_of_resources_hold_each_once(fleet):
    seen = []
    for offset in range(0, 12, 3):
        page = fleet.get(f"/resources?limit=3&offset={offset}", status=200).json()
        assert page["total"] == 10
        seen += [r["identifier"] for r in page["items"]]
    assert sorted(seen) == [f"id-{i}" for i in range(10)]


@pytest.mark.parametrize("cel, count", [
    ("true", 10), ("false", 0), ("resource.kind == 'A'", 4), ("resource.metadata['region'] == 'eu'", 5),
    ("resource.metadata['none'] == 'x'", 0), ("resource.config.cpus > 6", 3),
    ("resource.name.startsWith('Node 1')", 1),
    ("resource.identifier in ['id-1', 'id-2', 'no']", 2), ("has(resource.metadata.n)", 10),
    ("resource.kind == 'A' && resource.metadata.region == 'us' || resource.identifier == 'id-9'", 3),
])
def test_resources_are_found_by_cel(fleet, cel, count):
    assert fleet.get("/resources", params={"cel": cel}, status=200).json()["total"] == count
    assert fleet.post("/resources/search", {"cel": cel}, status=200).json()["total"] == count


def test_a_cel_that_was_escaped_twice_is_understood(fleet):
    twice = quote_plus("resource.kind == \"A\"")
    assert fleet.get("/resources", params={"cel": twice}, status=200).json()["total"] == 4
    wire = "cel=resource.kind%2B%253D%253D%2B%2522A%2522"
    assert fleet.get(f"/resources?{wire}", status=200).json()["total"] == 4


@pytest.mark.parametrize("cel", ["resource.kind ==", "resource.colour == 'a'", "1", "%", "%zz",
                                 "resource.kind%2B%253D"])
def test_a_bad_cel_is_400(fleet, cel):
    assert complaint_paths(fleet.get("/resources", params={"cel": cel})) == ["cel"]
    assert complaint_paths(fleet.post("/resources/search", {"cel": cel})) == ["cel"]


@pytest.mark.parametrize("filters, found", [
    ({}, range(10)),
    ({"identifiers": ["id-1", "id-3", "none"]}, [1, 3]),
    ({"kinds": ["A"]}, range(4)),
    ({"kinds": ["A", "B"]}, range(10)),
    ({"kinds": []}, range(10)),
    ({"kinds": ["a"]}, []),
    ({"versions": ["v0"]}, [0, 3, 6, 9]),
    ({"metadata": {"region": "eu"}}, [1, 3, 5, 7, 9]),
    ({"metadata": {"region": "eu", "n": "3"}}, [3]),
    ({"metadata": {"region": "EU"}}, []),
    ({"metadata": {"none": ""}}, []),
    ({"query": "node 1"}, [8]),
    ({"query": "ID-"}, range(10)),
    ({"query": "%"}, []),
    ({"query": "_"}, []),
    ({"providerIds": [new_id()]}, []),
    ({"providerIds": ["no uuid"]}, []),
    ({"providerIds": []}, range(10)),
    ({"kinds": ["B"], "metadata": {"region": "us"}, "cel": "resource.config.cpus > 5"}, [6, 8]),
])
def test_search_filters_together(fleet, filters, found):
    answer = fleet.post("/resources/search", filters)
    assert sorted(identifiers(answer)) == [f"id-{i}" for i in found]
    assert answer.json()["total"] == len(list(found))


@pytest.mark.parametrize("order, expected", [
    ({}, list(range(10))),
    ({"sortBy": "createdAt", "order": "desc"}, list(reversed(range(10)))),
    ({"sortBy": "name"}, list(reversed(range(10)))),
    ({"sortBy": "name", "order": "desc"}, list(range(10))),
    ({"sortBy": "kind"}, list(range(10))),
    ({"sortBy": "kind", "order": "desc"}, list(reversed(range(10)))),
    ({"sortBy": "updatedAt", "order": "asc"}, [0, 1, 2, 4, 5, 6, 7, 8, 9, 3]),
])
def test_search_sorts(fleet, order, expected):
    if order.get("sortBy") == "updatedAt":
        fleet.put(one("id-3"), RESOURCE, status=202)
    assert identifiers(fleet.post("/resources/search", order)) == [f"id-{i}" for i in expected]


def test_search_pages_by_its_body(fleet):
    page = fleet.post("/resources/search", {"limit": 3, "offset": 8}, status=200).json()
    assert ([r["identifier"] for r in page["items"]], page["total"], page["limit"], page["offset"]) == (
        ["id-8", "id-9"], 10, 3, 8)
    assert fleet.post("/resources/search", {}, status=200).json()["limit"] == 500
    assert fleet.post("/resources/search", {"offset": 2**62}, status=200).json()["items"] == []
    assert fleet.post("/resources/search", {"offset": 2**63 - 1}, status=200).json()["items"] == []


@pytest.mark.parametrize("body, path", [
    ({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"limit": "5"}, "limit"), ({"limit": 1.5}, "limit"),
    ({"offset": -1}, "offset"), ({"sortBy": "colour"}, "sortBy"), ({"order": "up"}, "order"),
    ({"kinds": "A"}, "kinds"), ({"kinds": [1]}, "kinds[0]"), ({"metadata": {"a": 1}}, "metadata.a"),
    ({"query": 1}, "query"), ({"identifiers": {"a": 1}}, "identifiers"), ({"offset": 2**63}, "offset"),
])
def test_bad_searches_are_400(ws, body, path):
    assert complaint_paths(ws.post("/resources/search", body)) == [path]


# ---- What a resource belongs to ------------------------------------------------------------------------


def test_the_deployments_of_a_resource(world):
    other = world.ws.make_deployment("another", 'resource.identifier == "prod-a"')
    page = world.ws.get(f"{one('prod-a')}/deployments", status=200).json()
    assert [d["id"] for d in page["items"]] == [other, world.deployment]
    assert world.ws.get(f"{one('prod-b')}/deployments").json()["total"] == 1
    refusal(world.ws.get(f"{one('none')}/deployments"), 404)


@pytest.mark.parametrize("base", ["/resources/identifier/", "/resources/"])
def test_the_release_target_of_a_resource(world, base):
    path = f"{base}prod-a/release-targets/deployment/{world.deployment}"
    target = world.ws.get(path, status=200).json()
    assert (target["resourceId"], target["environmentId"]) == (world.resources["prod-a"], world.prod)
    refusal(world.ws.get(f"{base}prod-a/release-targets/deployment/{new_id()}"), 404)
    refusal(world.ws.get(f"{base}none/release-targets/deployment/{world.deployment}"), 404)


def test_a_changed_resource_changes_its_targets_before_the_answer(world):
    body = {"name": "n", "kind": "Cluster", "version": "v1", "metadata": {"env": "staging"}}
    world.ws.put(one("prod-a"), body, status=202)
    page = world.ws.get(f"/release-targets?environmentId={world.staging}").json()
    assert {item["resource"]["identifier"] for item in page["items"]} == {"prod-a", "stage-a"}
    world.ws.delete(one("prod-a"), status=202)
    assert world.ws.get("/release-targets").json()["total"] == 2
