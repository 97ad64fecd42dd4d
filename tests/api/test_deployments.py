"""Deployments: their selectors, configuration and timeouts."""

import re

import pytest

from harness import all_at_once, complaint_paths, new_id, refusal
from test_environments import BAD_SELECTORS

CONFIG = {"replicas": 3, "ratio": 0.1, "big": 9007199254740993, "on": True, "none": None,
          "list": [1, "a", {"b": []}],
          "nested": {"deep": {"er": "x"}}, "ümläut": "✓", "empty": {}, "zero": 0, "negative": -7,
          "nul": "a\0b"}


def test_a_deployment_is_made_read_changed_and_deleted(ws):
    agent = ws.make_agent("runner")
    body = {"name": "api", "slug": "the-api", "description": "serves",
            "resourceSelector": "resource.kind == 'A'",
            "jobAgentSelector": f'jobAgent.id == "{agent}"', "jobAgentConfig": CONFIG, "jobTimeout": "PT30M",
            "metadata": {"team": "a"}}
    made = ws.post("/deployments", body, status=202).json()
    assert made["message"] == "Deployment creation requested"
    whole = ws.get(f"/deployments/{made['id']}", status=200).json()
    assert (whole["systems"], whole["variables"]) == ([], [])
    created = whole["deployment"].pop("createdAt")
    assert whole["deployment"] == {"id": made["id"], "workspaceId": ws.id, **body}
    ws.put(f"/deployments/{made['id']}", {"name": "api2", "slug": "api2"}, status=202)
    deployment = ws.get(f"/deployments/{made['id']}").json()["deployment"]
    assert (deployment["name"], deployment["jobAgentConfig"], deployment["metadata"]) == ("api2", {}, {})
    assert deployment["createdAt"] == created
    assert deployment.get("jobTimeout") is None and deployment.get("description") is None
    ws.delete(f"/deployments/{made['id']}", status=202)
    refusal(ws.get(f"/deployments/{made['id']}"), 404)
    refusal(ws.delete(f"/deployments/{made['id']}"), 404)


def test_configuration_comes_back_with_integers_as_integers(ws):
    deployment = ws.make_deployment(jobAgentConfig=CONFIG)
    answer = ws.get(f"/deployments/{deployment}", status=200)
    assert answer.json()["deployment"]["jobAgentConfig"] == CONFIG
    compact = answer.text.replace(" ", "")
    for text in ('"replicas":3,', '"big":9007199254740993,', '"zero":0', '"negative":-7,'):
        assert text in compact + ",", text


@pytest.mark.parametrize("number", [1.0, 1e21, 1e-7, 123456.789, 2**53, -2**63, 2**63 - 1, 2**64 - 1,
                                    1.7976931348623157e308])
def test_numbers_survive(ws, number):
    deployment = ws.make_deployment(jobAgentConfig={"n": number})
    assert ws.get(f"/deployments/{deployment}").json()["deployment"]["jobAgentConfig"] == {"n": number}


def test_a_deployment_is_found_by_its_name(ws):
    deployment = ws.make_deployment("web/front end")
    assert ws.get("/deployments/name/web%2Ffront%20end", status=200).json()["deployment"]["id"] == deployment
    refusal(ws.get("/deployments/name/web"), 404)


def test_a_duplicate_name_is_409_and_changes_nothing(ws):
    first, second = ws.make_deployment("a"), ws.make_deployment("b")
    refusal(ws.post("/deployments", {"name": "a", "slug": "x"}), 409)
    refusal(ws.put(f"/deployments/{second}", {"name": "a", "slug": "a"}), 409)
    ws.put(f"/deployments/{first}", {"name": "a", "slug": "changed"}, status=202)
    assert ws.get(f"/deployments/{second}").json()["deployment"]["name"] == "b"
    assert ws.get("/deployments").json()["total"] == 2


@pytest.mark.parametrize("member", ["resourceSelector", "jobAgentSelector"])
@pytest.mark.parametrize("selector", BAD_SELECTORS[:4])
def test_a_bad_selector_is_400_with_its_place(ws, member, selector):
    selector = selector.replace("resource", "jobAgent") if member == "jobAgentSelector" else selector
    answer = ws.post("/deployments", {"name": "d", "slug": "d", member: selector})
    assert complaint_paths(answer) == [member]
    assert re.search(r"\b1:\d+", answer.json()["message"]), answer.text
    assert ws.get("/deployments").json()["total"] == 0


def test_a_selector_of_agents_knows_no_resources(ws):
    refusal(ws.post("/deployments", {"name": "d", "jobAgentSelector": "resource.kind == 'A'"}), 400)
    refusal(ws.post("/deployments", {"name": "d", "resourceSelector": "jobAgent.name == 'A'"}), 400)


def test_unset_selectors_come_back_unset(ws):
    for body in ({}, {"resourceSelector": None, "jobAgentSelector": None},
                 {"resourceSelector": "", "jobAgentSelector": ""}):
        deployment = new_id()
        ws.put(f"/deployments/{deployment}", {"name": deployment, "slug": "s", **body}, status=202)
        row = ws.get(f"/deployments/{deployment}").json()["deployment"]
        assert not row.get("resourceSelector") and not row.get("jobAgentSelector")


