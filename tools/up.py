#!/usr/bin/env python3
"""A server on this machine with an example in it: what `./dev up` runs after the build.

Keeps its data in .ctrlplane/ beside this project, so that a second start goes on where the first ended.
Ends, with everything it started, on Ctrl-C.
"""

import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / ".ctrlplane"
EXAMPLE = ROOT / "examples" / "quickstart"
START_SECONDS = 60


def fail(message):
    print(f"dev up: {message}", file=sys.stderr)
    sys.exit(1)


def secret(name, make):
    """A secret of this data folder: made once, readable by its owner only."""
    file = DATA / name
    if not file.exists():
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as out:
            out.write(make() + "\n")
    return file.read_text(encoding="ascii").strip()


def free_port(wanted):
    """`wanted`, or a clear message: another server there would answer in our place."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            fail(f"port {wanted} is taken. Choose another: ./dev up --port {wanted + 1}")
    return wanted


def start_server(binary, port, environment):
    log = open(DATA / "server.log", "a", encoding="utf-8")
    server = subprocess.Popen(
        [binary, "serve", "--listen", f"127.0.0.1:{port}", "--database", f"sqlite:{DATA / 'ctrlplane.db'}"],
        env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
    for line in server.stdout:
        if line.startswith("ctrlplane is serving on "):
            return server, line.split()[-1]
    fail(f"the server did not start. Its log: {DATA / 'server.log'}\n"
         + "".join((DATA / "server.log").read_text(encoding="utf-8").splitlines(keepends=True)[-5:]))


def load_example(binary, environment):
    first = dict(environment)
    first.pop("CTRLPLANE_WORKSPACE", None)
    for files, env in (([EXAMPLE / "workspace.yaml"], first),
                       ([EXAMPLE / "shop.yaml", EXAMPLE / "clusters.yaml", EXAMPLE / "version.yaml"], environment)):
        command = [binary, "apply"] + [part for file in files for part in ("-f", str(file))]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"the example could not be loaded:\n{done.stdout}{done.stderr}")


def start_agent(binary, environment):
    log = open(DATA / "agent.log", "a", encoding="utf-8")
    return subprocess.Popen([binary, "agent", "--name", "local", "--concurrency", "2", "--poll-seconds", "0.5",
                             "--", str(EXAMPLE / "deploy.sh")],
                            env=environment, stdout=log, stderr=log, start_new_session=True)


def greet(binary, url, key):
    api = f"{url}/api/v1/workspaces/demo"
    print(f"""
ctrlplane is up.

  URL        {url}        (API reference: {url}/api/ui)
  API key    {key}
  workspace  demo, with the deployment `web` rolling out v1.0.0 to 4 clusters
  data, logs {DATA.relative_to(ROOT)}/

Try:

  curl -H 'x-api-key: {key}' {api}/release-targets

  curl -H 'x-api-key: {key}' '{api}/jobs?limit=3'

  curl -H 'x-api-key: {key}' -H 'content-type: application/json' \\
    {url}/api/v1/workspaces/demo/resources/search -d '{{"metadata": {{"env": "prod"}}}}'

or with the program itself:

  export CTRLPLANE_URL={url} CTRLPLANE_WORKSPACE=demo CTRLPLANE_API_KEY={key}
  {binary} version create web --tag v1.1.0 --wait
  {binary} targets

Ctrl-C stops the server and the agent.""", flush=True)


def stop(processes):
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 40
    for process in processes:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(prog="./dev up", description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--once", action="store_true", help="stop again after everything is up")
    args = parser.parse_args()
    binary = os.path.relpath(Path(args.binary).resolve())
    DATA.mkdir(exist_ok=True)
    key = secret("api-key", lambda: f"{secrets.token_hex(8)}.{secrets.token_hex(32)}")
    password = secret("admin-password", lambda: secrets.token_hex(12))
    port = free_port(args.port)
    url = f"http://127.0.0.1:{port}"
    environment = dict(os.environ, CTRLPLANE_ADMIN_KEY=key, CTRLPLANE_ADMIN_PASSWORD=password,
                       CTRLPLANE_URL=url, CTRLPLANE_API_KEY=key, CTRLPLANE_WORKSPACE="demo")
    processes = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server, url = start_server(binary, port, environment)
        processes.append(server)
        load_example(binary, environment)
        processes.insert(0, start_agent(binary, environment))
        greet(binary, url, key)
        while not args.once:
            for process in processes:
                if process.poll() is not None:
                    fail(f"{process.args[1]} ended with {process.returncode}; see the logs in {DATA}")
            time.sleep(0.5)
    except KeyboardInterrupt:
        print("\nstopping")
    finally:
        stop(processes)


if __name__ == "__main__":
    main()
