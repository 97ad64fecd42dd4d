"""Servers and clients for the tests: a temporary PostgreSQL, the program under test, a checking client."""

import http.client
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from datetime import datetime
from pathlib import Path

import requests

from contract import Contract, DESCRIBED

TREE = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("CTRLPLANE_BINARY") or str(TREE / "build" / "dev" / "bin" / "ctrlplane")
PASSWORD = "correct horse battery staple"
# A child that outlives the tests would hold ports and files. It ends with the thread that started it,
# so servers are started from the main thread.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "--"]


def eventually(look, within=15.0, what="the condition"):
    """The first true value of look(); fails when there is none in time.

    It looks again at once: a look is a request, which takes its time, and nothing here waits for a clock.
    """
    deadline = time.monotonic() + within
    while True:
        value = look()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come about within {within} s"


def moment(text):
    """The instant a text names. Texts do not sort as their instants do: 10.7Z is after 10.70001Z."""
    return datetime.fromisoformat(text)


def unique(word):
    return f"{word}-{secrets.token_hex(4)}"


def new_id():
    return str(uuid.uuid4())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def roomy_memory():
    """A folder in memory for what is thrown away anyway; None where there is little of it."""
    place = Path("/dev/shm")
    return str(place) if place.is_dir() and shutil.disk_usage(place).free > 2 << 30 else None


