"""The live stream of commits, and the record of who did what."""

import http.client
import json
import queue
import socket
import threading
import time

import pytest

from harness import all_at_once, raw_request, refusal, unique


class Stream:
    """Reads Server-Sent Events in a thread of its own; `next()` waits for one."""

    def __init__(self, client, last=None):
        headers = {"x-api-key": client.key}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        connection = http.client.HTTPConnection("127.0.0.1", client.server.port, timeout=60)
        connection.connect()
        self.socket = connection.sock
        path = f"{client.base}/events"
        connection.request("GET", path, headers=headers)
        self.answer = connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        client.server.contract.check("GET", path, Head(self.answer))
        self.events = queue.Queue()
        self.ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        event = {}
        try:
            while line := self.answer.readline():
                text = line.decode().rstrip("\n")
                if not text:
                    if event:
                        self.events.put(event)
                    event = {}
                elif not text.startswith(":"):
                    name, _, value = text.partition(": ")
                    event[name] = value
        except (OSError, http.client.HTTPException):
            pass  # closed by either side
        self.ended.set()

    def next(self, within=10):
        event = self.events.get(timeout=within)
        event["data"] = json.loads(event["data"])
        event["id"] = int(event["id"])
        assert event["data"]["seq"] == event["id"]
        return event

    def until(self, wanted, within=10):
        """Events up to the first for which wanted(event) holds."""
        seen = []
        while not seen or not wanted(seen[-1]):
            seen.append(self.next(within))
        return seen

    def close(self):
        # Not the answer's close(): that would wait for the thread that reads.
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.ended.wait(10)
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Head:
    """A streaming answer without its endless body, for the contract."""

    def __init__(self, answer):
        self.status_code, self.headers, self.content, self.text = answer.status, answer.headers, b"", ""


def names(event, entity):
    return [change["id"] for change in event["data"]["changes"] if change["entity"] == entity]


def test_a_commit_arrives_as_an_event(ws):
    with Stream(ws) as stream:
        begin = stream.next()
        assert begin["event"] == "ready"
        system = ws.make_system()
        event = stream.next()
        assert (event["event"], event["id"]) == ("commit", begin["id"] + 1)
        assert event["data"]["changes"] == [{"entity": "system", "id": system, "op": "put"}]
        assert set(event["data"]) == {"seq", "at", "changes"}
        ws.delete(f"/systems/{system}", status=202)
        assert {"entity": "system", "id": system, "op": "delete"} in stream.next()["data"]["changes"]


def test_the_event_comes_no_later_than_a_moment_after_the_answer(ws):
    with Stream(ws) as stream:
        stream.next()
        ws.make_system()
        stream.next(within=1)


def test_what_the_engine_does_by_itself_is_in_the_stream(world):
    with Stream(world.ws) as stream:
        stream.next()
        world.publish("v1")
        jobs = set()
        stream.until(lambda event: jobs.update(names(event, "job")) or len(jobs) == 3)
        assert jobs == {job["id"] for job in world.queued()}


def test_reads_and_refusals_make_no_event(ws):
    with Stream(ws) as stream:
        begin = stream.next()
        ws.get("/systems", status=200)
        refusal(ws.post("/systems", {}), 400)
        refusal(ws.put(f"/systems/{unique('x')}", {"name": "s"}), 404)
        ws.make_system()
        assert stream.next()["id"] == begin["id"] + 1


def test_numbers_have_no_gap_under_load(ws):
    with Stream(ws) as stream:
        first = stream.next()["id"]
        made = set(all_at_once(20, lambda i: [ws.make_system() for _ in range(5)][-1]))
        found, ids = set(), []
        while not made <= found:
            event = stream.next()
            ids.append(event["id"])
            found |= set(names(event, "system"))
        assert ids == list(range(first + 1, first + 1 + len(ids)))


def test_a_reader_that_comes_back_misses_nothing(ws):
    with Stream(ws) as stream:
        seen = stream.next()["id"]
    systems = [ws.make_system() for _ in range(5)]
    with Stream(ws, last=seen) as stream:
        events = [stream.next() for _ in range(5)]
        assert [event["id"] for event in events] == list(range(seen + 1, seen + 6))
        assert [names(event, "system")[0] for event in events] == systems
        sixth = ws.make_system()
        assert names(stream.next(), "system") == [sixth]


def test_a_reader_that_missed_nothing_is_told_nothing(ws):
    ws.make_system()
    with Stream(ws) as stream:
        seen = stream.next()["id"]
    with Stream(ws, last=seen) as stream:
        ws.make_system()
        assert stream.next()["id"] == seen + 1


