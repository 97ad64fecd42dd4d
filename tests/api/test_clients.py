"""The sequences of calls that known clients make, as strictly as those clients look at the answers:
a command line client (`ctrlc`), a Terraform provider, and a GitHub action.
"""

import json
import re
import uuid
from datetime import datetime

import pytest

from harness import new_id, refusal

ZERO_TIME = "0001-01-01T00:00:00Z"


# ---- How a client in Go decodes ------------------------------------------------------------------------


def decoded(answer, *statuses):
    """The body of an answer with one of these statuses, which must be typed as JSON and be an object."""
    assert answer.status_code in statuses, f"{answer.status_code} {answer.text[:400]}"
    assert "json" in answer.headers["Content-Type"]
    body = answer.json()
    assert isinstance(body, dict)
    return body


def accepted(answer):
    """202 with a non-empty id."""
    body = decoded(answer, 202)
    assert isinstance(body["id"], str) and body["id"] and isinstance(body["message"], str)
    return body["id"]


def is_time(text):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", text), text
    assert datetime.fromisoformat(text[:19]).year > 2000


def is_string_map(value):
    assert isinstance(value, dict) and all(isinstance(v, str) for v in value.values()), value


def is_resource(body):
    assert isinstance(body["config"], dict)
    is_string_map(body["metadata"])
    is_time(body["createdAt"])
    for name in ("identifier", "kind", "name", "version", "workspaceId"):
        assert isinstance(body[name], str) and body[name]
    for name in ("updatedAt", "deletedAt", "lockedAt"):
        if body.get(name) is not None:
            is_time(body[name])
    assert body.get("providerId") is None or isinstance(body["providerId"], str)


def is_provider(body):
    uuid.UUID(body["workspaceId"])
    is_time(body["createdAt"])
    is_string_map(body["metadata"])
    assert body["id"] and body["name"]


def unset(body, name):
    return body.get(name) is None


def integers_are_plain(answer):
    """Counts must be printed as 50, not 50.0 or 5e1."""
    for name in ("total", "limit", "offset"):
        assert re.search(rf'"{name}":\s*\d+\s*[,}}]', answer.text), answer.text[-200:]


# ---- The command line client ---------------------------------------------------------------------------


@pytest.fixture()
def cli(admin, ws):
    """What `ctrlc` is after it has looked up its workspace by slug."""
    answer = admin.get(f"/workspaces/slug/{ws.slug}", headers={"User-Agent": "ctrlc/1.22"})
    body = decoded(answer, 200)
    uuid.UUID(body["id"])
    is_time(body["createdAt"])
    assert body["name"] and body["slug"] == ws.slug
    email = body.get("googleServiceAccountEmail")
    assert email is None or "@" in email
    return admin.workspace(body["id"])


def apply_resource(cli, identifier, **more):
    body = {"name": identifier, "kind": "Server", "version": "custom/v1", "config": {}, "metadata": {},
            **more}
    path = f"/resources/identifier/{identifier.replace('/', '%2F')}"
    assert decoded(cli.put(path, body), 202)["id"]
    assert decoded(cli.patch(f"{path}/variables", {}), 202)


def test_apply_without_a_provider(cli):
    apply_resource(cli, "web-1", config={"any": {"json": [1]}}, metadata={"k": "v"})
    apply_resource(cli, "org/web-2")
    is_resource(decoded(cli.get("/resources/identifier/org%2Fweb-2"), 200))


def test_apply_with_a_provider(cli):
    name = "/resource-providers/name/my-provider"
    for turn in range(2):
        found = cli.get(name)
        if turn == 0:
            refusal(found, 404)
            provider = decoded(cli.put("/resource-providers", {"id": "", "name": "my-provider"}), 202)
        else:
            provider = decoded(found, 200)
        is_provider(provider)
        resources = [{"identifier": f"r{i}", "name": f"R{i}", "kind": "Server", "version": "v1",
                      "config": {"i": i},
                      "metadata": {}, "createdAt": ZERO_TIME} for i in range(3)]
        done = decoded(cli.put(f"/resource-providers/{provider['id']}/set", {"resources": resources}), 202)
        assert done["ok"] is True and isinstance(done["method"], str)
        for resource in resources:
            path = f"/resources/identifier/{resource['identifier']}/variables"
            assert decoded(cli.patch(path, {}), 202)
    assert cli.get("/resources").json()["total"] == 3


