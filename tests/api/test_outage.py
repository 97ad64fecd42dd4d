"""What a server answers while PostgreSQL is away, and that it goes on by itself when PostgreSQL is back."""

import time

import pytest

from harness import Postgres, Server, eventually


class Outage:
    """One outage, looked at by several tests: what was asked before, during and after."""

    def __init__(self, postgres, server):
        self.client = server.client()
        self.ws = self.client.new_workspace()
        self.before = self.ws.make_system("before")
        self.key = {"Idempotency-Key": "tried during the outage"}
        self.body = {"name": "during"}
        postgres.stop("immediate")
        began = time.monotonic()
        self.write = self.ws.post("/systems", self.body, headers=self.key, timeout=60)
        self.write_took = time.monotonic() - began
        root = self.client.root
        self.alive = root.get("/api/healthz").status_code
        eventually(lambda: root.get("/api/readyz").status_code == 503, within=30, what="unreadiness")
        self.reason = root.get("/api/readyz").json()["reason"]
        postgres.start()
        self.again = eventually(self.try_again, within=60, what="a write after the outage")
        eventually(lambda: root.get("/api/readyz").status_code == 200, within=30, what="readiness")

    def try_again(self):
        answer = self.ws.post("/systems", self.body, headers=self.key, timeout=60)
        assert answer.status_code in (202, 503), answer.text
        return answer if answer.status_code == 202 else None


@pytest.fixture(scope="module")
def outage():
    postgres = Postgres()
    server = Server(postgres.new_database())
    yield Outage(postgres, server)
    server.kill()
    postgres.close()


def test_a_write_is_503_soon_and_says_whether_it_may_have_happened(outage):
    assert outage.write.status_code == 503
    assert outage.write.json()["code"] in ("not_committed", "unknown", "unavailable")
    assert int(outage.write.headers["Retry-After"]) >= 1
    assert outage.write_took < 30


def test_the_process_lives_but_is_not_ready(outage):
    assert outage.alive == 200
    assert outage.reason


def test_the_server_goes_on_by_itself_and_a_repeat_has_one_effect(outage):
    names = [s["name"] for s in outage.ws.get("/systems", status=200).json()["items"]]
    assert names == ["before", "during"]
    assert outage.ws.get(f"/systems/{outage.before}", status=200)
    assert outage.ws.get(f"/systems/{outage.again.json()['id']}", status=200)
