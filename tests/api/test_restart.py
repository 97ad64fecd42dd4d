"""What a server still knows after it was killed and started again: everything it has answered for."""

import pytest

from harness import Client, PASSWORD, World, refusal
from test_events import Stream


class Before:
    """One server with a little of everything, killed and started again. A start on PostgreSQL waits for the
    lease of the killed one to run out, so all tests here share it."""

    def __init__(self, server):
        self.server = server
        self.admin = server.client()
        self.world = World(self.admin.new_workspace())
        self.ws = self.world.ws
        self.headers = {"Idempotency-Key": "once"}
        self.version = self.ws.post(self.versions, {"tag": "v1"}, headers=self.headers, status=200).json()
        self.world.wait_for_jobs(3)
        self.job = self.world.claim("one")["id"]
        self.world.report(self.job, "inProgress", instanceId="one")
        self.ws.post(f"/jobs/{self.job}/output", {"offset": 0, "text": "begun\n"}, status=202)
        body = {"email": server.email, "password": PASSWORD}
        cookie = Client(server, None).post("/session", body, status=200).headers["Set-Cookie"]
        self.cookie = cookie.split(";")[0]
        revoked = self.admin.post("/api-keys", {"name": "gone"}, status=201).json()
        self.admin.delete(f"/api-keys/{revoked['id']}", status=204)
        self.revoked = revoked["key"]
        with Stream(self.ws) as stream:
            self.seq = stream.next()["id"]
        self.systems = [self.ws.make_system() for _ in range(10)]
        server.restart(kill=True)

    @property
    def versions(self):
        return f"/deployments/{self.world.deployment}/versions"


@pytest.fixture(scope="module")
def before(start_server):
    made = Before(start_server())
    yield made
    made.server.kill()


def test_every_answered_write_is_there(before):
    assert {s["id"] for s in before.ws.get("/systems").json()["items"]} == {before.world.system,
                                                                            *before.systems}
    assert before.ws.get(before.versions, status=200).json()["items"] == [before.version]


def test_a_repeat_with_the_same_key_gets_the_same_answer(before):
    again = before.ws.post(before.versions, {"tag": "v1"}, headers=before.headers, status=200).json()
    assert again == before.version
    refusal(before.ws.post(before.versions, {"tag": "v2"}, headers=before.headers), 409)
    assert before.ws.get(before.versions).json()["total"] == 1


def test_a_session_goes_on(before):
    client = Client(before.server, None)
    client.headers = {"Cookie": before.cookie}
    assert client.get("/session", status=200).json()["user"]["email"] == before.server.email


def test_a_revoked_key_stays_revoked(before):
    refusal(Client(before.server, before.revoked).get("/session"), 401)


def test_a_running_job_is_still_its_instances(before):
    job = before.ws.get(f"/jobs/{before.job}", status=200).json()
    assert (job["status"], job["holder"]) == ("inProgress", "one")
    beat = {"instanceId": "one", "jobIds": [before.job]}
    assert before.ws.post(f"/job-agents/{before.world.agent}/heartbeat", beat,
                          status=200).json()["stop"] == []
    assert before.ws.get(f"/jobs/{before.job}/output").json()["chunks"][0]["text"] == "begun\n"
    assert len(before.world.queued()) == 2


def test_a_reader_of_the_stream_is_told_to_start_over_or_misses_nothing(before):
    with Stream(before.ws, last=before.seq) as stream:
        first = stream.next()
    assert first["event"] == "reset" or first["id"] == before.seq + 1


def test_the_first_key_is_made_once(before):
    assert before.admin.get("/users").json()["total"] == 1
    assert "first start" not in before.server.output()
