"""Reads and writes traces as numpy columns, through tool/native/trace.

with open_trace("program.tau") as reader:
    for block in reader.columns():
        ...block.size_bytes[block.op == trace_format.OP_MALLOC]...

with TraceWriter("program.tau", {"command": ["./program"]}) as writer:
    writer.append(op=..., size_bytes=..., slot=...)
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tautochrone import native
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.facts import code_format, plan_format, trace_format
from tautochrone.files import input_file, json_text
from tautochrone.trace.ending import Ending, ending_of

OPS = ("malloc", "calloc", "realloc", "aligned_alloc", "free", "touch")
HEAD_BYTES = 4096  # enough of a file to tell its kind
HASHED_BYTES = 1 << 20  # per read
STATUS_IO_FAILED, STATUS_NOT_A_TRACE, STATUS_NEWER, STATUS_CORRUPT = 1, 2, 3, 4
STATUS_NO_MEMORY, STATUS_DISK_FULL, STATUS_BAD_EVENT, STATUS_OLDER = 5, 6, 7, 8

# One event; blocks() yields arrays of it. Wide fields come first, so that each is aligned.
EVENT = np.dtype(
    [
        ("time_ns", np.uint64),
        ("size_bytes", np.uint64),
        ("slot", np.uint32),
        ("thread", np.uint32),
        ("site", np.uint32),
        ("op", np.uint8),
        ("flags", np.uint8),
        ("align_log2", np.uint8),
    ],
    align=True,
)


class Columns(NamedTuple):
    """Events as columns of equal length; sizes in bytes, times in nanoseconds since the start.

    A reader yields views of its own buffers. The next block overwrites them.
    """

    time_ns: np.ndarray
    size_bytes: np.ndarray
    slot: np.ndarray
    thread: np.ndarray
    site: np.ndarray
    op: np.ndarray
    flags: np.ndarray
    align_log2: np.ndarray


_NEXT_STEPS = {
    STATUS_NOT_A_TRACE: "`tau import FILE -o TRACE.tau` reads CSV, heaptrack and recorder files",
    STATUS_NEWER: "upgrade tautochrone, then try again",
    STATUS_OLDER: "record the program again, or import its file again",
    STATUS_CORRUPT: "`tau check FILE` says where; record it again if you can",
    STATUS_DISK_FULL: "free some space, or write the trace to another disk",
}


def status_error(status: int, path: str | Path) -> TauError:
    """Return the error of a native status other than 0, with the text of errno if there is one."""
    cause = native.library().tau_trace_status_text(status).decode()
    number = ctypes.get_errno()
    if status == STATUS_IO_FAILED and number:
        cause = os.strerror(number)
    return TauError(f"{path}: {cause}", _NEXT_STEPS.get(status))


def is_plan(head: bytes) -> bool:
    """Whether a file that begins so says that it is a plan."""
    is_named = f'\nformat = "{plan_format.FORMAT}"'.encode() in head
    return is_named or head.startswith(b"# A heap plan:")


class TraceReader:
    """An open trace; a context manager. It holds at most one block of events in memory."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        status = ctypes.c_uint32(0)
        record = f"check the path, or record a program: tau record -o {path} -- PROGRAM"
        input_file.check(self.path, "trace", record)
        self._handle = native.library().tau_trace_reader_open(os.fsencode(path), status)
        if not self._handle:
            head = input_file.read(self.path, "trace", HEAD_BYTES)
            if is_plan(head):
                step = f"tau check {path}, or name a trace"
                raise TauError(f"{path} is a plan, not a trace", step)
            if head.startswith(code_format.MAGIC.encode()):
                step = f"tau info {path}, or name a trace"
                raise TauError(f"{path} is a code recording, not a trace", step)
            raise status_error(status.value, path)
        self.totals = native.library().tau_trace_reader_totals(self._handle)[0].copy()
        self.header: dict[str, Any] = _parse_header(
            native.library().tau_trace_reader_header(self._handle)
        )

    def __enter__(self) -> TraceReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Release the file. The reader cannot be used afterward. May be called repeatedly."""
        if getattr(self, "_handle", None):
            native.library().tau_trace_reader_close(self._handle)
            self._handle = None

    @property
    def handle(self) -> Any:
        """The native reader, for C code that reads from it."""
        return self._handle

    @property
    def ending(self) -> Ending:
        """How the trace ended, and which events it lacks."""
        return ending_of(self.header, self.totals)

    @property
    def is_timed(self) -> bool:
        """Whether times are nanoseconds of any clock, and not counts of events or accesses."""
        counts = (trace_format.CLOCK_ACCESSES, trace_format.CLOCK_EVENTS)
        return self.header.get("clock") not in counts

    def sha256(self) -> str:
        """Return the SHA-256 of the whole file, in hexadecimal."""
        descriptor = native.library().tau_trace_reader_descriptor(self._handle)
        digest, offset = hashlib.sha256(), 0
        while data := os.pread(descriptor, HASHED_BYTES, offset):
            digest.update(data)
            offset += len(data)
        return digest.hexdigest()

    def first_event(self, block: int) -> int:
        """The number of events before a block."""
        return native.library().tau_trace_reader_first_event(self._handle, block)

    def sizes(self) -> list[tuple[int, int, int]]:
        """(size_bytes, allocations, peak_live) for each requested size, by size. O(sizes)."""
        count = ctypes.c_size_t(0)
        table = native.library().tau_trace_reader_sizes(self._handle, count)
        return np.ctypeslib.as_array(table, (count.value,)).tolist() if count.value else []

    def sites(self) -> list[tuple[str, int]]:
        """(module, offset) of each call site; site number s of an event is entry s - 1."""
        return [(module, offset) for module, offset, _ in self.calls()]

    def calls(self) -> list[tuple[str, int, int]]:
        """(module, offset, caller) of each call site: the caller is the number of the site that
        called its function, or 0 if that was not recorded.
        """
        module, offset, caller = ctypes.c_char_p(), ctypes.c_uint64(), ctypes.c_uint32()
        names: list[tuple[str, int, int]] = []
        for index in range(1, self.totals.sites + 1):
            status = native.library().tau_trace_reader_site(
                self._handle, index, module, offset, caller
            )
            if status:
                raise status_error(status, self.path)
            name = (module.value or b"").decode("utf-8", "surrogateescape")
            names.append((name, offset.value, caller.value))
        return names

    def columns(
        self, wanted: tuple[str, ...] = Columns._fields, first_block: int = 0
    ) -> Iterator[Columns]:
        """Yield each block as columns. A column that is not requested is empty and costs nothing.
        """
        buffers = {
            name: np.empty(trace_format.BLOCK_EVENTS_MAX if name in wanted else 0, EVENT[name])
            for name in Columns._fields
        }
        pointers = native.struct("tau_trace_columns")(**{name: buffers[name] for name in wanted})
        count = ctypes.c_size_t(0)
        for index in range(first_block, self.totals.blocks):
            status = native.library().tau_trace_reader_block(self._handle, index, pointers, count)
            if status:
                first = self.first_event(index)
                error = status_error(status, self.path)
                place = f" (block {index}, from event {first})"
                raise TauError(error.message + place, error.next_step)
            yield Columns(*(buffers[name][: count.value] for name in Columns._fields))

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield each block as a structured array of EVENT in its own memory."""
        for columns in self.columns():
            events = np.empty(len(columns.op), EVENT)
            for name in Columns._fields:
                events[name] = getattr(columns, name)
            yield events