def test_sync_with_null_config_and_metadata(cli):
    provider = decoded(cli.put("/resource-providers", {"id": "", "name": "pipe"}), 202)["id"]
    resources = [{"identifier": "r", "name": "R", "kind": "K", "version": "v1", "config": None,
                  "metadata": None,
                  "createdAt": ZERO_TIME, "updatedAt": None, "deletedAt": None, "lockedAt": None}]
    decoded(cli.put(f"/resource-providers/{provider}/set", {"resources": resources}), 202)
    resource = decoded(cli.get("/resources/identifier/r"), 200)
    is_resource(resource)
    assert resource["providerId"] == provider


def test_get_and_delete_a_resource(cli):
    apply_resource(cli, "web-1")
    is_resource(decoded(cli.get("/resources/identifier/web-1"), 200))
    gone = decoded(cli.delete("/resources/identifier/web-1"), 200, 202)
    assert gone["id"] and gone["message"]
    refusal(cli.get("/resources/identifier/web-1"), 404)


def test_get_resources_pages_until_the_total(cli):
    provider = cli.put("/resource-providers", {"id": "", "name": "p"}, status=202).json()["id"]
    resources = [{"identifier": f"r{i:03}", "name": "R", "kind": "Server" if i % 2 else "Other",
                  "version": "v1",
                  "config": {}, "metadata": {"a": "b"}} for i in range(450)]
    cli.put(f"/resource-providers/{provider}/set", {"resources": resources}, status=202)
    seen, offset = [], 0
    while True:
        body = {"providerIds": [provider], "versions": ["v1"], "metadata": {"a": "b"}, "limit": 200,
                "offset": offset}
        answer = cli.post("/resources/search", body)
        page = decoded(answer, 200)
        integers_are_plain(answer)
        for item in page["items"]:
            is_resource(item)
        seen += [item["identifier"] for item in page["items"]]
        offset += 200
        if offset >= page["total"]:
            break
    assert sorted(seen) == [r["identifier"] for r in resources]


def test_api_get_resources_with_its_query_escaped_twice(cli):
    apply_resource(cli, "web-1")
    answer = cli.get("/resources?limit=50&cel=resource.kind%2B%253D%253D%2B%2522Server%2522")
    page = decoded(answer, 200)
    assert page["total"] == 1
    integers_are_plain(answer)


def test_api_get_release_targets(world):
    body = {"name": "n", "kind": "Cluster", "version": "v1", "identifier": "new", "config": {},
            "metadata": {"env": "prod"}}
    page = decoded(world.ws.post("/release-targets/resource-preview?limit=50", body), 200)
    assert page["total"] == 1


def test_api_upsert_version(cli):
    deployment = cli.make_deployment()
    body = {"tag": "v1", "name": "", "status": "ready",
            "metadata": {"ctrlplane/links": json.dumps({"CI": "http://ci"})},
            "config": {"a": {"b": 1, "c": True}}, "createdAt": "2026-01-02T03:04:05Z",
            "jobAgentConfig": {"x": "y"}}
    made = decoded(cli.post(f"/deployments/{deployment}/versions", body), 200, 202)
    for name in ("id", "tag", "name", "status", "deploymentId", "config", "jobAgentConfig", "metadata",
                 "createdAt"):
        assert name in made
    assert (made["name"], made["config"]) == ("v1", {"a": {"b": 1, "c": True}})
    again = cli.post(f"/deployments/{deployment}/versions", body)
    assert again.status_code == 409 and isinstance(again.json(), dict)


