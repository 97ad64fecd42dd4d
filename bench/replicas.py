#!/usr/bin/env python3
"""What do several replicas on one PostgreSQL carry, and how long is a workspace away when its owner dies?

1. Writes through 1, 2 and 3 replicas: wrk makes systems in 30 workspaces through all of them, 64 connections
   in total. Beside it pgbench commits the same rows with the same statements straight to PostgreSQL, in the
   same database and right after: what the disk gives at that minute.
2. Take-overs: the owner of a large workspace is killed (SIGKILL) again and again, and another replica is
   asked for a read and a write until it gives them.

Aim: no write is refused; a take-over takes at most the lease and two seconds. Times are printed, never
judged: only refused or lost writes end it with 1. PostgreSQL's data is on a disk, with fsync.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import requests

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "tests" / "api"))

from harness import Cluster, Postgres, unique  # noqa: E402: found by the line above

LEASE, AIM = 10, 12  # seconds
GIVE_UP = 120  # seconds after which a take-over counts as none
RESOURCES_PER_SET = 10_000


def wait_until(look, within, every=0.1):
    """The first true value of look(), or the last one. Unlike the tests' it leaves the cores to others."""
    deadline = time.monotonic() + within
    while not (value := look()) and time.monotonic() < deadline:
        time.sleep(every)
    return value


def quantile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def say(text=""):
    print(text, flush=True)


# ---- The machine ------------------------------------------------------------------------------------------


