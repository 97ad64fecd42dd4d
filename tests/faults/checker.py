"""Looks at what a run left behind, and says which promises were broken.

`gather` reads: the API of every replica, the rows with psql, what the agents wrote down. Each check is a
function of what was gathered alone, and yields one line of evidence per violation. A new promise is one more
function.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf

from freeze_sets import Handed, Work, slipped_through

NOBODY = "00000000-0000-0000-0000-000000000000"
CHECKS = []  # (promise, function)


def check(promise):
    def add(function):
        CHECKS.append((promise, function))
        return function

    return add


@dataclass
class Seen:
    """Everything the checks look at. Workspaces are named by their ids throughout."""

    live: dict = field(default_factory=dict)  # workspace → (kind, name) → (id, revision), as acknowledged
    gone: dict = field(default_factory=dict)  # workspace → (kind, name), delete acknowledged
    versions: dict = field(default_factory=dict)  # workspace → id → (deployment, tag), as acknowledged
    newest: dict = field(default_factory=dict)  # deployment → tag
    targets: dict = field(default_factory=dict)  # workspace → how many there must be
    # What the API says through each replica, and what the rows say: source → workspace → Content.
    content: dict = field(default_factory=dict)
    starts: list = field(default_factory=list)  # of the agents' record: (job, resource, tag, agent)
    ends: list = field(default_factory=list)
    started_at: dict = field(default_factory=dict)  # job → ns, of the same record
    ended_at: dict = field(default_factory=dict)
    freezes: dict = field(default_factory=dict)  # workspace → freezes, as their clients saw them
    freeze_rows: dict = field(default_factory=dict)  # id → row of the table deployment_freeze
    jobs: list = field(default_factory=list)  # rows of the table job
    limits: dict = field(default_factory=dict)  # workspace → on how many resources at once
    order: dict = field(default_factory=dict)  # workspace → deployments, each behind the one before
    history: list = field(default_factory=list)  # of the owner rows, oldest first
    replicas: dict = field(default_factory=dict)  # replica → its answer to GET /replicas
    replica_count: int = 1
    missed_wakeups: dict = field(default_factory=dict)  # (replica, workspace) → the most there were
    endings: list = field(default_factory=list)  # processes that ended by themselves
    surprises: dict = field(default_factory=dict)  # promise → evidence, from the clients
    unanswered: list = field(default_factory=list)
    unsettled: list = field(default_factory=list)


@dataclass
class Content:
    objects: dict = field(default_factory=dict)  # (kind, name) → [(id, revision)]
    versions: dict = field(default_factory=dict)  # id → (deployment, tag)
    targets: dict = field(default_factory=dict)  # key → {"current", "job", "reason", "deployment"}


# ---- Nothing is lost ---------------------------------------------------------------------------------------


@check("no acknowledged write is lost")
def nothing_lost(seen):
    for source, workspaces in seen.content.items():
        for workspace, live in seen.live.items():
            content = workspaces[workspace]
            for key, (ident, revision) in live.items():
                found = content.objects.get(key, [])
                if (ident, revision) not in found:
                    yield (f"{source}, {workspace}: {key} {ident} revision {revision}; "
                           f"there is {found or 'nothing'}")
            for ident, (deployment, tag) in seen.versions.get(workspace, {}).items():
                if content.versions.get(ident) != (deployment, tag):
                    yield f"{source}, {workspace}: version {tag} {ident} of {deployment} is not there"


@check("no acknowledged delete is undone")
def nothing_comes_back(seen):
    for source, workspaces in seen.content.items():
        for workspace, gone in seen.gone.items():
            for key in set(gone) & set(workspaces[workspace].objects):
                yield f"{source}, {workspace}: {key} is there again"


@check("no write is done twice")
def nothing_twice(seen):
    for source, workspaces in seen.content.items():
        for workspace, content in workspaces.items():
            for key, found in content.objects.items():
                if len(found) > 1:
                    yield f"{source}, {workspace}: {key} is there {len(found)} times: {found}"
            for (deployment, tag), times in Counter(content.versions.values()).items():
                if times > 1:
                    yield f"{source}, {workspace}: version {tag} of {deployment} is there {times} times"


@check("every replica says the same, and so does the store")
def all_say_the_same(seen):
    sources = list(seen.content)
    for other in sources[1:]:
        for workspace, content in seen.content[other].items():
            first = seen.content[sources[0]][workspace]
            for what in ("objects", "versions", "targets"):
                a, b = getattr(first, what), getattr(content, what)
                if a == b or (what == "targets" and not b):
                    continue  # the rows do not say what targets there are
                key = next(k for k in {**a, **b} if a.get(k) != b.get(k))
                yield (f"{workspace}: {what} of {sources[0]} and {other} differ, e.g. {key}: {a.get(key)} "
                       f"and {b.get(key)}")


@check("every write is answered once the faults are over")
def all_answered(seen):
    yield from seen.unanswered


# ---- Nothing starts twice ----------------------------------------------------------------------------------


@check("no job is started twice")
def nothing_starts_twice(seen):
    agents = defaultdict(list)
    for job, _, _, agent in seen.starts:
        agents[job].append(agent)
    for job, started in agents.items():
        if len(started) > 1:
            yield f"job {job} was started by {', '.join(started)}"


@check("a job that ran was handed over, and a successful one ran to its end")
def told_to_run(seen):
    jobs = {job["id"]: job for job in seen.jobs}
    for job, _, tag, agent in seen.starts:
        row = jobs.get(job)
        if row is None or row["started_at"] is None:
            yield f"{agent} ran job {job} ({tag}), which the store does not know as started"
    ended = {job for job, *_ in seen.ends}
    for job in seen.jobs:
        if job["status"] == "successful" and job["id"] not in ended:
            yield f"job {job['id']} is successful, but did not run to its end"


@check("one active release per target")
def one_at_a_time(seen):
    """A job is created only when the one before it on the same target has ended."""
    by_target = defaultdict(list)
    for job in seen.jobs:
        by_target[job["target"]].append(job)
    for target, jobs in by_target.items():
        jobs.sort(key=lambda job: (job["created_at"], job["ended_at"] or float("inf")))
        for before, after in zip(jobs, jobs[1:]):
            if before["ended_at"] is None or before["ended_at"] > after["created_at"]:
                yield f"{target}: job {after['id']} was created before {before['id']} had ended"


# ---- One unit, and not on too many resources at once -------------------------------------------------------


@check("never more resources at work than the limit allows")
def limits_hold(seen):
    """By the rows: from its creation to its end a job needs its resource's slot."""
    for workspace, limit in seen.limits.items():
        jobs = [job for job in seen.jobs if job["workspace"] == workspace]
        edges = [(job["created_at"], 1, job) for job in jobs]
        edges += [(job["ended_at"], 0, job) for job in jobs if job["ended_at"] is not None]
        at_work = Counter()
        for at, begins, job in sorted(edges, key=lambda edge: edge[:2]):
            resource = work_of(job).resource
            at_work[resource] += 1 if begins else -1
            busy = [r for r, count in at_work.items() if count > 0]
            if begins and len(busy) > limit:
                yield f"{workspace} at {at}: {len(busy)} resources at work, {limit} allowed: job {job['id']}"


