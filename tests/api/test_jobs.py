"""Jobs: reports, cancelling, deciding, output, lists."""

import pytest

from harness import all_at_once, complaint_paths, moment, new_id, refusal

FINAL = ["cancelled", "skipped", "failure", "invalidJobAgent", "invalidIntegration", "externalRunNotFound",
         "successful"]
HALF = 512 * 1024  # of the output that is kept


# ---- Reports -------------------------------------------------------------------------------------------


def test_a_job_runs_and_ends(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    job = world.claim("one")["id"]
    answer = world.report(job, "inProgress", instanceId="one", message="begun", externalId="run-7").json()
    assert answer == {"id": job, "message": "Job status update requested"}
    running = world.ws.get(f"/jobs/{job}", status=200).json()
    assert (running["status"], running["message"], running["externalId"]) == ("inProgress", "begun", "run-7")
    assert "startedAt" in running and "completedAt" not in running
    world.report(job, "successful", instanceId="one", message="done")
    ended = world.ws.get(f"/jobs/{job}").json()
    assert (ended["status"], ended["message"], ended["externalId"]) == ("successful", "done", "run-7")
    assert moment(ended["createdAt"]) <= moment(ended["startedAt"]) <= moment(ended["completedAt"])


@pytest.mark.parametrize("status", FINAL)
def test_a_job_ends_in_any_final_status_once(world, status):
    job = world.running_job()
    world.report(job, status, instanceId="instance-1")
    assert world.ws.get(f"/jobs/{job}").json()["status"] == status
    for later in ("inProgress", "successful", "failure", status):
        world.report(job, later, code=409, instanceId="instance-1")
    assert world.ws.get(f"/jobs/{job}").json()["status"] == status


def test_an_ended_job_is_not_cancelled_or_decided(world):
    job = world.running_job()
    world.report(job, "failure", instanceId="instance-1")
    refusal(world.ws.post(f"/jobs/{job}/cancel"), 409)
    refusal(world.ws.post(f"/jobs/{job}/decide", {"status": "successful"}), 409)


def test_a_job_that_waits_must_be_claimed_before_it_is_reported_on(world):
    world.publish()
    job = world.wait_for_jobs(3)[0]["id"]
    world.report(job, "inProgress", code=409)
    world.report(job, "successful", code=409, instanceId="one")
    assert len(world.queued()) == 3


def test_a_report_of_another_instance_is_409(world):
    job = world.running_job("one")
    world.report(job, "successful", code=409, instanceId="two")
    assert world.ws.get(f"/jobs/{job}").json()["status"] == "inProgress"
    world.report(job, "successful")  # without an instance: clients that know of none


@pytest.mark.parametrize("status", ["pending", "queued"])
def test_a_job_does_not_go_back_to_waiting(world, status):
    job = world.running_job()
    assert complaint_paths(world.report(job, status, code=400, instanceId="instance-1")) == ["status"]


@pytest.mark.parametrize("body, path", [({}, "status"), ({"status": "in_progress"}, "status"),
                                        ({"status": ""}, "status"),
                                        ({"status": 1}, "status"),
                                        ({"status": "failure", "message": 1}, "message")])
def test_bad_reports_are_400(world, body, path):
    job = world.running_job()
    assert complaint_paths(world.ws.put(f"/jobs/{job}/status", body)) == [path]


def test_of_20_concurrent_ends_one_is_accepted(world):
    job = world.running_job()
    ends = ["successful", "failure"] * 10
    answers = all_at_once(20, lambda i: world.ws.put(f"/jobs/{job}/status", {"status": ends[i]}).status_code)
    assert sorted(answers) == [202] + [409] * 19
    assert world.ws.get(f"/jobs/{job}").json()["status"] == ends[answers.index(202)]


# ---- Cancelling and deciding ---------------------------------------------------------------------------


def test_a_waiting_job_is_cancelled_at_once(world):
    world.publish()
    job = world.wait_for_jobs(3)[0]["id"]
    assert world.ws.post(f"/jobs/{job}/cancel", status=202).json()["id"] == job
    cancelled = world.ws.get(f"/jobs/{job}").json()
    assert cancelled["status"] == "cancelled" and "completedAt" in cancelled
    assert len(world.queued()) == 2


def test_a_running_job_is_asked_to_stop(world):
    job = world.running_job()
    world.ws.post(f"/jobs/{job}/cancel", status=202)
    asked = world.ws.get(f"/jobs/{job}").json()
    assert asked["status"] == "inProgress" and asked["cancelRequestedAt"]
    world.ws.post(f"/jobs/{job}/cancel", status=202)
    assert world.ws.get(f"/jobs/{job}").json()["cancelRequestedAt"] == asked["cancelRequestedAt"]
    world.report(job, "cancelled", instanceId="instance-1")
    assert world.ws.get(f"/jobs/{job}").json()["status"] == "cancelled"


def test_only_a_job_that_requires_action_is_decided(world):
    job = world.running_job()
    refusal(world.ws.post(f"/jobs/{job}/decide", {"status": "successful"}), 409)
    world.report(job, "actionRequired", instanceId="instance-1", message="look at me")
    assert complaint_paths(world.ws.post(f"/jobs/{job}/decide", {"status": "inProgress"})) == ["status"]
    refusal(world.ws.post(f"/jobs/{job}/decide", {}), 400)
    world.ws.post(f"/jobs/{job}/decide", {"status": "failure", "reason": "it broke"}, status=202)
    decided = world.ws.get(f"/jobs/{job}").json()
    assert (decided["status"], decided["message"]) == ("failure", "it broke")


def test_another_workspaces_job_is_404(admin, world):
    job = world.running_job()
    other = admin.new_workspace()
    for answer in (other.get(f"/jobs/{job}"), other.get(f"/jobs/{job}/with-release"),
                   other.post(f"/jobs/{job}/cancel"),
                   other.put(f"/jobs/{job}/status", {"status": "successful"}),
                   other.get(f"/jobs/{job}/output"),
                   other.post(f"/jobs/{job}/output", {"offset": 0, "text": "x"}),
                   other.post(f"/jobs/{job}/decide", {"status": "failure"})):
        refusal(answer, 404)
    assert world.ws.get(f"/jobs/{job}").json()["status"] == "inProgress"
    assert world.ws.get(f"/jobs/{job}/output").json()["end"] == 0


# ---- Lists and views -----------------------------------------------------------------------------------


def test_jobs_are_listed_with_what_they_are_about(world):
    version = world.publish("v1")
    world.wait_for_jobs(3)
    page = world.ws.get("/jobs", status=200).json()
    assert page["total"] == 3
    for item in page["items"]:
        assert len(item["job"]["id"]) == 36 and "dispatchContext" not in item["job"]
        assert item["release"]["version"]["id"] == version
        assert item["deployment"]["id"] == world.deployment
        assert item["environment"]["id"] in (world.staging, world.prod)
        assert item["resource"]["identifier"] in world.resources
        target = item["release"]["releaseTarget"]
        assert target["key"] == world.key(item["resource"]["identifier"])
    times = [moment(item["job"]["createdAt"]) for item in page["items"]]
    assert times == sorted(times, reverse=True)


def test_jobs_are_filtered(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    job = world.claim()["id"]
    world.report(job, "failure", instanceId="instance-1")

    def total(query):
        return world.ws.get(f"/jobs?{query}", status=200).json()["total"]

    assert total("status=failure") == 1
    assert total("status=queued") == 2
    assert total(f"deploymentId={world.deployment}") == 3
    assert total(f"deploymentId={new_id()}") == 0
    assert total(f"jobAgentId={world.agent}&status=failure") == 1
    assert total(f"jobAgentId={new_id()}") == 0
    for query in ("status=done", "deploymentId=x", "jobAgentId=x", "status="):
        refusal(world.ws.get(f"/jobs?{query}"), 400)


def test_pages_of_jobs_hold_each_once(world):
    for i in range(4):
        world.publish(f"v{i}")
        world.wait_for_jobs(3)
        world.finish_everything()
    seen = []
    for offset in range(0, 12, 5):
        page = world.ws.get(f"/jobs?limit=5&offset={offset}").json()
        assert page["total"] == 12
        seen += [item["job"]["id"] for item in page["items"]]
    assert len(seen) == len(set(seen)) == 12


def test_one_job_with_its_release(world):
    version = world.publish("v1")
    job = world.wait_for_jobs(3)[0]["id"]
    whole = world.ws.get(f"/jobs/{job}/with-release", status=200).json()
    assert whole["job"]["id"] == job and "dispatchContext" not in whole["job"]
    assert whole["release"]["id"] == whole["job"]["releaseId"]
    assert whole["release"]["version"]["id"] == version
    assert (whole["release"]["variables"], whole["release"]["encryptedVariables"]) == ({}, [])


def test_one_job_with_its_context(world):
    world.publish("v1", metadata={"commit": "abc"})
    job = world.ws.get(f"/jobs/{world.wait_for_jobs(3)[0]['id']}", status=200).json()
    context = job["dispatchContext"]
    assert context["version"]["metadata"] == {"commit": "abc"}
    assert {"deployment", "environment", "resource", "version", "variables", "jobAgentConfig"} <= set(context)


def test_a_job_keeps_its_context_when_things_change(world):
    world.publish("v1")
    world.wait_for_jobs(3)
    job = world.ws.get(f"/release-targets/{world.key('prod-a')}/jobs").json()["items"][0]["id"]
    world.ws.post(f"/job-agents/{world.agent}/jobs/{job}/claim", {"instanceId": "i"}, status=200)
    before = world.ws.get(f"/jobs/{job}").json()["dispatchContext"]
    body = {"name": "renamed", "kind": "Cluster", "version": "v1", "metadata": {"env": "prod", "new": "1"}}
    world.ws.put("/resources/identifier/prod-a", body, status=202)
    assert world.ws.get(f"/jobs/{job}").json()["dispatchContext"] == before


def test_a_job_outlives_what_it_was_about(world):
    job = world.running_job()
    world.report(job, "successful", instanceId="instance-1")
    world.finish_everything()
    for name in world.resources:
        world.ws.delete(f"/resources/identifier/{name}", status=202)
    world.ws.delete(f"/deployments/{world.deployment}", status=202)
    whole = world.ws.get(f"/jobs/{job}/with-release", status=200).json()
    assert whole["job"]["status"] == "successful"
    assert world.ws.get("/jobs", status=200).json()["total"] >= 3


# ---- Output --------------------------------------------------------------------------------------------


def append(world, job, offset, text, status=202):
    return world.ws.post(f"/jobs/{job}/output", {"offset": offset, "text": text}, status=status)


def output(world, job, offset=None):
    query = "" if offset is None else f"?offset={offset}"
    return world.ws.get(f"/jobs/{job}/output{query}", status=200).json()


def joined(answer):
    return "".join(chunk["text"] for chunk in answer["chunks"])


def test_output_is_appended_and_read_from_any_place(world):
    job = world.running_job()
    assert output(world, job) == {"chunks": [], "end": 0, "truncated": False}
    append(world, job, 0, "hello ")
    append(world, job, 6, "world\n")
    whole = output(world, job)
    assert (joined(whole), whole["end"], whole["truncated"]) == ("hello world\n", 12, False)
    assert joined(output(world, job, 6)) == "world\n"
    assert joined(output(world, job, 3)) == "lo world\n"
    assert output(world, job, 12)["chunks"] == []


def test_a_repeated_piece_is_harmless(world):
    job = world.running_job()
    for _ in range(3):
        append(world, job, 0, "one\n")
        append(world, job, 4, "two\n")
    assert joined(output(world, job)) == "one\ntwo\n"
    assert output(world, job)["end"] == 8


def test_a_repeated_part_of_a_piece_takes_nothing_away(world):
    job = world.running_job()
    append(world, job, 0, "hello world\n")
    append(world, job, 0, "hello")
    assert joined(output(world, job)) == "hello world\n"


def test_pieces_that_overlap_are_read_once(world):
    job = world.running_job()
    append(world, job, 0, "abcdef")
    append(world, job, 3, "defghi")
    assert joined(output(world, job)) == "abcdefghi"


def test_pieces_may_come_out_of_order(world):
    job = world.running_job()
    append(world, job, 3, "def")
    append(world, job, 0, "abc")
    assert joined(output(world, job)) == "abcdef"


def test_offsets_count_bytes_not_characters(world):
    job = world.running_job()
    append(world, job, 0, "ü✓🙂")  # 2 + 3 + 4
    append(world, job, 9, "end")
    whole = output(world, job)
    assert (joined(whole), whole["end"]) == ("ü✓🙂end", 12)


def test_concurrent_pieces_all_arrive(world):
    job = world.running_job()
    all_at_once(20, lambda i: append(world, job, i * 4, f"{i:03}\n"))
    assert joined(output(world, job)) == "".join(f"{i:03}\n" for i in range(20))


def test_of_more_than_a_mebibyte_the_first_and_the_last_half_are_kept(world):
    job = world.running_job()
    piece = 64 * 1024
    text = [f"{i:04}".ljust(piece, ".") for i in range(32)]  # 2 MiB
    for i, part in enumerate(text):
        append(world, job, i * piece, part)
    chunks, at = [], 0
    for _ in range(10):
        answer = output(world, job, at)
        if not answer["chunks"]:
            break
        chunks += answer["chunks"]
        at = answer["end"]
    assert at == 32 * piece
    kept = "".join(chunk["text"] for chunk in chunks)
    assert len(kept) <= 1024 * 1024 + piece
    assert kept.startswith("".join(text)[:HALF])
    assert kept.endswith("".join(text)[-HALF:])
    assert output(world, job)["truncated"] is True


def test_output_after_the_end_still_arrives(world):
    job = world.running_job()
    world.report(job, "successful", instanceId="instance-1")
    append(world, job, 0, "last words\n")
    assert joined(output(world, job)) == "last words\n"


@pytest.mark.parametrize("body, path", [
    ({"text": "x"}, "offset"), ({"offset": 0}, "text"), ({"offset": -1, "text": "x"}, "offset"),
    ({"offset": "0", "text": "x"}, "offset"), ({"offset": 0, "text": 1}, "text"),
    ({"offset": 0.5, "text": "x"}, "offset"),
    ({"offset": 2**62, "text": "x"}, "offset"), ({"offset": 0, "text": "a\0b"}, "text"),
    ({"offset": 0, "text": "x" * (256 * 1024 + 1)}, "text"),
])
def test_bad_output_is_400(world, body, path):
    job = world.running_job()
    assert complaint_paths(world.ws.post(f"/jobs/{job}/output", body)) == [path]
    assert output(world, job)["chunks"] == []


def test_an_empty_piece_is_nothing(world):
    job = world.running_job()
    append(world, job, 0, "")
    append(world, job, 500, "")
    assert output(world, job)["end"] == 0


def test_bad_places_to_read_from_are_400(world):
    job = world.running_job()
    for offset in ("-1", "x", "1.5"):
        assert complaint_paths(world.ws.get(f"/jobs/{job}/output?offset={offset}")) == ["offset"]
    assert world.ws.get(f"/jobs/{job}/output?offset={2**63 - 1}", status=200).json()["chunks"] == []
