"""Environments."""

import re

import pytest

from harness import all_at_once, complaint_paths, new_id, refusal

BAD_SELECTORS = ["resource.kind ==", "resource.nothing == 'a'", "1 + 1", "unknown == 1",
                 "resource.kind == 'a' &&",
                 "resource.metadata['a'", "'text'", "size(resource)"]


def test_an_environment_is_made_read_changed_and_deleted(ws):
    body = {"name": "prod", "description": "real", "resourceSelector": "true", "metadata": {"tier": "1"}}
    made = ws.post("/environments", body, status=202).json()
    assert made["message"] == "Environment creation requested"
    environment = ws.get(f"/environments/{made['id']}", status=200).json()
    created = environment.pop("createdAt")
    assert environment == {"id": made["id"], "workspaceId": ws.id, "systems": [], **body}
    ws.put(f"/environments/{made['id']}", {"name": "prod2"}, status=202)
    environment = ws.get(f"/environments/{made['id']}").json()
    assert (environment["name"], environment["metadata"], environment["createdAt"]) == ("prod2", {}, created)
    assert environment.get("description") is None and not environment.get("resourceSelector")
    ws.delete(f"/environments/{made['id']}", status=202)
    refusal(ws.get(f"/environments/{made['id']}"), 404)
    refusal(ws.delete(f"/environments/{made['id']}"), 404)


@pytest.mark.parametrize("name", ["prod", "two words", "a/b", "name", "100%"])
def test_an_environment_is_found_by_its_name(ws, name):
    environment = ws.make_environment(name)
    encoded = name.replace("%", "%25").replace("/", "%2F").replace(" ", "%20")
    assert ws.get(f"/environments/name/{encoded}", status=200).json()["id"] == environment
    refusal(ws.get("/environments/name/other"), 404)


def test_a_duplicate_name_is_409_and_changes_nothing(ws):
    first, second = ws.make_environment("prod"), ws.make_environment("staging")
    refusal(ws.post("/environments", {"name": "prod"}), 409, "conflict")
    refusal(ws.put(f"/environments/{second}", {"name": "prod"}), 409)
    refusal(ws.put(f"/environments/{new_id()}", {"name": "prod"}), 409)
    ws.put(f"/environments/{first}", {"name": "prod"}, status=202)  # its own name
    assert ws.get("/environments").json()["total"] == 2
    assert ws.get(f"/environments/{second}").json()["name"] == "staging"


def test_the_same_name_in_another_workspace_is_free(admin, ws):
    ws.make_environment("prod")
    admin.new_workspace().make_environment("prod")


def test_a_name_is_free_again_after_a_delete(ws):
    ws.delete(f"/environments/{ws.make_environment('prod')}", status=202)
    ws.make_environment("prod")


@pytest.mark.parametrize("selector", BAD_SELECTORS)
def test_a_bad_selector_is_400_with_its_place(ws, selector):
    answer = ws.post("/environments", {"name": "e", "resourceSelector": selector})
    assert complaint_paths(answer) == ["resourceSelector"]
    assert re.search(r"\b1:\d+", answer.json()["message"]), answer.text
    assert ws.get("/environments").json()["total"] == 0


def test_the_place_of_a_mistake_counts_lines_and_columns(ws):
    answer = ws.post("/environments", {"name": "e", "resourceSelector": "true &&\n  resource.kin == 'a'"})
    assert re.search(r"\b2:\d+", answer.json()["message"]), answer.text


def test_a_bad_selector_leaves_the_old_one_in_force(ws):
    environment = ws.make_environment("e", "resource.kind == 'A'")
    refusal(ws.put(f"/environments/{environment}", {"name": "e", "resourceSelector": "nonsense("}), 400)
    assert ws.get(f"/environments/{environment}").json()["resourceSelector"] == "resource.kind == 'A'"


@pytest.mark.parametrize("selector", ["  resource.kind   ==  'A'  ", "true // why",
                                      "resource.kind == \"A\"\n|| false"])
def test_a_selector_comes_back_byte_for_byte(ws, selector):
    environment = ws.make_environment("e", selector)
    assert ws.get(f"/environments/{environment}").json()["resourceSelector"] == selector


@pytest.mark.parametrize("body", [{}, {"resourceSelector": None}, {"resourceSelector": ""}])
def test_an_unset_selector_comes_back_unset_and_matches_nothing(world, body):
    world.ws.put(f"/environments/{world.prod}", {"name": "prod", **body}, status=202)
    assert not world.ws.get(f"/environments/{world.prod}").json().get("resourceSelector")
    assert world.ws.get("/release-targets").json()["total"] == 1


@pytest.mark.parametrize("body, path", [
    ({"name": ""}, "name"), ({"name": "x" * 256}, "name"),
    ({"name": "e", "metadata": {"a": True}}, "metadata.a"),
    ({"name": "e", "description": "a\0"}, "description"), ({"name": "e\0"}, "name"),
])
def test_bad_environments_are_400(ws, body, path):
    assert complaint_paths(ws.post("/environments", body)) == [path]


def test_a_very_long_selector_is_refused_or_taken_but_never_an_error(ws):
    long = " || ".join(f"resource.name == 'n{i}'" for i in range(20_000))
    answer = ws.post("/environments", {"name": "e", "resourceSelector": long})
    assert answer.status_code in (202, 400), answer.text
    deep = "(" * 5000 + "true" + ")" * 5000
    refusal(ws.post("/environments", {"name": "f", "resourceSelector": deep}), 400)


def test_environments_are_listed_by_name(ws):
    for name in ("b", "a", "c"):
        ws.make_environment(name)
    page = ws.get("/environments?limit=2", status=200).json()
    assert ([e["name"] for e in page["items"]], page["total"]) == (["a", "b"], 3)


def test_another_workspaces_environment_is_404(admin, ws):
    environment = ws.make_environment("prod")
    other = admin.new_workspace()
    for answer in (other.get(f"/environments/{environment}"), other.delete(f"/environments/{environment}"),
                   other.get("/environments/name/prod")):
        refusal(answer, 404)
    ws.get(f"/environments/{environment}", status=200)


def test_deleting_an_environment_ends_its_release_targets(world):
    world.ws.delete(f"/environments/{world.prod}", status=202)
    assert world.ws.get("/release-targets").json()["total"] == 1
    left = world.ws.get(f"/systems/{world.system}").json()["environments"]
    assert [environment["id"] for environment in left] == [world.staging]


def test_of_20_concurrent_creates_of_one_name_one_wins(ws):
    answers = all_at_once(20, lambda i: ws.post("/environments", {"name": "prod"}).status_code)
    assert sorted(answers) == [202] + [409] * 19
    assert ws.get("/environments").json()["total"] == 1