def open_trace(path: str | Path) -> TraceReader:
    """Open a trace. Raises TauError if it is not a trace, is of a newer version, or is damaged."""
    return TraceReader(path)


def _parse_header(text: bytes) -> dict[str, Any]:
    """Return the header's JSON object; other content is kept as {"text": …}."""
    try:
        header = json_text.parse(text)
    except ValueError:
        header = None
    return header if isinstance(header, dict) else {"text": text.decode("utf-8", "replace")}


def heap_accesses(header: dict[str, Any]) -> tuple[int, int] | None:
    """Return the heap's loads and stores in a recording of accesses; None in other traces."""
    counted = header.get("accesses")
    if header.get("clock") != trace_format.CLOCK_ACCESSES or not isinstance(counted, dict):
        return None
    loads, stores = counted.get("heap_loads", 0), counted.get("heap_stores", 0)
    if any(type(count) is not int or not 0 <= count < 1 << 62 for count in (loads, stores)):
        return None
    return loads, stores


class TraceWriter:
    """Writes a trace; a context manager. `header` is a JSON object. A file is replaced."""

    def __init__(self, path: str | Path, header: dict[str, Any]) -> None:
        self.path = Path(path)
        status = ctypes.c_uint32(0)
        text = json.dumps(header).encode()
        if len(text) > trace_format.HEADER_BYTES_MAX:
            raise TauError(f"the trace's header has {len(text)} bytes, more than 1 MiB")
        self._handle = native.library().tau_trace_writer_open(os.fsencode(path), text, status)
        if not self._handle:
            raise status_error(status.value, path)

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def handle(self) -> Any:
        """The native writer, for C code that appends to it."""
        return self._handle

    @property
    def totals(self) -> Struct:
        """The totals of the events appended so far."""
        return native.library().tau_trace_writer_totals(self._handle)[0].copy()

    def site(self, module: str, offset: int, caller: int = 0) -> int:
        """Return the index of a call site, the same for equal ones. Raises TauError."""
        name = module.encode("utf-8", "surrogateescape")
        index = native.library().tau_trace_writer_site(self._handle, name, offset, caller)
        if index == 0:
            raise TauError(
                f"a call site's module has {len(name)} bytes: more than 4096, or memory ran out"
            )
        return index

    def append(
        self,
        *,
        op: np.ndarray,
        slot: np.ndarray,
        size_bytes: np.ndarray,
        time_ns: np.ndarray | None = None,
        thread: np.ndarray | None = None,
        site: np.ndarray | None = None,
        flags: np.ndarray | None = None,
        align_log2: np.ndarray | None = None,
    ) -> None:
        """Append events as columns of equal length; a missing column is 0.

        Raises TauError with the rule and the event if one violates a rule; the events before it
        stay. Raises TauError if the disk is full; the events on the disk stay readable.
        """
        count = len(op)
        given = locals()
        columns: dict[str, np.ndarray] = {}
        for name in Columns._fields:
            column = given[name]
            if column is None:
                optional = name in ("site", "align_log2")
                column = None if optional else np.zeros(count, EVENT[name])
            elif len(column) != count:
                raise ValueError(f"{name} has {len(column)} entries, op has {count}")
            if column is not None:
                columns[name] = np.ascontiguousarray(column, EVENT[name])
        pointers = native.struct("tau_trace_columns")(**columns)
        status = native.library().tau_trace_writer_append(self._handle, pointers, count)
        if status == STATUS_BAD_EVENT:
            rule = native.library().tau_trace_writer_bad_rule(self._handle).decode()
            raise TauError(f"event {self.totals.events} violates a rule of the trace: {rule}")
        if status:
            raise status_error(status, self.path)

    def close(self) -> None:
        """Write the footer and release the file. Raises TauError if it cannot be written."""
        if self._handle:
            handle, self._handle = self._handle, None
            status = native.library().tau_trace_writer_close(handle)
            if status:
                raise status_error(status, self.path)
