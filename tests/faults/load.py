"""Clients that write and read through every replica, and remember what was acknowledged."""

import random
import threading
import time
import uuid
from collections import Counter, defaultdict

import requests

from freeze_sets import Frozen

TRY_SECONDS = 6  # a try of a write; then the next replica is asked, with the same key
READ_SECONDS = 40  # longer than any fault: an answer that was on its way all the time must be right too
KEY_DEAD_AFTER = 2.5  # a revoked key; the accounts are at most two seconds old


DESCRIBED = "answers are as described"
FRESH = "an answer shows every write acknowledged before it was asked for"


class Answer:
    """status 0: nobody answered. If it was sent, it may have been done, or may be done at any time later."""

    def __init__(self, status, body, text="", sent=True):
        self.status, self.body, self.text, self.sent = status, body, text, sent
        self.after_silence = False  # an earlier try was sent and never answered

    @property
    def in_doubt(self):
        return self.silent or (self.status == 503 and self.body.get("code") == "unknown")

    @property
    def silent(self):
        return self.status == 0 and self.sent

    @property
    def try_again(self):
        return self.status in (0, 429, 503)


class Caller:
    """One thread's way to all replicas."""

    def __init__(self, urls, key, seed):
        self.urls, self.key, self.chance = urls, key, random.Random(seed)
        self.sessions = {}

    def call(self, method, path, json=None, url=None, key=None, timeout=TRY_SECONDS, headers=None):
        url = url or self.chance.choice(self.urls)
        session = self.sessions.get(url)
        if session is None:
            session = self.sessions[url] = requests.Session()
            session.trust_env = False
        headers = {"x-api-key": key or self.key, **(headers or {})}
        try:
            answer = session.request(method, f"{url}/api/v1{path}", json=json, headers=headers,
                                     timeout=timeout)
            body = answer.json() if answer.content else {}
            return Answer(answer.status_code, body if isinstance(body, dict) else {}, answer.text[:300])
        except (requests.RequestException, ValueError) as error:
            self.sessions.pop(url).close()
            return Answer(0, {}, str(error)[:300], sent="NewConnectionError" not in str(error))


