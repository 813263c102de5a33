"""A server from a package on its planned heap: redis-server under redis-benchmark.

A short load is recorded and planned; then servers with each allocator and one on the plan serve
the same number of requests in turn. The load rewrites a fixed set of keys, so that a short
recording has the peaks of a long run.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import commands
from bench.runtime.programs import Allocator

TAU = (*commands.TAU, "-q")
KEYS = 20_000
VALUE_BYTES = 64
RECORDED_REQUESTS = 150_000
MARGIN = "0.1"
WAIT_S = 20.0


def is_here() -> bool:
    """Whether the package is installed."""
    return shutil.which("redis-server") is not None and shutil.which("redis-benchmark") is not None


def free_port() -> int:
    """A port of the loopback interface that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def running(prefix: list[str], variables: dict[str, str], folder: Path) -> Iterator[int]:
    """Yield the port of a server that answers; it ends by itself at the end."""
    port = free_port()
    command = [*prefix, "redis-server", "--port", str(port), "--save", "", "--dir", str(folder)]
    environment = dict(os.environ) | variables
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + WAIT_S
        while subprocess.run(cli(port, "ping"), capture_output=True).returncode != 0:
            if time.monotonic() > deadline or server.poll() is not None:
                raise RuntimeError("redis-server does not answer")
            time.sleep(0.05)
        yield port
        subprocess.run(cli(port, "shutdown", "nosave"), capture_output=True)
        server.wait(WAIT_S)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def cli(port: int, *words: str) -> list[str]:
    """A command to the server."""
    return ["redis-cli", "-p", str(port), *words]


def load(port: int, requests: int) -> float:
    """Send this many requests, half of them set and half get; return requests per second."""
    command = ["redis-benchmark", "-p", str(port), "-n", str(requests // 2), "-r", str(KEYS)]
    command += ["-d", str(VALUE_BYTES), "-P", "16", "-t", "set,get", "--csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rates = [float(line.split(",")[1].strip('"')) for line in done.stdout.splitlines()[1:]]
    return len(rates) / sum(1 / rate for rate in rates)


def make_plan(folder: Path) -> Path:
    """Record a short load and plan the server's heap."""
    trace, plan = folder / "redis.tau", folder / "redis.toml"
    record = [*TAU, "record", "-o", str(trace), "--force", "--"]
    with running(record, {}, folder) as port:
        load(port, RECORDED_REQUESTS)
    words = ["plan", str(trace), "--layout", "host", "--margin", MARGIN, "--skip-misuse"]
    subprocess.run([*TAU, *words, "-o", str(plan), "--force"], check=True, capture_output=True)
    return plan


def measure(
    folder: Path, allocators: list[Allocator], requests: int, rounds: int
) -> dict[str, Any]:
    """Requests per second, the best of the rounds, and what the plan did. Peers take one round."""
    plan, result = make_plan(folder), folder / "redis.json"
    on_plan = [*TAU, "run", "--plan", str(plan), "--json", str(result), "--force", "--"]
    best: dict[str, float] = {}
    for turn in range(rounds):
        for one in allocators[: None if turn == 0 else 1]:
            with running([], one.variables, folder) as port:
                best[one.name] = max(best.get(one.name, 0), load(port, requests))
        with running(on_plan, {}, folder) as port:
            best["planned"] = max(best.get("planned", 0), load(port, requests))
    document = json.loads(result.read_text())
    kept = ("calls", "threads", "spilled_objects", "spilled_bytes", "refusals", "exit_status")
    return {
        "requests": requests,
        "requests_per_second": best,
        "planned_to_glibc": best["planned"] / best["glibc"],
        "planned": {name: document[name] for name in kept},
    }
