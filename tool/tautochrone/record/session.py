"""The variable that tells a preloaded library what to do: linux/interpose/session.h reads it.

A program that copies its environment needs as much heap under `tau run` as under `tau record` only
if both add as many variables, of the same lengths. So both add LD_PRELOAD and this one, and fill
them.
"""

from pathlib import Path

from tautochrone.native import RUN_LIBRARY

VARIABLE = "TAU_PRELOAD"
RECORDER = "libtau_record.so"
# A longer value takes the next multiple. Of one user's two commands both are usually shorter.
VALUE_BYTES = 256
KEEP_DEEP_BIND = 1  # a flag


def recorder_value(
    folder: Path, pid: int, rate: int, filters: int, flags: int, frames: int = 0
) -> str:
    """The value for the recorder, with the recordings' folder; `pid` 0: it records all processes.

    `rate` is the time-stamp counter's; `filters` are the seccomp filters of `tau record`. Stacks
    have up to `frames`; 0: sites are single addresses.
    """
    return _filled(recorder_words(str(folder), pid, rate, filters, flags, frames))


def recorder_words(
    folder: str, pid: int, rate: int, filters: int, flags: int, frames: int = 0
) -> str:
    """The same without the slashes at its end."""
    return f"record {pid} {rate} {filters} {flags} {frames} {folder}"


def run_value(pid: int | str, file: tuple[int, int, int], folder: str) -> str:
    """The value for the allocator of the process `pid`. `file` is the file shared with
    `tau run`: its descriptor, its inode and the bytes of its report; `folder` has it by its
    descriptor, too.
    """
    return _filled(" ".join(["run", str(pid), *map(str, file), folder]))


def _filled(value: str) -> str:
    """Fill a value with slashes: it ends with the path of a folder."""
    return value + "/" * (-len(value.encode()) % VALUE_BYTES)


def library_path(library: Path) -> str:
    """The path of one of the two libraries, as long as the other one's."""
    longest = max(len(RECORDER), len(RUN_LIBRARY))
    return f"{library.parent}/{'/' * (longest - len(library.name))}{library.name}"