class Postgres:
    """A server of its own in a temporary folder. Its port stays the same over stop and start.

    The folder is in memory unless `under` names another: what is measured is to be on a disk.
    """

    def __init__(self, under=None, settings=""):
        self.folder = tempfile.mkdtemp(prefix="ctrlplane-api-pg-", dir=under or roomy_memory())
        self.bin = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True,
                                  check=True).stdout.strip()
        self.as_user = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.as_user = ["runuser", "-u", "postgres", "--"]
        self.port = free_port()
        self.databases = 0
        self.running = False
        self.settings = settings
        self._watch()
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
                  "--no-sync")
        self._configure()
        self.start()

    @property
    def data(self):
        return f"{self.folder}/data"

    def _run(self, program, *arguments):
        done = subprocess.run([*self.as_user, f"{self.bin}/{program}", *arguments], cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120)
        assert done.returncode == 0, f"{program} failed: {done.stdout}\n{self.log()}"
        return done.stdout

    def _watch(self):
        """Ends the server and removes its folder also when the tests are killed: the pipe closes then."""
        stop = " ".join([*self.as_user, f"{self.bin}/pg_ctl", "stop", "-D", self.data, "-m", "immediate"])
        self.watcher = subprocess.Popen(
            ["sh", "-c", f"read _; cd /; {stop} >/dev/null 2>&1; rm -rf '{self.folder}'"],
            stdin=subprocess.PIPE, start_new_session=True)

    def _configure(self):
        settings = (f"listen_addresses = '127.0.0.1'\nport = {self.port}\n"
                    f"unix_socket_directories = '{self.folder}'\n"
                    f"shared_buffers = 64MB\nmax_connections = 100\n{self.settings}")
        with open(f"{self.data}/postgresql.conf", "a", encoding="utf-8") as file:
            file.write(settings)

    def _control(self, *words):
        log = f"{self.folder}/log"
        # pg_ctl's output goes to a file: the server inherits it, and a pipe would never end.
        done = subprocess.run([*self.as_user, "sh", "-c", 'exec "$@" >>"$0" 2>&1', log, f"{self.bin}/pg_ctl",
                               "-D", self.data, "-w", "-l", log, *words], cwd="/", stdin=subprocess.DEVNULL,
                              timeout=120)
        assert done.returncode == 0, f"pg_ctl {words[0]} failed:\n{self.log()}"

    def log(self):
        path = Path(self.folder, "log")
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def start(self):
        self._control("start")
        self.running = True

    def stop(self, mode="immediate"):
        self._control("stop", "-m", mode)
        self.running = False

    def answers(self):
        """It takes questions: it is there, and not recovering."""
        return self._succeeds("psql", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-XAtqc",
                              "SELECT 1")

    def has_ended(self):
        """By itself too."""
        return not self._succeeds("pg_ctl", "status", "-D", self.data)

    def _succeeds(self, program, *arguments):
        return subprocess.run([*self.as_user, f"{self.bin}/{program}", *arguments], cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=120).returncode == 0

    def new_database(self):
        """The URL of an empty database, over TCP."""
        self.databases += 1
        name = f"test{self.databases}"
        self.sql("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name):
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def sql(self, database, statement):
        """Runs a statement with psql; rows as lines, columns separated by |."""
        return self._run("psql", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-d", database,
                         "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement)

    def close(self):
        if self.watcher.stdin:
            self.watcher.stdin.close()
        self.watcher.wait(timeout=60)


class Server:
    """The program under test. `key` is an instance administrator's, `email` and `password` as well."""

    READY = re.compile(r"ctrlplane is serving on (https?://\S+)")

    def __init__(self, database_url, extra_args=(), env=None, program=None):
        self.database_url = database_url
        self.program = program or BINARY
        self.extra_args = list(extra_args)
        self.key = f"{secrets.token_hex(8)}.{secrets.token_hex(32)}"
        self.email = "admin@localhost"
        self.password = PASSWORD
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("CTRLPLANE_")}
        self.env.update(CTRLPLANE_ADMIN_KEY=self.key, CTRLPLANE_ADMIN_PASSWORD=self.password)
        self.env.update(env or {})
        self.process = None
        self.url = None
        self._contract = None
        self.start()

    def start(self, listen="127.0.0.1:0"):
        self.stdout, self.stderr = [], []
        self._printed = threading.Condition()
        command = [self.program, "serve", "--listen", listen, "--database", self.database_url, *self.extra_args]
        self.process = subprocess.Popen(DIE_WITH_PARENT + command, env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        errors="replace")
        self._readers = [threading.Thread(target=self._collect, args=pair, daemon=True)
                         for pair in ((self.process.stdout, self.stdout), (self.process.stderr, self.stderr))]
        for reader in self._readers:
            reader.start()
        self.url = self._wait_for_url()

    def _collect(self, stream, lines):
        for line in stream:
            with self._printed:
                lines.append(line.rstrip("\n"))
                self._printed.notify_all()
        stream.close()
        with self._printed:
            self._printed.notify_all()

    def _wait_for_url(self, within=60.0):
        deadline = time.monotonic() + within
        with self._printed:
            while True:
                for line in self.stdout:
                    if match := self.READY.fullmatch(line):
                        return match.group(1)
                left = deadline - time.monotonic()
                assert left > 0, f"the server is not ready after {within} s:\n{self.output()}"
                if self.process.poll() is not None:
                    break
                self._printed.wait(min(left, 0.2))
        for reader in self._readers:  # what it said last may still be on its way
            reader.join(timeout=10)
        raise AssertionError(f"the server has ended:\n{self.output()}")

    def output(self):
        return "\n".join([*self.stdout, *self.stderr])

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    @property
    def contract(self):
        """What this server says about itself, read once."""
        if self._contract is None:
            answer = requests.get(f"{self.url}/api/openapi.json", timeout=30)
            assert answer.status_code == 200, answer.text
            self._contract = Contract(answer.json())
            DESCRIBED.update(operation.id for operation in self._contract.operations)
        return self._contract

    def client(self, key=None):
        return Client(self, key or self.key)

    def _ended(self, within):
        code = self.process.wait(timeout=within)
        for reader in self._readers:
            reader.join(timeout=10)
        return code

    def stop(self, within=40.0):
        """Asks the server to end; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._ended(within)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        return self._ended(10)

    def restart(self, kill=False, same_port=False):
        """Ends and starts the program on the same database. Without `same_port` its URL is another."""
        listen = f"127.0.0.1:{self.port}" if same_port else "127.0.0.1:0"
        if kill:
            self.kill()
        else:
            assert self.stop() == 0, self.output()
        self.start(listen)


def new_server(store, postgres, folder, extra_args=(), env=None):
    """A server on an empty database: store is "sqlite" or "postgresql"."""
    if store == "sqlite":
        return Server(f"sqlite:{folder}/{unique('ctrlplane')}.db", extra_args, env)
    return Server(postgres.new_database(), extra_args, env)


class Client:
    """Calls the API as the owner of a key, and holds every answer to the server's own description.

    Paths are relative to `base`. `status=` states what must be answered. `described=False` is for
    requests that are wrong on purpose and have no described operation.
    """

    def __init__(self, server, key, base="/api/v1"):
        self.server = server
        self.key = key
        self.base = base
        self.headers = {}  # sent with every request
        self._local = threading.local()

    @property
    def session(self):
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
            self._local.session.trust_env = False
        return self._local.session

    def at(self, base):
        """The same caller with another base path."""
        other = Client(self.server, self.key, base)
        other.headers = dict(self.headers)
        return other

    def with_key(self, key):
        return Client(self.server, key, self.base)

    @property
    def root(self):
        return self.at("")

    def workspace(self, id_or_slug):
        other = WorkspaceClient(self.server, self.key, f"/api/v1/workspaces/{id_or_slug}")
        other.headers = dict(self.headers)
        other.id = id_or_slug
        return other

    def request(self, method, path, status=None, described=True, headers=None, timeout=30, **more):
        sent = {**self.headers, **(headers or {})}
        if self.key and not {"x-api-key", "Authorization", "Cookie"} & set(sent):
            sent["x-api-key"] = self.key
        url = self.server.url + self.base + path
        answer = self.session.request(method, url, headers=sent, timeout=timeout, **more)
        self.server.contract.check(method, answer.request.path_url, answer, described)
        if status is not None:
            asked = f"{method} {self.base}{path}"
            assert answer.status_code == status, f"{asked}: {answer.status_code} {answer.text[:600]}"
        return answer

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, json=None, **more):
        return self.request("POST", path, json=json, **more)

    def put(self, path, json=None, **more):
        return self.request("PUT", path, json=json, **more)

    def patch(self, path, json=None, **more):
        return self.request("PATCH", path, json=json, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)

    def close(self):
        if hasattr(self._local, "session"):
            self._local.session.close()

    def new_workspace(self):
        """A client for a new, empty workspace."""
        slug = unique("ws")
        made = self.at("/api/v1").post("/workspaces", {"name": slug, "slug": slug}, status=201).json()
        client = self.workspace(made["id"])
        client.slug = slug
        return client

    def new_key(self, **narrowed):
        """A new key of this caller's user, e.g. role="viewer", workspaceId=…; the key's own text."""
        body = {"name": unique("key"), **narrowed}
        return self.at("/api/v1").post("/api-keys", body, status=201).json()["key"]


class WorkspaceClient(Client):
    """A client whose paths begin at a workspace, with short ways to make what most tests need."""

    id = None
    slug = None

    def with_key(self, key):
        other = WorkspaceClient(self.server, key, self.base)
        other.id, other.slug = self.id, self.slug
        return other

    def as_role(self, role):
        """The same workspace through a new key with this role."""
        return self.with_key(self.at("/api/v1").new_key(role=role, workspaceId=self.id))

    def make_system(self, name=None, **more):
        return self.post("/systems", {"name": name or unique("system"), **more}, status=202).json()["id"]

    def make_environment(self, name=None, selector="true", **more):
        body = {"name": name or unique("environment"), "resourceSelector": selector, **more}
        return self.post("/environments", body, status=202).json()["id"]

    def make_deployment(self, name=None, selector="true", **more):
        name = name or unique("deployment")
        body = {"name": name, "slug": name, "resourceSelector": selector, **more}
        return self.post("/deployments", body, status=202).json()["id"]

    def make_agent(self, name=None, type="http-pull", **more):
        agent = new_id()
        self.put(f"/job-agents/{agent}", {"name": name or unique("agent"), "type": type, **more}, status=202)
        return agent

    def make_resource(self, identifier=None, **more):
        """Returns the resource's id."""
        identifier = identifier or unique("resource")
        body = {"name": identifier, "kind": "Cluster", "version": "v1", **more}
        path = f"/resources/identifier/{requests.utils.quote(identifier, safe='')}"
        return self.put(path, body, status=202).json()["id"]

    def make_version(self, deployment, tag=None, status="ready", **more):
        body = {"tag": tag or unique("v"), "status": status, **more}
        return self.post(f"/deployments/{deployment}/versions", body, status=200).json()["id"]

    def link(self, system, deployments=(), environments=()):
        for deployment in deployments:
            self.put(f"/systems/{system}/deployments/{deployment}", status=202)
        for environment in environments:
            self.put(f"/systems/{system}/environments/{environment}", status=202)


class Cluster:
    """Servers that share a database and an administrator's key."""

    def __init__(self, postgres, count):
        self.database = postgres.new_database()
        self.servers = [Server(self.database)]
        while len(self.servers) < count:
            self.join()

    def join(self):
        first = self.servers[0]
        server = Server(self.database, env={"CTRLPLANE_ADMIN_KEY": first.key})
        server.key = first.key
        self.servers.append(server)
        return server

    def client(self, n):
        return self.servers[n].client()

    def replicas(self, n=0):
        return self.client(n).get("/replicas", status=200).json()

    def owners(self, n=0):
        """Workspace id → URL of its owner, as server n sees it."""
        return {w["id"]: r["address"] for r in self.replicas(n)["items"] for w in r["workspaces"]}

    def counts(self, n=0):
        return sorted(len(r["workspaces"]) for r in self.replicas(n)["items"])

    def everywhere(self, ws):
        """The same workspace through every server."""
        return [server.client().workspace(ws.id) for server in self.servers]

    def owner_of(self, ws):
        url = eventually(lambda: self.owners().get(ws.id), what="an owner")
        return next(s for s in self.servers if s.url == url)

    def another_than(self, server):
        return next(s for s in self.servers if s is not server and s.process.poll() is None)

    def close(self):
        for server in self.servers:
            server.kill()


class World:
    """A workspace with something to deploy: one system, staging and prod, one pull agent, three resources."""

    def __init__(self, ws):
        self.ws = ws
        self.agent = ws.make_agent("puller")
        self.system = ws.make_system("shop")
        self.staging = ws.make_environment("staging", 'resource.metadata["env"] == "staging"')
        self.prod = ws.make_environment("prod", 'resource.metadata["env"] == "prod"')
        self.deployment = ws.make_deployment(
            "checkout", 'resource.kind == "Cluster"', jobAgentSelector=f'jobAgent.id == "{self.agent}"',
            jobAgentConfig={"chart": "checkout"})
        ws.link(self.system, [self.deployment], [self.staging, self.prod])
        self.resources = {name: ws.make_resource(name, metadata={"env": env}, config={"zone": name[-1]})
                          for name, env in (("stage-a", "staging"), ("prod-a", "prod"), ("prod-b", "prod"))}

    def key(self, name):
        environment = self.staging if name.startswith("stage") else self.prod
        return f"{self.resources[name]}-{environment}-{self.deployment}"

    def publish(self, tag=None, **more):
        return self.ws.make_version(self.deployment, tag, **more)

    def queued(self):
        return self.ws.get(f"/job-agents/{self.agent}/jobs?status=queued", status=200).json()["items"]

    def wait_for_jobs(self, count):
        """The waiting jobs, once there are so many."""
        return eventually(lambda: (jobs := self.queued()) and len(jobs) == count and jobs,
                          what=f"{count} waiting jobs")

    def claim(self, instance="instance-1", **more):
        """A claimed job, or None."""
        answer = self.ws.post(f"/job-agents/{self.agent}/claim", {"instanceId": instance, **more})
        assert answer.status_code in (200, 204), answer.text
        return answer.json() if answer.status_code == 200 else None

    def report(self, job, status, code=202, **more):
        return self.ws.put(f"/jobs/{job}/status", {"status": status, **more}, status=code)

    def running_job(self, instance="instance-1"):
        """A job that is in progress on this instance, from a version made for it."""
        self.publish()
        job = eventually(lambda: self.claim(instance), what="a job to claim")
        self.report(job["id"], "inProgress", instanceId=instance)
        return job["id"]

    def finish_everything(self, status="successful", instance="finisher"):
        """Claims and ends jobs until nothing waits."""
        done = []
        while job := self.claim(instance):
            self.report(job["id"], status, instanceId=instance)
            done.append(job["id"])
        return done


def all_at_once(count, work):
    """Runs work(i) in so many threads that start together; the results in order."""
    barrier = threading.Barrier(count)
    results = [None] * count

    def run(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException as error:  # handed to the caller below
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def remove_folder(path):
    shutil.rmtree(path, ignore_errors=True)


def raw_request(server, method, target, headers=None, body=None):
    """One request whose target goes out byte for byte; returns (status, headers, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def refusal(answer, status, code=None):
    """The body of a refusal with this status."""
    assert answer.status_code == status, f"{answer.status_code} {answer.text[:600]}"
    body = answer.json()
    if code:
        assert body["code"] == code, body
    return body


def complaint_paths(answer):
    """The places a 400 complains about."""
    return [detail["path"] for detail in refusal(answer, 400).get("details", [])]
