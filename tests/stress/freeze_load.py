"""Eight clients of a workspace: they publish, force, claim, report, freeze, thaw, and note what they see."""

import http.client
import itertools
import json
import random
import threading
import uuid
from collections import Counter, deque

from freeze_sets import Frozen, Handed, Refused, Work

RETRIES = 4
HELD_AT_ONCE = 3  # jobs that an agent has at the same time
REMEMBERED = 40  # versions and waiting jobs that are asked about again


class Wire:
    """One connection that stays open. Every request has a number before it is sent and after its answer."""

    def __init__(self, port, key, ticks):
        self.ticks = ticks
        self.headers = {"x-api-key": key, "Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(self, method, path, body=None):
        """(status, body, asked, answered)"""
        text = None if body is None else json.dumps(body).encode()
        asked = next(self.ticks)
        self.connection.request(method, f"/api/v1{path}", text, self.headers)
        answer = self.connection.getresponse()
        raw = answer.read()
        answered = next(self.ticks)
        return answer.status, json.loads(raw) if raw else {}, asked, answered

    def ask(self, method, path, body=None):
        status, body, *_ = self.call(method, path, body)
        assert 200 <= status < 300, f"{method} {path}: {status} {body}"
        return body

    def all(self, path):
        offset = 0
        while True:
            page = self.ask("GET", f"{path}{'&' if '?' in path else '?'}limit=1000&offset={offset}")
            yield from page["items"]
            offset += 1000
            if offset >= page["total"]:
                return


class Place:
    """The workspace: two systems, of which one has half the deployments; two environments, six resources."""

    def __init__(self, wire, slug):
        ask = wire.ask
        self.id = ask("POST", "/workspaces", {"name": slug, "slug": slug})["id"]
        base = self.base = f"/workspaces/{self.id}"
        self.agent = str(uuid.uuid4())
        ask("PUT", f"{base}/job-agents/{self.agent}", {"name": "puller", "type": "http-pull"})
        self.systems = [ask("POST", f"{base}/systems", {"name": name})["id"] for name in ("shop", "office")]
        self.environments = {
            name: ask("POST", f"{base}/environments",
                      {"name": name, "resourceSelector": f'resource.metadata["env"] == "{name}"'})["id"]
            for name in ("staging", "prod")}
        self.deployments = [self.make_deployment(ask, f"service-{n}") for n in range(4)]
        self.in_system = {self.systems[0]: self.deployments[:2], self.systems[1]: self.deployments[2:]}
        for system, deployments in self.in_system.items():
            for deployment in deployments:
                ask("PUT", f"{base}/systems/{system}/deployments/{deployment}")
            for environment in self.environments.values():
                ask("PUT", f"{base}/systems/{system}/environments/{environment}")
        self.resources = {}
        for n in range(6):
            env = "staging" if n < 2 else "prod"
            made = ask("PUT", f"{base}/resources/identifier/r{n}", {
                "name": f"r{n}", "kind": "Cluster", "version": "v1", "metadata": {"env": env}})["id"]
            self.resources[made] = (f"r{n}", self.environments[env])
        ask("POST", f"{base}/policies", {"name": "again", "rules": [{"retry": {"maxRetries": RETRIES}}]})
        self.targets = [Work(deployment, environment, resource) for deployment in self.deployments
                        for resource, (_, environment) in self.resources.items()]

    def make_deployment(self, ask, name):
        body = {"name": name, "slug": name, "resourceSelector": "true",
                "jobAgentSelector": f'jobAgent.id == "{self.agent}"'}
        return ask("POST", f"{self.base}/deployments", body)["id"]

    def some_freeze(self, chance):
        """What is asked for, and whom it covers."""
        kind = chance.choice(["workspace", "system", "environment", "deployment", "deployment", "resource",
                              "version"])
        if kind == "workspace":
            return {"scope": kind}, lambda work: True
        if kind == "system":
            system = chance.choice(self.systems)
            mine = set(self.in_system[system])
            return {"scope": kind, "scopeEntityId": system}, lambda work: work.deployment in mine
        if kind == "environment":
            environment = chance.choice(list(self.environments.values()))
            return {"scope": kind, "scopeEntityId": environment}, lambda work: work.environment == environment
        if kind == "deployment":
            deployment = chance.choice(self.deployments)
            return {"scope": kind, "scopeEntityId": deployment}, lambda work: work.deployment == deployment
        if kind == "resource":
            resource = chance.choice(list(self.resources))
            name = self.resources[resource][0]
            return ({"scope": "workspace", "selector": f'resource.name == "{name}"'},
                    lambda work: work.resource == resource)
        last = str(chance.randrange(10))
        return ({"scope": "workspace", "selector": f'version.tag.endsWith("{last}")'},
                lambda work: work.tag.endswith(last))


class Notes:
    """What all clients saw. Appending is safe from every thread."""

    def __init__(self):
        self.ticks = itertools.count(1)
        self.freezes, self.handed, self.refused = [], [], []
        self.counts = Counter()
        self.surprises = []
        self.lock = threading.Lock()
        self.versions = {}  # id → (deployment, tag, createdAt, bypasses)
        self.recent = {}  # deployment → the last versions
        self.waiting = deque(maxlen=REMEMBERED)  # (job, its work), started by hand
        self.forced_past = []  # (work, when that was answered): it left skips of the freezes that stood then

    def count(self, what):
        with self.lock:
            self.counts[what] += 1


class Client(threading.Thread):
    def __init__(self, load, seed, name):
        super().__init__(daemon=True, name=name)
        self.load, self.notes, self.place = load, load.notes, load.place
        self.wire = Wire(load.port, load.key, load.notes.ticks)
        self.chance = random.Random(seed)

    def run(self):
        try:
            while not self.load.stopping.is_set():
                self.turn()
            self.leave()
        except Exception as error:  # a client that dies in silence would make the run look good
            self.notes.surprises.append(f"{self.name}: {error!r}")

    def leave(self):
        pass

    def pause(self, low, high):
        self.load.stopping.wait(self.chance.uniform(low, high))

    def surprise(self, what, status, body):
        self.notes.surprises.append(f"{self.name}: {what}: {status} {body}")

    def refused(self, what, work, status, body, asked, answered):
        """Notes a 409; False if it is neither a freeze nor an ordinary conflict."""
        if status != 409 or body.get("code") not in ("frozen", "conflict"):
            return False
        if body["code"] == "frozen":
            named = [d["message"] for d in body.get("details", []) if d["path"] == "freezeId"]
            self.notes.refused.append(Refused(work, asked, answered, named[0] if named else ""))
            self.notes.count(f"{what} frozen")
        return True


class Publisher(Client):
    """New versions, of which a few bypass freezes."""

    def turn(self):
        deployment = self.chance.choice(self.place.deployments)
        self.publish(deployment, self.chance.random() < 0.03)
        self.pause(0.005, 0.04)

    def publish(self, deployment, bypasses=False):
        notes = self.notes
        tag = f"v{next(notes.ticks)}"
        body = {"tag": tag, "status": "ready", **({"bypassFreeze": True} if bypasses else {})}
        path = f"{self.place.base}/deployments/{deployment}/versions"
        status, made, *_ = self.wire.call("POST", path, body)
        if status != 200:
            return self.surprise("publish", status, made)
        notes.versions[made["id"]] = (deployment, tag, made["createdAt"], bypasses)
        notes.recent.setdefault(deployment, deque(maxlen=5)).append((made["id"], tag))
        notes.count("published")


class Forcer(Client):
    """Starts by hand: force-deploys of a recent version, some past freezes, and redeploys."""

    def turn(self):
        target = self.chance.choice(self.place.targets)
        path = f"{self.place.base}/release-targets/{target.key}"
        if self.chance.random() < 0.2:
            # What is redeployed is what is desired, which this client does not know.
            return self.start_one("redeploys", target, f"{path}/redeploy", {})
        recent = self.notes.recent.get(target.deployment)
        if not recent:
            return None
        version, tag = self.chance.choice(list(recent))
        work = Work(target.deployment, target.environment, target.resource, version, tag)
        bypass = {"bypassFreeze": True, "reason": "urgent"} if self.chance.random() < 0.03 else {}
        return self.start_one("forces", work, f"{path}/force-deploy", {"versionId": version, **bypass})

    def start_one(self, what, work, path, body):
        self.notes.count(what)
        status, answer, asked, answered = self.wire.call("POST", path, body)
        if status == 202:
            self.notes.count(f"{what} started")
            self.notes.waiting.extend((job, work) for job in answer["jobIds"])
            if body.get("bypassFreeze"):
                self.notes.forced_past.append((work, answered))
        elif status == 409 and answer.get("code") == "frozen" and not work.tag:
            self.notes.count(f"{what} frozen")
        elif not self.refused(what, work, status, answer, asked, answered):
            self.surprise(what, status, answer)


class Agent(Client):
    """Claims the next job, or one that it knows of; reports; lets most fail, so that they are tried again."""

    def __init__(self, load, seed, name):
        super().__init__(load, seed, name)
        self.having = deque()
        self.path = f"{self.place.base}/job-agents/{self.place.agent}"

    def turn(self):
        if len(self.having) >= HELD_AT_ONCE or (self.having and self.chance.random() < 0.4):
            self.end(self.having.popleft(), self.chance.random() < 0.85)
        elif self.notes.waiting and self.chance.random() < 0.5:
            job, work = self.chance.choice(list(self.notes.waiting))
            self.claim(f"{self.path}/jobs/{job}/claim", work)
        elif not self.claim(f"{self.path}/claim"):
            self.pause(0.0, 0.004)

    def leave(self):
        while self.having:
            self.end(self.having.popleft(), False)

    def claim(self, path, work=None):
        self.notes.count("claims")
        status, job, asked, answered = self.wire.call("POST", path, {"instanceId": self.name})
        if status == 204:
            return False
        if status == 200:
            self.take(job, asked, answered)
            return True
        if status == 409 and work and not work.tag:  # a redeploy: which version it is was not said
            self.notes.count("claims frozen" if job["code"] == "frozen" else "claims too late")
        elif not (work and self.refused("claims", work, status, job, asked, answered)) and status != 404:
            self.surprise(path, status, job)
        return False

    def take(self, job, asked, answered):
        about = job["dispatchContext"]
        work = Work(about["deployment"]["id"], about["environment"]["id"], about["resource"]["id"],
                    about["version"]["id"], about["version"]["tag"])
        if any(given.job == job["id"] for given in self.having):
            return  # it has it already, and asked for it by its id
        given = Handed(job["id"], work, asked, answered)
        self.notes.handed.append(given)
        self.notes.count(f"received: {job['cause']}")
        self.having.append(given)
        status, body, *_ = self.report(given, "inProgress")
        if status != 202:
            self.surprise("inProgress", status, body)

    def end(self, given, fails):
        status, body, asked, answered = self.report(given, "failure" if fails else "successful")
        if status != 202:
            return self.surprise("end", status, body)
        given.end_asked, given.end_answered = asked, answered
        self.notes.count("failures" if fails else "successes")

    def report(self, given, status):
        body = {"status": status, "instanceId": self.name}
        return self.wire.call("PUT", f"{self.place.base}/jobs/{given.job}/status", body)


class Freezer(Client):
    """Freezes something, waits, thaws it."""

    def turn(self):
        self.pause(0.0, 0.05)
        asked_for, covers = self.place.some_freeze(self.chance)
        body = {"reason": f"incident of {self.name}", **asked_for}
        if self.chance.random() < 0.3:
            body["expiresIn"] = "PT1H"
        if self.chance.random() < 0.2:
            body["inFlight"] = "cancel"
        status, made, asked, answered = self.wire.call("POST", f"{self.place.base}/freezes", body)
        if status != 201:
            return self.surprise(f"freeze {body}", status, made)
        listed = {j["id"]: (j["releaseTargetKey"], j["versionId"]) for j in made["impact"]["inFlightJobs"]}
        freeze = Frozen(made["id"], covers, asked, answered, listed)
        freeze.effective_at = made["effectiveAt"]
        self.notes.freezes.append(freeze)
        self.pause(0.01, 0.12)
        return self.thaw(freeze)

    def thaw(self, freeze):
        freeze.thaw_asked = next(self.notes.ticks)
        path = f"{self.place.base}/freezes/{freeze.id}/thaw"
        status, body, *_, freeze.thaw_answered = self.wire.call("POST", path, {"reason": "over"})
        if status != 200:
            self.surprise("thaw", status, body)


class Load:
    """All the clients. `stop` ends them; what they saw is in `notes`."""

    def __init__(self, port, key, seed, slug):
        self.port, self.key = port, key
        self.notes = Notes()
        self.stopping = threading.Event()
        self.place = Place(Wire(port, key, self.notes.ticks), slug)
        kinds = [Publisher, Forcer, Agent, Agent, Agent, Agent, Freezer, Freezer]
        self.clients = [kind(self, seed * 100 + n, f"{kind.__name__.lower()}-{n}")
                        for n, kind in enumerate(kinds)]

    def start(self):
        for client in self.clients:
            client.start()

    def stop(self):
        self.stopping.set()
        for client in self.clients:
            client.join(60)
            if client.is_alive():
                self.notes.surprises.append(f"{client.name} has not come to its end")
