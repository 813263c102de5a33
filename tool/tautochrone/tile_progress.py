"""Runs a simulator under a progress bar that shows how many cycles a second it makes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tautochrone.output import is_quiet

SHOWN_AFTER_S = 1.0
SAID_BYTES_MAX = 4096


def run_watched(line: list[str], commands: int, label: str) -> tuple[int, str]:
    """Run a simulator that takes `commands` commands; its exit code and the end of what it said.

    On a terminal a bar shows how far it is. An interrupt ends the simulator too.
    """
    shows = sys.stderr.isatty() and not is_quiet()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*line, "--progress"] if shows else line,
            stdout=said,
            stderr=subprocess.PIPE if shows else said,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        try:
            if shows:
                _show(process, said, commands, label)
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        size = said.seek(0, 2)
        said.seek(max(size - SAID_BYTES_MAX, 0))
        return code, said.read().decode(errors="replace")


def _show(process: subprocess.Popen[str], said: Any, commands: int, label: str) -> None:
    """Move a bar on by the simulator's lines `progress CYCLES COMMANDS`; keep all others."""
    started = time.monotonic()
    assert process.stderr is not None
    with _bar(label, commands) as bar:
        for text in process.stderr:
            words = text.split()
            if len(words) != 3 or words[0] != "progress":
                said.write(text.encode())
                continue
            cycles, done = int(words[1]), int(words[2])
            passed = time.monotonic() - started
            if passed > SHOWN_AFTER_S:
                bar.start()
                speed = f"{cycles / passed / 1e6:.1f} M cycles/s"
                bar.update(bar.task_ids[0], completed=done, speed=speed)
        said.flush()


@contextmanager
def _bar(label: str, total: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(label, total=total, speed="")
    try:
        yield bar
    finally:
        bar.stop()