def test_api_get_release(world):
    world.publish("v1")
    release = world.wait_for_jobs(3)[0]["releaseId"]
    assert decoded(world.ws.get(f"/releases/{release}"), 200)["id"] == release
    assert isinstance(world.ws.get(f"/releases/{new_id()}").json(), dict)


def test_an_unknown_workspace_goes_on_with_the_nil_id_and_gets_404(admin):
    refusal(admin.get("/workspaces/slug/no-such-workspace"), 404)
    nil = admin.workspace("00000000-0000-0000-0000-000000000000")
    for answer in (nil.get("/resources"), nil.put("/resource-providers", {"id": "", "name": "p"}),
                   nil.post("/resources/search", {"limit": 200, "offset": 0})):
        refusal(answer, 404)


def test_the_terminal_browser(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    for item in decoded(world.ws.get("/jobs"), 200)["items"]:
        assert len(item["job"]["id"]) >= 8
        assert {"release", "deployment", "environment", "resource"} <= set(item)
    for item in decoded(world.ws.get("/environments"), 200)["items"]:
        assert len(item["id"]) >= 8
        is_time(item["createdAt"])
    for item in decoded(world.ws.get("/deployments"), 200)["items"]:
        assert item["deployment"]["name"] and isinstance(item["systems"], list)
    for item in decoded(world.ws.get(f"/deployments/{world.deployment}/versions"), 200)["items"]:
        assert {"id", "tag", "name", "status", "createdAt"} <= set(item)
    assert decoded(world.ws.get("/resources/identifier/prod-a/deployments"), 200)["items"]


# ---- The Terraform provider ----------------------------------------------------------------------------


def test_terraform_system(ws):
    system = accepted(ws.post("/systems", {"name": "bare", "metadata": {}}))
    row = decoded(ws.get(f"/systems/{system}"), 200)
    assert row["id"] == system and row["name"] == "bare"
    assert unset(row, "description") and row["metadata"] == {}
    assert (row["deployments"], row["environments"]) == ([], [])
    body = {"name": "named", "description": "text", "metadata": {"a": "b"}}
    assert accepted(ws.put(f"/systems/{system}", body)) == system
    row = decoded(ws.get(f"/systems/{system}"), 200)
    assert {name: row[name] for name in body} == body
    assert accepted(ws.put(f"/systems/{system}", {"name": "named", "metadata": {}})) == system
    assert unset(decoded(ws.get(f"/systems/{system}"), 200),
                 "description"), "an attribute that was taken away"
    assert ws.delete(f"/systems/{system}").status_code == 202
    assert ws.get(f"/systems/{system}").status_code == 404


def test_terraform_reads_what_a_system_links(world):
    row = decoded(world.ws.get(f"/systems/{world.system}"), 200)
    for environment in row["environments"]:
        is_time(environment["createdAt"])
        is_string_map(environment["metadata"])
    for deployment in row["deployments"]:
        is_string_map(deployment["metadata"])
        assert isinstance(deployment["jobAgentConfig"], dict)


def test_terraform_environment(ws):
    environment = accepted(ws.post("/environments", {"name": "prod", "metadata": {}}))
    row = decoded(ws.get(f"/environments/{environment}"), 200)
    assert (row["id"], row["name"], row["metadata"]) == (environment, "prod", {})
    assert unset(row, "description") and not row.get("resourceSelector")
    body = {"name": "prod", "description": "d", "resourceSelector": "resource.kind == 'A' && true",
            "metadata": {"k": "v"}}
    assert accepted(ws.put(f"/environments/{environment}", body)) == environment
    row = decoded(ws.get(f"/environments/{environment}"), 200)
    assert {name: row[name] for name in body} == body
    accepted(ws.put(f"/environments/{environment}", {"name": "prod", "metadata": {}}))
    row = decoded(ws.get("/environments/name/prod"), 200)  # the data source
    assert unset(row, "description") and not row.get("resourceSelector") and row["metadata"] == {}
    assert ws.delete(f"/environments/{environment}").status_code in (202, 204)


@pytest.mark.parametrize("config", [
    {"apiKey": "k", "serverUrl": "https://argo", "template": "{{.x}}\n"},
    {"installationId": 12345678, "owner": "o", "repo": "r", "ref": "main", "workflowId": 987654321},
    {"delaySeconds": 5, "message": "m", "status": "successful"},
    {"address": "a", "organization": "o", "template": "t", "token": "t", "triggerRunOnChange": False},
])
def test_terraform_deployment(ws, config):
    selector = "jobAgent.name == 'x'   &&  true"  # goes verbatim and must come back so
    body = {"name": "My Api", "slug": "my-api", "metadata": {}, "resourceSelector": "resource.kind == 'A'",
            "jobAgentSelector": selector, "jobAgentConfig": config}
    deployment = accepted(ws.post("/deployments", body))
    answer = ws.get(f"/deployments/{deployment}")
    row = decoded(answer, 200)["deployment"]
    assert {name: row[name] for name in body} == body
    for name, value in config.items():
        if isinstance(value, int):
            assert f'"{name}":{json.dumps(value)}' in answer.text.replace(" ", "")
    accepted(ws.put(f"/deployments/{deployment}", {"name": "My Api", "slug": "my-api", "metadata": {}}))
    row = decoded(ws.get("/deployments/name/My%20Api"), 200)["deployment"]
    assert not row.get("resourceSelector") and not row.get("jobAgentSelector")
    assert row.get("jobAgentConfig") in ({}, None) and unset(row, "description")
    assert refusal(ws.post("/deployments", body), 409)
    assert ws.delete(f"/deployments/{deployment}").status_code in (202, 204)


def test_terraform_links_of_things_without_selectors(ws):
    system = accepted(ws.post("/systems", {"name": "s", "metadata": {}}))
    others = {"deployments": accepted(ws.post("/deployments", {"name": "d", "slug": "d", "metadata": {}})),
              "environments": accepted(ws.post("/environments", {"name": "e", "metadata": {}}))}
    for kind, other in others.items():
        path = f"/systems/{system}/{kind}/{other}"
        assert ws.request("PUT", path).status_code == 202
        assert ws.get(path).status_code == 200
        assert not decoded(ws.get(f"/{kind}/{other}"), 200).get("resourceSelector")
        assert ws.delete(path).status_code in (202, 204, 404)
        assert ws.get(path).status_code == 404


def test_terraform_job_agent(ws):
    agent = new_id()
    body = {"name": "argo", "type": "argo-cd", "metadata": {"team": "a"},
            "config": {"apiKey": "in clear", "serverUrl": "https://argo", "template": "t", "n": 1, "b": True}}
    assert accepted(ws.put(f"/job-agents/{agent}", body)) == agent
    row = decoded(ws.get(f"/job-agents/{agent}"), 200)
    assert {name: row[name] for name in body} == body
    assert accepted(ws.put(f"/job-agents/{agent}", {**body, "name": "renamed", "metadata": {}})) == agent
    assert decoded(ws.get(f"/job-agents/{agent}"), 200)["metadata"] == {}
    assert ws.delete(f"/job-agents/{agent}").status_code in (202, 204)
    assert ws.get(f"/job-agents/{agent}").status_code == 404


def provider_resource(name, **more):
    return {"identifier": name, "name": name, "kind": "K", "version": "v1", "config": {"b": 1, "a": [2]},
            "metadata": {}, "createdAt": ZERO_TIME, **more}


def read_provider(ws, name):
    provider = decoded(ws.get(f"/resource-providers/name/{name}"), 200)
    is_provider(provider)
    items = decoded(ws.get(f"/resource-providers/name/{name}/resources"), 200)["items"]
    for item in items:
        is_resource(item)
    return provider, [item["identifier"] for item in items]


def test_terraform_resource_provider_with_rename_drop_and_add(ws):
    body = {"id": new_id(), "name": "first", "metadata": {"a": "b"}}
    provider = decoded(ws.put("/resource-providers", body), 202)["id"]
    assert ws.put(f"/resource-providers/{provider}/set",
                  {"resources": [provider_resource("z"),
                                 provider_resource("y", metadata={"k": "v"})]}).status_code == 202
    decoded(ws.get("/resources/identifier/z"), 200)
    row, order = read_provider(ws, "first")
    assert (row["id"], row["metadata"], order) == (provider, {"a": "b"}, ["z", "y"])
    decoded(ws.put("/resource-providers", {"id": provider, "name": "second", "metadata": {}}), 202)
    assert ws.put(f"/resource-providers/{provider}/set",
                  {"resources": [provider_resource("y"), provider_resource("x")]}).status_code == 202
    assert ws.delete("/resources/identifier/z").status_code in (202, 204, 404)
    row, order = read_provider(ws, "second")
    assert (row["id"], row["metadata"], order) == (provider, {}, ["y", "x"])
    assert ws.get("/resource-providers/name/first").status_code == 404


def test_terraform_reads_resources_in_the_order_they_were_first_given(ws):
    provider = decoded(ws.put("/resource-providers", {"id": new_id(), "name": "p", "metadata": {}}),
                       202)["id"]
    for names, order in ((["c", "a", "b"], ["c", "a", "b"]), (["b", "a", "c"], ["c", "a", "b"]),
                         (["new", "c", "b"], ["c", "b", "new"])):
        resources = [provider_resource(name) for name in names]
        decoded(ws.put(f"/resource-providers/{provider}/set", {"resources": resources}), 202)
        assert read_provider(ws, "p")[1] == order


def test_terraform_resource(ws):
    provider = decoded(ws.put("/resource-providers", {"id": new_id(), "name": "p", "metadata": {}}),
                       202)["id"]
    decoded(ws.put(f"/resource-providers/{provider}/set", {"resources": [provider_resource("r", config={})]}),
            202)
    row = decoded(ws.get("/resources/identifier/r"), 200)
    is_resource(row)
    assert (row["providerId"], row["config"], row["metadata"]) == (provider, {}, {})
    assert ws.delete("/resources/identifier/r").status_code in (202, 204, 404)
    assert ws.delete("/resources/identifier/r").status_code == 404
    resources = {"resources": [provider_resource("r")]}
    assert ws.put("/resource-providers//set", resources, described=False).status_code == 404


# ---- The GitHub action ---------------------------------------------------------------------------------


def flattened(value, name=""):
    """As the action names its outputs: with `_` between the levels."""
    out = {name: value} if name else {}
    children = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value,
                                                                                            dict) else ()
    for key, child in children:
        out.update(flattened(child, (name + "_" if name else "") + re.sub(r"[.\-/\s]", "_", str(key))))
    return out


def test_the_action_finds_its_job_in_one_of_the_workspaces(admin, world):
    admin.new_workspace()
    world.publish("v1.2.3", metadata={"commit": "abc"})
    job_id = world.wait_for_jobs(3)[0]["id"]
    workspaces = decoded(admin.get("/workspaces"), 200)
    assert isinstance(workspaces["total"], int)
    found = []
    for workspace in workspaces["workspaces"]:
        answer = admin.get(f"/workspaces/{workspace['id']}/jobs/{job_id}")
        if answer.status_code // 100 == 2:
            found.append(decoded(answer, 200))
        else:
            refusal(answer, 404)
    assert len(found) == 1
    job = found[0]
    context = job.pop("dispatchContext")
    parts = {name: context[name] for name in ("resource", "version", "environment", "deployment")}
    outputs = flattened({**job, **parts, "variable": context["variables"]})
    assert outputs["id"] == job_id
    assert (outputs["version_tag"], outputs["version_metadata_commit"]) == ("v1.2.3", "abc")
    assert outputs["environment_name"] in ("prod", "staging") and outputs["deployment_name"] == "checkout"
    assert outputs["resource_identifier"] in world.resources
    assert outputs["resource_config_zone"] and outputs["variable"] == {}