class Ledger:
    """What was acknowledged, and what was answered that must not be. Its methods are for all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.live = defaultdict(dict)  # workspace → (kind, name) → (id, revision)
        self.going = defaultdict(set)  # workspace → (kind, name) whose delete was sent
        self.gone = defaultdict(dict)  # … and acknowledged → id
        self.versions = defaultdict(dict)  # workspace → id → (deployment, tag)
        self.newest = {}  # deployment → tag
        self.freezes = defaultdict(list)  # workspace → freezes, as their clients saw them
        self.acknowledged_at = defaultdict(list)  # workspace → times
        self.counts = Counter()
        self.surprises = defaultdict(list)  # promise → evidence
        self.unanswered = []  # writes that were given up at the very end

    def acknowledge(self, workspace):
        self.acknowledged_at[workspace].append(time.monotonic())
        self.counts["acknowledged"] += 1

    def wrote(self, workspace, kind, ident, name, revision):
        with self.lock:
            self.live[workspace][kind, name] = (ident, revision)
            self.acknowledge(workspace)

    def will_delete(self, workspace, kind, name):
        with self.lock:
            self.going[workspace].add((kind, name))

    def deleted(self, workspace, kind, name):
        with self.lock:
            self.gone[workspace][kind, name] = self.live[workspace].pop((kind, name))[0]
            self.acknowledge(workspace)

    def published(self, workspace, deployment, ident, tag):
        with self.lock:
            self.versions[workspace][ident] = (deployment, tag)
            self.newest[deployment] = tag
            self.acknowledge(workspace)

    def froze(self, workspace, freeze):
        with self.lock:
            self.freezes[workspace].append(freeze)
            self.acknowledge(workspace)

    def surprise(self, promise, evidence):
        with self.lock:
            self.surprises[promise].append(evidence)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def last_acknowledged(self, workspace):
        times = self.acknowledged_at[workspace]
        return times[-1] if times else 0.0

    def some_object(self, workspace, chance):
        """(kind, name, id, revision) of something acknowledged, or None."""
        with self.lock:
            known = self.live[workspace]
            if not known:
                return None
            key = chance.choice(list(known))
            return (*key, *known[key])

    def some_gone(self, workspace, chance):
        """(kind, name, id) of something whose delete was acknowledged, or None."""
        with self.lock:
            known = self.gone[workspace]
            if not known:
                return None
            key = chance.choice(list(known))
            return (*key, known[key])


class Worker(threading.Thread):
    """Works until it is told to stop. A write that was begun is repeated until it is answered."""

    def __init__(self, load, seed, name):
        super().__init__(daemon=True, name=name)
        self.load, self.ledger = load, load.ledger
        self.caller = Caller(load.urls, load.key, seed)
        self.chance = random.Random(seed + 1)
        self.start()

    def run(self):
        while not self.load.stopping.is_set():
            try:
                self.turn()
            except Exception as error:  # a thread that dies in silence would make the run look good
                self.ledger.surprise("the clients worked", f"{self.name}: {error!r}")
                return

    def pause(self, low, high):
        self.load.stopping.wait(self.chance.uniform(low, high))

    def write(self, method, path, body, good, also_after_doubt=(), keyed=True):
        """The answer, or None after a surprise or at the very end."""
        key = f"{self.name} {self.chance.getrandbits(64):x}"
        headers = {"Idempotency-Key": key} if method == "POST" and keyed else {}
        doubt = silence = False
        while not self.load.give_up.is_set():
            answer = self.caller.call(method, path, body, headers=headers)
            if answer.status in good or (doubt and answer.status in also_after_doubt):
                answer.after_silence = silence
                return answer
            if not answer.try_again:
                after = " after one without an answer" if doubt else ""
                self.ledger.surprise(DESCRIBED, f"{method} {path}: {answer.status} {answer.text}{after}")
                return None
            doubt, silence = doubt or answer.in_doubt, silence or answer.silent
            self.ledger.count("retried")
            self.load.give_up.wait(self.chance.uniform(0.02, 0.2))
        self.ledger.unanswered.append(f"{method} {path} {body}")
        return None


def path_of(workspace, kind, name, ident):
    last = f"systems/{ident}" if kind == "system" else f"resources/identifier/{name}"
    return f"/workspaces/{workspace}/{last}"


class Writer(Worker):
    """Makes, changes and deletes systems and resources of one workspace; nobody else touches them.

    A PUT whose client gave up waiting may be on its way for long, and undo what is written after it. So what
    was PUT like that is left alone from then on; the same PUT once more changes nothing. A POST has its key.
    """

    def __init__(self, load, seed, workspace):
        self.workspace, self.base = workspace, f"/workspaces/{workspace.id}"
        self.mine = []  # [kind, id, name, revision]
        self.made = 0
        self.seed = seed
        super().__init__(load, seed, f"writer {seed}")

    def turn(self):
        what = self.chance.random()
        if what < 0.45 or not self.mine:
            self.make()
        elif what < 0.8:
            self.change(self.chance.choice(self.mine))
        else:
            self.delete(self.mine.pop(self.chance.randrange(len(self.mine))))
        self.pause(0.01, 0.06)

    def body(self, kind, name, revision):
        more = {"kind": "Cluster", "version": "v1"} if kind == "resource" else {}
        return {"name": name, "metadata": {"rev": str(revision), "env": "none"}, **more}

    def make(self):
        self.made += 1
        name = f"w{self.seed}-{self.made}"
        kind = self.chance.choice(["system", "resource"])
        body = self.body(kind, name, 0)
        if kind == "system":
            answer = self.write("POST", f"{self.base}/systems", body, {202})
        else:
            answer = self.write("PUT", f"{self.base}/resources/identifier/{name}", body, {202})
        if not answer:
            return
        self.ledger.wrote(self.workspace.id, kind, answer.body["id"], name, 0)
        if kind == "system" or not answer.after_silence:
            self.mine.append([kind, answer.body["id"], name, 0])

    def change(self, thing):
        kind, ident, name, revision = thing
        thing[3] = revision + 1
        path = path_of(self.workspace.id, kind, name, ident)
        answer = self.write("PUT", path, self.body(kind, name, revision + 1), {202})
        if not answer:
            return
        self.ledger.wrote(self.workspace.id, kind, ident, name, revision + 1)
        if answer.after_silence:
            self.mine.remove(thing)
        if answer.body["id"] != ident:
            self.ledger.surprise(DESCRIBED, f"PUT of {kind} {ident} answered {answer.body}")

    def delete(self, thing):
        kind, ident, name, _ = thing
        self.ledger.will_delete(self.workspace.id, kind, name)
        path = path_of(self.workspace.id, kind, name, ident)
        if self.write("DELETE", path, None, {202}, also_after_doubt={404}):
            self.ledger.deleted(self.workspace.id, kind, name)


class Publisher(Worker):
    """New versions for the deployments of one workspace, one after another."""

    def __init__(self, load, seed, workspace):
        self.workspace, self.number = workspace, 0
        super().__init__(load, seed, f"publisher {seed}")

    def turn(self):
        deployment = self.workspace.deployments[self.number % len(self.workspace.deployments)]
        self.number += 1
        self.publish(deployment, f"v{self.number}")
        self.pause(0.5, 1.5)

    def publish(self, deployment, tag):
        path = f"/workspaces/{self.workspace.id}/deployments/{deployment}/versions"
        answer = self.write("POST", path, {"tag": tag, "status": "ready"}, {200})
        if answer:
            self.ledger.published(self.workspace.id, deployment, answer.body["id"], tag)


class Freezer(Worker):
    """Freezes a part of one workspace for a while, thaws it, begins again. What it froze it also thaws."""

    def __init__(self, load, seed, workspace):
        self.workspace, self.base = workspace, f"/workspaces/{workspace.id}/freezes"
        super().__init__(load, seed, f"freezer {seed}")

    def turn(self):
        self.pause(0.3, 1.5)
        body, covers = self.some_freeze()
        asked = time.time_ns()
        made = self.write("POST", self.base, {"reason": self.name, **body}, {201})
        if not made:
            return
        listed = {j["id"]: (j["releaseTargetKey"], j["versionId"])
                  for j in made.body["impact"]["inFlightJobs"]}
        freeze = Frozen(made.body["id"], covers, asked, time.time_ns(), listed)
        self.ledger.froze(self.workspace.id, freeze)
        self.pause(0.3, 3)
        freeze.thaw_asked = time.time_ns()
        if self.write("POST", f"{self.base}/{freeze.id}/thaw", {"reason": "over"}, {200},
                      also_after_doubt={409}):
            self.ledger.count("acknowledged")

    def some_freeze(self):
        """What is asked for, and whom it covers."""
        here, kind = self.workspace, self.chance.choice(["workspace", "system", "environment", "deployment",
                                                         "resource"])
        if kind == "workspace":
            return {"scope": kind}, lambda work: True
        if kind == "system":  # all of it is in one
            return {"scope": kind, "scopeEntityId": here.system}, lambda work: True
        if kind == "resource":
            name, resource = self.chance.choice(list(here.resources.items()))
            return ({"scope": "workspace", "selector": f'resource.name == "{name}"'},
                    lambda work: work.resource == resource)
        entity = self.chance.choice(getattr(here, f"{kind}s"))
        return {"scope": kind, "scopeEntityId": entity}, lambda work: getattr(work, kind) == entity


class Reader(Worker):
    """Reads what was acknowledged through any replica, with patience: never older than it was when asked."""

    def turn(self):
        workspace = self.chance.choice(self.load.workspaces).id
        if self.chance.random() < 0.2:
            self.read_gone(workspace)
        else:
            self.read_live(workspace)
        self.pause(0.01, 0.1)

    def read(self, workspace, kind, name, ident):
        return self.caller.call("GET", path_of(workspace, kind, name, ident), timeout=READ_SECONDS)

    def read_live(self, workspace):
        known = self.ledger.some_object(workspace, self.chance)
        if known is None:
            return
        kind, name, ident, revision = known
        asked = time.time()
        answer = self.read(workspace, kind, name, ident)
        self.ledger.count("reads" if answer.status == 200 else "reads not answered")
        where = (f"GET {kind} {name} {ident} of {workspace}, asked at {asked:.3f}, "
                 f"answered at {time.time():.3f}")
        if answer.status == 200:
            found = int(answer.body["metadata"]["rev"])
            if found < revision:
                self.ledger.surprise(FRESH, f"{where}: revision {found}, was {revision} before")
        elif answer.status == 404:
            if (kind, name) not in self.ledger.going[workspace]:
                self.ledger.surprise(FRESH, f"{where}: 404, but it was acknowledged")
        elif not answer.try_again:
            self.ledger.surprise(DESCRIBED, f"{where}: {answer.status} {answer.text}")

    def read_gone(self, workspace):
        known = self.ledger.some_gone(workspace, self.chance)
        if known is None:
            return
        answer = self.read(workspace, *known)
        self.ledger.count("reads" if answer.status == 404 else "reads not answered")
        if answer.status == 200:
            self.ledger.surprise(FRESH, f"{known} of {workspace} is shown, but its delete was acknowledged")


class KeyMaker(Worker):
    """API keys: good everywhere once made, dead everywhere soon after they were revoked."""

    def turn(self):
        name = f"key-{self.chance.getrandbits(64):x}"
        made = self.write("POST", "/api-keys", {"name": name}, {201}, keyed=False)
        if not made:
            return
        self.ledger.count("acknowledged")
        self.use(made.body["key"])
        if self.write("DELETE", f"/api-keys/{made.body['id']}", None, {204}, also_after_doubt={404}):
            revoked = time.monotonic()
            self.ledger.count("acknowledged")
            self.use_revoked(made.body["key"], revoked)

    def use(self, key):
        for url in self.caller.urls:
            answer = self.caller.call("GET", "/workspaces?limit=1", url=url, key=key)
            if answer.status in (401, 403):
                self.ledger.surprise("a key is good everywhere once it is made", f"{url}: {answer.status}")

    def use_revoked(self, key, revoked):
        self.load.stopping.wait(max(0.0, revoked + KEY_DEAD_AFTER - time.monotonic()))
        if time.monotonic() < revoked + KEY_DEAD_AFTER:
            return
        for url in self.caller.urls:
            answer = self.caller.call("GET", "/workspaces?limit=1", url=url, key=key, timeout=READ_SECONDS)
            if answer.status == 200:
                late = time.monotonic() - revoked
                self.ledger.surprise("a revoked key is dead everywhere",
                                     f"{url} let it in, answered {late:.1f} s after it was revoked")


class Workspace:
    """Made before the faults begin: two deployments, two environments, three resources, one job agent. Half of
    them run as a unit on each resource, and on one resource at a time."""

    def __init__(self, caller, number):
        def ask(method, path, body=None):
            answer = caller.call(method, path, body, timeout=30)
            assert 200 <= answer.status < 300, f"{method} {path}: {answer.status} {answer.text}"
            return answer.body

        self.slug = f"team-{number}"
        self.id = ask("POST", "/workspaces", {"name": self.slug, "slug": self.slug})["id"]
        base, agent = f"/workspaces/{self.id}", str(uuid.uuid4())
        ask("PUT", f"{base}/job-agents/{agent}", {"name": "puller", "type": "http-pull"})
        system = ask("POST", f"{base}/systems", {"name": "shop"})["id"]
        self.system = system
        self.environments, self.deployments, self.resources = [], [], {}
        for name in ("staging", "prod"):
            made = ask("POST", f"{base}/environments",
                       {"name": name, "resourceSelector": f'resource.metadata["env"] == "{name}"'})["id"]
            ask("PUT", f"{base}/systems/{system}/environments/{made}")
            self.environments.append(made)
        for name in ("api", "web"):
            # A job whose agent was killed ends in time for the run to see what follows.
            made = ask("POST", f"{base}/deployments",
                       {"name": name, "slug": name, "resourceSelector": 'resource.kind == "Cluster"',
                        "jobAgentSelector": f'jobAgent.id == "{agent}"', "jobTimeout": "PT15S"})["id"]
            ask("PUT", f"{base}/systems/{system}/deployments/{made}")
            self.deployments.append(made)
        for name, env in (("s1", "staging"), ("p1", "prod"), ("p2", "prod")):
            self.resources[name] = ask("PUT", f"{base}/resources/identifier/{name}", {
                "name": name, "kind": "Cluster", "version": "v1", "metadata": {"env": env}})["id"]
        self.limit = 1 if number > 2 else None
        if self.limit:
            ask("POST", f"{base}/policies", self.one_at_a_time("merge" if number % 2 else "queue"))
        key = {"name": f"agents of {self.slug}", "role": "agent", "workspaceId": self.id}
        self.agent_key = ask("POST", "/api-keys", key)["key"]

    def one_at_a_time(self, overlap):
        """Both deployments as a unit on each cluster, the web behind the api, on so many clusters at once."""
        return {"name": "one at a time", "selector": "true", "rules": [
            {"deploymentBracket": {"deploymentSelector": "true", "readinessMode": "immediate",
                                   "overlapStrategy": overlap, "preHookSelector": "false",
                                   "postHookSelector": "false"}},
            {"deploymentDependency": {"dependsOn": 'deployment.name == "api"',
                                      "appliesTo": 'deployment.name == "web"'}},
            {"retry": {"maxRetries": 20}},
            {"resourceConcurrency": {"groupSelector": 'resource.kind == "Cluster"', "limitType": "count",
                                     "limitValue": self.limit}}]}

    @property
    def target_count(self):
        return len(self.deployments) * len(self.resources)


class Load:
    """All the clients of a run."""

    def __init__(self, urls, key, seed, workspaces=4):
        self.urls, self.key, self.seed = urls, key, seed
        self.ledger = Ledger()
        self.stopping, self.give_up = threading.Event(), threading.Event()
        caller = Caller(urls, key, seed)
        self.workspaces = [Workspace(caller, number + 1) for number in range(workspaces)]
        self.publishers, self.workers = [], []

    def start(self):
        seeds = iter(range(self.seed * 1000, self.seed * 1000 + 1000))
        for workspace in self.workspaces:
            self.publishers.append(Publisher(self, next(seeds), workspace))
            self.workers += [Writer(self, next(seeds), workspace) for _ in range(2)]
        self.workers += [Reader(self, next(seeds), f"reader {n + 1}") for n in range(4)]
        self.workers.append(KeyMaker(self, next(seeds), "keys"))
        self.workers += [Freezer(self, next(seeds), workspace) for workspace in self.workspaces]

    def is_well(self, since):
        """A write was acknowledged in every workspace since then."""
        return all(self.ledger.last_acknowledged(w.id) > since for w in self.workspaces)

    def stop(self, within):
        """Lets every write that was begun be answered; True if all were."""
        self.stopping.set()
        deadline = time.monotonic() + within
        for worker in [*self.publishers, *self.workers]:
            worker.join(max(0.0, deadline - time.monotonic()))
        self.give_up.set()
        for worker in [*self.publishers, *self.workers]:
            worker.join(READ_SECONDS + 5)
        return not self.ledger.unanswered

    def publish_last(self):
        """One more version for every deployment, when all is well: what everything must end up with."""
        self.give_up.clear()
        for publisher in self.publishers:
            for deployment in publisher.workspace.deployments:
                publisher.publish(deployment, "last")
