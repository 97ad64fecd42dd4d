"""Scoped versions: a targetSelector says at creation which release targets a version is for."""

import pytest

from harness import World, all_at_once, complaint_paths, eventually, new_id, refusal, unique
from test_brackets import WORK, Nodes
from test_freeze_rules import person  # noqa: F401  a fixture
from test_freezes import freeze
from test_policies import gated, make_policy  # noqa: F401  gated is a fixture
from test_providers import item, make, set_resources

PROD = "environment.name == 'prod'"
ONE = "resource.name == 'prod-a'"
# No resource of the world has a region.
REGION = "resource.metadata['region'] == 'us-east-1'"
NOT_A_NUMBER = "int(resource.metadata['env']) == 1"
SCOPE = "deployment_version.scope"
MEMBERS = {"targetSelector", "onSelectorError", "scope", "warnings"}


def versions_path(world, query=""):
    return f"/deployments/{world.deployment}/versions{query}"


def create(world, tag=None, client=None, **body):
    """A new version, whole."""
    answer = (client or world.ws).post(versions_path(world), {"tag": tag or unique("v"), **body}, status=200)
    return answer.json()


def dry_run(world, client=None, **body):
    path = versions_path(world, "?dryRun=true")
    return (client or world.ws).post(path, {"tag": "dry", **body}, status=200).json()


def counts(matched, undetermined, total):
    return {"matched": matched, "undetermined": undetermined, "total": total}


def get(world, version):
    return world.ws.get(f"/deployment-versions/{version['id']}", status=200).json()


def total_versions(world):
    return world.ws.get(versions_path(world), status=200).json()["total"]


def overview(world, query=""):
    page = world.ws.get(f"/release-targets{query}", status=200).json()
    return {entry["resource"]["identifier"]: entry["state"] for entry in page["items"]}


def current_tags(world):
    return {name: state["currentVersion"]["tag"] for name, state in overview(world).items()}


def explained(world, name):
    """The tags that an explanation of the target speaks of."""
    body = world.ws.get(f"/release-targets/{world.key(name)}/explain", status=200).json()
    return [candidate["version"]["tag"] for candidate in body["versions"]]


def eligible(world, name):
    page = world.ws.post(f"/release-targets/{world.key(name)}/eligible-versions", {}, status=200).json()
    return [version["tag"] for version in page["items"]]


def evaluated(world, version):
    """Environment → (targets, allowed, pending, denied)."""
    path = versions_path(world, f"/{version['id']}/evaluations")
    return {e["environment"]["name"]: (e["targets"], e["allowed"], e["pending"], e["denied"])
            for e in world.ws.get(path, status=200).json()["environments"]}


def where(jobs):
    return {job["dispatchContext"]["resource"]["name"] for job in jobs}


def deploy(world, tag, count=3, **body):
    """Publishes a version and ends its jobs, of which there must be so many."""
    version = create(world, tag, **body)
    world.wait_for_jobs(count)
    assert len(world.finish_everything()) == count
    return version


def claim_all(world):
    jobs = []
    while job := world.claim(unique("instance")):
        jobs.append(job)
    return jobs


def label(world, name, **metadata):
    """The resource with other metadata."""
    env = "staging" if name.startswith("stage") else "prod"
    world.ws.make_resource(name, metadata={"env": env, **metadata}, config={"zone": name[-1]})


@pytest.fixture()
def fleet(world):
    """Ten targets: three of the seven new ones are in us-east-1."""
    for i in range(7):
        region = "us-east-1" if i < 3 else "eu-west-1"
        world.resources[f"prod-{i}"] = world.ws.make_resource(f"prod-{i}",
                                                              metadata={"env": "prod", "region": region})
    for name in ("stage-a", "prod-a", "prod-b"):
        label(world, name, region="eu-west-1")
    return world


# ---- Creation ------------------------------------------------------------------------------------------


def test_a_scoped_version_is_answered_and_shown_with_its_counts(world):
    made = create(world, "v1", targetSelector=PROD)
    assert (made["targetSelector"], made["onSelectorError"]) == (PROD, "include")
    assert made["scope"] == counts(2, 0, 3) and "warnings" not in made
    assert get(world, made) == made
    plain = create(world, "v2")
    page = world.ws.get(versions_path(world), status=200).json()
    assert page["items"] == [plain, made]


