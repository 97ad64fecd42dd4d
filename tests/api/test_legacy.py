"""The earlier API that a CI plugin still speaks: it names no workspace, and its statuses are snake_case."""

import pytest

from harness import eventually, new_id, refusal, unique

# What the plugin sends with every request, also with those that have no body.
HEADERS = {"Content-Type": "application/json; utf-8", "Accept": "application/json"}


@pytest.fixture()
def plugin(world):
    """The plugin's view of a world whose agent it is."""
    client = world.ws.at("/api/v1")
    client.headers = dict(HEADERS)
    return client


def register(plugin, world, **more):
    body = {"name": "puller", "type": "jenkins", "workspaceId": world.ws.id, **more}
    return plugin.patch("/job-agents/name", body)


def waiting(plugin, world, count=3):
    def look():
        jobs = plugin.get(f"/job-agents/{world.agent}/queue/next", status=200).json()["jobs"]
        return jobs if len(jobs) == count else None

    return eventually(look, what=f"{count} waiting jobs")


def test_registration_answers_exactly_what_the_plugin_knows(plugin, world):
    name = unique("jenkins")
    answer = register(plugin, world, name=name)
    body = answer.json()
    assert answer.status_code == 200
    assert set(body) == {"id", "name", "workspaceId", "type", "config"}
    assert (body["name"], body["type"], body["workspaceId"], body["config"]) == (name, "jenkins", world.ws.id,
                                                                                 {})
    assert world.ws.get(f"/job-agents/{body['id']}", status=200).json()["type"] == "jenkins"


def test_registering_again_finds_the_same_agent_as_it_is(plugin, world):
    config = {"token": "x"}
    world.ws.put(f"/job-agents/{world.agent}", {"name": "puller", "type": "http-pull", "config": config},
                 status=202)
    for _ in range(2):
        body = register(plugin, world).json()
        assert (body["id"], body["config"], set(body)) == (world.agent, config,
                                                            {"id", "name", "workspaceId", "type", "config"})
    assert world.ws.get("/job-agents").json()["total"] == 1


def test_registration_that_cannot_be(plugin, world):
    refusal(register(plugin, world, workspaceId=new_id()), 404)
    refusal(register(plugin, world, workspaceId="nonsense"), 404)
    refusal(register(plugin, world, name=""), 400)
    refusal(register(plugin, world, type=None), 400)
    refusal(plugin.patch("/job-agents/name", {}), 400)
    viewer = plugin.with_key(world.ws.as_role("viewer").key)
    assert "agent.register" in refusal(register(viewer, world, name="other"), 403)["message"]


def test_waiting_jobs_are_pending_and_stay_until_they_are_taken(plugin, world):
    world.publish("v1")
    jobs = waiting(plugin, world)
    for job in jobs:
        assert (job["status"], job["jobAgentConfig"]) == ("pending", {"chart": "checkout"})
    again = waiting(plugin, world)
    assert [job["id"] for job in again] == [job["id"] for job in jobs], "asking takes nothing"
    assert len(world.queued()) == 3


def test_a_report_takes_the_job_and_others_end_it(plugin, world):
    world.publish("v1")
    job = waiting(plugin, world)[0]["id"]
    links = {"ctrlplane/links": {"Build": "http://ci.example.org/job/1"}}
    begun = plugin.patch(f"/jobs/{job}", {"status": "in_progress", "externalId": "12", **links}, status=200)
    assert begun.json()["id"] == job
    row = world.ws.get(f"/jobs/{job}").json()
    assert (row["status"], row["externalId"]) == ("inProgress", "12")
    waiting(plugin, world, 2)
    plugin.patch(f"/jobs/{job}", {"status": "in_progress", "message": "half way"}, status=200)
    plugin.patch(f"/jobs/{job}", {"status": "successful", "message": "done"}, status=200)
    row = world.ws.get(f"/jobs/{job}").json()
    assert (row["status"], row["message"]) == ("successful", "done")
    refusal(plugin.patch(f"/jobs/{job}", {"status": "failure"}), 409)


