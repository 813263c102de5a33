"""Records a command with the preloaded recorder, and merges the recordings into traces."""

import errno
import shlex
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone import __version__
from tautochrone.console import bars, output
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.record import emulation, launch, merge, outcome, program, recordings
from tautochrone.record.program import EXIT_CANNOT_RECORD
from tautochrone.record.raw_header import STOP_CONFINED, STOP_DETACHED, RawHeader
from tautochrone.trace.folder import is_named

WHAT = "with time, thread and call site"
NOT_RECORDED = (
    "tau: not recorded: stacks, static data, the program's own mmap and brk; children that are "
    "static, setuid or started with a cleared environment"
)


@dataclass(frozen=True)
class Trace(outcome.ProcessRecord):
    """The trace of one process, or with --raw its recording."""

    merged: Struct | None = None

    @property
    def events(self) -> int | None:
        """How many events were merged."""
        return None if self.merged is None else self.merged.events

    def document(self) -> dict[str, Any]:
        """Return its object in the JSON."""
        header: RawHeader = self.header
        said: dict[str, Any] = {
            "path": str(self.path),
            "file_bytes": self.size_bytes,
            "name": self.who.name,
            "program": header.program,
            "pid": header.pid,
            "parent": header.forked_from,
            "ended": header.page.ended == 1,
            "running": header.still_running,
            "truncated": header.stop_reason,
            "events_lost": header.page.events_lost,
            "calls_abandoned": header.page.calls_abandoned,
            "children_not_recorded": header.page.children_lost,
            "abi": header.abi,
            "build_id": header.build_id,
            "emulator": header.emulator,
        }
        return said if self.merged is None else said | self.merged.plain()


def record(
    words: list[str], out: Path | None, how: outcome.Options, emulated: emulation.Emulated | None
) -> tuple[dict[str, Any], list[Trace], launch.Ended]:
    """Record one run: its JSON, its traces, and how the program ended. Raises TauError."""
    with recordings.raw_folder(merge.RAW_SUFFIX) as folder:
        ended = launch.run(
            words, folder, how.preset, how.children, how.output_to_stderr, emulated,
            how.stack_frames,
        )  # fmt: skip
        traces, missing = _finish(folder, out, how, words[0], ended, emulated)
    for trace in traces:
        _warn(trace)
    if traces[0].events == 0:
        output.note(
            "tau: no allocation was recorded: the program makes none, or has its own allocator"
        )
    if how.stack_frames and traces[0].events and not traces[0].header.page.stack_frames:
        output.warn("tau: no stack was recorded: the program has no libgcc_s.so.1 that walks them")
    if emulated is not None and ended.signal_name in ("SIGILL", "SIGSYS"):
        output.note(
            f"tau: {ended.signal_name} may come from the emulator: {emulated.emulation.version} "
            "may not know an instruction or call of the program",
            "record it on the machine itself, with `tau record` there",
        )
    recordings.say_missing(missing, ended.running)
    return outcome.document(traces, missing, ended), traces, ended


def note_start(name: str, how: outcome.Options, emulated: emulation.Emulated | None) -> None:
    """Say before the program starts what is recorded and what is not, and name the emulator."""
    outcome.note_start(name, how, WHAT)
    output.note(NOT_RECORDED)
    if emulated is not None:
        output.note(
            f"tau: {emulated.emulation.version} runs the program, with the C library of "
            f"{emulated.emulation.sysroot}; programs that it starts by exec are not recorded"
        )


# ---- After the program's end


def _finish(
    folder: Path,
    out: Path | None,
    how: outcome.Options,
    name: str,
    ended: launch.Ended,
    emulated: emulation.Emulated | None,
) -> tuple[list[Trace], list[recordings.NotRecorded]]:
    """Merge every recording in `folder` and name it. Also return processes that left no trace."""
    found = []
    for path in recordings.raws_in(folder, merge.RAW_SUFFIX):
        try:
            found.append((path, merge.read_raw_header(path)))
        except TauError:
            output.note(f"tau: {path.name} is empty: killed at its start, or the disk was full")
    if not found:
        raise _nothing_left(name, emulated)
    found = recordings.detach_running(found)
    missing = recordings.not_recorded(folder, [header for _, header in found])
    missing = [one for one in missing if is_named(one.who.name, how.only)]
    found = outcome.chosen(found, how, ended)
    if how.raw:
        made = [Trace(path, header) for path, header in found]
    else:
        made = _merge_all(found, ended)
    traces, without_events = outcome.place(made, out, how, ended)
    target = None if emulated is None else emulated.emulation.target.name
    missing += [recordings.without_events(one.who, target) for one in without_events]
    return traces, missing


def _nothing_left(name: str, emulated: emulation.Emulated | None) -> TauError:
    """The error of a program that left no recording."""
    sanitized = program.sanitizer(Path(shutil.which(name) or name))
    if sanitized is not None:
        cause, step = f"it {sanitized[0]}", sanitized[1]
    else:
        cause = "the recorder was not loaded, or could not write its file"
        step = "check that it keeps LD_PRELOAD and that the disk has free space; run `tau doctor`"
        if emulated is not None:
            step = (
                f"read its message above: the emulator looks for libraries in "
                f"{emulated.emulation.sysroot} ({emulation.SYSROOT_VARIABLE} names another folder)"
            )
    return TauError(f"{name} left no recording: {cause}", step, EXIT_CANNOT_RECORD)


