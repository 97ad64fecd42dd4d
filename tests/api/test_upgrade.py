"""An upgrade that rolls: today's program and tomorrow's, one migration apart, on one PostgreSQL."""

import os
from pathlib import Path

import pytest
import requests

import harness
from harness import Server, eventually

NEXT = os.environ.get("CTRLPLANE_NEXT_BINARY") or str(Path(harness.BINARY).parent / "ctrlplane_next")
KEY = "0123456789abcdef." + "cd" * 32


def start(database, program):
    server = Server(database, env={"CTRLPLANE_ADMIN_KEY": KEY}, program=program)
    server.key = KEY
    return server


def schema_of(server):
    return requests.get(f"{server.url}/api/version", timeout=10).json()["schema"]


def owner_of(server, ws):
    """The address of the workspace's owner, as this server sees it."""
    items = server.client().get("/replicas", status=200).json()["items"]
    return next((r["address"] for r in items for w in r["workspaces"] if w["id"] == ws), None)


def names_of(server, ws):
    return {s["name"] for s in server.client().workspace(ws).get("/systems?limit=1000", status=200).json()["items"]}


@pytest.fixture()
def database(postgres):
    return postgres.new_database()


def test_ownership_passes_both_ways_between_programs_a_migration_apart(postgres, database):
    def sql(statement):
        return postgres.sql(database.rsplit("/", 1)[1], statement).strip()

    today = start(database, harness.BINARY)
    tomorrow = None
    try:
        ws = today.client().new_workspace().id
        first = today.client().workspace(ws).make_system("made by today's")

        tomorrow = start(database, NEXT)
        assert schema_of(tomorrow) == schema_of(today) + 1
        assert sql("SELECT version, min_binary FROM schema_info") == "9|8"
        tomorrow.client().workspace(ws).make_system("through tomorrow's")
        sql(f"UPDATE system SET motto = 'kept' WHERE id = '{first}'")

        assert today.stop() == 0, today.output()[-2000:]
        eventually(lambda: owner_of(tomorrow, ws) == tomorrow.url, what="the newer one as owner")
        tomorrow.client().workspace(ws).make_system("made by tomorrow's")

        today.start()
        today.client().workspace(ws).make_system("through today's again")
        eventually(lambda: len(today.client().get("/replicas", status=200).json()["items"]) == 2)
        assert tomorrow.stop() == 0, tomorrow.output()[-2000:]
        eventually(lambda: owner_of(today, ws) == today.url, what="the older one as owner")
        # A row that the older program writes keeps what only the newer one knows.
        today.client().workspace(ws).put(f"/systems/{first}", {"name": "renamed by today's"}, status=202)
        assert sql(f"SELECT motto FROM system WHERE id = '{first}'") == "kept"
        assert names_of(today, ws) == {"renamed by today's", "through tomorrow's", "made by tomorrow's",
                                       "through today's again"}
    finally:
        for server in (today, tomorrow):
            if server:
                server.kill()


def test_a_program_that_is_too_old_says_so_and_does_not_start(postgres, database):
    tomorrow = start(database, NEXT)
    assert tomorrow.stop() == 0
    postgres.sql(database.rsplit("/", 1)[1], "UPDATE schema_info SET min_binary = 9")
    with pytest.raises(AssertionError, match="needs a binary that knows schema 9"):
        start(database, harness.BINARY)
    tomorrow.start()
    tomorrow.kill()