@check("members of a group run in their order, and never beside whom they depend on")
def groups_keep_their_order(seen):
    by_group = defaultdict(list)
    for job in seen.jobs:
        if job["workspace"] in seen.order:
            if job["group"] is None:
                yield f"{job['workspace']}: job {job['id']} is of no group"
            else:
                by_group[job["workspace"], job["group"]].append(job)
    for (workspace, group), jobs in by_group.items():
        ahead = seen.order[workspace].index
        jobs.sort(key=lambda job: job["created_at"])
        for i, job in enumerate(jobs):
            for other in jobs[:i]:
                if other["ended_at"] is None or other["ended_at"] > job["created_at"]:
                    yield f"{workspace}: jobs {other['id']} and {job['id']} of group {group} ran side by side"
            behind = work_of(job).deployment
            before = [o for o in jobs[:i] if ahead(work_of(o).deployment) < ahead(behind)]
            if before and before[-1]["status"] != "successful":
                yield f"{workspace}: job {job['id']} of group {group} began behind {before[-1]['id']}, which failed"


# ---- A freeze is a barrier ---------------------------------------------------------------------------------


def work_of(job):
    """The row's target; its key is made of three ids."""
    key = job["target"]
    return Work(resource=key[:36], environment=key[37:73], deployment=key[74:], version=job["version"])


