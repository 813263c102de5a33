"""Converts raw recordings and target streams to traces, through tool/native/record/merge*.c.

The preloaded recorder leaves a raw recording (facts/recording.h). A firmware sends a target stream
(core/ports/record_wrap.c).
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone import native
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.trace import abi
from tautochrone.trace.ending import (
    ENDED_BY_EXIT,
    ENDED_BY_FLUSH,
    ENDED_WITHOUT_MARK,
    RECORDER_TARGET,
)

RAW_MAGIC = b"TAURAW\r\n"
RAW_VERSION = 2
RAW_SUFFIX = ".tauraw"
RAW_FIXED = struct.Struct("<8s4I6Q4I3Q8I4I20s28s")
RAW_TEXT = (768, 768, 2336)
RAW_LOST = struct.Struct("<QQ")
RAW_HEADER_BYTES = RAW_FIXED.size + sum(RAW_TEXT) + RAW_LOST.size
# enum tau_raw_stop; smaller values are errno values.
STOP_CONFINED, STOP_DETACHED = 0x10001, 0x10002
STOP_REASONS = {
    STOP_CONFINED: "its seccomp filter lets the recorder map no more memory",
    STOP_DETACHED: "it still ran when recording ended",
}
TARGET_MAGIC = b"TauT"
# Magic, version, address shift, rows, payload bytes, abi, pointer bytes, sequence, ticks a second,
# dropped rows, start ticks, thread, crc.
TARGET_BLOCK = struct.Struct("<4sBBHHBBIIQQII")
TARGET_SEARCH_BYTES = 1 << 20
TARGET_PAYLOAD_BYTES_MAX = 32768  # tool/native/record/merge_target.c
CLOCKS = {0: "monotonic", 1: "time-stamp counter"}

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


@dataclass(frozen=True)
class RawHeader:
    """The first page of a raw recording."""

    pid: int
    parent_pid: int
    started_ticks: int
    started_unix_ns: int
    ticks_per_second: int
    clock: str
    forked_from: str | None
    forked_at_ns: int
    children_lost: int
    stop_code: int
    ended: bool
    program: str
    directory: str
    arguments: list[str]
    arguments_cut: bool
    deep_binds: int
    calls_abandoned: int
    events_lost: int
    execs_unnoted: int
    abi: str
    malloc_alignment: int
    build_id: str
    emulator: str

    @property
    def name(self) -> str:
        """The unique name of this recording. A pid alone is reused, after exec immediately."""
        return recording_name(self.pid, self.started_ticks)

    @property
    def emulator_name(self) -> str:
        """The name of the emulator that ran the program; empty if it ran alone."""
        return self.emulator.partition(" ")[0]

    @property
    def stop_reason(self) -> str | None:
        """Why recording stopped early; None if it did not."""
        if self.stop_code == 0:
            return None
        if self.stop_code in STOP_REASONS:
            return STOP_REASONS[self.stop_code]
        known = self.stop_code in errno.errorcode
        return os.strerror(self.stop_code) if known else f"error {self.stop_code}"

    @property
    def still_running(self) -> bool:
        """Whether the process still ran when its recording was taken."""
        return self.stop_code == STOP_DETACHED

    def trace_header(self) -> dict[str, Any]:
        """Return the trace's header for the recording."""
        ended = "exit" if self.ended else "killed, _exit or exec"
        header: dict[str, Any] = {
            "recorder": "preload",
            "recording": self.name,
            "program": self.program,
            "command": self.arguments,
            "command_cut": self.arguments_cut,
            "directory": self.directory,
            "pid": self.pid,
            "parent_pid": self.parent_pid,
            "started_unix_ns": self.started_unix_ns,
            "clock": self.clock,
            "host": os.uname().nodename,
            "kernel": os.uname().release,
            "machine": os.uname().machine,
            "abi": self.abi,
            "malloc_alignment": self.malloc_alignment,
            "build_id": self.build_id,
            "ended": "still running" if self.still_running else ended,
            "truncated": self.stop_code != 0,
            "truncated_reason": self.stop_reason,
            "children_not_recorded": self.children_lost,
            "deep_binds_dropped": self.deep_binds,
            "parent": None,
        }
        if self.emulator:
            header["emulator"] = self.emulator
        lost = {"events": self.events_lost, "calls": self.calls_abandoned}
        if any(lost.values()):
            header["lost"] = lost
        if self.forked_from is not None:
            header["parent"] = {"recording": self.forked_from, "position_ns": self.forked_at_ns}
        return header


def recording_name(pid: int, started_ticks: int) -> str:
    """Return the name of a recording, as in its file's name and a forked child's header."""
    return f"{pid}-{started_ticks:x}"


def is_raw(path: Path | str) -> bool:
    """Whether the file starts like a raw recording."""
    with open(path, "rb") as file:
        return file.read(len(RAW_MAGIC)) == RAW_MAGIC


def is_target(path: Path | str) -> bool:
    """Whether the file's first MiB has a valid block of a target's stream."""
    return _first_block(path) is not None


