"""`ctrlplane doctor` and `ctrlplane backup`: beside a running server, on what it left, and after a restore."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest

from harness import BINARY, Server, World, eventually, new_id
from test_crash import Writers


def verb(*words, code=0, env=None):
    done = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == code, done
    return done


def doctor(database, code=0):
    report = json.loads(verb("doctor", "--database", database, "-o", "json", code=code).stdout)
    assert report["healthy"] == (code == 0)
    return report


def check(report, name):
    found = [c for c in report["checks"] if c["check"] == name]
    assert found, f"no check {name} in {report}"
    return found[0]


def problems(report):
    return [c["message"] for c in report["checks"] if c["status"] == "problem"]


@pytest.fixture()
def file_server(tmp_path):
    """A server on SQLite, and its file."""
    server = Server(f"sqlite:{tmp_path / 'ctrlplane.db'}")
    yield server, tmp_path / "ctrlplane.db"
    server.kill()


def deployed(server):
    """A workspace with a version that runs on every target but one, where its job waits."""
    world = World(server.client().new_workspace())
    world.publish("v1")
    jobs = eventually(lambda: len(world.queued()) == 3 and world.queued(), what="three jobs")
    for job in jobs[1:]:
        run(world, job["id"])
    return world, jobs[0]["id"]


def run(world, job, instance=None):
    instance = instance or new_id()
    world.ws.post(f"/job-agents/{world.agent}/jobs/{job}/claim", {"instanceId": instance}, status=200)
    world.ws.put(f"/jobs/{job}/status", {"status": "successful", "instanceId": instance}, status=202)


# ---- Doctor ----------------------------------------------------------------------------------------


def test_a_running_server_is_healthy(own_server, store):
    world, _ = deployed(own_server)
    report = doctor(own_server.database_url)
    assert problems(report) == []
    told = check(report, f"workspace {world.ws.slug}")
    assert told["status"] == "ok"
    assert (told["counts"]["targets"], told["counts"]["liveJobs"], told["counts"]["due"]) == (3, 1, 0)
    assert check(report, "schema")["status"] == "ok"
    assert "alive" in check(report, "server")["message"] or check(report, "server")["message"] == "running"
    if store == "postgresql":
        assert check(report, "standby")["status"] == "warning"
    own_server.client().get("/workspaces", status=200)


def test_what_a_stopped_and_a_killed_server_leave_is_healthy(own_server):
    deployed(own_server)
    own_server.kill()
    doctor(own_server.database_url)
    own_server.start()
    assert own_server.stop() == 0
    doctor(own_server.database_url)


def test_the_text_has_a_line_for_each_check(file_server):
    server, file = file_server
    out = verb("doctor", "--database", f"sqlite:{file}").stdout
    assert "ok       schema " in out
    assert out.splitlines()[-1].startswith("healthy")
    full = verb("doctor", "--full", env={**server.env, "CTRLPLANE_DATABASE": f"sqlite:{file}"}).stdout
    assert "every page and index is whole" in full


def test_it_changes_nothing(file_server):
    server, file = file_server
    deployed(server)
    assert server.stop() == 0
    before = file.read_bytes()
    doctor(f"sqlite:{file}")
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage,told", [
    ("DELETE FROM release", "current release is not there"),
    ("DELETE FROM deployment_version", "current version is not there"),
    ("DELETE FROM job_agent", "agent is not there"),
    ("DELETE FROM context_part", "context is not there"),
])
def test_rows_that_are_missing_are_a_problem(file_server, damage, told):
    server, file = file_server
    deployed(server)
    assert server.stop() == 0
    with sqlite3.connect(file) as db:
        db.execute(damage)
    db.close()
    assert any(told in message for message in problems(doctor(f"sqlite:{file}", code=1)))


def test_a_damaged_file_is_a_problem(file_server):
    server, file = file_server
    deployed(server)
    assert server.stop() == 0
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2:] = os.urandom(len(whole) - len(whole) // 2)
    file.write_bytes(whole)
    assert problems(doctor(f"sqlite:{file}", code=1))


def test_a_newer_schema_is_a_problem(file_server):
    server, file = file_server
    assert server.stop() == 0
    with sqlite3.connect(file) as db:
        db.execute("UPDATE schema_info SET version = 999, min_binary = 999")
    db.close()
    assert check(doctor(f"sqlite:{file}", code=1), "schema")["status"] == "problem"


def test_a_database_without_a_schema_is_a_problem(postgres, tmp_path):
    assert check(doctor(postgres.new_database(), code=1), "schema")["status"] == "problem"
    doctor(f"sqlite:{tmp_path / 'none.db'}", code=1)
    assert not (tmp_path / "none.db").exists()
    doctor("postgresql://nobody@127.0.0.1:1/nothing", code=1)
    verb("doctor", "--database", "sqlite:x", "-o", "xml", code=2)


def test_settings_that_lose_commits_are_a_problem(postgres):
    database = postgres.new_database()
    server = Server(database)
    try:
        postgres.sql("postgres", f"ALTER DATABASE {database.rsplit('/', 1)[1]} SET synchronous_commit = off")
        assert check(doctor(database, code=1), "durability")["status"] == "problem"
    finally:
        server.kill()


def test_a_password_is_not_shown():
    out = verb("doctor", "--database", "postgresql://me:topsecret@127.0.0.1:1/x", "-o", "json", code=1).stdout
    assert "topsecret" not in out


# ---- Backup ----------------------------------------------------------------------------------------


def test_a_backup_under_load_is_a_database_one_can_start_on(file_server, tmp_path):
    server, file = file_server
    world, _ = deployed(server)
    writers = Writers(world.ws, world.deployment)
    try:
        eventually(lambda: len(writers.acknowledged["resources"]) > 50, what="some writes")
        before = {kind: set(names) for kind, names in writers.acknowledged.items()}
        out = verb("backup", "--database", f"sqlite:{file}", "--to", str(tmp_path / "copy.db")).stdout
        eventually(lambda: len(writers.acknowledged["resources"]) > len(before["resources"]) + 20, what="more")
    finally:
        writers.stop()
    assert world.ws.slug in out and "checked" in out
    assert {p.name for p in tmp_path.iterdir() if p.name.startswith("copy")} == {"copy.db"}
    doctor(f"sqlite:{tmp_path / 'copy.db'}")
    restored = Server(f"sqlite:{tmp_path / 'copy.db'}")
    try:
        ws = restored.client(server.key).workspace(world.ws.id)
        for name in sorted(before["resources"])[:50]:
            ws.get(f"/resources/identifier/{name}", status=200)
    finally:
        restored.kill()


def test_a_file_that_is_there_stays(file_server, tmp_path):
    _, file = file_server
    (tmp_path / "dear").write_text("dear")
    refused = verb("backup", "--database", f"sqlite:{file}", "--to", str(tmp_path / "dear"), code=1)
    assert "--force" in refused.stderr
    assert (tmp_path / "dear").read_text() == "dear"
    verb("backup", "--database", f"sqlite:{file}", "--to", str(tmp_path / "dear"), "--force")
    verb("backup", "--database", f"sqlite:{file}", "--to", str(file), "--force", code=1)
    verb("backup", "--database", f"sqlite:{tmp_path / 'none'}", "--to", str(tmp_path / "x"), code=2)
    verb("backup", "--database", f"sqlite:{file}", code=2)


def test_for_postgresql_the_command_is_printed_and_nothing_pretended():
    done = verb("backup", "--database", "postgresql://me:topsecret@db/x", "--to", "out.dump", code=2)
    assert done.stdout == "pg_dump --format=custom --file='out.dump' --dbname='postgresql://me@db/x'\n"
    assert "nothing was copied" in done.stderr and "topsecret" not in done.stderr


def test_after_a_restore_the_server_knows_what_the_backup_knows(file_server, tmp_path):
    """What docs/operations.md says about jobs."""
    server, file = file_server
    world, waiting = deployed(server)
    verb("backup", "--database", f"sqlite:{file}", "--to", str(tmp_path / "copy.db"))
    run(world, waiting)
    world.publish("v2")
    later = eventually(lambda: len(world.queued()) == 3 and world.queued(), what="jobs of v2")[0]["id"]
    instance = new_id()
    world.ws.post(f"/job-agents/{world.agent}/jobs/{later}/claim", {"instanceId": instance}, status=200)
    assert server.stop() == 0
    for end in ("-wal", "-shm"):
        (tmp_path / f"ctrlplane.db{end}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy.db", file)
    server.start()
    # A job that was made since is unknown, and its agent is told to stop it.
    told = world.ws.post(f"/job-agents/{world.agent}/heartbeat", {"instanceId": instance, "jobIds": [later]},
                         status=200).json()
    assert told["stop"] == [later]
    assert world.ws.put(f"/jobs/{later}/status", {"status": "successful", "instanceId": instance}).status_code == 404
    # One that waited is handed out again, though it has run.
    assert [job["id"] for job in world.queued()] == [waiting]
    run(world, waiting)


def test_a_signal_ends_a_backup_without_a_trace(file_server, tmp_path):
    server, file = file_server
    ws = server.client().new_workspace()
    for n in range(100):
        ws.make_system(f"s{n}", description="x" * 16_000)
    process = subprocess.Popen([BINARY, "backup", "--database", f"sqlite:{file}", "--to", str(tmp_path / "copy.db")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    process.send_signal(signal.SIGSTOP)  # wherever it is by now
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    left = {p.name for p in tmp_path.iterdir()} - {"ctrlplane.db", "ctrlplane.db-wal", "ctrlplane.db-shm",
                                                   "ctrlplane.db.lock"}
    assert left <= {"copy.db"}, "whole, or nothing"
