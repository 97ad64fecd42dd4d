"""The processes of a run: PostgreSQL, replicas, agents, and the proxies between them.

    client ─▶ replica ─▶ proxy ─▶ PostgreSQL
    replica ─▶ proxy ─▶ another replica
    agent ─▶ proxy ─▶ any replica

Processes are started from the main thread only: they end with the thread that started them.
"""

import os
import secrets
import signal
import subprocess
import time
from pathlib import Path

import requests

from disk import small_disk
from harness import BINARY, DIE_WITH_PARENT, PASSWORD, Postgres, free_port
from proxy import Proxy

DISK_MEGABYTES = 512  # and more for a longer run, see Cluster
SMALL_LOG = "min_wal_size = 32MB\nmax_wal_size = 64MB\n"  # or it fills the disk before anybody does

# Every change of a workspace's owner row is written down by PostgreSQL itself, in the same transaction: who
# acquired, who committed which seq. While the switch is on, commits are refused with a full disk's error.
HISTORY = """
CREATE SCHEMA faults;
CREATE TABLE faults.switch (refuse boolean NOT NULL);
INSERT INTO faults.switch VALUES (false);
CREATE TABLE faults.history (n bigserial PRIMARY KEY, workspace uuid, epoch bigint, seq bigint, token uuid,
                             replica uuid, process text, at timestamptz);
CREATE FUNCTION faults.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.seq <> OLD.seq AND (SELECT refuse FROM faults.switch) THEN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
  END IF;
  INSERT INTO faults.history (workspace, epoch, seq, token, replica, process, at)
  VALUES (NEW.workspace_id, NEW.epoch, NEW.seq, NEW.token, NEW.replica, current_setting('application_name'),
          clock_timestamp());
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON workspace_owner FOR EACH ROW EXECUTE FUNCTION faults.note();
INSERT INTO faults.history (workspace, epoch, seq, token, replica, process, at)
SELECT workspace_id, epoch, seq, token, replica, '', clock_timestamp() FROM workspace_owner;
"""


class Process:
    """A program that may be killed, stopped and started again; its output goes to a file."""

    def __init__(self, name, log_folder):
        self.name = name
        self.log = Path(log_folder, f"{name}.log")
        self.process = None
        self.starts = 0
        self.wanted = False  # it should be running; if it is not, it has ended by itself

    def launch(self, command, env):
        self.starts += 1
        with open(self.log, "ab") as log:
            log.write(f"---- start {self.starts} at {time.time():.3f}\n".encode())
            log.flush()
            self.process = subprocess.Popen(DIE_WITH_PARENT + command, env=env, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        self.wanted = True

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.running():
            self.process.send_signal(number)

    def kill(self):
        self.wanted = False
        self.signal(signal.SIGKILL)
        self.process.wait(10)

    def ask_to_end(self):
        self.wanted = False
        self.signal(signal.SIGTERM)

    def tail(self, lines=15):
        text = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"    {self.name}: {line}" for line in text[-lines:])


def plain_environment(**more):
    own = {name: value for name, value in os.environ.items() if not name.startswith("CTRLPLANE_")}
    return {**own, **more}


class ReplicaProcess(Process):
    def __init__(self, cluster, number):
        super().__init__(f"replica-{number}", cluster.folder)
        self.cluster = cluster
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = Proxy(cluster.proxies, [cluster.postgres.port], f"{self.name} ─ PostgreSQL")
        self.door = Proxy(cluster.proxies, [self.port], f"others ─ {self.name}")
        self.was_ready = False

    def start(self):
        """Does not wait until it is ready."""
        self.was_ready = False
        process = f"{self.name}.{self.starts + 1}"
        url = (f"postgresql://postgres@127.0.0.1:{self.database.port}/{self.cluster.database}"
               f"?application_name={process}")
        command = [BINARY, "serve", "--listen", f"127.0.0.1:{self.port}", "--database", url]
        if self.cluster.count > 1:
            command += ["--advertise", f"http://127.0.0.1:{self.door.port}"]
        self.launch(command, plain_environment(CTRLPLANE_ADMIN_KEY=self.cluster.key,
                                               CTRLPLANE_ADMIN_PASSWORD=PASSWORD))

    def ready(self, timeout=0.5):
        try:
            if requests.get(f"{self.url}/api/readyz", timeout=timeout).status_code != 200:
                return False
        except requests.RequestException:
            return False
        self.was_ready = True
        return True

    def metrics(self, timeout=2):
        """The text, or nothing if it does not answer."""
        try:
            return requests.get(f"{self.url}/metrics", timeout=timeout).text
        except requests.RequestException:
            return ""