@check("under a freeze no agent has a job that the freeze does not list")
def freezes_are_barriers(seen):
    """By the agents' record: what ran between the 201 and the thaw was handed over before, or never."""
    by_workspace = defaultdict(list)
    for job in seen.jobs:
        if job["id"] in seen.started_at:
            by_workspace[job["workspace"]].append(
                (job, Handed(job["id"], work_of(job), 0, seen.started_at[job["id"]],
                             seen.ended_at.get(job["id"], inf))))
    for workspace, freezes in seen.freezes.items():
        for freeze in freezes:
            begun = seen.freeze_rows.get(freeze.id, {}).get("effective_at", inf)
            # What had ended by then (its time was up) may go on somewhere, but is nobody's job any more.
            there = [given for job, given in by_workspace[workspace]
                     if job["ended_at"] is None or job["ended_at"] > begun]
            yield from slipped_through([freeze], there)


@check("a freeze lists what agents have; the rest of what it covers is not handed over")
def lists_are_exact(seen):
    """By the rows. Commits of one workspace are in one order, and so are their times."""
    for workspace, freezes in seen.freezes.items():
        jobs = [job for job in seen.jobs if job["workspace"] == workspace]
        for freeze in freezes:
            row = seen.freeze_rows.get(freeze.id)
            if row is None:
                yield f"{workspace}: freeze {freeze.id} is not there"
                continue
            for job in jobs:
                fault = what_of_it(freeze, row["effective_at"], row["thawed_at"] or inf, job)
                if fault:
                    yield f"{workspace}: freeze {freeze.id} {row}: job {job['id']} {job}: {fault}"


def what_of_it(freeze, begun, over, job):
    """What is wrong with this job and this freeze. At the very same time both orders are right."""
    handed, ended = job["handed_over_at"] or inf, job["ended_at"] or inf
    listed, covered = job["id"] in freeze.in_flight, freeze.covers(work_of(job))
    if listed and not covered:
        return "listed, but not covered"
    if listed and (handed > begun or ended < begun):
        return "listed, but no agent had it"
    if covered and begun < handed < over:
        return "handed over under the freeze"
    if covered and handed < begun < ended and not listed:
        return "an agent had it, but it is not listed"
    return None


# ---- Nothing is forgotten ----------------------------------------------------------------------------------


@check("no held work is forgotten")
def nothing_forgotten(seen):
    """Every target runs the newest version of its deployment, or has a live job, or a reason is named."""
    for source, workspaces in seen.content.items():
        for workspace, content in workspaces.items():
            if not content.targets:
                continue  # the rows do not say it
            if (count := len(content.targets)) != seen.targets[workspace]:
                yield f"{source}, {workspace}: {count} targets instead of {seen.targets[workspace]}"
            for key, target in content.targets.items():
                newest = seen.newest.get(target["deployment"])
                silent = not target["reason"] or target["reason"].startswith("up to date")
                if target["current"] != newest and not target["job"] and silent:
                    yield (f"{source}, {workspace}: {key} runs {target['current']}, not {newest}: "
                           f"{target['reason']!r}")


@check("the system settles: every last version reaches all its targets")
def settled(seen):
    yield from seen.unsettled


@check("no wake-up is missed")
def no_missed_wakeups(seen):
    for (replica, workspace), count in seen.missed_wakeups.items():
        if count:
            yield f"{replica}, {workspace}: {count}"


# ---- One owner ---------------------------------------------------------------------------------------------


@check("at most one owner at a time; epochs rise, no seq is left out")
def one_owner(seen):
    last, owner = {}, {}  # workspace → its row before; the process that acquired it
    for row in seen.history:
        workspace = row["workspace"]
        before, last[workspace] = last.get(workspace), row
        if before is None:
            owner[workspace] = row["process"]
            continue
        problem = what_is_wrong(before, row, owner[workspace])
        if problem:
            yield f"{workspace} at {row['at']}: {problem} (epoch {row['epoch']}, seq {row['seq']})"
        if row["token"] != before["token"]:
            owner[workspace] = row["process"]