def sync_times(folder, count=100):
    """How long it takes to have 8 kB on the disk, sorted, in milliseconds."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(count):
            file.write(b"x" * 8192)
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1e3)
    return sorted(times)


def tell_noise(folder):
    """What else the machine does just now: figures of two runs compare only if this does."""
    times = sync_times(folder)
    say(f"  now: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; a sync of 8 kB p50 "
        f"{quantile(times, .5):.2f} ms, p99 {quantile(times, .99):.2f} ms")


def file_system_of(folder):
    return subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True,
                          check=True).stdout.strip()


# ---- The cluster ------------------------------------------------------------------------------------------


def look(through):
    """What this server says about all replicas; None when it cannot say (503: the store is late)."""
    answer = through.client().get("/replicas")
    return answer.json() if answer.status_code == 200 else None


def owners(through):
    """Workspace id → address of the living replica that owns it."""
    seen = look(through) or {"items": []}
    return {w["id"]: r["address"] for r in seen["items"] if r["state"] == "alive" for w in r["workspaces"]}


def settled(cluster, through):
    """Every server is alive, and together they own everything, evenly. `through` is one of them."""
    if not (seen := look(through)) or seen["withoutOwner"]:
        return False
    owned = {r["address"]: len(r["workspaces"]) for r in seen["items"] if r["state"] == "alive"}
    silent = sum(len(r["workspaces"]) for r in seen["items"] if r["state"] != "alive")
    return (set(owned) == {s.url for s in cluster.servers} and not silent
            and max(owned.values()) - min(owned.values()) < 2)


def wait_for_even_share(cluster, through=None, within=120):
    through = through or cluster.servers[0]
    if not wait_until(lambda: settled(cluster, through), within):
        say(f"  NOT SHARED EVENLY after {within} s: {Counter(owners(through).values()).values()}")


def owner_of(cluster, workspace):
    """The server that owns it now."""
    def find():
        url = owners(cluster.servers[0]).get(workspace)
        return next((s for s in cluster.servers if s.url == url), None)
    owner = wait_until(find, GIVE_UP)
    assert owner, f"nobody owned the workspace for {GIVE_UP} s"
    return owner


def metrics(server):
    return requests.get(f"{server.url}/metrics", timeout=60, headers={"x-api-key": server.key}).text


def forwarded(cluster):
    return sum(int(re.search(r"^ctrlplane_forwarded_total (\d+)$", metrics(server), re.M).group(1))
               for server in cluster.servers)


class Rows:
    """Looks into the database of a cluster."""

    def __init__(self, postgres, cluster, workspaces):
        self.postgres = postgres
        self.url = cluster.database
        self.name = cluster.database.rsplit("/", 1)[1]
        self.of_ours = "workspace_id IN (" + ", ".join(f"'{w}'" for w in workspaces) + ")"

    def sql(self, statement):
        return self.postgres.sql(self.name, statement).strip()

    def commits(self):
        return int(self.sql(f"SELECT sum(seq) FROM workspace_owner WHERE {self.of_ours}"))

    def systems(self):
        return int(self.sql(f"SELECT count(*) FROM system WHERE {self.of_ours}"))

    def tables(self):
        return self.sql("SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' "
                        "AND column_name = 'workspace_id' AND table_name <> 'workspace_owner'").split()

    def counts(self, workspace):
        counted = " UNION ALL ".join(f"SELECT '{t}', count(*) FROM \"{t}\" WHERE workspace_id = '{workspace}'"
                                     for t in self.tables())
        return Counter({name: int(n) for name, n in (line.split("|") for line in self.sql(counted).split())})

    def keys(self, table):
        return self.sql("SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND "
                        "a.attnum = ANY (i.indkey) WHERE i.indisprimary AND a.attname <> 'workspace_id' AND "
                        f"i.indrelid = '\"{table}\"'::regclass").split()

    def example(self, table, workspace):
        """Column → SQL literal, of a row that is there."""
        columns = self.sql("SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema "
                           f"= 'public' AND table_name = '{table}' ORDER BY ordinal_position").splitlines()
        types = dict(line.split("|") for line in columns)
        literals = ", ".join(f"quote_nullable(\"{c}\"::text)" for c in types)
        row = self.sql(f"SELECT json_build_array({literals}) FROM \"{table}\" "
                       f"WHERE workspace_id = '{workspace}' LIMIT 1")
        return {c: f"{literal}::{types[c]}" for c, literal in zip(types, json.loads(row))}


# ---- PostgreSQL alone -------------------------------------------------------------------------------------

# Each client of pgbench has a row of workspace_owner to itself, as a workspace has one writer.
OWN_WORKSPACE = "('00000000-0000-4000-9000-' || lpad(:client_id::text, 12, '0'))::uuid"
TOKEN = "'00000000-0000-4000-9000-000000000000'::uuid"
FENCE = ("WITH f AS (UPDATE workspace_owner SET seq = :seq, last_now = :seq, next_due_at = NULL "
         f"WHERE workspace_id = {OWN_WORKSPACE} AND token = {TOKEN} AND seq = :seq - 1 RETURNING 1) "
         "SELECT 1 / count(*) FROM f;\n")


def rows_of_a_write(rows, server, workspace):
    """Table → number of rows that one POST of a system through this server adds."""
    before = rows.counts(workspace)
    server.client().workspace(workspace).make_system()
    return rows.counts(workspace) - before


def upsert(rows, table, workspace):
    """The statement that the program puts such a row with; its keys are new each time."""
    keys = rows.keys(table)
    row = rows.example(table, workspace)
    row["workspace_id"] = OWN_WORKSPACE
    for key in keys:  # ids grow with time, as the program's do; other keys are digests
        row[key] = "lpad(:id::text, 32, '0')::uuid" if key == "id" else "gen_random_uuid()"
    names = ", ".join(f'"{c}"' for c in row)
    changed = ", ".join(f'"{c}" = excluded."{c}"' for c in row if c not in (*keys, "workspace_id"))
    return (f'INSERT INTO "{table}" ({names}) VALUES ({", ".join(row.values())}) ON CONFLICT (workspace_id, '
            + ", ".join(f'"{k}"' for k in keys) + f") DO UPDATE SET {changed};\n")


def commit_script(rows, written, workspace):
    """One commit as the program sends it: fence and rows in one pipeline, which is one transaction."""
    puts = "".join(upsert(rows, table, workspace) * n for table, n in sorted(written.items()))
    return f"\\set seq :seq + 1\n\\set id :id + 1\n\\startpipeline\n{FENCE}{puts}\\endpipeline\n"


class PostgresAlone:
    """pgbench with the commits of writes that arrive at the owner (one part) and of forwarded ones."""

    def __init__(self, postgres, cluster, rows, workspace, folder):
        owner = owner_of(cluster, workspace)
        by_server = {"own": rows_of_a_write(rows, owner, workspace)}
        if len(cluster.servers) > 1:
            by_server["forwarded"] = rows_of_a_write(rows, cluster.another_than(owner), workspace)
        self.written = by_server
        self.rows = rows
        self.program = f"{postgres.bin}/pgbench"
        self.runs = itertools.count(1)
        self.files = []
        for name, weight in (("own", 1), ("forwarded", len(cluster.servers) - 1)):
            if name in by_server:
                path = Path(folder, f"{name}.sql")
                path.write_text(commit_script(rows, by_server[name], workspace), encoding="utf-8")
                self.files += ["-f", f"{path}@{weight}"]

    def told(self):
        return "; ".join(f"{name}: " + ", ".join(f"{n} {t}" for t, n in sorted(written.items()))
                         for name, written in self.written.items())

    def per_second(self, clients, seconds):
        self.rows.sql("DELETE FROM workspace_owner WHERE token = " + TOKEN)
        one_each = OWN_WORKSPACE.replace(":client_id", "n")
        self.rows.sql("INSERT INTO workspace_owner (workspace_id, replica, token, epoch, seq, last_now) "
                      f"SELECT {one_each}, {TOKEN}, {TOKEN}, 1, 0, 0 "
                      f"FROM generate_series(0, {clients - 1}) n")
        done = subprocess.run([self.program, "-n", "-M", "prepared", "-c", str(clients), "-j",
                               str(min(clients, 2)), "-T", str(seconds), "-D", "seq=0", "-D",
                               f"id={next(self.runs) * 10**9}", *self.files, self.rows.url],
                              capture_output=True, text=True, timeout=seconds + 120)
        assert done.returncode == 0, f"pgbench failed:\n{done.stdout}{done.stderr}"
        return float(re.search(r"^tps = ([0-9.]+)", done.stdout, re.M).group(1))


# ---- wrk --------------------------------------------------------------------------------------------------

WRITES = """
local workspaces = { %s }
wrk.headers['x-api-key'] = '%s'
wrk.headers['content-type'] = 'application/json'
local prefix, n = '', 0
function init(args)
  prefix = args[1]
  n = tonumber(args[2])
