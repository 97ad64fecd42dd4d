"""Job agents, and how pull agents get their work."""

import pytest

from harness import all_at_once, complaint_paths, eventually, moment, new_id, refusal

CONFIG = {"apiKey": "in clear", "n": 1, "nested": {"a": [True]}}


# ---- Agents --------------------------------------------------------------------------------------------


def test_an_agent_is_made_read_changed_and_deleted(ws):
    agent = new_id()
    body = {"name": "argo", "type": "argo-cd", "config": CONFIG, "metadata": {"team": "a"}}
    assert ws.put(f"/job-agents/{agent}", body, status=202).json()["id"] == agent
    assert ws.get(f"/job-agents/{agent}", status=200).json() == {"id": agent, "workspaceId": ws.id, **body}
    ws.put(f"/job-agents/{agent}", {"name": "argo", "type": "http-pull"}, status=202)
    changed = ws.get(f"/job-agents/{agent}").json()
    assert (changed["type"], changed["config"], changed["metadata"]) == ("http-pull", {}, {})
    assert [a["id"] for a in ws.get("/job-agents", status=200).json()["items"]] == [agent]
    ws.delete(f"/job-agents/{agent}", status=202)
    refusal(ws.get(f"/job-agents/{agent}"), 404)
    refusal(ws.delete(f"/job-agents/{agent}"), 404)


def test_agents_are_listed_by_name(ws):
    for name in ("b", "c", "a"):
        ws.make_agent(name)
    assert [a["name"] for a in ws.get("/job-agents?limit=2").json()["items"]] == ["a", "b"]


def test_a_duplicate_name_is_409_and_changes_nothing(ws):
    ws.make_agent("a")
    refusal(ws.put(f"/job-agents/{new_id()}", {"name": "a", "type": "http-pull"}), 409)
    assert ws.get("/job-agents").json()["total"] == 1


@pytest.mark.parametrize("body, path", [
    ({"name": ""}, "name"), ({"type": ""}, "type"), ({"config": []}, "config"),
    ({"metadata": {"a": 1}}, "metadata.a"),
    ({"name": "x" * 256}, "name"), ({"type": "x" * 256}, "type"),
])
def test_bad_agents_are_400(ws, body, path):
    answer = ws.put(f"/job-agents/{new_id()}", {"name": "a", "type": "t", **body})
    assert complaint_paths(answer) == [path]


def test_an_agent_with_active_jobs_is_not_deleted(world):
    world.publish()
    world.wait_for_jobs(3)
    refusal(world.ws.delete(f"/job-agents/{world.agent}"), 409)
    refusal(world.ws.put(f"/job-agents/{world.agent}", {"name": "puller", "type": "other"}), 409)
    world.finish_everything()
    world.ws.delete(f"/job-agents/{world.agent}", status=202)


def test_another_workspaces_agent_is_404(admin, world):
    other = admin.new_workspace()
    world.publish()
    job = world.wait_for_jobs(3)[0]["id"]
    for answer in (other.get(f"/job-agents/{world.agent}"), other.delete(f"/job-agents/{world.agent}"),
                   other.get(f"/job-agents/{world.agent}/jobs"),
                   other.post(f"/job-agents/{world.agent}/claim", {"instanceId": "i"}),
                   other.post(f"/job-agents/{world.agent}/jobs/{job}/claim", {"instanceId": "i"}),
                   other.post(f"/job-agents/{world.agent}/heartbeat", {"instanceId": "i", "jobIds": []})):
        refusal(answer, 404)
    assert len(world.queued()) == 3


# ---- Waiting jobs --------------------------------------------------------------------------------------