@pytest.mark.parametrize("body", [{}, {"targetSelector": None}, {"targetSelector": None, "onSelectorError": None}])
def test_a_version_without_a_selector_is_for_all_and_says_nothing_of_it(world, body):
    made = create(world, "v1", **body)
    assert MEMBERS & set(made) == set() == MEMBERS & set(get(world, made))
    world.wait_for_jobs(3)


@pytest.mark.parametrize("selector, matched", [("true", 3), ("false", 0), ("deployment.name == 'checkout'", 3),
                                               (f"{PROD} && resource.config.zone == 'b'", 1)])
def test_a_selector_may_be_about_resource_environment_and_deployment(world, selector, matched):
    assert create(world, targetSelector=selector)["scope"] == counts(matched, 0, 3)


@pytest.mark.parametrize("body, path", [
    ({"targetSelector": ""}, "targetSelector"), ({"targetSelector": "resource.name =="}, "targetSelector"),
    ({"targetSelector": "resorce.name == 'x'"}, "targetSelector"),
    ({"targetSelector": "resource.nme == 'x'"}, "targetSelector"),
    ({"targetSelector": "version.tag == 'x'"}, "targetSelector"),
    ({"targetSelector": "'text'"}, "targetSelector"), ({"targetSelector": 1}, "targetSelector"),
    ({"targetSelector": PROD, "onSelectorError": "maybe"}, "onSelectorError"),
    ({"targetSelector": PROD, "onSelectorError": ""}, "onSelectorError"),
    ({"targetSelector": PROD, "onSelectorError": True}, "onSelectorError"),
    ({"onSelectorError": "include"}, "onSelectorError"), ({"onSelectorError": "exclude"}, "onSelectorError"),
    ({"targetSelector": None, "onSelectorError": "include"}, "onSelectorError"),
])
@pytest.mark.parametrize("query", ["", "?dryRun=true"])
def test_bad_scopes_are_400_by_their_field_and_nothing_is_created(world, body, path, query):
    answer = world.ws.post(versions_path(world, query), {"tag": "v1", **body})
    assert complaint_paths(answer) == [path], answer.text
    assert total_versions(world) == 0 and world.queued() == []


def test_a_selector_that_does_not_compile_says_where(world):
    answer = world.ws.post(versions_path(world), {"tag": "v1", "targetSelector": "resource.kind == \n !"})
    message = refusal(answer, 400)["details"][0]["message"]
    assert "2:" in message or "line 2" in message, message


@pytest.mark.parametrize("member", [{"targetSelector": "true"}, {"targetSelector": PROD}, {"targetSelector": None},
                                    {"onSelectorError": "exclude"}])
def test_a_scope_does_not_change(world, member):
    made = create(world, "v1", targetSelector=PROD)
    for path in ("deployment-versions", "deploymentversions"):
        answer = world.ws.patch(f"/{path}/{made['id']}", {"status": "paused", **member})
        assert complaint_paths(answer) == list(member)
    assert get(world, made) == made


def test_a_status_change_keeps_the_scope(world):
    made = create(world, "v1", targetSelector=PROD, status="building")
    changed = world.ws.patch(f"/deployment-versions/{made['id']}", {"status": "paused"}, status=202).json()
    assert changed == {**made, "status": "paused"} == get(world, made)


def test_a_repeat_with_the_same_key_is_the_first_answer(world):
    headers, body = {"Idempotency-Key": unique("key")}, {"tag": "v1", "targetSelector": PROD}
    path = versions_path(world)
    answers = all_at_once(8, lambda i: world.ws.post(path, body, headers=headers, status=200).json())
    assert all(answer == answers[0] for answer in answers) and answers[0]["scope"] == counts(2, 0, 3)
    refusal(world.ws.post(path, {**body, "targetSelector": ONE}, headers=headers), 409)
    assert total_versions(world) == 1
    world.wait_for_jobs(2)


