"""kill -9 of the server under load with agents running: every acknowledged write is there, no job ran twice.

CTRLPLANE_CRASHES says how often; a few times if it is not set.
"""

import os
import random
import subprocess
import threading

from harness import BINARY, World, eventually

CRASHES = int(os.environ.get("CTRLPLANE_CRASHES", "3"))


class Writers:
    """Threads that write and remember what was acknowledged."""

    def __init__(self, ws, deployment):
        self.ws, self.deployment = ws, deployment
        self.acknowledged = {"resources": set(), "versions": set()}
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(n,), daemon=True) for n in range(4)]
        for thread in self.threads:
            thread.start()

    def write(self, writer):
        client = self.ws.with_key(self.ws.server.key)
        for n in range(1_000_000):
            if self.stopping.is_set():
                return
            name = f"w{writer}-{n}"
            try:
                if n % 5 == 0:
                    path, body = f"/deployments/{self.deployment}/versions", {"tag": name}
                    answer = client.post(path, body, headers={"Idempotency-Key": name})
                    if answer.status_code == 200:
                        self.acknowledged["versions"].add(name)
                else:
                    body = {"name": name, "kind": "Cluster", "version": "v1", "metadata": {"env": "none"}}
                    if client.put(f"/resources/identifier/{name}", body).status_code == 202:
                        self.acknowledged["resources"].add(name)
            except OSError:  # the server is away
                self.stopping.wait(0.02)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)


def agents(server, ws, log):
    command = ["sh", "-c", 'echo "$CTRLPLANE_JOB_ID" >> "$LOG"']
    env = {**server.env, "LOG": str(log), "CTRLPLANE_URL": server.url, "CTRLPLANE_API_KEY": server.key,
           "CTRLPLANE_WORKSPACE": ws.slug}
    return [subprocess.Popen([BINARY, "agent", "--name", "puller", "--concurrency", "4", "--poll-seconds",
                              "0.05", "--", *command], env=env, stderr=subprocess.DEVNULL) for _ in range(2)]


def test_nothing_acknowledged_is_lost_and_no_job_runs_twice(own_server, tmp_path):
    server, chance = own_server, random.Random(7)
    world = World(server.client().new_workspace())
    log = tmp_path / "ran"
    log.touch()
    running = agents(server, world.ws, log)
    writers = Writers(world.ws, world.deployment)
    try:
        for _ in range(CRASHES):
            enough = sum(map(len, writers.acknowledged.values())) + chance.randrange(20, 120)
            eventually(lambda: sum(map(len, writers.acknowledged.values())) >= enough, within=60)
            server.restart(kill=True, same_port=True)
        writers.stop()
        check(world.ws, world.deployment, writers.acknowledged, log)
    finally:
        writers.stop()
        for agent in running:
            agent.terminate()
        for agent in running:
            agent.wait(60)


def check(ws, deployment, acknowledged, log):
    def all_of(path, member):
        found, offset = set(), 0
        while True:
            page = ws.get(f"{path}{'&' if '?' in path else '?'}limit=1000&offset={offset}", status=200).json()
            found |= {item[member] for item in page["items"]}
            offset += 1000
            if offset >= page["total"]:
                return found

    assert acknowledged["resources"] <= all_of("/resources", "identifier")
    assert acknowledged["versions"] <= all_of(f"/deployments/{deployment}/versions", "tag")
    eventually(lambda: ws.get("/jobs?status=inProgress").json()["total"] == 0, within=60, what="the last jobs' end")
    ran = log.read_text().split()
    assert len(ran) == len(set(ran)), "a job ran twice"
    assert ran, "no job ran"
    ended = {item["job"]["id"] for item in ws.get("/jobs?status=successful&limit=1000", status=200).json()["items"]}
    assert ended <= set(ran), "a job is successful that did not run"
