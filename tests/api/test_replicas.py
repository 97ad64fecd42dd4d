"""Several servers on one PostgreSQL: any of them answers for everything, whoever owns it, comes or goes."""

import threading
import time

import pytest
import requests

from harness import Cluster, Server, World, all_at_once, eventually, unique


@pytest.fixture(scope="module")
def three(postgres):
    cluster = Cluster(postgres, 3)
    yield cluster
    cluster.close()


@pytest.fixture()
def pair(postgres):
    cluster = Cluster(postgres, 2)
    yield cluster
    cluster.close()


def test_every_replica_is_listed_and_shares_the_workspaces(three):
    for n in range(8):
        three.client(n % 3).new_workspace()
    eventually(lambda: three.counts() == [3, 3, 3], within=40, what="an even share")  # with the instance
    for n in range(3):
        items = three.replicas(n)["items"]
        assert {r["address"] for r in items} == {s.url for s in three.servers}
        assert {r["state"] for r in items} == {"alive"}
        assert [r["address"] for r in items if r["answers"]] == [three.servers[n].url]


def test_what_one_replica_acknowledged_every_other_shows_at_once(three):
    ws = three.client(0).new_workspace()
    for n, through in enumerate(three.everywhere(ws)):
        system = through.make_system(f"system-{n}")
        for other in three.everywhere(ws):
            other.get(f"/systems/{system}", status=200)
            other.delete(f"/systems/{unique('x')}", status=404)


def test_a_workspace_and_a_key_are_good_everywhere_as_soon_as_they_are_made(three):
    for n in range(3):
        ws = three.client(n).new_workspace()
        key = three.client(n).new_key()
        for server in three.servers:
            server.client(key).workspace(ws.slug).get("/systems", status=200)


def test_a_revoked_key_is_dead_everywhere_within_two_seconds(three):
    admin = three.client(0)
    made = admin.post("/api-keys", {"name": unique("key")}, status=201).json()
    for server in three.servers:
        server.client(made["key"]).get("/workspaces", status=200)
    admin.delete(f"/api-keys/{made['id']}", status=204)
    began = time.monotonic()
    for server in three.servers:
        eventually(lambda s=server: s.client(made["key"]).get("/workspaces").status_code == 401, within=3)
    assert time.monotonic() - began < 3


def test_a_refusal_is_the_same_through_every_replica(three):
    ws = three.client(0).new_workspace()
    viewer = ws.as_role("viewer").key
    for server in three.servers:
        seen = server.client(viewer).workspace(ws.id)
        answer = seen.post("/systems", {"name": "no"}, status=403)
        assert answer.json()["code"] == "forbidden"
        server.client().workspace(ws.id).post("/systems", {"name": 7}, status=400)
        server.client("0" * 16 + "." + "0" * 64).get("/workspaces", status=401)


def test_headers_of_a_forwarded_request_from_outside_are_worth_nothing(three):
    ws = three.client(0).new_workspace()
    forged = {"ctrlplane-forwarded": f"to={ws.id};user={ws.id};email=x;admin=yes;workspace={ws.id};request={ws.id}",
              "ctrlplane-signature": "0" * 64}
    for server in three.servers:
        url = f"{server.url}/api/v1/workspaces/{ws.id}/systems"
        assert requests.get(url, headers=forged, timeout=10).status_code == 401
        # Beside good credentials they change nothing.
        assert requests.get(url, headers={**forged, "x-api-key": server.key}, timeout=10).status_code == 200


def test_an_idempotency_key_holds_across_replicas(three):
    ws = three.client(0).new_workspace()
    headers = {"Idempotency-Key": unique("key")}
    ids = {through.post("/systems", {"name": "once"}, headers=headers, status=202).json()["id"]
           for through in three.everywhere(ws)}
    assert len(ids) == 1


def test_a_large_set_goes_through_another_replica(three):
    ws = three.client(0).new_workspace()
    owner = three.owner_of(ws)
    through = three.another_than(owner).client().workspace(ws.id)
    provider = through.put("/resource-providers", {"name": "scan"}, status=202).json()["id"]
    resources = [{"identifier": f"r-{i}", "name": f"r-{i}", "kind": "Node", "version": "v1",
                  "metadata": {"text": "x" * 100}} for i in range(3000)]
    through.put(f"/resource-providers/{provider}/set", {"resources": resources}, status=202, timeout=120)
    assert ws.get("/resources?limit=1", status=200).json()["total"] == 3000