def test_a_version_that_left_memory_still_says_what_it_was_for(world):
    made = create(world, "v0", targetSelector=PROD, onSelectorError="exclude", status="rejected")
    for i in range(1, 130):
        world.publish(f"v{i}", status="building")
    last = world.ws.get(versions_path(world, "?order=asc&limit=1"), status=200).json()["items"][0]
    for shown in (get(world, made), last):
        assert (shown["targetSelector"], shown["onSelectorError"]) == (PROD, "exclude")


def test_the_path_without_a_workspace_takes_the_same(admin, world):
    anywhere = world.ws.at("/api/v1")
    body = {"tag": "v1.2.3-hotfix", "status": "ready", "targetSelector": PROD,
            "metadata": {"commit": "abc123", "scope": "payment hotfix"}}
    seen = anywhere.post(versions_path(world, "?dryRun=true"), body, status=200).json()
    assert seen["scope"] == counts(2, 0, 3) and total_versions(world) == 0
    made = anywhere.post(versions_path(world), body, status=200).json()
    assert (made["name"], made["metadata"], made["scope"]) == ("v1.2.3-hotfix", body["metadata"], counts(2, 0, 3))
    assert get(world, made) == made
    world.wait_for_jobs(2)
    for wrong in ("", "resource.name =="):
        answer = anywhere.post(versions_path(world), {"tag": "v2", "targetSelector": wrong})
        assert complaint_paths(answer) == ["targetSelector"]
    refusal(anywhere.post(f"/deployments/{new_id()}/versions", body), 404)
    stranger = anywhere.with_key(admin.new_key(workspaceId=admin.new_workspace().id))
    refusal(stranger.post(versions_path(world), {"tag": "v3"}), 404)
    viewer = anywhere.with_key(world.ws.as_role("viewer").key)
    assert "version.write" in refusal(viewer.post(versions_path(world), {"tag": "v3"}), 403)["message"]
    assert total_versions(world) == 1


# ---- Dry run -------------------------------------------------------------------------------------------


def test_a_dry_run_lists_the_targets_and_creates_nothing(world):
    answer = dry_run(world, targetSelector=ONE)
    assert answer == {
        "scope": counts(1, 0, 3), "more": False,
        "targets": [{"releaseTargetKey": world.key("prod-a"), "undetermined": False,
                     "resource": {"id": world.resources["prod-a"], "identifier": "prod-a", "name": "prod-a"},
                     "environment": {"id": world.prod, "name": "prod"}}]}
    assert total_versions(world) == 0 and world.queued() == []
    assert create(world, "dry", targetSelector=ONE)["scope"] == answer["scope"], "the tag is free"


def test_a_dry_run_without_a_selector_lists_all(world):
    answer = dry_run(world)
    assert (answer["scope"], answer["more"]) == (counts(3, 0, 3), False)
    assert {t["releaseTargetKey"] for t in answer["targets"]} == {world.key(name) for name in world.resources}
    assert total_versions(world) == 0


def test_a_dry_run_marks_what_cannot_be_told(world):
    label(world, "prod-a", region="us-east-1")
    label(world, "prod-b", region="eu-west-1")
    answer = dry_run(world, targetSelector=REGION)
    assert answer["scope"] == counts(1, 1, 3)
    assert {t["resource"]["name"]: t["undetermined"] for t in answer["targets"]} == {"prod-a": False,
                                                                                     "stage-a": True}


def test_a_dry_run_lists_a_thousand_at_most(world):
    resources = [item(f"n{i}", kind="Cluster", metadata={"env": "prod"}) for i in range(1001)]
    set_resources(world.ws, make(world.ws), resources, timeout=60)

    def look():
        answer = dry_run(world, targetSelector="resource.name.startsWith('n')")
        return answer if answer["scope"] == counts(1001, 0, 1004) else None

    answer = eventually(look, what="targets on all of them")
    assert (len(answer["targets"]), answer["more"]) == (1000, True)
    assert len({t["releaseTargetKey"] for t in answer["targets"]}) == 1000


def test_a_dry_run_is_yes_or_no(world):
    refusal(world.ws.post(versions_path(world, "?dryRun=maybe"), {"tag": "v1"}), 400)
    world.ws.post(versions_path(world, "?dryRun=false"), {"tag": "v1", "targetSelector": ONE}, status=200)
    assert total_versions(world) == 1


