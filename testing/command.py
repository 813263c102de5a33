"""The command `tau`, as a user starts it, for tests.

Each call is a process of its own with its own streams, folder and environment. It does not pay for
the start of Python and 0.3 s of imports, since a server forks it: see command_server.py. Tests of
what happens before the command has started (signals, encodings, limits) start it themselves. All
calls of a server have one hash seed: a test that compares two calls makes one of them with
`tau_started`.
"""

import functools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from testing.command_server import REQUEST_BYTES_MAX

TIMEOUT_SECONDS = 300
SERVER = Path(__file__).parent / "command_server.py"


@functools.cache
def _server() -> socket.socket:
    """The connection to this process's server, which ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        subprocess.Popen(
            [sys.executable, SERVER, str(number)], stdin=subprocess.DEVNULL, pass_fds=[number]
        )
    return ours


def tau(
    *words: object,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    timeout: float = TIMEOUT_SECONDS,
    expect: int | None = None,
    address_bytes_max: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `tau WORDS…` and return what came of it.

    `env` is the whole environment, `stdin` a descriptor or subprocess.DEVNULL. If `expect` is
    given, the exit status must be that. A call that takes longer than `timeout` is killed, and one
    that needs a larger address space than `address_bytes_max` gets no more memory.
    """
    command = ["tau", *map(str, words)]
    request = json.dumps(
        {
            "words": command[1:],
            "cwd": os.path.abspath(cwd or "."),
            "env": dict(os.environ if env is None else env),
            "address_bytes_max": address_bytes_max,
        }
    ).encode()
    assert len(request) < REQUEST_BYTES_MAX
    server = _server()
    with (
        open(os.devnull, "rb") as null,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given = null.fileno() if stdin in (None, subprocess.DEVNULL) else stdin
        socket.send_fds(server, [request], [given, out.fileno(), err.fileno()])
        status = _status(server, command, timeout)
        out.seek(0)
        err.seek(0)
        said, complained = (each.read().decode(errors="replace") for each in (out, err))
    done = subprocess.CompletedProcess(command, status, said, complained)
    assert expect is None or status == expect, f"{command}\n{said}\n{complained}"
    return done


def tau_started(*words: object) -> subprocess.CompletedProcess[str]:
    """As tau, for a call that must succeed, but started for real, with a hash seed of its own.

    What depends on the order of a set is then likely to differ from a call of `tau`.
    """
    command = [sys.executable, "-m", "tautochrone", *map(str, words)]
    seed = str(random.randrange(1, 1 << 32))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"PYTHONHASHSEED={seed} {command}\n{done.stdout}\n{done.stderr}"
    return done


def _status(server: socket.socket, command: list[str], timeout: float) -> int:
    server.settimeout(TIMEOUT_SECONDS)
    child = int(server.recv(32))
    server.settimeout(timeout)
    try:
        return os.waitstatus_to_exitcode(int(server.recv(32)))
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        server.settimeout(None)
        server.recv(32)
        raise subprocess.TimeoutExpired(command, timeout) from None


# As tau, for calls that must succeed; `expect` may name another status.
tau_done = functools.partial(tau, expect=0)
