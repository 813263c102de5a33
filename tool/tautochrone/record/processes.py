"""Reads from /proc which processes live."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# A recording's start is a moment after its process's, and the two clocks are not read at once.
START_SLACK_S = 1.0


@dataclass(frozen=True)
class Process:
    """A process that is not a zombie."""

    pid: int
    parent_pid: int
    name: str
    started_unix_s: float

    def __str__(self) -> str:
        """Return the process as text."""
        return f"{self.name} (pid {self.pid})"


def find(pid: int) -> Process | None:
    """Return the process, or None if it is gone or a zombie."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
        # The name is in parentheses and may hold any character; the fields after it are numbers.
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :]
        fields = rest.split()
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
        if fields[0] not in "ZX":
            return Process(pid, int(fields[1]), name, time.time() - age_s)
    return None


def descendants(pid: int) -> list[Process]:
    """Return all live descendants of `pid`, by pid, in one pass over /proc."""
    alive = [find(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdecimal()]
    below = {pid}
    found: list[Process] = []
    rest = sorted((one for one in alive if one is not None), key=lambda one: one.pid)
    while new := [one for one in rest if one.parent_pid in below and one.pid not in below]:
        below |= {one.pid for one in new}
        found += new
    return sorted(found, key=lambda one: one.pid)


def runs(pid: int, program: str, started_unix_s: float, emulator: str = "") -> bool:
    """Whether the process that was `pid` at that time lives and still runs this program.

    With `emulator`, the name of the program that runs it, the system sees that one instead.
    """
    process = find(pid)
    if process is None or process.started_unix_s > started_unix_s + START_SLACK_S:
        return False
    try:
        path = os.readlink(PROC / str(pid) / "exe")
        return path == program if not emulator else os.path.basename(path) == emulator
    except OSError:
        return True  # Not readable for us.


def seccomp_filters(pid: int | str = "self") -> int:
    """Return the number of seccomp filters on a process, or its mode on older kernels."""
    with contextlib.suppress(OSError):
        lines = (PROC / str(pid) / "status").read_text().splitlines()
        told = dict(line.split(":", 1) for line in lines if ":" in line)
        return int(told.get("Seccomp_filters", told.get("Seccomp", "0")))
    return 0


def names_text(names: list[str], shown_max: int = 8) -> str:
    """Return a list as text; names beyond `shown_max` are only counted."""
    more = f" and {len(names) - shown_max} more" if len(names) > shown_max else ""
    return ", ".join(names[:shown_max]) + more