def read_raw_header(path: Path | str) -> RawHeader:
    """Read a raw recording's header. Raises TauError if the file is not one, or is newer."""
    with open(path, "rb") as file:
        page = file.read(RAW_HEADER_BYTES)
    if len(page) < RAW_HEADER_BYTES or not page.startswith(RAW_MAGIC):
        raise _not_a_recording(path)
    (_, version, _, pid, parent_pid, started_ticks, started_ns, started_unix_ns, latest_ticks,
     latest_ns, hint, clock, _, forked_pid, lost, forked_ticks, forked_at, _, stop, ended,
     *text_bytes, cut, deep_binds, abandoned, abi_number, _, malloc_alignment, build_id_bytes,
     build_id, emulator) = RAW_FIXED.unpack_from(page)  # fmt: skip
    if version != RAW_VERSION:
        raise _newer(path, "raw recording") if version > RAW_VERSION else _older(path)
    text, at = [], RAW_FIXED.size
    for size, used in zip(RAW_TEXT, text_bytes, strict=True):
        text.append(page[at : at + min(size, used)])
        at += size
    events_lost, execs_unnoted = RAW_LOST.unpack_from(page, at)
    rate = 1_000_000_000 if clock == 0 else hint
    if clock != 0 and latest_ns - started_ns >= 50_000_000:
        rate = (latest_ticks - started_ticks) * 1_000_000_000 // (latest_ns - started_ns)
    position = max(0, forked_at - forked_ticks) * 1_000_000_000 // rate if rate > 0 else 0
    return RawHeader(
        pid=pid,
        parent_pid=parent_pid,
        started_ticks=started_ticks,
        started_unix_ns=started_unix_ns,
        ticks_per_second=rate,
        clock=CLOCKS.get(clock, "unknown"),
        forked_from=recording_name(forked_pid, forked_ticks) if forked_pid else None,
        forked_at_ns=position,
        children_lost=lost,
        stop_code=stop,
        ended=ended == 1,
        program=os.fsdecode(text[0]),
        directory=os.fsdecode(text[1]),
        arguments=[os.fsdecode(word) for word in text[2].split(b"\0")[:-1]],
        arguments_cut=bool(cut),
        deep_binds=deep_binds,
        calls_abandoned=abandoned,
        events_lost=events_lost,
        execs_unnoted=execs_unnoted,
        abi=abi.NAME_OF_NUMBER.get(abi_number, ""),
        malloc_alignment=malloc_alignment,
        build_id=build_id[:build_id_bytes].hex(),
        emulator=emulator.partition(b"\0")[0].decode("ascii", "replace"),
    )


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
    block = _first_block(stream)
    if block is None:
        raise _not_a_recording(stream)
    abi_number, ticks_per_second = block[5], block[8]
    header = {"recorder": RECORDER_TARGET, "program": Path(stream).stem, "parent": None}
    header["ended"] = ENDED_BY_EXIT
    header["abi"] = abi.NAME_OF_NUMBER.get(abi_number, "")
    header["ticks_per_second"] = ticks_per_second
    if ticks_per_second == 0:
        header["clock"] = trace_format.CLOCK_EVENTS
    return _merge("tau_merge_target_stream", stream, out, header | (extra or {}), progress)


def ticks_per_second() -> int:
    """Measure the frequency of the time-stamp counter for 20 ms; 0 if there is none."""
    return int(native.library().tau_merge_ticks_per_second())


def _first_block(path: Path | str) -> tuple[Any, ...] | None:
    """Return the header of the first valid block within the first MiB, or None.

    O(bytes): the largest payload bounds the checksum of one candidate.
    """
    with open(path, "rb") as file:
        head = file.read(TARGET_SEARCH_BYTES)
    at = head.find(TARGET_MAGIC)
    while at >= 0 and at + TARGET_BLOCK.size <= len(head):
        block = TARGET_BLOCK.unpack_from(head, at)
        payload_at, payload_bytes = at + TARGET_BLOCK.size, block[4]
        if payload_bytes <= min(TARGET_PAYLOAD_BYTES_MAX, len(head) - payload_at):
            crc = zlib.crc32(head[at : payload_at - 4])
            if zlib.crc32(head[payload_at : payload_at + payload_bytes], crc) == block[-1]:
                return block
        at = head.find(TARGET_MAGIC, at + 1)
    return None


def _merge(
    function_name: str,
    source: Path | str,
    out: Path | str,
    header: dict[str, Any],
    progress: Progress | None,
) -> Struct:
    failure: list[BaseException] = []

    def told(_: None, done_bytes: int, total_bytes: int) -> bool:
        try:
            if progress is not None:
                progress(done_bytes, total_bytes)
        except BaseException as error:  # also Ctrl-C, which a callback would lose
            failure.append(error)
        return not failure

    callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)(
        told
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
    if header | found != header:
        # Losses and the end are known after the events, but a trace's header comes before them.
        return _merge(function_name, source, out, header | found, progress)
    return merged


def _error_of(status: int, number: int, source: Path | str, out: Path | str) -> TauError:
    cause = os.strerror(number) if number else "unknown cause"
    if status == STATUS_INPUT:
        return TauError(f"cannot read {source}: {cause}", "check the path and its permissions")
    if status == STATUS_NOT_A_RECORDING:
        return _not_a_recording(source)
    if status == STATUS_NEWER:
        return _newer(source, "recording")
    if status == STATUS_OLDER:
        return TauError(
            f"{source} was made by an earlier version of the recorder",
            "record again, with this version's core/ports/record_wrap.c in the firmware",
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


def _not_a_recording(path: Path | str) -> TauError:
    return TauError(
        f"{path} is neither a raw recording nor a target's stream",
        "make one with `tau record --raw -- PROGRAM`, or with core/ports/record_wrap.c on a target",
    )


def _newer(path: Path | str, what: str) -> TauError:
    return TauError(
        f"{path} is a {what} of a newer version of tau", "update tau: `pipx install --force .`"
    )


def _older(path: Path | str) -> TauError:
    return TauError(
        f"{path} is a raw recording of an earlier version of tau, which does not say on what "
        "machine it was made",
        "record again: `tau record -- PROGRAM`",
    )