def _merge_all(found: list[tuple[Path, RawHeader]], ended: launch.Ended) -> list[Trace]:
    """Merge recordings and remove them."""
    # An exec keeps the pid, so only the latest recording of a pid can have been killed.
    latest = {header.pid: header for _, header in sorted(found, key=lambda item: item[1].began)}
    sizes_bytes = [path.stat().st_size for path, _ in found]
    made = []
    with bars.Bar("merging") as bar:
        for index, (path, header) in enumerate(found):
            extra = {"tautochrone": __version__}
            if latest[header.pid] is header:
                extra |= launch.ended_key(ended, header.pid)
            before = sum(sizes_bytes[:index])

            def progress(done_bytes: int, _: int, before: int = before) -> None:
                bar.told(before + done_bytes, sum(sizes_bytes))

            target, merged = _merge_one(path, extra, progress)
            made.append(Trace(target, header, merged=merged))
    return made


def _merge_one(
    raw: Path, extra: dict[str, Any], progress: Callable[[int, int], None]
) -> tuple[Path, Struct]:
    """Merge one recording and remove it; on a full disk, use the temporary directory."""
    target = raw.with_suffix(".tau")
    try:
        merged = merge.merge_raw(raw, target, extra, progress)
        raw.unlink()
    except merge.DiskFull:
        target.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="tau-") as folder:
            elsewhere = Path(folder) / target.name
            merged = merge.merge_raw(raw, elsewhere, extra, progress)
            # The trace is smaller than its recording, so it fits once the recording is removed.
            raw.unlink()
            shutil.move(elsewhere, target)
    return target, merged


def _warn(trace: Trace) -> None:
    """Name the events that a trace lacks, and the objects that were freed wrongly."""
    header, merged, who = trace.header, trace.merged, str(trace.who)
    page = header.page
    if page.stop_reason:
        lost = f" ({page.events_lost:,} events are lost)" if page.events_lost else ""
        output.note(
            f"tau: recording of {who} stopped early: {header.stop_reason}{lost}; "
            "its trace is truncated",
            stop_step(page.stop_reason),
        )
    if page.calls_abandoned:
        output.note(
            f"tau: {who} left {page.calls_abandoned} allocator calls by a long jump; their effect "
            "is not in the trace"
        )
    if page.deep_binds:
        output.note(
            f"tau: {who} opened {page.deep_binds} libraries with RTLD_DEEPBIND; the flag was "
            "removed so that their allocations are recorded (--preset none keeps it)"
        )
    if page.children_lost:
        output.note(f"tau: {page.children_lost} forked children of {who} could not be recorded")
    if merged is not None and merged.damaged_chunks:
        output.note(
            f"tau: {merged.damaged_chunks} damaged chunks of {who}'s recording are left out"
        )
    if misuse := _misuse(merged):
        output.note(f"tau: {who} freed {misuse}; `tau check {trace.path}` says where")


def _misuse(merged: Struct | None) -> str:
    """A program's wrong frees, in words; empty if none."""
    said = []
    if merged is not None and merged.unknown_count:
        count = output.count(merged.unknown_count, "object")
        said.append(f"{count} that the trace never allocated")
    if merged is not None and merged.double_free_count:
        said.append(f"{output.count(merged.double_free_count, 'object')} twice")
    return " and ".join(said)


def stop_step(code: int) -> str:
    """The next step for a recording that stopped early, by the header's reason."""
    if code == STOP_DETACHED:
        return "wait until it ends, or end it first"
    if code == STOP_CONFINED:
        return "record it without its seccomp filter"
    if code in (errno.EMFILE, errno.ENFILE):
        return "raise the limit of open files (ulimit -n; fs.file-max), and record again"
    return (
        "free space, raise the limit (ulimit -f), or name a folder on another disk with "
        "XDG_STATE_HOME, and record again"
    )


def note_summary(traces: list[Trace], ended: launch.Ended, is_folder: bool) -> None:
    """Print the size of the recording, its place, and the next step."""
    first = traces[0]
    merged = first.merged
    if merged is None:
        output.note(f"tau: raw recording of {first.who}")
        outcome.note_places(traces, f"tau import {first.path} -o {first.path.with_suffix('.tau')}")
        return
    threads = output.count(merged.threads, "thread")
    output.note(
        f"tau: {merged.events:,} events of {first.who} in {output.duration(merged.duration_ns)}, "
        f"{threads}; program: {outcome.end_text(ended)}"
    )
    output.note(
        f"tau: peak {merged.peak_live_bytes:,} bytes; at most"
        f" {output.count(merged.peak_live_objects, 'object')} at once"
    )
    each = f" ({first.size_bytes / merged.events:.2f} B per event)" if merged.events else ""
    recorded = shlex.quote(str(first.path))
    if is_folder:
        recorded = f"{shlex.quote(str(first.path.parent))} --only {shlex.quote(first.who.name)}"
    next_step = f"tau plan {recorded} -o plan.toml"
    outcome.note_places(traces, f"tau check {first.path}" if _misuse(merged) else next_step, each)
    if not is_folder:
        outcome.note_larger([one.document() for one in traces])