@pytest.mark.parametrize("word, status", [
    ("successful", "successful"), ("failure", "failure"), ("cancelled", "cancelled"), ("skipped", "skipped"),
    ("action_required", "actionRequired"), ("invalid_job_agent", "invalidJobAgent"),
    ("invalid_integration", "invalidIntegration"), ("external_run_not_found", "externalRunNotFound"),
])
def test_every_word_of_the_earlier_api_is_understood(plugin, world, word, status):
    world.publish("v1")
    job = waiting(plugin, world)[0]["id"]
    plugin.patch(f"/jobs/{job}", {"status": word}, status=200)
    assert world.ws.get(f"/jobs/{job}").json()["status"] == status


def test_a_job_that_another_agent_has_is_not_taken(plugin, world):
    world.publish("v1")
    world.wait_for_jobs(3)
    job = world.claim("somebody-else")["id"]
    refusal(plugin.patch(f"/jobs/{job}", {"status": "in_progress"}), 409)


def test_bad_reports_are_refused(plugin, world):
    world.publish("v1")
    job = waiting(plugin, world)[0]["id"]
    refusal(plugin.patch(f"/jobs/{job}", {"status": "finished"}), 400)
    refusal(plugin.patch(f"/jobs/{new_id()}", {"status": "in_progress"}), 404)
    refusal(plugin.patch("/jobs/x", {"status": "in_progress"}), 404)
    waiting(plugin, world)


def test_a_job_is_read_with_everything_about_it(plugin, world):
    world.publish("v1", metadata={"commit": "abc"})
    job = plugin.get(f"/jobs/{waiting(plugin, world)[0]['id']}", status=200).json()
    assert {"id", "status", "jobAgentConfig", "release", "deployment", "environment", "resource",
            "metadata"} <= set(job)
    assert job["release"]["version"]["metadata"] == {"commit": "abc"}
    assert (job["deployment"]["id"], job["deployment"]["name"]) == (world.deployment, "checkout")


@pytest.fixture()
def tricky(world):
    """A configuration with words of the API in it; the world's next jobs have it."""
    config = {"release": "stable", "status": "queued", "nested": {"release": {"a": 1}}}
    body = {"name": "checkout", "slug": "checkout", "resourceSelector": 'resource.kind == "Cluster"',
            "jobAgentSelector": f'jobAgent.id == "{world.agent}"', "jobAgentConfig": config}
    world.ws.put(f"/deployments/{world.deployment}", body, status=202)
    world.publish("v1")
    return config


def test_a_waiting_job_keeps_a_configuration_that_speaks_like_the_api(plugin, world, tricky):
    job = waiting(plugin, world)[0]
    assert (job["status"], job["jobAgentConfig"]) == ("pending", tricky)


def test_a_job_with_a_configuration_that_speaks_like_the_api_is_read_whole(plugin, world, tricky):
    job = plugin.get(f"/jobs/{waiting(plugin, world)[0]['id']}", status=200).json()
    assert job["jobAgentConfig"] == tricky
    assert job["release"]["version"]["tag"] == "v1"


def test_what_is_another_workspaces_is_404(plugin, world, admin):
    world.publish("v1")
    job = waiting(plugin, world)[0]["id"]
    key = admin.new_key(workspaceId=admin.new_workspace().id)
    stranger = plugin.with_key(key)
    refusal(stranger.get(f"/jobs/{job}"), 404)
    refusal(stranger.patch(f"/jobs/{job}", {"status": "in_progress"}), 404)
    refusal(stranger.get(f"/job-agents/{world.agent}/queue/next"), 404)
    refusal(register(stranger, world), 404)
    waiting(plugin, world)


def test_a_viewer_reads_jobs_and_takes_none(plugin, world):
    world.publish("v1")
    job = waiting(plugin, world)[0]["id"]
    viewer = plugin.with_key(world.ws.as_role("viewer").key)
    viewer.get(f"/jobs/{job}", status=200)
    assert "job.work" in refusal(viewer.patch(f"/jobs/{job}", {"status": "in_progress"}), 403)["message"]
    assert "job.work" in refusal(viewer.get(f"/job-agents/{world.agent}/queue/next"), 403)["message"]


def test_no_key_is_401(plugin, world):
    anybody = plugin.with_key(None)
    refusal(anybody.get(f"/job-agents/{world.agent}/queue/next"), 401)
    refusal(register(anybody, world), 401)