end
function request()
  n = n + 1
  local path = '/api/v1/workspaces/' .. workspaces[n %% #workspaces + 1] .. '/systems'
  return wrk.format('POST', path, nil, '{"name":"' .. prefix .. n .. '"}')
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('TOTAL %%d %%d %%d %%d\\n', summary.requests, summary.duration, e.status,
                         e.connect + e.read + e.write + e.timeout))
  for i = 1, #latency do
    local us, count = latency(i)
    io.write(string.format('LATENCY %%d %%d\\n', us, count))
  end
end
"""


class Load:
    """What the wrks of one measurement saw together."""

    def __init__(self, outputs):
        totals = [list(map(int, re.search(r"^TOTAL (\d+) (\d+) (\d+) (\d+)$", text, re.M).groups()))
                  for text in outputs]
        self.answers = sum(t[0] for t in totals)
        self.refused = sum(t[2] for t in totals)
        self.broken = sum(t[3] for t in totals)
        self.written = self.answers - self.refused
        self.per_second = sum((t[0] - t[2]) * 1e6 / t[1] for t in totals)
        self.latency = Counter()
        for text in outputs:
            for us, count in re.findall(r"^LATENCY (\d+) (\d+)$", text, re.M):
                self.latency[int(us)] += int(count)

    def milliseconds(self, share):
        left = share * sum(self.latency.values())
        for us in sorted(self.latency):
            left -= self.latency[us]
            if left <= 0:
                return us / 1e3
        return 0.0


def run_wrks(cluster, script, connections, seconds):
    """One wrk per replica, all at once; the connections are shared out among them."""
    count = len(cluster.servers)
    running = []
    for i, server in enumerate(cluster.servers):
        mine = connections // count + (i < connections % count)
        command = ["wrk", "-t1", f"-c{mine}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script),
                   server.url, "--", unique(f"s{i}-"), str(i * 7)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    outputs = [process.communicate(timeout=seconds + 120)[0] for process in running]
    for process, text in zip(running, outputs):
        assert process.returncode == 0, f"wrk failed:\n{text}"
    return Load(outputs)


# ---- 1. Writes --------------------------------------------------------------------------------------------

WRITES_TABLE = "{:>8} {:>9} {:>9} {:>9} {:>8} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9}"


def measure_writes(postgres, count, options):
    """One row of the table; the number of writes that were refused, broken off or lost."""
    cluster = Cluster(postgres, count)
    try:
        clients = [cluster.client(i % count).new_workspace() for i in range(options.workspaces)]
        workspaces = [c.id for c in clients]
        wait_for_even_share(cluster)
        rows = Rows(postgres, cluster, workspaces)
        with tempfile.TemporaryDirectory(prefix="ctrlplane-bench-") as folder:
            alone = PostgresAlone(postgres, cluster, rows, workspaces[0], folder)
            script = Path(folder, "writes.lua")
            names = ", ".join(f"'{w}'" for w in workspaces)
            script.write_text(WRITES % (names, cluster.servers[0].key), encoding="utf-8")
            run_wrks(cluster, script, options.connections, 1)
            before, passed = owners(cluster.servers[0]), forwarded(cluster)
            commits, systems = rows.commits(), rows.systems()
            load = run_wrks(cluster, script, options.connections, options.seconds)
            moved = owners(cluster.servers[0]) != before
            passed, commits = forwarded(cluster) - passed, rows.commits() - commits
            lost = max(0, load.written - (rows.systems() - systems))
            # A replica that runs would be fenced off, and takes its share of the cores.
            for server in cluster.servers:
                server.stop()
            alone_1 = alone.per_second(1, options.seconds)
            alone_many = alone.per_second(options.workspaces, options.seconds)
        say(WRITES_TABLE.format(
            count, f"{load.per_second:.0f}", f"{load.milliseconds(.5):.1f} ms",
            f"{load.milliseconds(.99):.1f} ms", load.refused, load.broken + lost,
            f"{passed / max(1, load.answers):.2f}",
            f"{load.written / max(1, commits):.2f}", f"{alone_1:.0f}", f"{alone_many:.0f}",
            f"{load.per_second / alone_1:.2f}", f"{load.per_second / alone_many:.2f}"))
        say(f"         rows of a write: {alone.told()}" + ("; WORKSPACES MOVED meanwhile" if moved else ""))
        return load.refused + load.broken + lost
    finally:
        cluster.close()


def writes(postgres, options):
    many = f"pg {options.workspaces}"
    say(f"\nWrites: {options.connections} connections, {options.workspaces} workspaces, "
        f"{options.seconds} s each")
    tell_noise(postgres.folder)
    say(WRITES_TABLE.format("replicas", "writes/s", "p50", "p99", "non-2xx", "lost", "forwarded", "w/commit",
                            "pg 1 /s", f"{many} /s", "of pg 1", f"of {many}"))
    wrong = sum(measure_writes(postgres, count, options) for count in options.replicas)
    tell_noise(postgres.folder)
    say("  lost: without an answer, or acknowledged and not there; forwarded: share of requests; w/commit:\n"
        "  writes per commit; pg N: commits of the same rows by N clients of pgbench, one write each.\n"
        "  Replicas, wrk and PostgreSQL share the cores of one machine: 3 replicas here are not 3 machines.")
    return wrong


# ---- 2. Take-overs ----------------------------------------------------------------------------------------


def build_large(cluster, options):
    """A workspace with so many release targets: ten deployments in one environment, resources by `set`."""
    ws = cluster.client(0).new_workspace()
    deployments = 10
    resources = options.targets // deployments
    system, environment = ws.make_system("large"), ws.make_environment("everywhere")
    agent = ws.make_agent("nobody")
    made = [ws.make_deployment(f"deployment-{d}", jobAgentSelector=f'jobAgent.id == "{agent}"')
            for d in range(deployments)]
    ws.link(system, made, [environment])
    for first in range(0, resources, RESOURCES_PER_SET):
        provider = ws.put("/resource-providers", {"name": f"scan-{first}"}, status=202).json()["id"]
        some = [{"identifier": f"r-{i}", "name": f"r-{i}", "kind": "Node", "version": "v1",
                 "metadata": {"region": f"region-{i % 7}"}, "config": {"zone": i % 3}}
                for i in range(first, min(resources, first + RESOURCES_PER_SET))]
        ws.put(f"/resource-providers/{provider}/set", {"resources": some}, status=202, timeout=600)
    expected = deployments * resources
    wait_until(lambda: targets_of(cluster, ws) == expected, 600)
    if options.published:
        for deployment in made:
            ws.make_version(deployment, "v1")
        wait_until(lambda: live_jobs_of(cluster, ws) == expected, 1200, every=0.5)
    say(f"  built: {targets_of(cluster, ws)} targets, {live_jobs_of(cluster, ws)} waiting jobs")
    return ws


def of_workspace(cluster, ws, name):
    """A metric of one workspace, from whoever owns it."""
    line = re.compile("^" + re.escape(f'{name}{{workspace="{ws.id}"}}') + r" (\d+)$", re.M)
    found = next(filter(None, (line.search(metrics(server)) for server in cluster.servers)), None)
    return found and int(found.group(1))


def targets_of(cluster, ws):
    return of_workspace(cluster, ws, "ctrlplane_targets")


def live_jobs_of(cluster, ws):
    return of_workspace(cluster, ws, "ctrlplane_live_jobs")


class Asker(threading.Thread):
    """Sends one request again and again until it is answered with 2xx; when that was."""

    def __init__(self, method, url, key, **more):
        super().__init__(daemon=True)
        headers = {"x-api-key": key}
        if method == "POST":  # the same with every try: an answer that got lost must not make two
            headers["Idempotency-Key"] = unique("take-over")
        self.send = lambda: requests.request(method, url, headers=headers, timeout=30, **more)
        self.answered_at = None
        self.refusals = 0

    def run(self):
        give_up = time.monotonic() + GIVE_UP
        while time.monotonic() < give_up:
            try:
                if self.send().ok:
                    self.answered_at = time.monotonic()
                    return
            except requests.RequestException:
                pass
            self.refusals += 1
            time.sleep(0.01)


def take_over(cluster, ws, n):
    """Kills the owner; seconds until a read and a write through another, None for none. Restarts it."""
    owner = owner_of(cluster, ws.id)
    others = [s for s in cluster.servers if s is not owner]
    through = others[n % len(others)]
    url = f"{through.url}/api/v1/workspaces/{ws.id}/systems"
    reader = Asker("GET", f"{url}?limit=1", through.key)
    writer = Asker("POST", url, through.key, json={"name": f"after-{n}"})
    began = time.monotonic()
    owner.kill()
    for asker in (reader, writer):
        asker.start()
    for asker in (reader, writer):
        asker.join()
    owner.start()
    wait_for_even_share(cluster, through)
    times = [a.answered_at and a.answered_at - began for a in (reader, writer)]
    return times, reader.refusals + writer.refusals


def shown(value):
    return "none" if value is None else f"{value:.2f} s"


def summary(what, times):
    known = sorted(t for t in times if t is not None)
    if not known:
        return f"  {what}: none of {len(times)}"
    within = sum(t <= AIM for t in known)
    return (f"  {what}: p50 {quantile(known, .5):.2f} s, max {known[-1]:.2f} s; {within} of {len(times)} "
            f"within {AIM} s (lease {LEASE} s + {AIM - LEASE} s)")


def take_overs(postgres, options):
    count = options.replicas[-1] if options.replicas[-1] > 1 else 2
    say(f"\nTake-overs: {options.takeovers} of a workspace with {options.targets} targets, {count} replicas")
    tell_noise(postgres.folder)
    cluster = Cluster(postgres, count)
    try:
        ws = build_large(cluster, options)
        for _ in range(2 * count):  # company, so that replicas have more than one to take
            cluster.client(0).new_workspace()
        wait_for_even_share(cluster)
        expected = targets_of(cluster, ws)
        reads, written, wrong = [], [], 0
        say(f"{'':>4} {'read':>9} {'write':>9} {'refusals':>9} {'targets':>9}")
        for n in range(options.takeovers):
            (read, write), refusals = take_over(cluster, ws, n)
            reads.append(read)
            written.append(write)
            targets = targets_of(cluster, ws)
            wrong += targets != expected
            say(f"{n + 1:>4} {shown(read):>9} {shown(write):>9} {refusals:>9} {targets:>9}")
        say(summary("first read ", reads))
        say(summary("first write", written))
        acknowledged = 1 + sum(w is not None for w in written)
        kept = cluster.client(0).workspace(ws.id).get("/systems?limit=1", status=200).json()["total"]
        say(f"  acknowledged writes {acknowledged}, there afterwards {kept}; take-overs that changed the "
            f"number of targets: {wrong}")
        tell_noise(postgres.folder)
        return wrong + max(0, acknowledged - kept)
    finally:
        cluster.close()


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it works")
    parser.add_argument("--takeovers", type=int, help="how often the owner is killed (20)")
    parser.add_argument("--seconds", type=int, help="length of each measurement (10)")
    parser.add_argument("--targets", type=int, help="release targets of the workspace taken over (100000)")
    parser.add_argument("--published", action="store_true", help="each target has a job waiting")
    parser.add_argument("--workspaces", type=int, default=30)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", choices=("writes", "takeovers"))
    parser.add_argument("--folder", default="/var/tmp", help="where PostgreSQL's data goes: on a disk")
    options = parser.parse_args()
    for name, usual, quick in (("takeovers", 20, 2), ("seconds", 10, 2), ("targets", 100_000, 2000)):
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else usual)
    return options


def main():
    options = read_options()
    kind = file_system_of(options.folder)
    say(f"PostgreSQL on {kind}, fsync on" + ("; THAT IS NO DISK, see --folder" if kind == "tmpfs" else ""))
    postgres = Postgres(under=options.folder)
    wrong = 0
    try:
        if options.only != "takeovers":
            wrong += writes(postgres, options)
        if options.only != "writes":
            wrong += take_overs(postgres, options)
    finally:
        postgres.close()
    if wrong:
        say(f"\n{wrong} WRONG: refused, broken off, lost, or targets missing")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