def test_events_come_through_a_replica_that_is_not_the_owner(three):
    ws = three.client(0).new_workspace()
    owner = three.owner_of(ws)
    through = three.another_than(owner)
    with requests.get(f"{through.url}/api/v1/workspaces/{ws.id}/events", stream=True, timeout=30,
                      headers={"x-api-key": through.key}) as stream:
        assert stream.status_code == 200
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        lines = stream.iter_lines(decode_unicode=True)
        assert any(line == "event: ready" for line in lines)
        system = ws.make_system("heard of")
        assert any(system in line for line in lines if line.startswith("data:"))


def test_agents_work_through_any_replica(three):
    ws = three.client(0).new_workspace()
    world = World(ws)
    world.publish()
    world.wait_for_jobs(3)
    done = []
    for n, through in enumerate(three.everywhere(ws)):
        world.ws = through
        job = world.claim(f"instance-{n}")
        world.report(job["id"], "successful", instanceId=f"instance-{n}")
        done.append(job["id"])
    assert len(set(done)) == 3
    assert not world.queued()


def test_a_replica_that_stops_hands_over_without_a_refused_request(pair):
    ws = pair.client(0).new_workspace()
    for _ in range(4):
        pair.client(0).new_workspace()
    owner = pair.owner_of(ws)
    stayer = pair.another_than(owner)
    through = stayer.client().workspace(ws.id)
    stopping = threading.Event()
    failures, names = [], []

    def write():
        n = 0
        while not stopping.is_set() or n < 20:
            name = f"system-{n}"
            answer = through.post("/systems", {"name": name}, timeout=60)
            n += 1
            (names if answer.status_code == 202 else failures).append((name, answer.status_code, answer.text))

    writer = threading.Thread(target=write)
    writer.start()
    eventually(lambda: len(names) > 10, what="writes before the stop")
    assert owner.stop() == 0, owner.output()[-3000:]
    before = len(names)
    eventually(lambda: len(names) > before + 10, what="writes after the stop")
    stopping.set()
    writer.join(timeout=60)
    assert not failures
    kept = through.get("/systems?limit=1", status=200).json()["total"]
    assert kept == len(names)
    admin = stayer.client()
    left = eventually(lambda: (r := admin.get("/replicas", status=200).json())["withoutOwner"] == [] and r)
    assert [r["address"] for r in left["items"]] == [stayer.url]


def test_what_a_killed_replica_owned_is_taken_over_within_the_lease_and_nothing_is_lost(pair):
    ws = pair.client(0).new_workspace()
    owner = pair.owner_of(ws)
    stayer = pair.another_than(owner)
    through = stayer.client().workspace(ws.id)
    acknowledged = [through.make_system(f"system-{n}") for n in range(5)]
    owner.kill()
    began = time.monotonic()
    answer = eventually(lambda: (a := through.post("/systems", {"name": "after"}, timeout=60,
                                                   headers={"Idempotency-Key": "after"})).status_code == 202 and a,
                        within=30, what="a write after the take-over")
    assert time.monotonic() - began < 15
    for system in [*acknowledged, answer.json()["id"]]:
        through.get(f"/systems/{system}", status=200)


def test_a_restart_after_a_clean_stop_waits_for_no_lease(postgres):
    server = Server(postgres.new_database())
    server.client().new_workspace()
    assert server.stop() == 0
    began = time.monotonic()
    server.start()
    assert time.monotonic() - began < 6
    server.kill()


def test_replicas_that_start_together_on_an_empty_database_agree_on_one_administrator(postgres):
    database = postgres.new_database()
    key = "0123456789abcdef." + "ab" * 32
    servers = [Server(database, env={"CTRLPLANE_ADMIN_KEY": key})]
    servers += [Server(database, env={"CTRLPLANE_ADMIN_KEY": key}) for _ in range(2)]
    try:
        for server in servers:
            server.key = key
            users = server.client().get("/users", status=200).json()["items"]
            assert [u["email"] for u in users] == ["admin@localhost"]
    finally:
        for server in servers:
            server.kill()


def test_writers_through_all_replicas_at_once_lose_nothing(three):
    ws = three.client(0).new_workspace()
    through = three.everywhere(ws)
    per_writer = 20
    all_at_once(9, lambda i: [through[i % 3].make_system(f"system-{i}-{n}") for n in range(per_writer)])
    for one in through:
        assert one.get("/systems?limit=1", status=200).json()["total"] == 9 * per_writer
