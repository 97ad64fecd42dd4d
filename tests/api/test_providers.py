"""Resource providers: upserting them, and setting all their resources at once."""

import json
import time

import pytest

from harness import all_at_once, complaint_paths, new_id, refusal

ALL = "/resource-providers"


def item(identifier, **more):
    return {"identifier": identifier, "name": identifier, "kind": "K", "version": "v1", **more}


def make(ws, name="provider", **more):
    return ws.put(ALL, {"id": "", "name": name, **more}, status=202).json()["id"]


def set_resources(ws, provider, resources, status=202, **more):
    return ws.put(f"{ALL}/{provider}/set", {"resources": resources}, status=status, **more)


def owned(ws, name="provider"):
    body = ws.get(f"{ALL}/name/{name}/resources", status=200).json()
    assert body["total"] == len(body["items"])
    return [resource["identifier"] for resource in body["items"]]


# ---- Providers -----------------------------------------------------------------------------------------


def test_a_provider_is_made_found_and_deleted(ws):
    made = ws.put(ALL, {"id": "", "name": "aws", "metadata": {"a": "b"}}, status=202).json()
    assert (made["name"], made["metadata"], made["workspaceId"]) == ("aws", {"a": "b"}, ws.id)
    assert ws.get(f"{ALL}/name/aws", status=200).json() == made
    assert ws.get(ALL, status=200).json()["items"] == [made]
    assert ws.delete(f"{ALL}/name/aws", status=202).json() == made
    refusal(ws.get(f"{ALL}/name/aws"), 404)
    refusal(ws.delete(f"{ALL}/name/aws"), 404)


@pytest.mark.parametrize("id_member", [{}, {"id": ""}, {"id": None}])
def test_the_same_name_is_the_same_provider(ws, id_member):
    first = make(ws, "aws")
    again = ws.put(ALL, {"name": "aws", "metadata": {"k": "v"}, **id_member}, status=202).json()
    assert (again["id"], again["metadata"]) == (first, {"k": "v"})
    assert ws.get(ALL).json()["total"] == 1


def test_a_known_id_with_a_new_name_is_a_rename(ws):
    provider = make(ws, "old")
    set_resources(ws, provider, [item("r")])
    assert ws.put(ALL, {"id": provider, "name": "new"}, status=202).json()["id"] == provider
    refusal(ws.get(f"{ALL}/name/old"), 404)
    assert owned(ws, "new") == ["r"]


def test_an_unknown_id_finds_by_name_or_makes_with_that_id(ws):
    existing = make(ws, "aws")
    assert ws.put(ALL, {"id": new_id(), "name": "aws"}, status=202).json()["id"] == existing
    chosen = new_id()
    assert ws.put(ALL, {"id": chosen, "name": "gcp"}, status=202).json()["id"] == chosen


def test_a_rename_to_a_taken_name_is_409(ws):
    first, second = make(ws, "a"), make(ws, "b")
    refusal(ws.put(ALL, {"id": first, "name": "b"}), 409)
    assert {p["id"]: p["name"] for p in ws.get(ALL).json()["items"]} == {first: "a", second: "b"}


@pytest.mark.parametrize("body, path", [
    ({"name": ""}, "name"), ({"name": "x" * 256}, "name"), ({"name": "a", "id": "no uuid"}, "id"),
    ({"name": "a", "metadata": {"a": 1}}, "metadata.a"), ({}, "name"), ({"name": "a\0"}, "name"),
])
def test_bad_providers_are_400(ws, body, path):
    assert complaint_paths(ws.put(ALL, body)) == [path]


def test_a_provider_that_owns_something_is_not_deleted(ws):
    provider = make(ws)
    set_resources(ws, provider, [item("r")])
    refusal(ws.delete(f"{ALL}/name/provider"), 409)
    set_resources(ws, provider, [])
    ws.delete(f"{ALL}/name/provider", status=202)


def test_of_20_concurrent_upserts_of_one_name_all_name_one_provider(ws):
    ids = all_at_once(20, lambda i: ws.put(ALL, {"id": "", "name": "aws"}, status=202).json()["id"])
    assert len(set(ids)) == 1


def test_another_workspaces_provider_is_404(admin, ws):
    provider = make(ws)
    set_resources(ws, provider, [item("r")])
    other = admin.new_workspace()
    refusal(other.get(f"{ALL}/name/provider"), 404)
    refusal(other.put(f"{ALL}/{provider}/set", {"resources": []}), 404)
    assert owned(ws) == ["r"]


# ---- Sets ----------------------------------------------------------------------------------------------


def test_a_set_replaces_everything_the_provider_owned(ws):
    provider = make(ws)
    answer = set_resources(ws, provider, [item("a", config={"n": 1}), item("b")]).json()
    assert (answer["ok"], answer["method"]) == (True, "direct")
    ids = {r["identifier"]: r["id"] for r in ws.get("/resources").json()["items"]}
    set_resources(ws, provider, [item("b", name="new name"), item("c")])
    rows = {r["identifier"]: r for r in ws.get("/resources").json()["items"]}
    assert set(rows) == {"b", "c"}
    assert (rows["b"]["id"], rows["b"]["name"], rows["b"]["providerId"]) == (ids["b"], "new name", provider)
    set_resources(ws, provider, [])
    assert owned(ws) == []


