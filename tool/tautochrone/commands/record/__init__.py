"""`tau record`: runs a program and records each allocation and each free."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tautochrone import __version__
from tautochrone.commands.options import FORCE
from tautochrone.commands.record import runs as record_runs
from tautochrone.console import output, terminal
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath
from tautochrone.record import accesses_command as access_record
from tautochrone.record import emulation, launch, merge, processes, program, recordings
from tautochrone.record.program import EXIT_CANNOT_RECORD


@dataclass(frozen=True)
class Trace:
    """The trace of one process, or with --raw its recording, under its final name."""

    path: Path
    header: merge.RawHeader
    merged: Struct | None
    size_bytes: int

    def document(self) -> dict[str, Any]:
        """Return its object in the JSON."""
        header = self.header
        said: dict[str, Any] = {
            "path": str(self.path),
            "file_bytes": self.size_bytes,
            "program": header.program,
            "pid": header.pid,
            "parent": header.forked_from,
            "ended": header.ended,
            "running": header.still_running,
            "truncated": header.stop_reason,
            "events_lost": header.events_lost,
            "calls_abandoned": header.calls_abandoned,
            "children_not_recorded": header.children_lost,
            "abi": header.abi,
            "build_id": header.build_id,
            "emulator": header.emulator,
        }
        if self.merged is not None:
            said |= self.merged.plain()
        return said


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit status: the program's own; 128 + n if signal n killed it; 125 if tau cannot "
    "record it; 126 if it cannot be run; 127 if it is not found.",
)
@click.option(
    "-o",
    "--output",
    "out",
    type=OutputPath(),
    help="Trace to write; with --runs the folder of the traces (default: PROGRAM.PID.tau).",
)
@click.option(
    "--runs",
    type=click.IntRange(1, record_runs.RUNS_MAX),
    metavar="N",
    default=1,
    show_default=True,
    help="Record the command N times, to FOLDER/1.tau … N.tau.",
)
@FORCE
@click.option(
    "--raw",
    is_flag=True,
    help="Keep the raw recordings (.tauraw) for `tau import` (default: merge them into traces).",
)
@click.option(
    "--accesses",
    type=click.Choice(["first", "full"]),
    is_flag=False,
    flag_value="first",
    help="Record under Valgrind when the program uses each 16-byte granule of an object: the first "
    "use, or with --accesses=full every use (default: record no uses).",
)
@click.option(
    "--max-events",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --accesses: write only the first N events (default: all).",
)
@click.option(
    "--preset",
    type=click.Choice(["auto", "none"]),
    default="auto",
    show_default=True,
    help="auto: make PHP, Python and GLib allocate through malloc. none: change nothing.",
)
@click.option(
    "--children/--no-children",
    default=True,
    show_default=True,
    help="Also record child processes.",
)
@click.option(
    "--target",
    type=click.Choice(emulation.NAMES),
    help="Record a program of another machine, which user-mode QEMU runs: arm64; armhf (32-bit "
    "Arm Linux, which lays out structures as Cortex-M does); riscv64; i386 and riscv32 only say "
    "what to record instead (default: a program of this machine).",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the result as one JSON document; the program's output goes to stderr.",
)
@click.argument(
    "arguments", nargs=-1, type=click.UNPROCESSED, metavar="[--] PROGRAM [ARGUMENTS]..."
)
def command(
    out: Path | None,
    runs: int,
    force: bool,
    raw: bool,
    accesses: str | None,
    max_events: int | None,
    preset: str,
    children: bool,
    target: str | None,
    as_json: bool,
    arguments: tuple[str, ...],
) -> int:
    """Run PROGRAM and record each allocation and each free.

    \b
    tau record -- ./program --its arguments
    tau record --runs 5 -o runs -- gcc -c x.c
    tau record --accesses -o out.tau -- ./program
    tau record --target armhf -o out.tau -- ./arm-program

    Each process gets a trace. With -o, the process with the most events gets that name; the traces
    of the others are written to the same folder, named after program and pid. With --runs, these
    are in FOLDER/children, and the exit status comes from the first run that failed. Each run reads
    stdin from the start, which must not be a pipe. Ctrl-C ends all runs.
    """
    words = list(arguments[1:] if arguments[:1] == ("--",) else arguments)
    if not words:
        raise click.UsageError("name the program to record: tau record -- PROGRAM [ARGUMENTS]...")
    if max_events is not None and accesses is None:
        raise click.UsageError("--max-events works with --accesses only")
    if accesses is not None and target is not None:
        raise click.UsageError("--accesses records programs of this machine only, not of --target")
    machine = None if target is None else emulation.find(target)
    programs = [program.check(words, target=target), Path(shutil.which(words[0]) or words[0])]
    single = (("--raw", raw), ("--accesses", accesses))
    if runs > 1:
        folder = record_runs.check(out, runs, single, force)
    else:
        recordings.check_output(out, force, programs, as_json)
    variables = launch.preset_of(dict(os.environ)) if preset == "auto" else None
    # The program's output must not mix with a result on stdout.
    to_stderr = as_json or (out is not None and output_file.is_stdout(out))
    if accesses is not None:
        is_full = accesses == "full"
        how = access_record.How(variables, children, is_full, max_events, raw, as_json, to_stderr)
        return access_record.record(words, out, force, how)
    emulated = None if machine is None else emulation.prepare(machine, *programs)
    _announce(words[0], variables, children)
    if emulated is not None:
        _announce_emulation(emulated.emulation)

    def once(path: Path | None) -> tuple[dict[str, Any], list[Trace], launch.Ended]:
        return _record(words, path, raw, force, (variables, children, to_stderr, emulated))

    if runs > 1:

        def one(path: Path) -> record_runs.One:
            result, traces, ended = once(path)
            return record_runs.One(result, [trace.path for trace in traces], ended)

        return record_runs.record(folder, runs, one, as_json)
    result, traces, ended = once(out)
    if as_json:
        output.emit(True, "record", result, lambda: None)
    else:
        _summarize(traces, ended)
    return ended.exit_status


def _record(
    words: list[str],
    out: Path | None,
    raw: bool,
    force: bool,
    how: tuple[dict[str, str] | None, bool, bool, launch.Emulated | None],
) -> tuple[dict[str, Any], list[Trace], launch.Ended]:
    """Record one run: its JSON, its traces, and how the program ended."""
    emulated = how[3]
    with recordings.raw_folder(merge.RAW_SUFFIX) as folder:
        ended = launch.run(words, folder, *how)
        traces, missing = _finish(folder, out, raw, force, words[0], ended, emulated)
    _warn(traces)
    if emulated is not None:
        _warn_of_emulation(ended, emulated)
    recordings.say_missing(missing, ended.running)
    result = {
        "exit_status": ended.exit_status,
        "signal": ended.signal_name,
        "trace": traces[0].document(),
        "others": [trace.document() for trace in traces[1:]],
        "not_recorded": [one.document() for one in missing],
        "running": [{"name": one.name, "pid": one.pid} for one in ended.running],
    }
    return result, traces, ended


def _announce(name: str, variables: dict[str, str] | None, children: bool) -> None:
    family = " and its children" if children else ""
    output.note(
        f"tau: recording malloc, calloc, realloc, aligned_alloc and free of {name}{family}, "
        "with time, thread and call site"
    )
    output.note(
        "tau: not recorded: stacks, static data, the program's own mmap and brk; children that "
        "are static, setuid or started with a cleared environment"
    )
    if variables:
        text = " ".join(f"{name}={value}" for name, value in variables.items())
        output.note(
            f"tau: preset {text}: heaps above malloc are switched off (--preset none leaves them)"
        )


def _announce_emulation(found: emulation.Emulation) -> None:
    output.note(
        f"tau: {found.version} runs the program, with the C library of {found.sysroot}; programs "
        "that it starts by exec are not recorded"
    )


# ---- After the program's end


def _finish(
    folder: Path,
    out: Path | None,
    raw: bool,
    force: bool,
    name: str,
    program_end: launch.Ended,
    emulated: launch.Emulated | None,
) -> tuple[list[Trace], list[recordings.NotRecorded]]:
    """Merge every recording in `folder` and name it; the one with the most events comes first.

    Also return the processes that left no trace.
    """
    found = []
    for path in recordings.raws_in(folder, merge.RAW_SUFFIX):
        try:
            found.append((path, merge.read_raw_header(path)))
        except TauError:
            output.note(f"tau: {path.name} is empty: killed at its start, or the disk was full")
    if not found:
        sanitized = program.sanitizer(Path(shutil.which(name) or name))
        if sanitized is not None:
            raise TauError(
                f"{name} left no recording: it {sanitized[0]}", sanitized[1], EXIT_CANNOT_RECORD
            )
        step = "check that it keeps LD_PRELOAD and that the disk has free space; run `tau doctor`"
        if emulated is not None:
            step = (
                f"read its message above: the emulator looks for libraries in "
                f"{emulated.emulation.sysroot} ({emulation.SYSROOT_VARIABLE} names another folder)"
            )
        raise TauError(
            f"{name} left no recording: the recorder was not loaded, or could not write its file",
            step,
            EXIT_CANNOT_RECORD,
        )
    found = recordings.detach_running(found)
    missing = recordings.not_recorded(folder, [header for _, header in found])
    made: list[tuple[Path, merge.RawHeader, Struct | None]] = []
    # An exec keeps the pid, so only the latest recording of a pid can have been killed.
    latest: dict[int, int] = {}
    for _, header in found:
        latest[header.pid] = max(latest.get(header.pid, 0), header.started_ticks)
    with _Bar(len(found)) as bar:
        for path, header in found:
            if raw:
                made.append((path, header, None))
                continue
            is_last = header.started_ticks == latest.get(header.pid)
            extra = launch.ended_key(program_end, header.pid) if is_last else {}
            target, merged = _merge_one(path, bar, extra)
            made.append((target, header, merged))
    made.sort(key=lambda item: item[2].events if item[2] else item[0].stat().st_size, reverse=True)
    kept = [item for item in made if item[2] is None or item[2].events > 0] or made[:1]
    missing += [
        recordings.without_events(
            recordings.Who(header.program, header.pid),
            None if emulated is None else emulated.emulation.target.name,
        )
        for _, header, merged in made[len(kept) :]
    ]
    return _place(kept, out, force, program_end.exit_status), missing


def _merge_one(raw: Path, bar: _Bar, ended: dict[str, Any]) -> tuple[Path, Struct]:
    """Merge one recording and remove it; on a full disk, use the temporary directory."""
    extra = {"tautochrone": __version__} | ended
    target = raw.with_suffix(".tau")
    try:
        merged = merge.merge_raw(raw, target, extra, bar.told)
        raw.unlink()
    except merge.DiskFull:
        target.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="tau-") as folder:
            elsewhere = Path(folder) / target.name
            merged = merge.merge_raw(raw, elsewhere, extra, bar.told)
            # The trace is smaller than its recording, so it fits once the recording is removed.
            raw.unlink()
            shutil.move(elsewhere, target)
    bar.next()
    return target, merged


def _place(
    made: list[tuple[Path, merge.RawHeader, Struct | None]],
    out: Path | None,
    force: bool,
    exit_status: int,
) -> list[Trace]:
    """Move files out of the recordings' folder, over existing ones only with --force."""
    files = [(path, recordings.Who(header.program, header.pid)) for path, header, _ in made]
    sizes_bytes = [path.stat().st_size for path, _ in files]
    places = recordings.place(files, out, force, exit_status)
    return [
        Trace(final, header, merged, size_bytes)
        for final, size_bytes, (_, header, merged) in zip(places, sizes_bytes, made, strict=True)
    ]


