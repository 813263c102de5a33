"""Starts, watches and stops simulators of the tile.

Every simulation has a limit of cycles, and a limit of time that follows from it. On a terminal a
bar shows how far it is. Several may run at once, each from its own thread. Their bars are shown
below each other. A simulator ends with this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from tautochrone.console.bars import Bar
from tautochrone.console.output import is_quiet
from tautochrone.errors import TauError
from tautochrone.tile.records import LAYOUT, Record, columns_of, records_of

if TYPE_CHECKING:
    import numpy as np

SAID_BYTES_MAX = 1 << 24
COMMAND_BYTES = 16
START_SECONDS_MAX = 60
CYCLES_PER_SECOND_MIN = 10_000  # a simulator on a slow, busy machine
Result = TypeVar("Result")

_lock = threading.Lock()
_running: set[subprocess.Popen[str]] = set()
_stopped = threading.Event()


@dataclass(frozen=True)
class Simulation:
    """A finished simulation: exit code, output, summary, each tile's results."""

    code: int
    console: str
    messages: str
    summary: dict[str, Any]
    results: tuple[bytes, ...]
    audits: tuple[bytes, ...] = ()

    @property
    def tile(self) -> dict[str, Any]:
        """The exit code and the counters of the first tile."""
        return dict(self.summary["tiles"][0])

    def records(self, tile: int = 0) -> list[Record]:
        """The records of a tile."""
        return records_of(self.results[tile])

    def columns(self, tile: int = 0) -> np.ndarray:
        """The same as an array with the fields of Record."""
        return columns_of(self.results[tile])


def simulate(
    simulator: Path,
    words: Sequence[object],
    cycles_max: int,
    commands: bytes | None = None,
    tiles: int = 1,
    label: str = "the simulation",
    has_audit: bool = False,
) -> Simulation:
    """Run a simulator with WORDS on its command line: `--program`, a path, and other options.

    The first tile gets the commands. Results are empty, and so is the summary, if the simulator
    did not come to write them. HAS_AUDIT: with what applications reach (hw/tile/doc/audit.md).
    Raises TauError if it cannot be started, or takes too long.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        summary = folder / "summary.json"
        results = [folder / f"results-{number}.bin" for number in range(tiles)]
        line = [str(simulator), *map(str, words), "--cycles-max", str(cycles_max)]
        line += ["--summary", str(summary), "--tiles", str(tiles)]
        for path in results:
            line += ["--results", str(path)]
        audits = [folder / f"audit-{number}.bin" for number in range(tiles if has_audit else 0)]
        for path in audits:
            line += ["--audit", str(path)]
        if commands is not None:
            given = folder / "commands.bin"
            given.write_bytes(commands)
            line += ["--commands", str(given)]
        commands_count = None if commands is None else len(commands) // COMMAND_BYTES
        done = watched(line, label, cycles_max, commands_count)
        return Simulation(
            done.returncode,
            done.stdout,
            done.stderr,
            json.loads(summary.read_text("utf-8")) if summary.exists() else {},
            *(tuple(map(_bytes_of, paths)) for paths in (results, audits)),
        )


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


class Conversation:
    """A simulation that answers commands as they come. The caller closes it, or uses `with`."""

    def __init__(self, simulator: Path, program: Path) -> None:
        line = [str(simulator), "--program", str(program), "--parent", str(os.getpid())]
        line += ["--commands", "-", "--results", "-", "--cycles-max", str(1 << 40)]
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation."""
        self._process.kill()
        self._process.communicate()

    def send(self, commands: bytes) -> None:
        """Give it commands. Raises TauError if it has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(commands)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise TauError("the tile stopped") from error

    def answer(self) -> Record:
        """Its next record. Raises TauError if it has ended."""
        assert self._process.stdout is not None
        content = self._process.stdout.read(LAYOUT.size)
        if len(content) < LAYOUT.size:
            raise TauError("the tile stopped", "run `tau doctor` to see what is missing")
        return records_of(content)[0]


def watched(
    line: Sequence[str], label: str, cycles_max: int, commands: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a simulator; return its exit code and all that it printed.

    The bar counts commands if there are any, else cycles. An interrupt or the end of this process
    also ends the simulator. Raises TauError if it cannot be started, takes much longer than so many
    cycles should, or if simulators are stopped.
    """
    seconds_max = START_SECONDS_MAX + cycles_max // CYCLES_PER_SECOND_MIN
    line = [*line, "--parent", str(os.getpid())]
    shows = sys.stderr.isatty() and not is_quiet()
    with tempfile.TemporaryFile() as console, tempfile.TemporaryFile() as messages:
        process = _start(
            [*line, "--progress"] if shows else line,
            label,
            console,
            subprocess.PIPE if shows else messages,
        )
        clock = threading.Timer(min(seconds_max, threading.TIMEOUT_MAX), process.kill)
        clock.daemon = True
        started = time.monotonic()  # not after the clock, which would seem to have run for less
        clock.start()
        try:
            if shows:
                _show(process, messages, label, cycles_max, commands)
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            clock.cancel()
            _running.discard(process)
        if code < 0 and time.monotonic() - started >= seconds_max:
            raise TauError(f"{label} took more than {seconds_max} s")
        return subprocess.CompletedProcess(line, code, _text_of(console), _text_of(messages))


def _start(
    line: Sequence[str], label: str, console: IO[bytes], messages: IO[bytes] | int
) -> subprocess.Popen[str]:
    with _lock:
        if _stopped.is_set():
            raise TauError(f"{label}: stopped before it started")
        try:
            process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=messages,
                text=True,
                errors="backslashreplace",
            )
        except OSError as error:
            raise TauError(
                f"{label}: the simulator cannot be started: {error.strerror}", damaged(line[0])
            ) from error
        _running.add(process)
    return process


def damaged(simulator: str | Path) -> str:
    """What to do about a simulator that does not run."""
    folder = Path(simulator).parent
    return f"it may be damaged: remove {folder}, and the next run builds it again"


def _text_of(file: IO[bytes]) -> str:
    """The end of the output."""
    size = file.seek(0, 2)
    file.seek(max(size - SAID_BYTES_MAX, 0))
    return file.read().decode(errors="backslashreplace")


def run_in_threads(run: Callable[[str], Result], names: Sequence[str]) -> list[Result]:
    """Call `run` for each name in as many threads as processors; `run` simulates.

    An exception, here or in a thread, ends every running simulator and prevents others from
    starting. Afterward simulators can start again. Calls must not be nested.
    """
    try:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            try:
                return list(pool.map(run, names))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                with _lock:
                    _stopped.set()
                    for process in list(_running):
                        process.kill()
                raise
    finally:
        _stopped.clear()


def _show(
    process: subprocess.Popen[str],
    messages: IO[bytes],
    label: str,
    cycles_max: int,
    commands: int | None,
) -> None:
    """Advance a bar by the simulator's lines `progress CYCLES COMMANDS`; keep all other lines."""
    started = time.monotonic()
    assert process.stderr is not None
    with Bar(label) as bar:
        for text in process.stderr:
            words = text.split()
            if len(words) != 3 or words[0] != "progress":
                messages.write(text.encode())
                continue
            cycles, done = int(words[1]), int(words[2])
            speed = f"{cycles / (time.monotonic() - started) / 1e6:.1f} M cycles/s"
            bar.told(done if commands else cycles, commands or cycles_max, speed)
        messages.flush()
