"""`ctrlplane restored`: a backup is put back, and nothing that may have run since is started again."""

import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import BINARY, World, unique
from test_doctor import doctor, run, verb


class Site:
    """A server and the place where its backups are kept."""

    def __init__(self, server, store, postgres, folder):
        self.server, self.store, self.postgres, self.folder = server, store, postgres, folder

    def backup(self):
        """Taken while the server runs; where it is."""
        if self.store == "sqlite":
            copy = str(self.folder / unique("backup"))
            verb("backup", "--database", self.server.database_url, "--to", copy)
            return copy
        copy = f"{self.postgres.folder}/{unique('dump')}"
        self.postgres._run("pg_dump", "--format=custom", f"--file={copy}", f"--dbname={self.server.database_url}")
        return copy

    def put_back(self, copy):
        """In place of the database; the server must have ended."""
        if self.store == "sqlite":
            file = Path(self.server.database_url.removeprefix("sqlite:"))
            for end in ("-wal", "-shm"):
                file.with_name(file.name + end).unlink(missing_ok=True)
            shutil.copy(copy, file)
        else:
            self.server.database_url = self.postgres.new_database()
            self.postgres._run("pg_restore", f"--dbname={self.server.database_url}", copy)

    def restored(self, *words, code=0):
        return verb("restored", "--database", self.server.database_url, *(words or ["--yes"]), code=code)


@pytest.fixture()
def site(own_server, store, request, tmp_path):
    postgres = request.getfixturevalue("postgres") if store == "postgresql" else None
    if postgres and not all(Path(postgres.bin, tool).exists() for tool in ("pg_dump", "pg_restore")):
        pytest.skip("pg_dump and pg_restore are not installed")
    return Site(own_server, store, postgres, tmp_path)


def busy(server):
    """A workspace where v1 has run on one target, runs on the second and waits on the third."""
    world = World(server.client().new_workspace())
    world.publish("v1")
    done, running, waiting = [job["id"] for job in world.wait_for_jobs(3)]
    run(world, done)
    world.ws.post(f"/job-agents/{world.agent}/jobs/{running}/claim", {"instanceId": "early"}, status=200)
    world.report(running, "inProgress", instanceId="early")
    return world, running, waiting


def job(world, id):
    return world.ws.get(f"/jobs/{id}", status=200).json()


def active_freezes(world):
    return world.ws.get("/freezes/active", status=200).json()["items"]


def thaw(world, freeze):
    world.ws.post(f"/freezes/{freeze}/thaw", {"reason": "looked"}, status=200)


def nothing_to_claim(world):
    claims = [world.claim(instance) for instance in ("early", "late", "new")]
    return world.queued() == [] and claims == [None, None, None]


def test_what_may_have_run_since_the_backup_is_never_started_again(site):
    server = site.server
    world, running, waiting = busy(server)
    copy = site.backup()
    # Work goes on: what ran ends, what waited runs, and there are new jobs, some of which run.
    world.report(running, "successful", instanceId="early")
    run(world, waiting)
    world.publish("v2")
    later = [j["id"] for j in world.wait_for_jobs(3)]
    run(world, later[0])
    world.ws.post(f"/job-agents/{world.agent}/jobs/{later[1]}/claim", {"instanceId": "late"}, status=200)
    assert server.stop() == 0

    site.put_back(copy)
    out = site.restored().stdout
    line = next(line for line in out.splitlines() if line.startswith(world.ws.slug))
    freeze = re.search(r"  2 +([0-9a-f-]{36})", line).group(1)
    assert f"ctrlplane thaw {freeze} -w {world.ws.slug}" in out
    doctor(server.database_url)

    server.start()
    assert [(f["id"], f["createdBy"], f["scope"]) for f in active_freezes(world)] == [
        (freeze, "system:restore", "workspace")]
    for id in (running, waiting):
        assert job(world, id)["status"] == "actionRequired"
        assert job(world, id)["message"].startswith("may have run")
        assert world.ws.post(f"/job-agents/{world.agent}/jobs/{id}/claim", {"instanceId": "late"}).status_code == 409
    assert nothing_to_claim(world)
    # Jobs that were made since are unknown: their agents are told to stop them.
    told = world.ws.post(f"/job-agents/{world.agent}/heartbeat", {"instanceId": "late", "jobIds": later}, status=200)
    assert sorted(told.json()["stop"]) == sorted(later)
    world.report(later[1], "successful", code=404, instanceId="late")
    world.publish("v2")
    assert nothing_to_claim(world)

    world.ws.post(f"/jobs/{waiting}/decide", {"status": "successful", "reason": "it has run"}, status=202)
    assert nothing_to_claim(world), "frozen until somebody thaws it"
    thaw(world, freeze)
    # v2 goes everywhere but where nobody has said what became of v1.
    world.wait_for_jobs(2)
    assert len(world.finish_everything()) == 2
    assert nothing_to_claim(world) and job(world, running)["status"] == "actionRequired"
    world.ws.post(f"/jobs/{running}/decide", {"status": "failure"}, status=202)
    world.wait_for_jobs(1)
    assert len(world.finish_everything()) == 1
    doctor(server.database_url)