class _Bar:
    """A progress bar on stderr for merging, shown after a second on a terminal."""

    def __init__(self, recordings: int) -> None:
        self.recordings = recordings
        self.done = 0
        self.started = time.monotonic()
        self.shown: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown is not None:
            self.shown.stop()

    def next(self) -> None:
        self.done += 1

    def told(self, done_bytes: int, total_bytes: int) -> None:
        if self.shown is None:
            if not output.shows_bar(self.started):
                return
            self.shown = terminal.bars()
            self.shown.start()
            self.shown.add_task("merging", total=float(self.recordings))
        part = done_bytes / total_bytes if total_bytes else 0.0
        self.shown.update(self.shown.task_ids[0], completed=self.done + part)


def _warn_of_emulation(ended: launch.Ended, emulated: launch.Emulated) -> None:
    if ended.signal_name in ("SIGILL", "SIGSYS"):
        output.note(
            f"tau: {ended.signal_name} may come from the emulator: "
            f"{emulated.emulation.version} may not know an instruction or call of the program",
            "record it on the machine itself, with `tau record` there",
        )


def _warn(traces: list[Trace]) -> None:
    for trace in traces:
        header, merged = trace.header, trace.merged
        who = str(recordings.Who(header.program, header.pid))
        if header.stop_code:
            lost = f" ({header.events_lost:,} events are lost)" if header.events_lost else ""
            output.note(
                f"tau: recording of {who} stopped early: {header.stop_reason}{lost}; "
                "its trace is truncated",
                _stop_step(header.stop_code),
            )
        if header.calls_abandoned:
            output.note(
                f"tau: {who} left {header.calls_abandoned} allocator calls by a long jump; their "
                "effect is not in the trace"
            )
        if header.deep_binds:
            output.note(
                f"tau: {who} opened {header.deep_binds} libraries with RTLD_DEEPBIND; the flag was "
                "removed so that their allocations are recorded (--preset none keeps it)"
            )
        if header.children_lost:
            output.note(
                f"tau: {header.children_lost} forked children of {who} could not be recorded"
            )
        if merged is not None and merged.damaged_chunks:
            output.note(
                f"tau: {merged.damaged_chunks} damaged chunks of {who}'s recording are left out"
            )
        if misuse := merged is not None and _misuse(merged):
            output.note(f"tau: {who} freed {misuse}; `tau check {trace.path}` says where")
    if traces[0].merged is not None and traces[0].merged.events == 0:
        output.note(
            "tau: no allocation was recorded: the program makes none, or has its own allocator"
        )


