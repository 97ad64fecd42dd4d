"""Fixtures. One server per store runs for the whole session; tests keep apart by workspaces of their own."""

import tempfile
from pathlib import Path

import pytest

from harness import Postgres, World, new_server, remove_folder

STORES = ["sqlite", "postgresql"]


@pytest.fixture(scope="session")
def folder():
    path = tempfile.mkdtemp(prefix="ctrlplane-api-")
    yield path
    remove_folder(path)


@pytest.fixture(scope="session")
def postgres():
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(scope="session", params=STORES)
def store(request):
    return request.param


@pytest.fixture(scope="session")
def start_server(store, folder, request):
    """Starts further servers on empty databases of the same store; they end with the session."""
    started = []

    def start(extra_args=(), env=None):
        postgres = request.getfixturevalue("postgres") if store == "postgresql" else None
        started.append(new_server(store, postgres, folder, extra_args, env))
        return started[-1]

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="session")
def server(start_server):
    running = start_server()
    yield running
    assert running.process.poll() is None, f"the server has ended by itself:\n{running.output()[-3000:]}"
    assert running.stop() == 0, running.output()[-3000:]


@pytest.fixture()
def own_server(start_server):
    """A server for one test that stops, kills or restarts it."""
    running = start_server()
    yield running
    running.kill()


@pytest.fixture()
def admin(server):
    """A client with the key of an administrator of the instance."""
    client = server.client()
    yield client
    client.close()


@pytest.fixture()
def ws(admin):
    """A client for a new, empty workspace."""
    return admin.new_workspace()


@pytest.fixture()
def world(ws):
    return World(ws)


# ---- The check at the end ------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """What looks back on the whole run comes last, and only when the run is whole."""
    last = [item for item in items if item.name.startswith("test_every_operation_was_answered")]
    files = {item.path for item in items}
    narrowed = config.option.keyword or config.option.markexpr or any("::" in a for a in config.args)
    whole = not narrowed and files >= set(Path(__file__).parent.glob("test_*.py"))
    items[:] = [item for item in items if item not in last] + (last if whole else [])
    if not whole:
        config.hook.pytest_deselected(items=last)
