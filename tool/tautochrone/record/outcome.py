"""The outcome of `tau record`, whichever recorder it used: a trace of each process, and messages.

The process with the most events comes first and gets the name that the user chose.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tautochrone.console import output
from tautochrone.files import output_file
from tautochrone.record import launch, processes, recordings


@dataclass(frozen=True)
class Options:
    """The options of both recorders; `preset` None changes nothing in the program."""

    preset: dict[str, str] | None
    children: bool
    raw: bool
    force: bool
    as_json: bool
    output_to_stderr: bool


@dataclass(frozen=True)
class ProcessRecord:
    """The file of one process: its trace, or with --raw its recording."""

    path: Path
    header: Any  # The recording's header, with `program` and `pid`.
    size_bytes: int = 0

    @property
    def who(self) -> recordings.Who:
        """The process."""
        return recordings.Who(self.header.program, self.header.pid)

    @property
    def events(self) -> int | None:
        """How many events it has; None if nobody counted them."""
        raise NotImplementedError

    def document(self) -> dict[str, Any]:
        """Its object in the JSON."""
        raise NotImplementedError


AnyRecord = TypeVar("AnyRecord", bound=ProcessRecord)


def place(
    made: Sequence[AnyRecord], out: Path | None, force: bool, exit_status: int
) -> tuple[list[AnyRecord], list[AnyRecord]]:
    """Move files out of the recordings' folder, as recordings.place does, the largest first.

    Return them, and those that have no event and are left where they are.
    """
    made = [replace(one, size_bytes=one.path.stat().st_size) for one in made]
    made.sort(key=lambda one: one.size_bytes if one.events is None else one.events, reverse=True)
    kept = [one for one in made if one.events != 0] or made[:1]
    files = [(one.path, one.who) for one in kept]
    places = recordings.place(files, out, force, exit_status)
    placed = [replace(one, path=final) for one, final in zip(kept, places, strict=True)]
    return placed, made[len(kept) :]


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
    first, others = left[0], left[1:]
    names = [
        str(one.path) if one.events is None else f"{one.path} ({one.events:,})" for one in others
    ]
    more = f"; other processes: {processes.names_text(names)}" if names else ""
    size = recordings.bytes_text(first.size_bytes)
    output.note(f"tau: {first.path}, {size}{details}{more}")
    if not output_file.is_stream(first.path):
        output.note(f"  next: {next_step}")


def end_text(ended: launch.Ended) -> str:
    """How the program ended, in words."""
    return f"killed by {ended.signal_name}" if ended.signal_name else f"exit {ended.exit_status}"