@pytest.mark.parametrize("text", ["PT30M", "PT4H", "P1D", "PT1H30M", "PT45S", "P7D"])
def test_a_timeout_comes_back_as_the_same_time(ws, text):
    deployment = ws.make_deployment(jobTimeout=text)
    assert ws.get(f"/deployments/{deployment}").json()["deployment"]["jobTimeout"] == text


@pytest.mark.parametrize("text", ["", "30m", "PT", "P", "-PT1H", "PT0S", "P400D", "PT1H ", "1h", "PTH", "P1Y",
                                  "PT99999999999999999999S"])
def test_a_bad_timeout_is_400(ws, text):
    answer = ws.post("/deployments", {"name": "d", "slug": "d", "jobTimeout": text})
    assert complaint_paths(answer) == ["jobTimeout"]


@pytest.mark.parametrize("body, path", [
    ({"name": ""}, "name"), ({"name": "x" * 256}, "name"),
    ({"name": "d", "jobAgentConfig": []}, "jobAgentConfig"),
    ({"name": "d", "jobAgentConfig": "text"}, "jobAgentConfig"),
    ({"name": "d", "metadata": {"a": {}}}, "metadata.a"),
])
def test_bad_deployments_are_400(ws, body, path):
    answer = ws.post("/deployments", {"slug": "d", **body})
    assert complaint_paths(answer) == [path]


def test_deployments_are_listed_by_name_with_their_systems(ws):
    system = ws.make_system("s")
    ids = {name: ws.make_deployment(name) for name in ("b", "a")}
    ws.link(system, [ids["b"]])
    page = ws.get("/deployments", status=200).json()
    assert [i["deployment"]["name"] for i in page["items"]] == ["a", "b"]
    assert [[s["id"] for s in i["systems"]] for i in page["items"]] == [[], [system]]


def test_another_workspaces_deployment_is_404(admin, ws):
    deployment = ws.make_deployment("api")
    other = admin.new_workspace()
    for answer in (other.get(f"/deployments/{deployment}"), other.delete(f"/deployments/{deployment}"),
                   other.get("/deployments/name/api"), other.get(f"/deployments/{deployment}/versions"),
                   other.post(f"/deployments/{deployment}/versions", {"tag": "v1"})):
        refusal(answer, 404)


def test_deleting_a_deployment_takes_its_versions_and_targets(world):
    version = world.publish("v1")
    world.wait_for_jobs(3)
    world.ws.delete(f"/deployments/{world.deployment}", status=202)
    refusal(world.ws.get(f"/deployments/{world.deployment}/versions"), 404)
    refusal(world.ws.get(f"/deployment-versions/{version}"), 404)
    assert world.ws.get("/release-targets").json()["total"] == 0
    assert world.queued() == []


def test_of_20_concurrent_creates_of_one_name_one_wins(ws):
    answers = all_at_once(20, lambda i: ws.post("/deployments", {"name": "api", "slug": f"s{i}"}).status_code)
    assert sorted(answers) == [202] + [409] * 19
    assert ws.get("/deployments").json()["total"] == 1


def test_concurrent_puts_with_one_id_leave_one_deployment(ws):
    chosen = new_id()
    path = f"/deployments/{chosen}"
    answers = all_at_once(20, lambda i: ws.put(path, {"name": f"n{i}", "slug": "s"}).status_code)
    assert set(answers) == {202}
    assert ws.get("/deployments").json()["total"] == 1


# ---- Selectors, before they are stored -----------------------------------------------------------------


def test_a_selector_is_checked_before_it_is_stored(ws):
    assert ws.post("/selectors/validate", {"selector": "resource.kind == 'A'"},
                   status=200).json() == {"valid": True}
    verdict = ws.post("/selectors/validate", {"selector": "true &&\n resource.kin == 'A'"}, status=200).json()
    assert (verdict["valid"], verdict["line"]) == (False, 2)
    assert verdict["column"] >= 1 and verdict["message"]
    agents = {"selector": "jobAgent.name == 'a'", "subject": "jobAgent"}
    assert ws.post("/selectors/validate", agents, status=200).json()["valid"] is True
    assert ws.post("/selectors/validate", {**agents, "subject": "resource"},
                   status=200).json()["valid"] is False
    refusal(ws.post("/selectors/validate", {**agents, "subject": "planet"}), 400)
    refusal(ws.post("/selectors/validate", {}), 400)


def test_a_selector_shows_what_it_would_match(ws):
    for i in range(25):
        ws.make_resource(f"r{i:02}", kind="A" if i % 2 else "B", config={"size": i} if i else {})
    preview = ws.post("/selectors/preview", {"selector": "resource.kind == 'A'"}, status=200).json()
    assert (preview["total"], len(preview["sample"]), preview["errors"]) == (12, 12, 0)
    assert {r["kind"] for r in preview["sample"]} == {"A"}
    assert len(ws.post("/selectors/preview", {"selector": "true"}, status=200).json()["sample"]) == 20
    errors = ws.post("/selectors/preview", {"selector": "resource.config.size / 0 == 1"}, status=200).json()
    assert (errors["total"], errors["errors"] >= 24, errors["errorSample"][0]) == (0, True, "r")
    refusal(ws.post("/selectors/preview", {"selector": "resource.kin"}), 400)