# ---- What is out of scope ------------------------------------------------------------------------------


def test_a_hotfix_for_three_of_ten_makes_three_jobs(fleet):
    deploy(fleet, "v1", 10)
    made = create(fleet, "v1-hotfix", targetSelector=REGION)
    assert made["scope"] == counts(3, 0, 10)
    fleet.wait_for_jobs(3)
    assert where(claim_all(fleet)) == {"prod-0", "prod-1", "prod-2"}
    jobs = fleet.ws.get("/jobs?limit=100", status=200).json()
    tags = [job["release"]["version"]["tag"] for job in jobs["items"]]
    assert (tags.count("v1"), tags.count("v1-hotfix"), jobs["total"]) == (10, 3, 13)
    for name, state in overview(fleet).items():
        wanted = "v1-hotfix" if name in ("prod-0", "prod-1", "prod-2") else "v1"
        assert state["desiredVersion"]["tag"] == wanted


def test_for_a_target_out_of_scope_the_version_does_not_exist(world):
    made = create(world, "v1", targetSelector=PROD)
    world.wait_for_jobs(2)
    path = f"/release-targets/{world.key('stage-a')}"
    assert world.ws.get(f"{path}/state", status=200).json() == {}
    refusal(world.ws.get(f"{path}/desired-release"), 404)
    assert world.ws.get(f"{path}/jobs").json().get("total", 0) == 0
    assert explained(world, "stage-a") == eligible(world, "stage-a") == []
    assert explained(world, "prod-a") == eligible(world, "prod-a") == ["v1"]
    assert evaluated(world, made) == {"prod": (2, 2, 0, 0)}


def test_an_environment_is_evaluated_by_its_targets_in_scope(world):
    assert evaluated(world, create(world, targetSelector=ONE)) == {"prod": (1, 1, 0, 0)}
    assert evaluated(world, create(world, targetSelector="false")) == {}


def test_a_target_out_of_scope_goes_on_with_older_versions(world):
    older = create(world, "v1", status="building")
    create(world, "v2", targetSelector="environment.name == 'staging'")
    world.wait_for_jobs(1)
    world.ws.patch(f"/deployment-versions/{older['id']}", {"status": "ready"}, status=202)
    world.wait_for_jobs(3)
    world.finish_everything()
    assert current_tags(world) == {"stage-a": "v2", "prod-a": "v1", "prod-b": "v1"}


def test_a_newer_version_for_all_covers_everybody(world):
    deploy(world, "v1")
    deploy(world, "v1-hotfix", 1, targetSelector=ONE)
    deploy(world, "v2")
    assert set(current_tags(world).values()) == {"v2"}


def test_a_rejected_hotfix_is_taken_back_where_it_runs(world):
    deploy(world, "v1")
    hotfix = deploy(world, "v1-hotfix", 1, targetSelector=ONE)
    world.ws.patch(f"/deployment-versions/{hotfix['id']}", {"status": "rejected"}, status=202)
    world.wait_for_jobs(1)
    world.finish_everything()
    assert set(current_tags(world).values()) == {"v1"}


def test_a_version_is_not_forced_where_it_is_out_of_scope(gated):  # noqa: F811
    made = create(gated, "v1", targetSelector=ONE)
    force = {"versionId": made["id"], "reason": "urgent"}
    no = refusal(gated.ws.post(f"/release-targets/{gated.key('prod-b')}/force-deploy", force), 409, "conflict")
    assert "not for this target" in no["message"]
    done = gated.ws.post(f"/release-targets/{gated.key('prod-a')}/force-deploy", force, status=202).json()
    assert [job["id"] for job in gated.wait_for_jobs(1)] == done["jobIds"]


# ---- Rules ---------------------------------------------------------------------------------------------


def progression(world, **more):
    rule = {"dependsOnEnvironmentSelector": "environment.name == 'staging'", **more}
    return make_policy(world.ws, [{"environmentProgression": rule}], selector=PROD)


