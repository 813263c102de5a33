"""Commands that simulate, interrupted, ended or robbed of their simulator.

Whatever happens to the one, the other does not stay behind, and nobody waits for what never comes.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tautochrone.tile.systems import simulator, tile_system
from testing.random_trace import FREE, MALLOC, write_events
from testing.tile import ROOT

SYSTEM = "tile:rtmmu"
SECONDS_MAX = 300
PROGRAMS = ROOT / "kernel/systems/tasks"
TASKS = """\
format = "tautochrone tasks"
version = 1
[[task]]
name = "walker"
period_cycles = 70000
program = "{program}"
arguments = [2, 3000, 2, 0, 20]
heap_bytes = 8192
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 4096
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording whose replay takes a minute."""
    events = [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)] * 150_000
    return write_events(tmp_path_factory.mktemp("long") / "t.tau", events)


def stat_of(process: str | int) -> list[str]:
    """What /proc says of it: its name, its state, its parent, ...; nothing if it is gone."""
    try:
        name, _, others = Path(f"/proc/{process}/stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [name.partition("(")[2], *others.split()]


def simulator_of(command: int) -> int | None:
    """The simulator that a command has started."""
    for entry in Path("/proc").iterdir():
        name, _, parent = (stat_of(entry.name) + [""] * 3)[:3] if entry.name.isdigit() else [""] * 3
        if (name, parent) == ("tau_sim", str(command)):
            return int(entry.name)
    return None


def is_running(process: int) -> bool:
    """Whether it is there, and not only waits to be buried."""
    return stat_of(process)[1:2] not in ([], ["Z"])


def tasks(folder: Path) -> list[str]:
    """A run of tasks on the tile that takes hours."""
    (folder / "tasks.toml").write_text(TASKS.format(program=PROGRAMS / "walker.c"))
    return ["tlb", "run", str(folder / "tasks.toml"), "--on", "16x4", "--cycles", "2000000000"]


def replay(trace: Path) -> list[str]:
    """A replay on the tile."""
    assert simulator(tile_system(SYSTEM))  # the command shall not build it
    return ["replay", str(trace), "--on", SYSTEM]


@contextmanager
def started(words: list[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, and the simulator that it has started; neither is left behind by the test."""
    line = [sys.executable, "-m", "tautochrone", *words]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as command:
        simulated: int | None = None
        try:
            deadline = time.monotonic() + SECONDS_MAX
            while simulated is None:
                assert command.poll() is None, command.communicate()
                assert time.monotonic() < deadline, "no simulator"
                time.sleep(0.05)
                simulated = simulator_of(command.pid)
            yield command, simulated
        finally:
            command.kill()
            if simulated is not None and is_running(simulated):
                os.kill(simulated, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("verb", ["replay", "tlb run"])
def test_no_simulator_is_left_behind(
    trace: Path, tmp_path: Path, verb: str, number: signal.Signals
) -> None:
    """Interrupted (Ctrl-C), ended, killed: the command alone gets the signal."""
    words = replay(trace) if verb == "replay" else tasks(tmp_path)
    with started(words) as (command, simulated):
        os.kill(command.pid, number)
        _, said = command.communicate(timeout=SECONDS_MAX)
        assert command.returncode not in (0, None)
        assert "Traceback" not in said
        deadline = time.monotonic() + SECONDS_MAX
        while is_running(simulated):
            assert time.monotonic() < deadline, "the simulator goes on"
            time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_compiler_is_left_behind(trace: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Ended while a simulator is built: else compilers would go on in the folder of the next build.
    No simulator is there that is not whole."""
    line = [sys.executable, "-m", "tautochrone", "replay", str(trace), "--on", SYSTEM]
    cache = tmp_path / "cache"
    env = {**os.environ, "TAU_TILE_CACHE": str(cache)}
    env["CCACHE_DISABLE"] = "1"  # else the build can be over before the signal
    with subprocess.Popen(line, env=env, stderr=subprocess.DEVNULL) as command:
        deadline = time.monotonic() + SECONDS_MAX
        # The compilers begin, some time after Verilator has ended.
        while not (list(cache.glob("*.building/*.mk")) and started_in(cache)):
            assert command.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(command.pid, number)
        assert command.wait(timeout=SECONDS_MAX) != 0
    deadline = time.monotonic() + SECONDS_MAX
    while started_in(cache):
        assert time.monotonic() < deadline, "compilers go on"
        time.sleep(0.05)
    assert not list(cache.rglob("tau_sim")), "compilers went on to the end"
    assert not list(cache.glob("*/tau_sim"))


def started_in(folder: Path) -> list[int]:
    """The processes that run in a folder, or below it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            there = entry.name.isdigit() and is_running(int(entry.name))
            if there and Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_simulator_that_dies(trace: Path) -> None:
    """The command says so at once."""
    with started(replay(trace)) as (command, simulated):
        os.kill(simulated, signal.SIGKILL)
        _, said = command.communicate(timeout=SECONDS_MAX)
        assert command.returncode == 1 and "Traceback" not in said
        assert SYSTEM in said and "signal 9" in said, said