def what_is_wrong(before, row, owner):
    """Of one change of an owner row; nothing if it is an acquisition, a commit, a release, or no change."""
    if row["token"] != before["token"]:
        if row["epoch"] != before["epoch"] + 1:
            return f"a new token, but the epoch goes from {before['epoch']} to {row['epoch']}"
        return "an acquisition changes seq" if row["seq"] != before["seq"] else None
    if row["epoch"] != before["epoch"]:
        return "a new epoch without a new token"
    # The process that was there before the record began has no name in it.
    if owner and row["process"] != owner:
        return f"{row['process']} writes while {owner} owns it"
    if row["seq"] != before["seq"]:
        if row["seq"] != before["seq"] + 1:
            return f"seq goes from {before['seq']} to {row['seq']}"
        if row["replica"] == NOBODY:
            return "a commit after the release"
    elif row["replica"] not in (before["replica"], NOBODY):
        return "another replica without a new token"
    return None


@check("all replicas agree on who owns what, and share it evenly")
def replicas_agree(seen):
    views = {}
    for replica, answer in seen.replicas.items():
        alive = [r for r in answer["items"] if r["state"] == "alive"]
        if len(alive) != seen.replica_count:
            yield f"{replica} sees {len(alive)} living replicas instead of {seen.replica_count}"
        if answer["withoutOwner"]:
            yield f"{replica}: without an owner: {answer['withoutOwner']}"
        shares = sorted(len(r["workspaces"]) for r in alive)
        if shares and shares[-1] - shares[0] > 1:
            yield f"{replica}: uneven shares {shares}"
        views[replica] = {w["id"]: r["address"] for r in answer["items"] for w in r["workspaces"]}
    if len({json.dumps(view, sort_keys=True) for view in views.values()}) > 1:
        yield f"they differ: {views}"


# ---- What the clients and the supervisor saw meanwhile ----------------------------------------------------


@check("no process ends by itself")
def no_process_ends(seen):
    yield from seen.endings


# What clients may be surprised by; each is a promise of its own.
CLIENT_PROMISES = [
    "an answer shows every write acknowledged before it was asked for",
    "answers are as described",
    "a key is good everywhere once it is made",
    "a revoked key is dead everywhere",
    "every workspace is writable again soon after faults",
    "the clients worked",
]


def judge(seen):
    """Promise → evidence, for every promise; no evidence is a promise kept."""
    verdicts = {promise: list(function(seen)) for promise, function in CHECKS}
    for promise in [*CLIENT_PROMISES, *seen.surprises]:
        verdicts.setdefault(promise, list(seen.surprises.get(promise, [])))
    return verdicts


# ---- Gathering ---------------------------------------------------------------------------------------------


def read_record(path):
    """The agents' record: (starts, ends)."""
    lines = {"start": [], "end": []}
    for line in path.read_text().splitlines():
        word, job, resource, tag, agent, _ = line.split(" ")
        lines[word].append((job, resource, tag, agent))
    return lines["start"], lines["end"]


def read_times(path):
    """The same: (job → when it started, job → when it ended), in ns."""
    times = {"start": {}, "end": {}}
    for line in path.read_text().splitlines():
        word, job, *_, at = line.split(" ")
        seconds, fraction = at.split(".")
        times[word].setdefault(job, int(seconds) * 10**9 + int(fraction.ljust(9, "0")))
    return times["start"], times["end"]


def rows(cluster, query):
    text = cluster.sql(f"SELECT coalesce(json_agg(x), '[]') FROM ({query}) x").strip()
    return json.loads(text)


JOBS = """SELECT id, workspace_id AS workspace, version_id AS version,
                 concat_ws('-', resource_id, environment_id, deployment_id) AS target, status, live,
                 group_id AS "group",
                 created_at, handed_over_at, started_at, ended_at FROM job"""