def test_waiting_jobs_are_queued_and_listed_newest_first(world):
    world.publish("v1")
    jobs = world.wait_for_jobs(3)
    assert {job["status"] for job in jobs} == {"queued"}
    times = [moment(job["createdAt"]) for job in jobs]
    assert times == sorted(times, reverse=True)
    assert all("dispatchContext" not in job for job in jobs)
    path = f"/job-agents/{world.agent}/jobs"
    with_context = world.ws.get(f"{path}?status=queued&includeDispatchContext=true",
                                status=200).json()["items"]
    assert {job["dispatchContext"]["version"]["tag"] for job in with_context} == {"v1"}
    assert world.ws.get(f"{path}?status=successful").json()["total"] == 0
    assert len(world.ws.get(f"{path}?limit=2").json()["items"]) == 2
    refusal(world.ws.get(f"{path}?status=in_progress"), 400)
    refusal(world.ws.get(f"{path}?includeDispatchContext=1"), 400)


def test_nothing_waits_for_an_agent_that_nobody_selects(ws):
    agent = ws.make_agent()
    assert ws.post(f"/job-agents/{agent}/claim", {"instanceId": "i"}, status=204).content == b""


# ---- Claims --------------------------------------------------------------------------------------------


def test_a_claim_hands_out_the_oldest_job_with_its_context(world):
    world.publish("v1", config={"image": "a"}, jobAgentConfig={"ref": "main"}, metadata={"commit": "c"})
    oldest = world.wait_for_jobs(3)[-1]
    job = world.claim("instance-1")
    assert (job["status"], job["holder"]) == ("inProgress", "instance-1")
    assert job["createdAt"][:23] == oldest["createdAt"][:23], "to the millisecond"
    assert job["jobAgentConfig"] == {"chart": "checkout", "ref": "main"}
    context = job["dispatchContext"]
    assert context["version"]["tag"] == "v1" and context["version"]["config"] == {"image": "a"}
    assert context["deployment"]["name"] == "checkout" and context["variables"] == {}
    assert context["environment"]["name"] in ("staging", "prod")
    assert context["resource"]["identifier"] in world.resources and "zone" in context["resource"]["config"]
    assert context["jobAgentConfig"] == job["jobAgentConfig"]
    assert len(world.queued()) == 2


def test_a_claim_repeated_before_a_report_gives_the_same_job(world):
    world.publish()
    world.wait_for_jobs(3)
    first, again, other = world.claim("one"), world.claim("one"), world.claim("two")
    assert first["id"] == again["id"] != other["id"]
    world.report(first["id"], "inProgress", instanceId="one")
    assert world.claim("one")["id"] not in (first["id"], other["id"])


def test_a_claim_of_one_job_is_for_one_instance(world):
    world.publish()
    job = world.wait_for_jobs(3)[1]["id"]
    path = f"/job-agents/{world.agent}/jobs/{job}/claim"
    claimed = world.ws.post(path, {"instanceId": "one"}, status=200).json()
    assert (claimed["id"], claimed["holder"]) == (job, "one")
    assert "dispatchContext" in claimed
    assert world.ws.post(path, {"instanceId": "one"}, status=200).json()["id"] == job
    refusal(world.ws.post(path, {"instanceId": "two"}), 409)


def test_of_20_concurrent_claims_of_one_job_one_wins(world):
    world.publish()
    job = world.wait_for_jobs(3)[0]["id"]
    path = f"/job-agents/{world.agent}/jobs/{job}/claim"
    answers = all_at_once(20, lambda i: world.ws.post(path, {"instanceId": f"i{i}"}))
    assert sorted(a.status_code for a in answers) == [200] + [409] * 19
    winner = next(i for i, a in enumerate(answers) if a.status_code == 200)
    assert world.ws.get(f"/jobs/{job}").json()["holder"] == f"i{winner}"


def test_20_concurrent_claims_of_the_next_job_share_three_jobs(world):
    world.publish()
    world.wait_for_jobs(3)
    answers = all_at_once(20, lambda i: world.claim(f"i{i}"))
    got = [job["id"] for job in answers if job]
    assert len(got) == len(set(got)) == 3


