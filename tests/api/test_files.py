"""Files that cannot be used end the start with the reason; a disk that is full is answered, and nothing is lost."""

import os
import resource
import subprocess

import pytest

from harness import BINARY, Server, refusal


def failed_start(database):
    done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--database", database],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done
    assert "cannot start" in done.stderr
    return done.stderr


@pytest.mark.parametrize("content", [b"this is no database " * 100, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content):
    file = tmp_path / "broken.db"
    file.write_bytes(content)
    failed_start(f"sqlite:{file}")
    assert file.read_bytes() == content


def test_a_damaged_database_does_not_start(tmp_path):
    file = tmp_path / "damaged.db"
    server = Server(f"sqlite:{file}")
    server.client().new_workspace()
    assert server.stop() == 0
    whole = bytearray(file.read_bytes())
    whole[4096:] = os.urandom(len(whole) - 4096)
    file.write_bytes(whole)
    failed_start(f"sqlite:{file}")


def test_a_place_that_cannot_be_written_is_named():
    assert "/proc" in failed_start("sqlite:/proc/ctrlplane.db")
    assert "ctrlplane.db" in failed_start("sqlite:/no/such/folder/ctrlplane.db")


def test_two_servers_do_not_share_a_file(tmp_path):
    server = Server(f"sqlite:{tmp_path / 'one.db'}")
    try:
        failed_start(f"sqlite:{tmp_path / 'one.db'}")
        server.client().get("/workspaces", status=200)
    finally:
        server.kill()


@pytest.mark.parametrize("database", ["nonsense", "sqlite:", "postgresql://nobody@127.0.0.1:1/nothing"])
def test_a_database_that_is_not_there_is_named(database):
    failed_start(database)


def test_a_full_disk_is_503_and_what_was_answered_stays(tmp_path):
    server = Server(f"sqlite:{tmp_path / 'full.db'}")
    try:
        ws = server.client().new_workspace()
        before = [ws.make_system() for _ in range(5)]
        unlimited = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        grown = max(file.stat().st_size for file in tmp_path.iterdir())
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (grown, unlimited[1]))
        refused = False
        for n in range(200):
            answer = ws.post("/systems", {"name": f"s{n}", "description": "x" * 4000})
            if answer.status_code != 202:
                refusal(answer, 503)
                refused = True
                break
            before.append(answer.json()["id"])
        assert refused, "the disk was never full"
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
        after = ws_eventually_writes(ws)
        assert {s["id"] for s in ws.get("/systems?limit=1000", status=200).json()["items"]} >= {*before, after}
        server.restart(kill=True, same_port=True)
        assert {s["id"] for s in ws.get("/systems?limit=1000", status=200).json()["items"]} >= {*before, after}
    finally:
        server.kill()


def ws_eventually_writes(ws):
    for _ in range(300):
        answer = ws.post("/systems", {"name": "after"})
        if answer.status_code == 202:
            return answer.json()["id"]
        refusal(answer, 503)
    raise AssertionError("the server did not come back")
