"""Runs a program of others, such as a compiler, with a limit of time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path


def run(
    command: Sequence[str], seconds_max: float, folder: Path | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program in `folder` (default: the current one) on the stdin `given`; return its
    output.

    Raises subprocess.TimeoutExpired after `seconds_max` of wall time. Then, and if this process is
    interrupted, the program and all processes that it started are killed: one of them may hold the
    pipes open, for which the caller would wait.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
        cwd=folder,
        start_new_session=True,
    ) as program:
        try:
            said, complained = program.communicate(given, timeout=seconds_max)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, program.returncode, said, complained)
