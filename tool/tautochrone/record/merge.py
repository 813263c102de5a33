"""Converts raw recordings and target streams to traces, through tool/native/record/merge*.c.

The preloaded recorder leaves a raw recording (facts/recording.h). A firmware sends a target stream
(core/ports/record_wrap.c).
"""

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tautochrone import native
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.record.raw_header import RawHeader
from tautochrone.trace import abi
from tautochrone.trace.ending import (
    ENDED_BY_EXIT,
    ENDED_BY_FLUSH,
    ENDED_WITHOUT_MARK,
    RECORDER_TARGET,
)

RAW_MAGIC = b"TAURAW\r\n"
RAW_SUFFIX = ".tauraw"

STATUS_INPUT, STATUS_NOT_A_RECORDING, STATUS_NEWER, STATUS_NO_MEMORY, STATUS_STOPPED = 1, 2, 3, 4, 5
STATUS_OLDER, STATUS_SEVERAL_MACHINES = 6, 7
STATUS_TRACE = 16
TRACE_DISK_FULL = 6
# Counts of missing events: the header's `lost` [TRACE-47].
# The header's `ended` for the mark at a target's stream's end: tau_record_control, or 0.
ENDED_BY_MARK = {0: ENDED_WITHOUT_MARK, 4: ENDED_BY_FLUSH, 5: ENDED_BY_EXIT}
LOSSES = ("damaged_chunks", "lost_blocks", "dropped_rows")

Progress = Callable[[int, int], None]


class DiskFull(TauError):
    """The trace does not fit on its disk. The recording is unchanged."""


def is_raw(path: Path | str) -> bool:
    """Whether the file starts like a raw recording."""
    with open(path, "rb") as file:
        return file.read(len(RAW_MAGIC)) == RAW_MAGIC


def is_target(path: Path | str) -> bool:
    """Whether the file's first MiB has an intact block of a target's stream."""
    block = native.struct("tau_merge_target_block")()
    return native.library().tau_merge_target_start(os.fsencode(path), block) == 0


def read_raw_header(path: Path | str) -> RawHeader:
    """Read a raw recording's header. Raises TauError if the file is not one of this version."""
    page = native.struct("tau_raw_header")()
    status = native.library().tau_merge_header(os.fsencode(path), page)
    if status != 0:
        raise _error_of(status, ctypes.get_errno(), path, path)
    return RawHeader(page)


def merge_raw(
    raw: Path | str,
    out: Path | str,
    extra: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Struct:
    """Merge one raw recording to the trace `out`, which is replaced.

    `extra` is added to the trace's header. `progress` is called with the bytes that are read and
    their total. Raises TauError. From a damaged recording, all readable events are kept.
    """
    header = read_raw_header(raw).trace_header() | (extra or {})
    return _merge("tau_merge_recording", raw, out, header, progress)


def detach(raw: Path | str) -> None:
    """End the recording of a process that still runs.

    Later events are not part of it. A recording that has already stopped is left alone. Raises
    TauError.
    """
    status = native.library().tau_merge_detach(os.fsencode(raw))
    if status != 0:
        raise _error_of(status, ctypes.get_errno(), raw, raw)


def merge_target(
    stream: Path | str,
    out: Path | str,
    extra: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Struct:
    """Merge a target's stream to the trace `out`, which is replaced. Otherwise as merge_raw."""
    block = native.struct("tau_merge_target_block")()
    status = native.library().tau_merge_target_start(os.fsencode(stream), block)
    if status != 0:
        raise _error_of(status, ctypes.get_errno(), stream, out)
    header = {
        "recorder": RECORDER_TARGET,
        "program": Path(stream).stem,
        "parent": None,
        "ended": ENDED_BY_EXIT,
        "abi": abi.NAME_OF_NUMBER.get(block.abi, ""),
        "ticks_per_second": block.ticks_per_second,
    }
    if block.image:
        header["image"] = f"{block.image:08x}"
    if block.ticks_per_second == 0:
        header["clock"] = trace_format.CLOCK_EVENTS
    return _merge("tau_merge_target_stream", stream, out, header | (extra or {}), progress)


def ticks_per_second() -> int:
    """Measure the frequency of the time-stamp counter for 20 ms; 0 if there is none."""
    return int(native.library().tau_merge_ticks_per_second())


def _merge(
    function_name: str,
    source: Path | str,
    out: Path | str,
    header: dict[str, Any],
    progress: Progress | None,
) -> Struct:
    failure: list[BaseException] = []

    def report_progress(_: None, done_bytes: int, total_bytes: int) -> bool:
        try:
            if progress is not None:
                progress(done_bytes, total_bytes)
        except BaseException as error:  # Also Ctrl-C, which a callback would lose.
            failure.append(error)
        return not failure

    callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)(
        report_progress
    )
    merged = native.struct("tau_merge_result")()
    text = json.dumps(header, ensure_ascii=True).encode()
    arguments = (os.fsencode(source), os.fsencode(out), text, callback, None, merged)
    status = getattr(native.library(), function_name)(*arguments)
    if failure:
        raise failure[0]
    if status != 0:
        raise _error_of(status, ctypes.get_errno(), source, out)
    found: dict[str, Any] = {}
    lost = header.get("lost", {}) | {
        name: getattr(merged, name) for name in LOSSES if getattr(merged, name)
    }
    if lost:
        found["lost"] = lost
    if header["recorder"] == RECORDER_TARGET:
        found["ended"] = ENDED_BY_MARK[merged.mark]
        if merged.refused_count:
            names = ("count", "bytes", "thread", "site", "event", "live_bytes")
            found["refused"] = {name: getattr(merged, f"refused_{name}") for name in names}
    if header | found != header:
        # Losses and the end are known after the events, but a trace's header comes before them.
        return _merge(function_name, source, out, header | found, progress)
    return merged


def _error_of(status: int, number: int, source: Path | str, out: Path | str) -> TauError:
    cause = os.strerror(number) if number else "unknown cause"
    if status == STATUS_INPUT:
        return TauError(f"cannot read {source}: {cause}", "check the path and its permissions")
    if status == STATUS_NOT_A_RECORDING:
        return TauError(
            f"{source} is neither a raw recording nor a target's stream",
            "make one with `tau record --raw -- PROGRAM`, or with core/ports/record_wrap.c on a "
            "target",
        )
    if status == STATUS_NEWER:
        return TauError(
            f"{source} is a recording of a newer version of tau",
            "update tau: `pipx install --force .`",
        )
    if status == STATUS_OLDER:
        return TauError(
            f"{source} is a recording of an earlier version of tau",
            "record again: `tau record -- PROGRAM`, or with this version's "
            "core/ports/record_wrap.c in the firmware",
        )
    if status == STATUS_SEVERAL_MACHINES:
        return TauError(
            f"{source} has blocks of targets with different ABIs",
            "import the capture of each target by itself",
        )
    if status == STATUS_NO_MEMORY:
        return TauError(
            f"not enough memory to merge {source}",
            "merge it on a machine with more memory: it takes 50 bytes per object at the peak",
        )
    if status == STATUS_TRACE + TRACE_DISK_FULL:
        return DiskFull(
            f"cannot write {out}: the disk is full", "free some space, or use -o on another disk"
        )
    return TauError(f"cannot write {out}: {cause}", "check the path and its permissions, or use -o")
