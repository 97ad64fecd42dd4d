"""Systems and what they link."""

import pytest

from harness import all_at_once, complaint_paths, new_id, refusal


def test_a_system_is_made_read_changed_and_deleted(ws):
    made = ws.post("/systems", {"name": "shop", "description": "sells", "metadata": {"team": "a"}},
                   status=202).json()
    assert made["message"] == "System creation requested"
    system = ws.get(f"/systems/{made['id']}", status=200).json()
    assert system == {"id": made["id"], "workspaceId": ws.id, "name": "shop", "slug": "shop",
                      "description": "sells",
                      "metadata": {"team": "a"}, "environments": [], "deployments": []}
    changed = ws.put(f"/systems/{made['id']}", {"name": "store"}, status=202).json()
    assert changed["id"] == made["id"]
    system = ws.get(f"/systems/{made['id']}").json()
    assert (system["name"], system["metadata"], "description" in system) == ("store", {}, False)
    gone = ws.delete(f"/systems/{made['id']}", status=202).json()
    assert gone["id"] == made["id"]
    refusal(ws.get(f"/systems/{made['id']}"), 404)
    refusal(ws.delete(f"/systems/{made['id']}"), 404)


def test_a_put_with_a_new_id_makes_a_system_with_it(ws):
    chosen = new_id()
    assert ws.put(f"/systems/{chosen}", {"name": "chosen"}, status=202).json()["id"] == chosen
    assert ws.get(f"/systems/{chosen}", status=200).json()["name"] == "chosen"
    assert ws.get("/systems").json()["total"] == 1


def test_two_systems_may_have_one_name(ws):
    assert ws.make_system("same") != ws.make_system("same")


def test_a_slug_that_is_sent_is_kept(ws):
    system = ws.make_system("A Name", slug="a-name")
    assert ws.get(f"/systems/{system}").json()["slug"] == "a-name"


def test_null_is_the_same_as_absent(ws):
    system = ws.make_system("s", description=None, metadata=None, slug=None)
    body = ws.get(f"/systems/{system}").json()
    assert (body["metadata"], "description" in body) == ({}, False)


@pytest.mark.parametrize("body, path", [
    ({"name": ""}, "name"),
    ({"name": "x" * 256}, "name"),
    ({"name": "nul\0"}, "name"),
    ({"name": "s", "description": "nul\0"}, "description"),
    ({"name": "s", "metadata": {"a": 1}}, "metadata.a"),
    ({"name": "s", "metadata": {"a": None}}, "metadata.a"),
    ({"name": "s", "metadata": {"": "b"}}, "metadata"),
    ({"name": "s", "metadata": ["a"]}, "metadata"),
    ({"name": "s", "metadata": {"nul": "\0"}}, "metadata['nul']"),
    ({"name": "s", "slug": "x" * 256}, "slug"),
])
def test_bad_systems_are_400_and_name_the_member(ws, body, path):
    assert complaint_paths(ws.post("/systems", body)) == [path]
    assert complaint_paths(ws.put(f"/systems/{new_id()}", body)) == [path]
    assert ws.get("/systems").json()["total"] == 0


def test_systems_are_listed_by_name_in_pages(ws):
    for name in ("c", "a", "d", "b"):
        ws.make_system(name)
    names = []
    for offset in range(0, 6, 2):
        page = ws.get(f"/systems?limit=2&offset={offset}", status=200).json()
        assert page["total"] == 4
        names += [system["name"] for system in page["items"]]
    assert names == ["a", "b", "c", "d"]


def test_another_workspaces_system_is_404(admin, ws):
    system = ws.make_system()
    other = admin.new_workspace()
    refusal(other.get(f"/systems/{system}"), 404)
    refusal(other.delete(f"/systems/{system}"), 404)
    other.put(f"/systems/{system}", {"name": "mine"}, status=202)  # the same id, but a thing of its own
    assert ws.get(f"/systems/{system}").json()["name"] != "mine"


# ---- Links ---------------------------------------------------------------------------------------------


def test_links_are_made_seen_from_both_sides_and_taken_away(ws):
    system, environment, deployment = ws.make_system("s"), ws.make_environment("e"), ws.make_deployment("d")
    for kind, other in (("deployments", deployment), ("environments", environment)):
        path, name = f"/systems/{system}/{kind}/{other}", kind[:-1] + "Id"
        refusal(ws.get(path), 404)
        refusal(ws.delete(path), 404)
        assert ws.put(path, status=202).json()["id"] == system
        ws.put(path, status=202)  # once more is no mistake
        assert ws.get(path, status=200).json() == {"systemId": system, name: other}
    whole = ws.get(f"/systems/{system}").json()
    assert [d["id"] for d in whole["deployments"]] == [deployment]
    assert [e["id"] for e in whole["environments"]] == [environment]
    assert [s["id"] for s in ws.get(f"/deployments/{deployment}").json()["systems"]] == [system]
    assert [s["id"] for s in ws.get(f"/environments/{environment}").json()["systems"]] == [system]
    for kind, other in (("deployments", deployment), ("environments", environment)):
        path = f"/systems/{system}/{kind}/{other}"
        assert ws.delete(path, status=202).json()["id"] == system
        refusal(ws.get(path), 404)
    assert ws.get(f"/systems/{system}").json()["deployments"] == []


def test_a_link_needs_no_body_and_no_content_type(ws):
    system, deployment = ws.make_system(), ws.make_deployment()
    ws.request("PUT", f"/systems/{system}/deployments/{deployment}", status=202)


@pytest.mark.parametrize("kind", ["deployments", "environments"])
def test_a_link_to_what_is_not_there_is_404(ws, kind):
    system = ws.make_system()
    refusal(ws.put(f"/systems/{system}/{kind}/{new_id()}"), 404)
    refusal(ws.put(f"/systems/{new_id()}/{kind}/{new_id()}"), 404)


def test_a_link_to_another_workspaces_deployment_is_404(admin, ws):
    system = ws.make_system()
    other = admin.new_workspace()
    refusal(ws.put(f"/systems/{system}/deployments/{other.make_deployment()}"), 404)
    refusal(ws.put(f"/systems/{system}/environments/{other.make_environment()}"), 404)
    assert ws.get(f"/systems/{system}").json()["deployments"] == []


def test_deleting_a_system_keeps_what_it_linked(ws):
    system, environment, deployment = ws.make_system(), ws.make_environment(), ws.make_deployment()
    ws.link(system, [deployment], [environment])
    ws.delete(f"/systems/{system}", status=202)
    assert ws.get(f"/deployments/{deployment}", status=200).json()["systems"] == []
    assert ws.get(f"/environments/{environment}", status=200).json()["systems"] == []


def test_links_decide_what_is_a_release_target(world):
    assert world.ws.get("/release-targets").json()["total"] == 3
    world.ws.delete(f"/systems/{world.system}/environments/{world.prod}", status=202)
    assert world.ws.get("/release-targets").json()["total"] == 1
    world.ws.put(f"/systems/{world.system}/environments/{world.prod}", status=202)
    assert world.ws.get("/release-targets").json()["total"] == 3


def test_concurrent_puts_of_one_system_leave_one_of_them(ws):
    chosen = new_id()
    answers = all_at_once(20, lambda i: ws.put(f"/systems/{chosen}", {"name": f"n{i}",
                                                                      "metadata": {"n": str(i)}}))
    assert {a.status_code for a in answers} == {202}
    system = ws.get(f"/systems/{chosen}", status=200).json()
    assert system["name"] == "n" + system["metadata"]["n"]
    assert ws.get("/systems").json()["total"] == 1
