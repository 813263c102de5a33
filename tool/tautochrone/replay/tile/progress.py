"""Runs simulators, each under a progress bar that shows its cycles per second.

Several may run at once, each from its own thread. Their bars are shown below each other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, Any, TypeVar

from tautochrone.console import terminal
from tautochrone.console.output import is_quiet, progress
from tautochrone.errors import TauError

SHOWN_AFTER_S = 1.0
SAID_BYTES_MAX = 4096
TICK_S = 0.1
Result = TypeVar("Result")

_lock = threading.Lock()
_running: set[subprocess.Popen[str]] = set()
_stopped = threading.Event()
_bars: list[Any] = []  # the only display, while it is in use
_users = 0


def run_watched(line: list[str], commands: int, label: str) -> tuple[int, str]:
    """Run a simulator with `commands` commands; return its exit code and the end of its output.

    On a terminal a bar shows the progress. An interrupt or the end of this process also ends the
    simulator. Raises TauError if simulators are stopped.
    """
    line = [*line, "--parent", str(os.getpid())]
    shows = sys.stderr.isatty() and not is_quiet()
    with tempfile.TemporaryFile() as said:
        with _lock:
            if _stopped.is_set():
                raise TauError(f"{label}: stopped before it started")
            process = subprocess.Popen(
                [*line, "--progress"] if shows else line,
                stdout=said,
                stderr=subprocess.PIPE if shows else said,
                stdin=subprocess.DEVNULL,
                text=True,
            )
            _running.add(process)
        try:
            if shows:
                _show(process, said, commands, label)
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            _running.discard(process)
        size = said.seek(0, 2)
        said.seek(max(size - SAID_BYTES_MAX, 0))
        return code, said.read().decode(errors="replace")


def run_whole(
    line: list[str], label: str, seconds_max: float
) -> subprocess.CompletedProcess[str]:
    """Run a simulator under a bar; return all that it printed. The end of this process ends it.

    Raises TauError after SECONDS_MAX.
    """
    line = [*line, "--parent", str(os.getpid())]
    started, printed = time.monotonic(), ("", "")

    def ticks(process: subprocess.Popen[str]) -> Iterator[None]:
        nonlocal printed
        while time.monotonic() - started < seconds_max:
            try:
                printed = process.communicate(timeout=TICK_S)
                return
            except subprocess.TimeoutExpired:
                yield
        raise TauError(f"{label} took more than {seconds_max:g} s")

    with subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
    ) as process:
        try:
            for _ in progress(ticks(process), label):
                pass
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(line, process.returncode, *printed)


def run_in_threads(run: Callable[[str], Result], names: Sequence[str]) -> list[Result]:
    """Call `run` for each name in as many threads as processors; `run` calls run_watched.

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


def _show(process: subprocess.Popen[str], said: IO[bytes], commands: int, label: str) -> None:
    """Advance a bar by the simulator's lines `progress CYCLES COMMANDS`; keep all other lines."""
    started = time.monotonic()
    assert process.stderr is not None
    with _display() as bars:
        bar = bars.add_task(label, total=commands, speed="", visible=False)
        for text in process.stderr:
            words = text.split()
            if len(words) != 3 or words[0] != "progress":
                said.write(text.encode())
                continue
            cycles, done = int(words[1]), int(words[2])
            passed = time.monotonic() - started
            if passed > SHOWN_AFTER_S:
                bars.start()
                speed = f"{cycles / passed / 1e6:.1f} M cycles/s"
                bars.update(bar, completed=done, speed=speed, visible=True)
        bars.update(bar, visible=False)
        said.flush()


@contextmanager
def _display() -> Iterator[Any]:
    """The display of all bars; its last user closes it."""
    global _users
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    with _lock:
        if not _bars:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.fields[speed]}"),
                TimeRemainingColumn(),
            )
            _bars.append(terminal.bars(*columns))
        _users += 1
    try:
        yield _bars[0]
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _bars.pop().stop()