def _misuse(merged: Struct) -> str:
    """Return what a program freed wrongly, in words; empty if nothing."""
    unknown, twice = merged.unknown_count, merged.double_free_count
    said = []
    if unknown:
        said.append(f"{output.count(unknown, 'object')} that the trace never allocated")
    if twice:
        said.append(f"{output.count(twice, 'object')} twice")
    return " and ".join(said)


def _stop_step(code: int) -> str:
    if code == merge.STOP_DETACHED:
        return "wait until it ends, or end it first"
    if code == merge.STOP_CONFINED:
        return "record it without its seccomp filter"
    if code in (errno.EMFILE, errno.ENFILE):
        return "raise the limit of open files (ulimit -n; fs.file-max), and record again"
    return (
        "free space, raise the limit (ulimit -f), or name a folder on another disk with "
        "XDG_STATE_HOME, and record again"
    )


def _summarize(traces: list[Trace], ended: launch.Ended) -> None:
    first = traces[0]
    header, merged = first.header, first.merged
    who = str(recordings.Who(header.program, header.pid))
    if merged is None:
        size = recordings.bytes_text(first.size_bytes)
        output.note(f"tau: raw recording of {who}: {first.path}, {size}")
        for other in traces[1:]:
            output.note(f"tau: also written: {other.path}")
        output.note(f"  next: tau import {first.path} -o {first.path.with_suffix('.tau')}")
        return
    threads = output.count(merged.threads, "thread")
    end = f"killed by {ended.signal_name}" if ended.signal_name else f"exit {ended.exit_status}"
    each = f" ({first.size_bytes / merged.events:.2f} B per event)" if merged.events else ""
    output.note(
        f"tau: {merged.events:,} events of {who} in {output.duration(merged.duration_ns)}, "
        f"{threads}; "
        f"program: {end}"
    )
    output.note(
        f"tau: peak {merged.peak_live_bytes:,} bytes; at most {merged.peak_live_objects:,} objects"
        " at once"
    )
    size = recordings.bytes_text(first.size_bytes)
    output.note(f"tau: {first.path}, {size}{each}{_others(traces[1:])}")
    if not output_file.is_stream(first.path):
        is_misused = bool(_misuse(merged))
        step = f"tau check {first.path}" if is_misused else f"tau plan {first.path} -o plan.toml"
        output.note(f"  next: {step}")


def _others(traces: list[Trace]) -> str:
    if not traces:
        return ""
    shown = [f"{trace.path} ({trace.merged.events:,})" for trace in traces if trace.merged]
    return f"; beside it {processes.names_text(shown)}"
