"""PostgreSQL with a synchronous standby: what was acknowledged outlives the primary, and is there once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from harness import Cluster, Postgres, World, eventually, refusal, remove_folder

PATIENCE = 60.0  # the machine may be busy
REFUSALS = {"not_committed", "unknown", "unavailable"}


class Primary(Postgres):
    """Commits wait for a standby, so there must be one before anything is written."""

    def _configure(self):
        super()._configure()
        with open(f"{self.data}/postgresql.conf", "a", encoding="utf-8") as file:
            file.write("synchronous_commit = on\nsynchronous_standby_names = 'ANY 1 (*)'\n")

    def has_synchronous_standby(self):
        return self.sql("postgres",
                        "SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('quorum', 'sync')")

    def waits_no_more(self, process):
        return not self.sql("postgres", f"SELECT 1 FROM pg_stat_activity WHERE pid = {process} "
                                        "AND wait_event = 'SyncRep'").strip()

    def waiting_write(self):
        """The process whose commit of a workspace's rows waits for the standby; beats wait as well."""
        return self.sql("postgres", "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
                                    "AND query NOT LIKE '%replica%' LIMIT 1").strip()


class Standby(Postgres):
    """Streams from a primary. Its settings are the primary's, but for the port."""

    def __init__(self, primary):
        super().__init__()
        self.stop("fast")
        remove_folder(self.data)
        self._run("pg_basebackup", "-h", primary.folder, "-p", str(primary.port), "-U", "postgres", "-D",
                  self.data, "-R", "--checkpoint=fast", "--no-sync")
        self._configure()
        self.start()

    def promote(self):
        """As an operator does it: the new primary has no standby of its own to wait for."""
        self._control("promote")
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''")
        self.sql("postgres", "SELECT pg_reload_conf()")


class Pair:
    """A primary and its synchronous standby."""

    def __init__(self):
        self.primary = Primary()
        try:
            self.standby = Standby(self.primary)
        except BaseException:
            self.primary.close()
            raise
        self.wait_for_standby()

    def wait_for_standby(self):
        eventually(self.primary.has_synchronous_standby, within=PATIENCE, what="a synchronous standby")

    def wait_for_waiting_write(self):
        return eventually(self.primary.waiting_write, within=PATIENCE, what="a commit that waits")

    def new_database(self):
        """The URL of an empty database on whichever of the two can be written."""
        name = self.primary.new_database().rsplit("/", 1)[1]
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        return f"postgresql://postgres@{hosts}/{name}?target_session_attrs=read-write"

    def close(self):
        self.standby.close()
        self.primary.close()


@pytest.fixture()
def pair():
    both = Pair()
    yield both
    both.close()


@pytest.fixture()
def cluster(pair):
    servers = Cluster(pair, 2)
    yield servers
    servers.close()


def try_to_make(ws, name):
    """One attempt to make a system; the same name is the same request."""
    return ws.post("/systems", {"name": name}, headers={"Idempotency-Key": name}, timeout=PATIENCE)


def make(ws, name):
    """The id of a system, made by repeating the attempt until it is acknowledged."""
    answer = eventually(lambda: (a := try_to_make(ws, name)).status_code == 202 and a, within=PATIENCE,
                        what=f"an acknowledgement of {name}")
    return answer.json()["id"]


class Writers:
    """Threads that write through all servers, and repeat each write with its key until it is answered."""

    def __init__(self, cluster, workspaces):
        self.made = {ws.id: {} for ws in workspaces}  # name → id, as acknowledged
        self.refusals, self.problems = set(), []
        self.stopping = threading.Event()
        through = [(ws.id, one) for ws in workspaces for one in cluster.everywhere(ws)]
        self.counts = [0] * len(through)
        self.threads = [threading.Thread(target=self.run, args=(n, *where), daemon=True)
                        for n, where in enumerate(through)]
        for thread in self.threads:
            thread.start()

    def run(self, writer, workspace, client):
        try:
            while not self.stopping.is_set():
                name = f"w{writer}-{self.counts[writer]}"
                self.made[workspace][name] = self.make(client, name)
                self.counts[writer] += 1
        except BaseException as error:  # shown by check()
            self.problems.append(error)

    def make(self, client, name):
        return eventually(lambda: self.attempt(client, name), within=2 * PATIENCE, what=f"a yes to {name}")

    def attempt(self, client, name):
        try:
            answer = try_to_make(client, name)
        except requests.RequestException:
            return None
        if answer.status_code == 202:
            return answer.json()["id"]
        assert answer.status_code == 503, f"{answer.status_code} {answer.text}"
        self.refusals.add(answer.json()["code"])
        self.stopping.wait(0.1)  # not an attempt every millisecond
        return None

    def check(self):
        if self.problems:
            raise self.problems[0]

    def wait_for_writes(self, count):
        """Until every writer has so many more."""
        before = list(self.counts)

        def enough():
            self.check()
            self.stopping.wait(0.05)
            return all(now >= then + count for now, then in zip(self.counts, before))

        eventually(enough, within=PATIENCE, what=f"{count} more writes of every writer")

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=2 * PATIENCE)
            assert not thread.is_alive()
        self.check()


