"""Ctrl-C while simulations are prepared: the command ends at once, and none starts any more.

Method: what prepares a simulation is replaced by what interrupts the command, as a terminal does,
and then goes on to run a program that would take long.
"""

import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tautochrone.errors import TauError
from tautochrone.replay import tile
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.run import entries_of
from tautochrone.replay.system import Options
from tautochrone.replay.systems.tile import Tile
from tautochrone.tile import systems as program
from tautochrone.tile.simulation import run_in_threads, watched
from testing.random_trace import random_trace

LONG_S = 120
LINE = ["sh", "-c", f"sleep {LONG_S}"]


@pytest.fixture
def trace(tmp_path: Path) -> OpenTrace:
    """A trace that is open; its events do not matter."""
    return OpenTrace(random_trace(tmp_path / "t.tau", 1, events=10))


def test_an_interrupt_before_the_simulator_starts(
    trace: OpenTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[BaseException | None] = []

    def prepare(*_: Any, **__: Any) -> tuple[dict[str, Any], None]:
        time.sleep(0.3)  # until the main thread waits
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.5)
        try:
            watched(LINE, "a replay", 1)
        except BaseException as error:
            ended.append(error)
            raise
        ended.append(None)
        return {}, None

    monkeypatch.setattr(Tile, "prepare", lambda _: None)
    monkeypatch.setattr(Tile, "run", prepare)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        entries_of(trace, ["tile:rtmmu"], Options())
    assert time.monotonic() - started < LONG_S / 2
    assert isinstance(ended[0], TauError) and "stopped" in ended[0].message


def test_an_interrupt_while_a_simulator_is_built(
    trace: OpenTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: Any, **__: Any) -> None:
        interrupt = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
        interrupt.start()
        subprocess.run(["sleep", str(LONG_S)], check=False)

    main = threading.main_thread().ident
    monkeypatch.setattr(program, "simulator", build)
    monkeypatch.setattr(tile, "simulator", build)
    monkeypatch.setattr(Tile, "run", lambda *_: tile.simulator(None))
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        entries_of(trace, ["tile:rtmmu"], Options())
    assert time.monotonic() - started < LONG_S / 2


def test_the_next_simulation_starts_again() -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(interrupted, ["one"])
    assert watched(["sh", "-c", "exit 3"], "a replay", 1).returncode == 3