def test_a_claim_without_a_body_is_by_the_key_that_asks(admin, world):
    world.publish()
    jobs = [job["id"] for job in world.wait_for_jobs(3)]
    path = f"/job-agents/{world.agent}/jobs/{jobs[0]}/claim"
    world.ws.request("POST", path, status=200)
    world.ws.request("POST", path, status=200)
    another = world.ws.as_role("agent")
    refusal(another.request("POST", path), 409)
    another.request("POST", f"/job-agents/{world.agent}/jobs/{jobs[1]}/claim", status=200)


def test_claims_that_cannot_be(world):
    world.publish()
    job = world.wait_for_jobs(3)[0]["id"]
    other = world.ws.make_agent("other")
    body = {"instanceId": "i"}
    refusal(world.ws.post(f"/job-agents/{other}/jobs/{job}/claim", body), 404)
    refusal(world.ws.post(f"/job-agents/{new_id()}/jobs/{job}/claim", body), 404)
    refusal(world.ws.post(f"/job-agents/{world.agent}/jobs/{new_id()}/claim", body), 404)
    assert complaint_paths(world.ws.post(f"/job-agents/{world.agent}/claim", {})) == ["instanceId"]
    assert complaint_paths(world.ws.post(f"/job-agents/{world.agent}/claim",
                                         {"instanceId": ""})) == ["instanceId"]
    pushed = world.ws.make_agent("pushed", "webhook")
    refusal(world.ws.post(f"/job-agents/{pushed}/claim", body), 409)
    assert len(world.queued()) == 3


def test_a_job_that_ended_is_not_claimed_again(world):
    job = world.running_job()
    world.report(job, "successful", instanceId="instance-1")
    refusal(world.ws.post(f"/job-agents/{world.agent}/jobs/{job}/claim", {"instanceId": "two"}), 409)


def test_a_superseded_job_is_not_offered_any_more(world):
    world.publish("v1")
    old = {job["id"] for job in world.wait_for_jobs(3)}
    world.publish("v2")
    eventually(lambda: (now := {job["id"] for job in world.queued()}) and not now & old, what="new jobs")
    refusal(world.ws.post(f"/job-agents/{world.agent}/jobs/{min(old)}/claim", {"instanceId": "i"}), 409)
    assert world.ws.get(f"/jobs/{min(old)}").json()["status"] == "cancelled"


# ---- Heartbeats ----------------------------------------------------------------------------------------


def beat(world, instance, jobs, agent=None, status=200):
    body = {"instanceId": instance, "jobIds": jobs}
    return world.ws.post(f"/job-agents/{agent or world.agent}/heartbeat", body, status=status).json()


def test_a_heartbeat_says_what_to_stop_and_how_often_to_come(world):
    job = world.running_job("one")
    answer = beat(world, "one", [job])
    assert (answer["stop"], answer["leaseSeconds"] > 2 * answer["heartbeatSeconds"] > 0) == ([], True)
    assert beat(world, "one", []) == answer
    assert beat(world, "two", [job])["stop"] == [job], "another instance's job"
    assert beat(world, "one", [job, unknown := new_id()])["stop"] == [unknown]
    world.ws.post(f"/jobs/{job}/cancel", status=202)
    assert beat(world, "one", [job])["stop"] == [job], "cancelled"
    world.report(job, "cancelled", instanceId="one")
    assert beat(world, "one", [job])["stop"] == [job], "ended"


@pytest.mark.parametrize("body, path", [
    ({"jobIds": []}, "instanceId"), ({"instanceId": "i"}, "jobIds"),
    ({"instanceId": "", "jobIds": []}, "instanceId"),
    ({"instanceId": "i", "jobIds": ["x"]}, "jobIds[0]"), ({"instanceId": "i", "jobIds": None}, "jobIds"),
])
def test_bad_heartbeats_are_400(ws, body, path):
    assert complaint_paths(ws.post(f"/job-agents/{ws.make_agent()}/heartbeat", body)) == [path]


def test_a_heartbeat_for_an_agent_that_is_not_there_is_404(world):
    refusal(world.ws.post(f"/job-agents/{new_id()}/heartbeat", {"instanceId": "i", "jobIds": []}), 404)
