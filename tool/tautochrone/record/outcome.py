"""The outcome of `tau record`, whichever recorder it used: a trace of each process, and messages.

The command's own process comes first and gets the name that the user chose. If it has no recording
among those that are kept, the process with the most events does.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tautochrone.console import output
from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.record import launch, processes, recordings
from tautochrone.record.program import EXIT_CANNOT_RECORD
from tautochrone.trace.folder import is_named

ROWS_MAX = 20  # of the table of processes


@dataclass(frozen=True)
class Options:
    """The options of both recorders; `preset` None changes nothing in the program.

    `only` has patterns for the names of programs to keep; none: all. With `is_folder` the output is
    a folder with a recording of each process.
    """

    preset: dict[str, str] | None
    children: bool
    raw: bool
    force: bool
    as_json: bool
    output_to_stderr: bool
    only: tuple[str, ...] = ()
    is_folder: bool = False
    stack_frames: int = 0


@dataclass(frozen=True)
class ProcessRecord:
    """The file of one process: its trace, or with --raw its recording."""

    path: Path
    header: Any  # The recording's header, with `program` and `pid`.
    size_bytes: int = 0

    @property
    def who(self) -> recordings.Who:
        """The process."""
        return who_of(self.header)

    @property
    def events(self) -> int | None:
        """How many events it has; None if nobody counted them."""
        raise NotImplementedError

    def document(self) -> dict[str, Any]:
        """Its object in the JSON."""
        raise NotImplementedError


AnyRecord = TypeVar("AnyRecord", bound=ProcessRecord)
AnyHeader = TypeVar("AnyHeader")


def who_of(header: Any) -> recordings.Who:
    """The process of a recording's header."""
    return recordings.Who(header.program, header.pid, header.called)


def chosen(
    found: list[tuple[Path, AnyHeader]], how: Options, ended: launch.Ended
) -> list[tuple[Path, AnyHeader]]:
    """The recordings that --only keeps. Raises TauError, which keeps all of them, if it is none."""
    kept = [one for one in found if is_named(who_of(one[1]).name, how.only)]
    if kept:
        return kept
    counts = Counter(who_of(header).name for _, header in found)
    names = processes.names_text([f"{name} ({count})" for name, count in counts.most_common()])
    raise TauError(
        f"no recorded process is named {' or '.join(how.only)}; recorded were {names}",
        "name one of these with --only",
        ended.exit_status or EXIT_CANNOT_RECORD,
    )


def place(
    made: Sequence[AnyRecord], out: Path | None, how: Options, ended: launch.Ended
) -> tuple[list[AnyRecord], list[AnyRecord]]:
    """Move files out of the recordings' folder, as recordings.place does. The command's own comes
    first (its last one, if it executed other programs), then the largest.

    Return them, and those that have no event and are left where they are.
    """
    made = [replace(one, size_bytes=one.path.stat().st_size) for one in made]
    made.sort(key=lambda one: one.size_bytes if one.events is None else one.events, reverse=True)
    kept = [one for one in made if one.events != 0] or made[:1]
    idle = made[len(kept) :]
    own = [one for one in kept if one.header.pid == ended.pid]
    if own:
        main = max(own, key=lambda one: one.header.began)
        kept.remove(main)
        kept.insert(0, main)
    files = [(one.path, one.who) for one in kept]
    places = recordings.place(files, out, how.force, ended.exit_status, how.is_folder)
    return [replace(one, path=final) for one, final in zip(kept, places, strict=True)], idle


def document(
    left: Sequence[ProcessRecord], missing: list[recordings.NotRecorded], ended: launch.Ended
) -> dict[str, Any]:
    """The JSON of one run."""
    return {
        "exit_status": ended.exit_status,
        "signal": ended.signal_name,
        "trace": left[0].document(),
        "others": [one.document() for one in left[1:]],
        "not_recorded": [one.document() for one in missing],
        "running": [{"name": one.name, "pid": one.pid} for one in ended.running],
    }


def note_start(name: str, how: Options, what: str) -> None:
    """Say before the program starts which calls and WHAT else is recorded; name the preset."""
    family = " and its children" if how.children else ""
    output.note(
        f"tau: recording malloc, calloc, realloc, aligned_alloc and free of {name}{family}, {what}"
    )
    if how.preset:
        text = " ".join(f"{name}={value}" for name, value in how.preset.items())
        output.note(
            f"tau: preset {text}: heaps above malloc are switched off (--preset none leaves them)"
        )


def note_places(left: Sequence[ProcessRecord], next_step: str, details: str = "") -> None:
    """Say where the traces are, and what to do with the first."""
    first = left[0]
    output.note(f"tau: {first.path}, {recordings.bytes_text(first.size_bytes)}{details}")
    if len(left) > 1:
        _note_table(left)
    if not output_file.is_stream(first.path):
        output.note(f"  next: {next_step}")


def _note_table(left: Sequence[ProcessRecord]) -> None:
    """Print a line for each process, the first ROWS_MAX of them."""
    rows = [("process", "name", "events", "peak bytes", "recording")]
    for one in left[:ROWS_MAX]:
        said = one.document()
        peak = f"{said['peak_live_bytes']:,}" if "peak_live_bytes" in said else "?"
        events = "?" if one.events is None else f"{one.events:,}"
        rows.append((str(one.who.pid), in_one_line(one.who.name), events, peak, str(one.path)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for pid, name, events, peak, path in rows:
        output.note(
            f"  {pid:>{widths[0]}}  {name:<{widths[1]}}  {events:>{widths[2]}}"
            f"  {peak:>{widths[3]}}  {path}"
        )
    if len(left) > ROWS_MAX:
        output.note(f"  and {output.count(len(left) - ROWS_MAX, 'recording')} more")


def note_larger(said: Sequence[dict[str, Any]]) -> None:
    """Say if another process than the first has more events: it may be the one that is meant."""
    first, largest = said[0], max(said, key=lambda one: one["events"])
    if largest["events"] > first["events"]:
        step = f"tau plan {largest['path']} -o plan.toml"
        if largest["name"] != first["name"]:
            step = f"tau record --only {shlex.quote(largest['name'])} …"
        output.note(
            f"tau: {largest['name']} (pid {largest['pid']}) has more events than {first['name']}",
            f"if it is the one that is meant: {step}",
        )


def end_text(ended: launch.Ended) -> str:
    """How the program ended, in words."""
    return f"killed by {ended.signal_name}" if ended.signal_name else f"exit {ended.exit_status}"