def test_what_belongs_to_another_provider_is_skipped_and_counted(ws):
    first, second = make(ws, "first"), make(ws, "second")
    set_resources(ws, first, [item("a"), item("b")])
    answer = set_resources(ws, second, [item("b", name="stolen"), item("c")]).json()
    assert answer["skipped"] == 1
    assert (owned(ws, "first"), owned(ws, "second")) == (["a", "b"], ["c"])
    assert ws.get("/resources/identifier/b").json()["name"] == "b"


def test_what_belongs_to_nobody_is_taken_over(ws):
    made = ws.make_resource("loose")
    provider = make(ws)
    set_resources(ws, provider, [item("loose")])
    resource = ws.get("/resources/identifier/loose").json()
    assert (resource["id"], resource["providerId"]) == (made, provider)
    ws.put("/resources/identifier/loose", {"name": "n", "kind": "K", "version": "v1"}, status=202)
    assert owned(ws) == ["loose"], "a plain upsert keeps the owner"


def test_null_config_and_metadata_and_a_zero_time_are_accepted(ws):
    set_resources(ws, make(ws), [item("a", config=None, metadata=None, createdAt="0001-01-01T00:00:00Z")])
    resource = ws.get("/resources/identifier/a").json()
    assert (resource["config"], resource["metadata"]) == ({}, {})
    assert resource["createdAt"] > "2020"


def test_an_identifier_twice_in_one_set_is_400_and_changes_nothing(ws):
    provider = make(ws)
    set_resources(ws, provider, [item("old")])
    answer = set_resources(ws, provider, [item("a"), item("b"), item("a")], status=400)
    assert complaint_paths(answer) == ["resources[2].identifier"]
    assert owned(ws) == ["old"]


@pytest.mark.parametrize("bad, path", [
    ({"name": ""}, "resources[1].name"), ({"kind": ""}, "resources[1].kind"),
    ({"identifier": ""}, "resources[1].identifier"),
    ({"config": []}, "resources[1].config"), ({"metadata": {"a": 1}}, "resources[1].metadata.a"),
    ({"version": None}, "resources[1].version"), ({"name": "a\0"}, "resources[1].name"),
])
def test_one_bad_resource_is_400_and_the_whole_set_has_no_effect(ws, bad, path):
    provider = make(ws)
    answer = set_resources(ws, provider, [item("a"), {**item("b"), **bad}], status=400)
    assert complaint_paths(answer) == [path]
    assert owned(ws) == []


@pytest.mark.parametrize("body", [{}, {"resources": None}, {"resources": {}}, {"resources": [1]},
                                  {"resources": "a"}])
def test_a_set_without_a_list_is_400(ws, body):
    refusal(ws.put(f"{ALL}/{make(ws)}/set", body), 400)


def test_ten_thousand_resources_are_set_in_one_request(ws):
    provider = make(ws)
    resources = [item(f"node-{i:05}", metadata={"rack": str(i % 100)},
                      config={"cpus": i % 64}) for i in range(10_000)]
    body = json.dumps({"resources": resources})
    assert len(body) > 1_000_000, "more than other requests may have"
    began = time.monotonic()
    ws.request("PUT", f"{ALL}/{provider}/set", data=body, headers={"Content-Type": "application/json"},
               status=202)
    assert ws.get("/resources?limit=1", status=200).json()["total"] == 10_000
    assert time.monotonic() - began < 30
    some = ws.post("/resources/search", {"metadata": {"rack": "7"}, "sortBy": "name"}, status=200).json()
    assert (some["total"], some["items"][0]["identifier"]) == (100, "node-00007")
    answer = set_resources(ws, provider, resources[:10], timeout=60).json()
    assert answer["skipped"] == 0
    assert owned(ws) == [f"node-{i:05}" for i in range(10)]


def test_resources_that_came_together_are_listed_in_the_order_they_came(ws):
    names = [f"{(i * 7919) % 300:03}" for i in range(300)]
    set_resources(ws, make(ws), [item(name) for name in names])
    assert owned(ws) == names


def test_concurrent_sets_of_one_provider_leave_one_of_them(ws):
    provider = make(ws)
    sets = [[item(f"{i}-{j}") for j in range(20)] for i in range(8)]
    answers = all_at_once(8, lambda i: set_resources(ws, provider, sets[i], status=None).status_code)
    assert set(answers) == {202}
    assert sorted(owned(ws)) in [sorted(r["identifier"] for r in s) for s in sets]


def test_a_set_makes_and_ends_release_targets_before_it_answers(world):
    provider = make(world.ws)
    nodes = [{**item(f"new-{i}"), "kind": "Cluster", "metadata": {"env": "prod"}} for i in range(5)]
    set_resources(world.ws, provider, nodes)
    assert world.ws.get("/release-targets").json()["total"] == 8
    set_resources(world.ws, provider, nodes[:1])
    assert world.ws.get("/release-targets").json()["total"] == 4
