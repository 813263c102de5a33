"""Converts other programs' records to traces: detects a file's format and calls its reader."""

import contextlib
import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tautochrone import native
from tautochrone.declarations import Struct
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import trace_format
from tautochrone.files import input_file, output_file
from tautochrone.trace import file as trace
from tautochrone.trace.ending import Ending

FORM_CSV, FORM_HEAPTRACK = 0, 1
FORMS_WITHOUT_MACHINE = ("csv", "heaptrack")
HEAD_BYTES = 4096
PIECE_BYTES = 1 << 18
ZSTD_MAGIC, GZIP_MAGIC = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_NO_ORDER = "it holds totals without the order of events, so it cannot be planned or replayed"
_RECORD_INSTEAD = "record with `tau record -- PROGRAM` or `heaptrack --raw PROGRAM`"

# Called with the bytes that are read and their total.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Imported:
    """Results of an import, and the misuse that it found. First lines are 0 if there is none."""

    form: str
    events: int
    peak_live_bytes: int
    peak_live_objects: int
    unknown_count: int
    unknown_first_line: int
    double_free_count: int
    double_free_first_line: int
    inherited_count: int
    implied_frees: int
    timed: bool
    notes: tuple[str, ...]
    ending: Ending = Ending(0, ())


def form_of(path: Path) -> str:
    """Return a file's format: csv, heaptrack, recorder or target.

    Raises TauError with the reason for a trace, an empty file, a binary file of unknown format, and
    formats that cannot be converted: DHAT, massif, memray.
    """
    head = input_file.read(path, "recording", HEAD_BYTES)
    name = path.name.lower()
    if not head:
        raise TauError(f"{path} is empty")
    if head.startswith(trace_format.MAGIC.encode()):
        raise TauError(f"{path} is a trace already", f"tau info {path}", EXIT_USAGE)
    recorder = _recorder_form(path)
    if recorder:
        return recorder
    if head.startswith((ZSTD_MAGIC, GZIP_MAGIC)):
        return "csv" if ".csv" in name else "heaptrack"
    _refuse_aggregates(path, head)
    if head.startswith(b"v ") or ".raw" in name:
        return "heaptrack"
    if b"TauT" in head:
        raise TauError(
            f"{path} is a damaged capture of a firmware: none of its first blocks is intact",
            "capture the bytes that core/ports/record_wrap.c sends unchanged: 8 bits each, without "
            "conversion of line ends",
        )
    if b"\0" in head:
        raise TauError(
            f"{path} is not CSV, not heaptrack's, and not a recorder's file",
            "tau import reads CSV with the header op,id,size[,align][,time]; " + _RECORD_INSTEAD,
        )
    return "csv"


def _recorder_form(path: Path) -> str | None:
    """Return "recorder" or "target" if one of these wrote the file."""
    from tautochrone.record import accesses as access
    from tautochrone.record import merge

    if access.is_recording(path):
        return "accesses"
    if merge.is_raw(path):
        return "recorder"
    return "target" if merge.is_target(path) else None


def _refuse_aggregates(path: Path, head: bytes) -> None:
    """Raise TauError for files of tools that do not keep the order of events."""
    if head.startswith(b"desc:"):
        raise TauError(f"{path} is massif's: {_NO_ORDER}", _RECORD_INSTEAD)
    if head.lstrip()[:1] in (b"{", b"["):
        kind = "DHAT's" if b"dhatFileVersion" in head else "a JSON file (DHAT's, or another tool's)"
        raise TauError(f"{path} is {kind}: {_NO_ORDER}", _RECORD_INSTEAD)
    if head.startswith(b"memray"):
        raise TauError(
            f"{path} is memray's, whose format is internal to memray",
            "export it as CSV with memray's FileReader: op,id,size from type, address, size",
        )


def import_file(
    path: Path,
    out: Path,
    progress: Progress | None = None,
    force: bool = False,
    abi: str = "",
) -> Imported:
    """Convert `path`, of any known format, to the trace `out`, as output_file.written does.

    `force` allows replacing a file. `abi` states the ABI of the program in files that do not tell
    it. Raises TauError; it names the number of a malformed line.
    """
    form = form_of(path)
    if abi and form not in FORMS_WITHOUT_MACHINE:
        raise TauError(
            f"{path} names its own machine, so --abi {abi} cannot change it",
            f"tau import {path}, without --abi",
            EXIT_USAGE,
        )
    with output_file.written(out, force, [path]) as partial:
        if form in FORMS_WITHOUT_MACHINE:
            imported = _import_text(path, partial, form, progress, abi)
        elif form == "accesses":
            imported = _import_accesses(path, partial)
        else:
            imported = _import_recorded(path, partial, form, progress)
        # Checked here, because a stream cannot be read again.
        with trace.open_trace(partial) as reader:
            return replace(imported, ending=reader.ending)