@pytest.mark.parametrize("word", [{}, {"outOfScope": "allow"}])
def test_progression_passes_over_an_environment_without_targets_in_scope(world, word):
    progression(world, **word)
    create(world, "v1", targetSelector=PROD)
    world.wait_for_jobs(2)


def test_progression_can_insist_on_environments_out_of_scope(world):
    progression(world, outOfScope="deny")
    made = create(world, "v1", targetSelector=PROD)
    targets, allowed, *blocked = evaluated(world, made)["prod"]
    assert (targets, allowed, sum(blocked)) == (2, 0, 2)
    create(world, "v2")  # for all, and so proved in staging first

    def deployed():
        world.finish_everything()
        return all((state.get("currentVersion") or {}).get("tag") == "v2" for state in overview(world).values())

    eventually(deployed, what="the version for all everywhere")


def test_progression_waits_for_targets_in_scope_only(world):
    progression(world)
    world.resources["stage-b"] = world.ws.make_resource("stage-b", metadata={"env": "staging"})
    create(world, "v1", targetSelector="resource.name in ['stage-a', 'prod-a']")
    first = eventually(world.claim, what="a job of staging")
    assert where([first]) == {"stage-a"} and world.claim("another") is None
    world.report(first["id"], "successful", instanceId="instance-1")
    assert where([eventually(world.claim, what="a job of prod")]) == {"prod-a"}


def test_out_of_scope_is_allowed_or_denied(world):
    rule = {"dependsOnEnvironmentSelector": "true", "outOfScope": "maybe"}
    answer = world.ws.post("/policies", {"name": "p", "rules": [{"environmentProgression": rule}]})
    assert complaint_paths(answer)[0].startswith("rules[0].environmentProgression")


def test_approval_is_asked_only_where_the_version_goes(gated):  # noqa: F811
    made = create(gated, "v1", targetSelector="environment.name == 'staging'")
    gated.wait_for_jobs(1)
    assert evaluated(gated, made) == {"staging": (1, 1, 0, 0)}
    assert explained(gated, "prod-a") == []
    waiting = create(gated, "v2", targetSelector=ONE)
    assert evaluated(gated, waiting) == {"prod": (1, 0, 1, 0)}


def test_a_roll_out_counts_only_targets_in_scope(world):
    make_policy(world.ws, [{"gradualRollout": {"rolloutType": "linear", "timeScaleInterval": 3600}}], selector=PROD)
    for name in ("prod-a", "prod-b"):  # each is the first of one
        create(world, f"for-{name}", targetSelector=f"resource.name == '{name}'")
    world.wait_for_jobs(2)
    assert where(claim_all(world)) == {"prod-a", "prod-b"}


def test_a_bracket_opens_only_where_its_versions_are_in_scope(ws):
    nodes = Nodes(ws, limit=None)
    for name in sorted(WORK):
        ws.make_version(nodes.deployments[name], "1", targetSelector="resource.name == 'n1'")
    assert nodes.run("drain") | nodes.run(*WORK) | nodes.run("uncordon") == {"n1"}
    nodes.wait_for("completed")
    assert len(nodes.groups()) == 1 and nodes.claim() is None


def test_a_hotfix_passes_a_freeze_on_its_targets_only(world):
    deploy(world, "v1")
    freeze(world.ws)
    create(world, "v2")
    create(world, "v1-hotfix", targetSelector=ONE, bypassFreeze=True)
    world.wait_for_jobs(1)
    assert where(claim_all(world)) == {"prod-a"}
    create(world, "v1-other", targetSelector="resource.name == 'prod-b'")
    assert world.claim() is None, "a scope alone passes no freeze"


# ---- A scope is live -----------------------------------------------------------------------------------


def test_a_target_that_starts_to_match_gets_the_version_and_keeps_it_when_it_stops(world):
    deploy(world, "v1")
    made = create(world, "v1-gold", targetSelector="has(resource.metadata.tier)")
    assert made["scope"] == counts(0, 0, 3)
    label(world, "prod-b", tier="gold")
    world.wait_for_jobs(1)
    assert get(world, made)["scope"] == counts(1, 0, 3)
    world.finish_everything()
    label(world, "prod-b")
    eventually(lambda: get(world, made)["scope"] == counts(0, 0, 3), what="the scope without it")
    assert world.queued() == []
    state = overview(world)["prod-b"]
    assert state["currentVersion"]["tag"] == state["desiredVersion"]["tag"] == "v1-gold"
    assert explained(world, "prod-b") == ["v1-gold"], "what runs there is not hidden"
    deploy(world, "v2")
    assert set(current_tags(world).values()) == {"v2"}