def systems(ws):
    """All systems of a workspace as (name, id), in order of their names."""
    found, total = [], 1
    while len(found) < total:
        path = f"/systems?limit=1000&offset={len(found)}"
        answer = eventually(lambda: (a := ws.get(path, timeout=PATIENCE)).status_code == 200 and a,
                            within=PATIENCE, what="a list of systems")
        page = answer.json()
        found += [(s["name"], s["id"]) for s in page["items"]]
        total = page["total"]
    return sorted(found)


def wait_until_ready(cluster):
    for server in cluster.servers:
        eventually(lambda root=server.client().root: root.get("/api/readyz").status_code == 200,
                   within=PATIENCE, what="readiness")
        assert server.process.poll() is None, server.output()[-3000:]


def test_after_a_fail_over_writes_go_on_and_every_acknowledged_one_is_there_once(pair, cluster):
    world = World(cluster.client(0).new_workspace())
    workspaces = [world.ws, cluster.client(1).new_workspace()]
    world.publish("v1")
    world.wait_for_jobs(3)
    running = world.claim()["id"]
    world.report(running, "inProgress", instanceId="instance-1")
    writers = Writers(cluster, workspaces)
    writers.wait_for_writes(20)

    pair.primary.stop("immediate")
    pair.standby.promote()

    writers.wait_for_writes(20)
    writers.stop()
    wait_until_ready(cluster)
    assert writers.refusals <= REFUSALS
    for ws in workspaces:
        expected = sorted(writers.made[ws.id].items())
        for through in cluster.everywhere(ws):
            assert [s for s in systems(through) if s[1] != world.system] == expected
    # A job that ran goes on, those that waited run, and a new version is decided.
    world.report(running, "successful", instanceId="instance-1")
    first = {running, *world.finish_everything()}
    assert len(first) == 3
    world.publish("v2")
    world.wait_for_jobs(3)
    second = set(world.finish_everything())
    assert len(second) == 3
    for through in cluster.everywhere(world.ws):
        jobs = [item["job"] for item in through.get("/jobs?limit=100", status=200).json()["items"]]
        assert {(j["id"], j["status"]) for j in jobs} == {(id, "successful") for id in first | second}


def test_a_commit_that_only_the_lost_primary_had_is_not_acknowledged_and_is_repeated_once(pair, cluster):
    ws = cluster.client(0).new_workspace()
    before = ws.make_system("before")
    pair.standby.stop("fast")
    writers = Writers(cluster, [ws])
    pair.wait_for_waiting_write()
    pair.primary.stop("immediate")
    assert not any(writers.counts)
    pair.standby.start()
    pair.standby.promote()
    writers.wait_for_writes(5)
    writers.stop()
    wait_until_ready(cluster)
    for through in cluster.everywhere(ws):
        assert systems(through) == sorted([("before", before), *writers.made[ws.id].items()])


def test_a_write_is_503_while_no_standby_answers_and_a_repeat_has_one_effect(pair, cluster):
    ws = cluster.client(0).new_workspace()
    before = ws.make_system("before")
    owner = cluster.owner_of(ws)
    direct, passed_on = (s.client().workspace(ws.id) for s in (owner, cluster.another_than(owner)))
    pair.standby.stop("fast")
    with ThreadPoolExecutor(4) as pool:
        writes = {"first": pool.submit(try_to_make, passed_on, "first")}
        pair.wait_for_waiting_write()
        writes["second"] = pool.submit(try_to_make, direct, "second")
        # What no standby has is not shown either.
        looks = [pool.submit(one.get, "/systems", timeout=PATIENCE) for one in (direct, passed_on)]
        for look in (waiting.result() for waiting in looks):
            assert look.status_code == 503 or look.json()["total"] == 1, look.text
        refused = {name: refusal(write.result(), 503) for name, write in writes.items()}
    for root in (direct.root, passed_on.root):
        root.get("/api/healthz", status=200)
        root.get("/api/readyz", status=503)
    pair.standby.start()
    pair.wait_for_standby()
    wait_until_ready(cluster)
    done = [name for name, _ in systems(direct) if name != "before"]
    # The commit that waited has come about with the standby, so only "unknown" is a true answer to it.
    assert [name for name in done if refused[name]["code"] != "unknown"] == [], refused
    expected = [("before", before), ("first", make(direct, "first")), ("second", make(passed_on, "second"))]
    for through in (direct, passed_on):
        assert systems(through) == expected


def test_a_commit_whose_wait_for_the_standby_was_cancelled_is_not_taken_for_safe(pair, cluster):
    ws = cluster.client(0).new_workspace()
    before = ws.make_system("before")
    pair.standby.stop("fast")
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(try_to_make, ws, "cancelled")
        process = pair.wait_for_waiting_write()
        # PostgreSQL then reports success, with a warning: it "might not have been replicated to the standby".
        pair.primary.sql("postgres", f"SELECT pg_cancel_backend({process})")
        eventually(lambda: pair.primary.waits_no_more(process), within=PATIENCE, what="the end of the wait")
        pair.primary.stop("immediate")
        pair.standby.start()
        pair.standby.promote()
        answer = write.result()
    wait_until_ready(cluster)
    after = make(ws, "after")  # makes the owner find out: until it commits again it answers from memory
    if answer.status_code == 202:
        assert ("cancelled", answer.json()["id"]) in systems(ws), "acknowledged, and lost"
    else:
        refusal(answer, 503)
    expected = [("after", after), ("before", before), ("cancelled", make(ws, "cancelled"))]
    assert systems(ws) == expected