OBJECTS = """SELECT workspace_id AS workspace, 'system' AS kind, name, id, metadata FROM system UNION ALL
             SELECT workspace_id, 'resource', identifier, id, metadata FROM resource"""
VERSIONS = "SELECT workspace_id AS workspace, id, deployment_id AS deployment, tag FROM deployment_version"
FREEZES = "SELECT id, effective_at, thawed_at FROM deployment_freeze"
HISTORY = "SELECT workspace, epoch, seq, token, replica, process, at FROM faults.history ORDER BY n"


def content_of_rows(cluster, workspaces):
    contents = {workspace.id: Content() for workspace in workspaces}
    for row in rows(cluster, OBJECTS):
        content, metadata = contents[row["workspace"]], json.loads(row["metadata"])
        add_object(content, row["kind"], row["name"], row["id"], metadata)
    for row in rows(cluster, VERSIONS):
        contents[row["workspace"]].versions[row["id"]] = (row["deployment"], row["tag"])
    return contents


def add_object(content, kind, name, ident, metadata):
    revision = int(metadata["rev"]) if "rev" in metadata else None
    content.objects.setdefault((kind, name), []).append((ident, revision))


class ApiReader:
    """Reads everything through one replica."""

    def __init__(self, caller, url):
        self.caller, self.url = caller, url

    def get(self, path):
        for _ in range(50):
            answer = self.caller.call("GET", path, url=self.url, timeout=30)
            if not answer.try_again:
                break
        assert answer.status == 200, f"GET {path} through {self.url}: {answer.status} {answer.text}"
        return answer.body

    def all(self, path):
        offset = 0
        while True:
            page = self.get(f"{path}?limit=1000&offset={offset}")
            yield from page["items"]
            offset += 1000
            if offset >= page["total"]:
                return

    def content(self, workspace):
        base, content = f"/workspaces/{workspace.id}", Content()
        for kind, path, name in (("system", "systems", "name"), ("resource", "resources", "identifier")):
            for item in self.all(f"{base}/{path}"):
                add_object(content, kind, item[name], item["id"], item["metadata"])
        for deployment in workspace.deployments:
            for item in self.all(f"{base}/deployments/{deployment}/versions"):
                content.versions[item["id"]] = (deployment, item["tag"])
        content.targets = self.targets(workspace)
        return content

    def replicas(self):
        return self.get("/replicas")

    def targets(self, workspace):
        found = {}
        for item in self.all(f"/workspaces/{workspace.id}/release-targets"):
            target, state = item["releaseTarget"], item["state"]
            found[target["key"]] = {"deployment": target["deploymentId"], "reason": state.get("reason", ""),
                                    "current": state.get("currentVersion", {}).get("tag"),
                                    "job": state.get("activeJob", {}).get("id")}
        return found


def gather(cluster, load, caller):
    """What the run left behind; the caller adds what it saw meanwhile."""
    ledger = load.ledger
    readers = {r.name: ApiReader(caller, r.url) for r in cluster.replicas}
    seen = Seen(live=dict(ledger.live), gone={w: set(keys) for w, keys in ledger.gone.items()},
                versions=dict(ledger.versions), newest=dict(ledger.newest), replica_count=cluster.count,
                targets={w.id: w.target_count for w in load.workspaces}, surprises=dict(ledger.surprises),
                unanswered=list(ledger.unanswered),
                limits={w.id: w.limit for w in load.workspaces if w.limit},
                order={w.id: w.deployments for w in load.workspaces if w.limit})
    for name, reader in readers.items():
        seen.content[name] = {w.id: reader.content(w) for w in load.workspaces}
        if cluster.count > 1:
            seen.replicas[name] = reader.replicas()
    seen.content["the store"] = content_of_rows(cluster, load.workspaces)
    seen.starts, seen.ends = read_record(cluster.record)
    seen.started_at, seen.ended_at = read_times(cluster.record)
    seen.jobs, seen.history = rows(cluster, JOBS), rows(cluster, HISTORY)
    seen.freezes = {w: list(freezes) for w, freezes in ledger.freezes.items()}
    seen.freeze_rows = {row["id"]: row for row in rows(cluster, FREEZES)}
    return seen