def test_a_new_resource_in_scope_gets_the_version(world):
    create(world, "v1", targetSelector="resource.name == 'prod-new'")
    assert world.queued() == []
    world.resources["prod-new"] = world.ws.make_resource("prod-new", metadata={"env": "prod"})
    world.wait_for_jobs(1)
    assert where(claim_all(world)) == {"prod-new"}


def test_a_scope_survives_a_restart(own_server):
    world = World(own_server.client().new_workspace())
    made = create(world, "v1", targetSelector=PROD)
    world.wait_for_jobs(2)
    own_server.restart()
    eventually(lambda: get(world, made) == made, what="the same counts")
    assert len(world.finish_everything()) == 2
    assert explained(world, "stage-a") == [] and world.queued() == []


# ---- Selectors that cannot be evaluated ----------------------------------------------------------------


@pytest.mark.parametrize("selector", [REGION, NOT_A_NUMBER])
def test_a_target_on_which_the_selector_fails_is_included_with_a_warning(world, selector):
    made = create(world, "v1", targetSelector=selector)
    assert (made["onSelectorError"], made["scope"]) == ("include", counts(0, 3, 3))
    assert made["warnings"] and get(world, made)["warnings"] == made["warnings"]
    world.wait_for_jobs(3)
    for state in overview(world).values():
        assert any("v1" in warning for warning in state["warnings"])
    assert evaluated(world, made) == {"prod": (2, 2, 0, 0), "staging": (1, 1, 0, 0)}


@pytest.mark.parametrize("selector", [REGION, NOT_A_NUMBER])
def test_exclude_leaves_such_targets_out_and_warns_all_the_same(world, selector):
    made = create(world, "v1", targetSelector=selector, onSelectorError="exclude")
    assert (made["onSelectorError"], made["scope"]) == ("exclude", counts(0, 3, 3))
    assert made["warnings"]
    assert evaluated(world, made) == {} and explained(world, "prod-a") == []
    assert overview(world)["prod-a"]["warnings"]
    assert world.queued() == []


def test_what_was_excluded_gets_the_version_when_it_can_be_told_that_it_matches(world):
    made = create(world, "v1", targetSelector=REGION, onSelectorError="exclude")
    label(world, "prod-a", region="us-east-1")
    label(world, "prod-b", region="eu-west-1")
    world.wait_for_jobs(1)
    assert where(claim_all(world)) == {"prod-a"}
    assert get(world, made)["scope"] == counts(1, 1, 3)


def test_nothing_is_warned_about_where_the_selector_minds_missing_keys(world):
    made = create(world, targetSelector="resource.metadata[?'region'].orValue('') == 'us-east-1'")
    assert made["scope"] == counts(0, 0, 3) and "warnings" not in made
    assert all("warnings" not in state for state in overview(world).values())


# ---- Settings ------------------------------------------------------------------------------------------


def set_settings(ws, on_error="include", needs_permission=False):
    body = {"onSelectorError": on_error, "scopeNeedsPermission": needs_permission}
    assert ws.put("/deployment-versions/settings", body, status=200).json() == body
    return body


def test_settings_are_read_written_and_for_administrators(admin, ws, person):  # noqa: F811
    default = {"onSelectorError": "include", "scopeNeedsPermission": False}
    assert ws.get("/deployment-versions/settings", status=200).json() == default
    wanted = set_settings(ws, "exclude", True)
    assert person("viewer").get("/deployment-versions/settings", status=200).json() == wanted
    refusal(person("operator").put("/deployment-versions/settings", default), 403)
    for body, path in (({"onSelectorError": "maybe"}, "onSelectorError"), ({"onSelectorError": 1}, "onSelectorError"),
                       ({"scopeNeedsPermission": "yes"}, "scopeNeedsPermission")):
        assert complaint_paths(ws.put("/deployment-versions/settings", body)) == [path]
    assert ws.get("/deployment-versions/settings").json() == wanted
    assert admin.new_workspace().get("/deployment-versions/settings", status=200).json() == default