def _import_recorded(path: Path, out: Path, form: str, progress: Progress | None) -> Imported:
    """Import a raw recording or a target's stream through the recorder's merge."""
    from tautochrone.record import merge

    extra = {"imported_from": path.name}
    merger = merge.merge_raw if form == "recorder" else merge.merge_target
    merged = merger(path, out, extra, progress)
    notes = [f"{merged.restarts:,} restarts of the target"] if merged.restarts else []
    return _imported(form, merged, tuple(notes), implied_frees=merged.implied_frees)


def _imported(form: str, counts: Struct, notes: tuple[str, ...], **known: Any) -> Imported:
    """The result, from the counts of a merge or a writer; `known` are other fields."""
    fields: dict[str, Any] = {
        "unknown_first_line": 0,
        "double_free_first_line": 0,
        "implied_frees": 0,
        "timed": True,
    }
    return Imported(
        form=form,
        events=counts.events,
        peak_live_bytes=counts.peak_live_bytes,
        peak_live_objects=counts.peak_live_objects,
        unknown_count=counts.unknown_count,
        double_free_count=counts.double_free_count,
        inherited_count=counts.inherited_count,
        notes=notes,
        **(fields | known),
    )


def _import_accesses(path: Path, out: Path) -> Imported:
    """Import a recording of accesses."""
    from tautochrone.record import accesses as access

    made = access.convert(path, out, {"imported_from": path.name})
    return _imported("accesses", made.totals, tuple(access.advice(made, 0)))


def _import_text(path: Path, out: Path, form: str, progress: Progress | None, abi: str) -> Imported:
    """Import CSV or heaptrack's lines, compressed or not."""
    code = FORM_CSV if form == "csv" else FORM_HEAPTRACK
    header = {"recorder": form, "imported_from": path.name, "abi": abi}
    header |= _said_at_the_start(path, code)
    with trace.TraceWriter(out, header) as writer:
        with _importer(writer, code) as importer:
            for piece, packed in _pieces(path, progress):
                _take(importer, path, piece, packed)
            if not native.library().tau_trace_importer_end(importer):
                raise _failure(importer, path)
            facts = native.library().tau_trace_importer_facts(importer)[0]
            note = "the file has no times, so the number of an event is its time"
            return _imported(
                form,
                writer.totals,
                () if facts.timed else (note,),
                unknown_first_line=facts.unknown_first_line,
                double_free_first_line=facts.double_free_first_line,
                implied_frees=facts.implied_frees,
                timed=bool(facts.timed),
            )


@contextlib.contextmanager
def _importer(writer: trace.TraceWriter, code: int) -> Iterator[Any]:
    importer = native.library().tau_trace_importer_open(writer.handle, code)
    if not importer:
        raise TauError("memory is short")
    try:
        yield importer
    finally:
        native.library().tau_trace_importer_close(importer)


def _take(importer: Any, path: Path, piece: bytes, packed: bool) -> None:
    lib = native.library()
    feed = lib.tau_trace_importer_feed_zstd if packed else lib.tau_trace_importer_feed
    if not feed(importer, piece, len(piece)):
        raise _failure(importer, path)


def _failure(importer: Any, path: Path) -> TauError:
    """Return the error of an importer's status."""
    if native.library().tau_trace_importer_status(importer) == trace.STATUS_DISK_FULL:
        return TauError("the disk is full (or the file reached its limit)", "free some space")
    message = native.library().tau_trace_importer_message(importer).decode("utf-8", "replace")
    return TauError(f"{path}, {message}")


def _pieces(path: Path, progress: Progress | None) -> Iterator[tuple[bytes, bool]]:
    """Yield the file's bytes and whether they are zstd's; gzip is decompressed here."""
    total = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(4)
        file.seek(0)
        packed = head == ZSTD_MAGIC
        source: Any = gzip.open(file) if head.startswith(GZIP_MAGIC) else file
        while True:
            try:
                piece = source.read(PIECE_BYTES)
            except (EOFError, OSError, zlib.error) as error:
                raise TauError(f"{path}: the compressed data is damaged or cut: {error}") from error
            if not piece:
                return
            yield piece, packed
            if progress:
                progress(file.tell(), total)


def _said_at_the_start(path: Path, code: int) -> dict[str, str]:
    """Return the header's facts from the first lines: heaptrack's command line, CSV without times.

    A trace's header is written before its events, so the start of the file is read twice.
    """
    with trace.TraceWriter("/dev/null", {}) as writer:
        with _importer(writer, code) as importer:
            for piece, packed in _pieces(path, None):
                _take(importer, path, piece, packed)
                break
            if code == FORM_HEAPTRACK:
                command = native.library().tau_trace_importer_command(importer)
                return {"command": command.decode("utf-8", "replace")}
            is_timed = native.library().tau_trace_importer_facts(importer)[0].timed
            return {} if is_timed else {"clock": trace_format.CLOCK_EVENTS}