# One line per write and the file opened for appending: lines of several processes do not mix.
COMMAND = ('echo "start $CTRLPLANE_JOB_ID $CTRLPLANE_RESOURCE_IDENTIFIER $CTRLPLANE_VERSION_TAG $AGENT '
           '$(date +%s.%N)" >>"$RECORD"; sleep "$(($$ % 2)).$(($$ % 7))"; '
           'echo "end $CTRLPLANE_JOB_ID $CTRLPLANE_RESOURCE_IDENTIFIER $CTRLPLANE_VERSION_TAG $AGENT '
           '$(date +%s.%N)" >>"$RECORD"')


class AgentProcess(Process):
    def __init__(self, cluster, workspace, key, number, record):
        super().__init__(f"agent-{workspace}-{number}", cluster.folder)
        self.cluster, self.workspace, self.key, self.record = cluster, workspace, key, record

    def start(self):
        env = plain_environment(CTRLPLANE_API_KEY=self.key, RECORD=str(self.record),
                                AGENT=f"{self.name}.{self.starts + 1}")
        self.launch([BINARY, "agent", "--url", f"http://127.0.0.1:{self.cluster.agents_door.port}",
                     "--workspace", self.workspace, "--name", "puller", "--concurrency", "3",
                     "--poll-seconds", "0.2", "--", "sh", "-c", COMMAND], env)


class Cluster:
    """PostgreSQL and `count` replicas, started and ready; agents are added.

    PostgreSQL is on a disk of its own that can be filled, where one can be had: else `disk` is None.
    """

    def __init__(self, proxies, folder, count, minutes, chance):
        self.proxies, self.folder, self.count = proxies, folder, count
        self.key = f"{secrets.token_hex(8)}.{secrets.token_hex(32)}"
        os.chmod(folder, 0o711)  # PostgreSQL is another user
        self.disk = small_disk(f"{folder}/disk", int(DISK_MEGABYTES + 64 * minutes))
        self.postgres = Postgres(under=self.disk and self.disk.folder, settings=SMALL_LOG)
        self.database = self.postgres.new_database().rsplit("/", 1)[1]
        self.replicas = [ReplicaProcess(self, number + 1) for number in range(count)]
        self.agents_door = Proxy(proxies, [r.port for r in self.replicas], "agents ─ replicas", chance)
        self.record = Path(folder, "jobs.record")
        self.record.touch()
        self.agents = []

    def start(self):
        for n, replica in enumerate(self.replicas):
            replica.start()
            self.wait_ready(replica)
            if n == 0:
                self.sql(HISTORY)

    def wait_ready(self, replica, within=90):
        deadline = time.monotonic() + within
        while not replica.ready():
            assert replica.running() and time.monotonic() < deadline, f"no start:\n{replica.tail()}"

    def add_agent(self, workspace, key):
        agent = AgentProcess(self, workspace, key, len(self.agents) + 1, self.record)
        self.agents.append(agent)
        agent.start()

    def sql(self, statement):
        return self.postgres.sql(self.database, statement)

    def refuse_commits(self, refuse):
        self.sql(f"UPDATE faults.switch SET refuse = {str(refuse).lower()}")

    def allow_commits(self, within=90):
        """Also of a PostgreSQL that may be about to crash, or recovers."""
        deadline = time.monotonic() + within
        while True:
            try:
                assert self.postgres_is_back(), "PostgreSQL does not come back"
                return self.refuse_commits(False)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise

    def postgres_is_back(self):
        """Starts it if it has ended, as it does when it cannot recover."""
        if self.postgres.has_ended():
            self.postgres.start()
        return self.postgres.answers()

    @property
    def links(self):
        """Every proxy, by what it connects."""
        return [r.database for r in self.replicas] + [r.door for r in self.replicas] + [self.agents_door]

    def make_healthy(self):
        """Everything that may be stopped or away goes on or comes back; waits for PostgreSQL only."""
        for link in self.links:
            link.resume()
        if self.disk:
            self.disk.clear()
        self.allow_commits()
        for process in [*self.replicas, *self.agents]:
            process.signal(signal.SIGCONT)
            if not process.running():
                process.start()

    def stop_agents(self):
        for agent in self.agents:
            agent.ask_to_end()
        for agent in self.agents:
            try:
                agent.process.wait(20)
            except subprocess.TimeoutExpired:
                agent.kill()

    def close(self):
        for process in [*self.agents, *self.replicas]:
            if process.process:
                process.kill()
        for link in self.links:
            link.close()
        self.postgres.close()
        if self.disk:
            self.disk.close()