def test_the_workspace_says_what_holds_for_versions_that_do_not(world):
    before = create(world, targetSelector=REGION, status="building")
    set_settings(world.ws, "exclude")
    assert create(world, targetSelector=REGION)["onSelectorError"] == "exclude"
    assert world.queued() == []
    assert get(world, before)["onSelectorError"] == "include", "it had its word already"
    create(world, targetSelector=REGION, onSelectorError="include")
    world.wait_for_jobs(3)


def test_a_scope_may_need_a_permission(world, person):  # noqa: F811
    deployer = person("deployer")
    create(world, "v0", client=deployer, targetSelector="false")
    set_settings(world.ws, needs_permission=True)
    body = {"tag": "v1", "targetSelector": PROD}
    for query in ("", "?dryRun=true"):
        no = refusal(deployer.post(versions_path(world, query), body), 403, "forbidden")
        assert SCOPE in no["message"]
    no = refusal(deployer.at("/api/v1").post(versions_path(world), body), 403, "forbidden")
    assert SCOPE in no["message"]
    assert total_versions(world) == 1
    create(world, "v2", client=deployer)
    for role in ("operator", "admin"):
        assert create(world, client=person(role), targetSelector=PROD)["scope"] == counts(2, 0, 3)


@pytest.mark.parametrize("by", ["member", "key"])
def test_the_permission_can_be_granted_alone(world, person, by):  # noqa: F811
    set_settings(world.ws, needs_permission=True)
    if by == "member":
        without, granted = person("deployer"), person("deployer", [SCOPE])
    else:
        keys = world.ws.at("/api/v1")
        without = world.ws.as_role("deployer")
        granted = world.ws.with_key(keys.new_key(role="deployer", workspaceId=world.ws.id, grants=[SCOPE]))
    refusal(without.post(versions_path(world), {"tag": "v1", "targetSelector": PROD}), 403, "forbidden")
    create(world, "v1", client=granted, targetSelector=PROD)
    viewer = person("viewer", [SCOPE])
    refusal(viewer.post(versions_path(world), {"tag": "v2", "targetSelector": PROD}), 403, "forbidden")


def test_another_workspace_sees_nothing_of_it(admin, world):
    made, other = create(world, "v1", targetSelector=PROD), admin.new_workspace()
    body = {"tag": "v2", "targetSelector": PROD}
    for answer in (other.post(versions_path(world), body), other.post(versions_path(world, "?dryRun=true"), body),
                   other.get(f"/deployment-versions/{made['id']}"), other.get(versions_path(world)),
                   other.get(versions_path(world, f"/{made['id']}/evaluations"))):
        refusal(answer, 404)
    assert total_versions(world) == 1
    assert other.get("/release-targets?offMainLine=true", status=200).json()["total"] == 0


# ---- Off the main line ---------------------------------------------------------------------------------


def test_targets_that_run_a_scoped_version_are_listed(world):
    deploy(world, "v1")
    assert overview(world, "?offMainLine=true") == {}
    create(world, "v1-hotfix", targetSelector=ONE)
    world.wait_for_jobs(1)
    assert overview(world, "?offMainLine=true") == {}, "it does not run it yet"
    world.finish_everything()
    assert set(overview(world, "?offMainLine=true")) == {"prod-a"}
    for name, state in overview(world).items():
        assert state.get("offMainLine", False) is (name == "prod-a")
    page = world.ws.get(f"/release-targets?offMainLine=true&deploymentId={world.deployment}&limit=1").json()
    assert (page["total"], len(page["items"])) == (1, 1)
    assert overview(world, f"?offMainLine=true&environmentId={world.staging}") == {}
    refusal(world.ws.get("/release-targets?offMainLine=maybe"), 400)
    deploy(world, "v2")
    assert overview(world, "?offMainLine=true") == {}