def test_whoever_had_a_job_may_still_report_on_it(site):
    world, running, waiting = busy(site.server)
    copy = site.backup()
    world.ws.post(f"/job-agents/{world.agent}/jobs/{waiting}/claim", {"instanceId": "late"}, status=200)
    assert site.server.stop() == 0
    site.put_back(copy)
    site.restored()
    site.server.start()
    world.report(running, "successful", instanceId="early")
    world.report(waiting, "failure", instanceId="late")
    assert (job(world, running)["status"], job(world, waiting)["status"]) == ("successful", "failure")
    assert nothing_to_claim(world)


def test_it_may_be_repeated(site):
    worlds = [busy(site.server)[0] for _ in range(2)]
    copy = site.backup()
    assert site.server.stop() == 0
    site.put_back(copy)
    first, second = site.restored().stdout, site.restored().stdout
    assert "an earlier run" not in first and second.count("an earlier run had frozen it") == 2
    site.server.start()
    for world in worlds:
        freezes = active_freezes(world)
        assert len(freezes) == 1 and freezes[0]["id"] in first and freezes[0]["id"] in second


def test_killed_it_is_finished_by_the_next_run(site):
    world, running, waiting = busy(site.server)
    copy = site.backup()
    assert site.server.stop() == 0
    site.put_back(copy)
    for lines in (0, 1):  # before it has said anything, and while it tells the result
        process = subprocess.Popen([BINARY, "restored", "--database", site.server.database_url, "--yes"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(lines):
            process.stdout.readline()
        process.kill()
        process.communicate(timeout=60)
    site.restored()
    site.server.start()
    assert len(active_freezes(world)) == 1
    assert {job(world, id)["status"] for id in (running, waiting)} == {"actionRequired"}


def test_a_server_that_runs_is_left_alone(site):
    world, _, _ = busy(site.server)
    refused = site.restored(code=1)
    assert "running" in refused.stderr and refused.stdout == ""
    assert active_freezes(world) == []
    assert world.claim("next")


def test_it_asks_first(site):
    world, _, waiting = busy(site.server)
    assert site.server.stop() == 0
    assert "--yes" in verb("restored", "--database", site.server.database_url, code=2,
                           env=site.server.env).stderr
    mine, its = pty.openpty()
    try:
        os.write(mine, b"n\n")
        done = subprocess.run([BINARY, "restored", "--database", site.server.database_url], stdin=its,
                              capture_output=True, text=True, timeout=120, check=False)
    finally:
        os.close(mine)
        os.close(its)
    assert done.returncode == 1 and "Go on?" in done.stderr and done.stdout == ""
    site.server.start()
    assert active_freezes(world) == []
    assert [j["id"] for j in world.queued()] == [waiting]


def test_a_freeze_stands_as_long_as_the_workspace_allows(site):
    world, _, _ = busy(site.server)
    world.ws.put("/freezes/settings", {"maxTtl": "PT8H", "ttlRequired": True}, status=200)
    copy = site.backup()
    assert site.server.stop() == 0
    site.put_back(copy)
    assert "as its settings demand" in site.restored().stdout
    site.server.start()
    assert "expiresAt" in active_freezes(world)[0]
    assert nothing_to_claim(world)


def test_what_is_no_database_is_wrong_use(tmp_path, postgres):
    verb("restored", "--yes", "--database", f"sqlite:{tmp_path / 'none.db'}", code=2)
    assert list(tmp_path.iterdir()) == []
    verb("restored", "--yes", "--database", "sqlite:", code=2)
    verb("restored", "--yes", "--database", "mysql://x", code=2)
    assert "nothing was restored" in verb("restored", "--yes", "--database", postgres.new_database(), code=2).stderr
    down = verb("restored", "--yes", "--database", "postgresql://me:topsecret@127.0.0.1:1/x", code=1)
    assert "topsecret" not in down.stderr