def test_what_is_no_longer_held_is_a_reset(ws):
    with Stream(ws) as stream:
        seen = stream.next()["id"]
    # The memory of the stream is bounded in bytes: sets of many resources fill it soon.
    provider = ws.put("/resource-providers", {"name": "p"}, status=202).json()["id"]
    for turn in range(7):
        same = {"name": f"{turn}", "kind": "K", "version": "v"}
        resources = [{"identifier": f"{i}", **same} for i in range(8000)]
        ws.put(f"/resource-providers/{provider}/set", {"resources": resources}, status=202, timeout=60)
    with Stream(ws, last=seen) as stream:
        event = stream.next()
        assert event["event"] == "reset" and event["id"] > seen
        now = event["id"]
        ws.make_system()
        assert stream.next()["id"] == now + 1


@pytest.mark.parametrize("ahead", [1, 1000, 2**62])
def test_a_number_from_the_future_is_a_reset(ws, ahead):
    with Stream(ws) as stream:
        now = stream.next()["id"]
    with Stream(ws, last=now + ahead) as stream:
        event = stream.next()
        assert (event["event"], event["id"]) == ("reset", now)


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "99999999999999999999"])
def test_a_last_event_that_is_no_number_is_400(ws, last):
    refusal(ws.get("/events", headers={"Last-Event-ID": last}), 400)


def test_a_revoked_key_ends_its_stream(admin, ws):
    made = admin.post("/api-keys", {"name": "k", "role": "viewer", "workspaceId": ws.id}, status=201).json()
    with Stream(ws.with_key(made["key"])) as stream:
        stream.next()
        admin.delete(f"/api-keys/{made['id']}", status=204)
        began = time.monotonic()
        assert stream.ended.wait(10), "the stream goes on"
        assert time.monotonic() - began < 6


def test_somebody_who_is_no_member_any_more_loses_the_stream(admin, ws):
    user = admin.post("/users", {"email": f"{unique('u')}@example.org"}, status=201).json()["id"]
    key = admin.post("/api-keys", {"name": "k", "userId": user}, status=201).json()["key"]
    refusal(ws.with_key(key).get("/events"), 404)
    ws.put(f"/members/{user}", {"role": "viewer"}, status=200)
    with Stream(ws.with_key(key)) as stream:
        stream.next()
        ws.delete(f"/members/{user}", status=204)
        assert stream.ended.wait(10), "the stream goes on"


def test_a_workspaces_stream_tells_nothing_of_another(admin, ws):
    other = admin.new_workspace()
    with Stream(ws) as stream:
        stream.next()
        foreign = other.make_system()
        own = ws.make_system()
        event = stream.next()
        assert names(event, "system") == [own] and foreign not in json.dumps(event)


def test_many_readers_get_the_same(ws):
    streams = [Stream(ws) for _ in range(20)]
    for stream in streams:
        stream.next()
    system = ws.make_system()
    assert all(names(stream.next(), "system") == [system] for stream in streams)
    for stream in streams:
        stream.close()


def test_a_stop_of_the_server_ends_the_streams(own_server):
    ws = own_server.client().new_workspace()
    with Stream(ws) as stream:
        stream.next()
        began = time.monotonic()
        assert own_server.stop() == 0
        assert time.monotonic() - began < 10
        assert stream.ended.wait(5)


# ---- Audit ---------------------------------------------------------------------------------------------


def test_the_record_says_who_did_what(world, server):
    version = world.publish("v1")
    job = world.wait_for_jobs(3)[0]["id"]
    world.ws.post(f"/jobs/{job}/cancel", status=202)
    world.ws.patch(f"/deployment-versions/{version}", {"status": "rejected"}, status=202)
    entries = world.ws.get("/audit", status=200).json()["items"]
    actions = [(entry["action"], entry["subject"]) for entry in entries]
    assert actions[:2] == [("version.status", version), ("job.cancel", job)]
    assert all(server.email in entry["actor"] for entry in entries[:2])
    assert entries[0]["details"] == {"status": "rejected"}
    found = world.ws.get(f"/audit?action=job.cancel&subject={job}", status=200).json()
    assert found["total"] == 1
    actor = found["items"][0]["actor"]
    assert world.ws.get("/audit", params={"actor": actor}).json()["total"] >= 2
    assert world.ws.get("/audit?actor=nobody").json()["total"] == 0
    assert len(world.ws.get("/audit?limit=1").json()["items"]) == 1


@pytest.mark.parametrize("value", ["%00", "%FF", "a%00b", "%C3%28"])
def test_a_filter_that_is_no_text_is_400_or_finds_nothing(ws, server, value):
    for name in ("actor", "action", "subject"):
        target = f"{ws.base}/audit?{name}={value}"
        status, _, answer = raw_request(server, "GET", target, {"x-api-key": ws.key})
        assert status in (200, 400), answer
        assert json.loads(answer.decode("utf-8")).get("total", 0) == 0


def test_the_record_of_one_workspace_is_not_anothers(admin, world):
    job = world.running_job()
    world.ws.post(f"/jobs/{job}/cancel", status=202)
    assert world.ws.get("/audit", status=200).json()["total"] >= 1
    assert admin.new_workspace().get("/audit", status=200).json()["total"] == 0
