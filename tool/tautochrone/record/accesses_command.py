"""`tau record --accesses`: runs the program and makes the traces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone import __version__
from tautochrone.console import output
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.record import accesses as access
from tautochrone.record import launch, merge, processes, recordings
from tautochrone.record.program import EXIT_CANNOT_RECORD
from tautochrone.trace.ending import note_ending


@dataclass(frozen=True)
class How:
    """The options; `preset` None changes nothing in the program."""

    preset: dict[str, str] | None
    children: bool
    full: bool
    events_max: int | None
    raw: bool
    as_json: bool
    output_to_stderr: bool


@dataclass(frozen=True)
class Made:
    """The trace of one process under its final name; with --raw its unconverted recording."""

    path: Path
    header: access.Header
    facts: Struct
    converted: access.Converted | None
    size_bytes: int

    @property
    def who(self) -> recordings.Who:
        """Return the process."""
        return recordings.Who(self.header.program, self.header.pid)

    def document(self) -> dict[str, Any]:
        """Return its object in the JSON; accesses are as in the trace's header."""
        told = access.trace_header(self.path, self.header, self.facts)
        names = ("program", "pid", "parent", "ended", "truncated", "accesses", "stack_accesses")
        said = {"path": str(self.path), "file_bytes": self.size_bytes}
        said |= {name: told[name] for name in names}
        said |= {"events": self.facts.events, "lost_bytes": self.facts.lost_bytes}
        if self.converted is not None:
            totals = self.converted.totals
            said |= {
                "peak_live_bytes": totals.peak_live_bytes,
                "peak_live_objects": totals.peak_live_objects,
                "touched_granules": totals.touched_granules,
                "unknown_count": totals.unknown_count,
                "double_free_count": totals.double_free_count,
                "inherited_count": totals.inherited_count,
                "threads": totals.threads,
            }
        return said


def record(words: list[str], out: Path | None, force: bool, how: How) -> int:
    """Record `words` and its children under Valgrind; return the exit status. Raises TauError."""
    with recordings.raw_folder(access.RAW_SUFFIX) as folder:
        access.build()
        _announce(words[0], how)
        ended = access.run(
            words,
            folder,
            how.preset,
            how.children,
            how.output_to_stderr,
            how.full,
            how.events_max,
        )
        made, missing = _finish(folder, out, force, how, words[0], ended)
    recordings.say_missing(missing, ended.running)
    for one in made:
        if one.converted is not None:
            status = ended.exit_status if one is made[0] else 0
            for sentence in access.advice(one.converted, status):
                output.note(f"tau: {one.who}: {sentence}")
            note_ending(one.path, one.converted.ending)
    result = {
        "exit_status": ended.exit_status,
        "signal": ended.signal_name,
        "trace": made[0].document(),
        "others": [one.document() for one in made[1:]],
        "not_recorded": [one.document() for one in missing],
        "running": [{"name": one.name, "pid": one.pid} for one in ended.running],
    }
    if how.as_json:
        output.emit(True, "record", result, lambda: None)
    else:
        _summarize(made, ended)
    return ended.exit_status


def _announce(name: str, how: How) -> None:
    family = " and its children" if how.children else ""
    which = "every use" if how.full else "the first use"
    output.note(
        f"tau: recording malloc, calloc, realloc, aligned_alloc and free of {name}{family}, and "
        f"{which} of each 16 bytes; the program runs about 5 to 30 times slower"
    )
    if how.preset:
        text = " ".join(f"{name}={value}" for name, value in how.preset.items())
        output.note(
            f"tau: preset {text}: heaps above malloc are switched off (--preset none leaves them)"
        )


def _finish(
    folder: Path,
    out: Path | None,
    force: bool,
    how: How,
    name: str,
    program_end: launch.Ended,
) -> tuple[list[Made], list[recordings.NotRecorded]]:
    """Convert every recording in `folder` and name it; the one with the most events comes first.

    Also return the processes without an event, which leave no trace.
    """
    made: list[tuple[Path, access.Header, Struct, access.Converted | None]] = []
    for path in recordings.raws_in(folder, access.RAW_SUFFIX):
        header = access.read_header(path)
        if how.raw:
            made.append((path, header, access.survey(path), None))
            continue
        target = path.with_suffix(".tau")
        extra: dict[str, Any] = {"tautochrone": __version__}
        extra |= launch.ended_key(program_end, header.pid)
        if processes.find(header.pid) is not None:
            reason = merge.STOP_REASONS[merge.STOP_DETACHED]
            extra |= {"ended": "still running", "truncated": True, "truncated_reason": reason}
        converted = access.convert(path, target, extra)
        path.unlink()
        made.append((target, header, converted.facts, converted))
    if not made:
        raise TauError(
            f"{name} left no recording: Valgrind could not start it",
            "read Valgrind's message above; `tau doctor` checks this machine",
            EXIT_CANNOT_RECORD,
        )
    made.sort(key=lambda item: item[2].events, reverse=True)
    kept = [item for item in made if item[2].events > 0] or made[:1]
    files = [(item[0], recordings.Who(item[1].program, item[1].pid)) for item in kept]
    sizes_bytes = [path.stat().st_size for path, _ in files]
    places = recordings.place(files, out, force, program_end.exit_status)
    missing = [
        recordings.without_events(recordings.Who(item[1].program, item[1].pid))
        for item in made[len(kept) :]
    ]
    placed = [
        Made(place, *item[1:], size_bytes)
        for place, item, size_bytes in zip(places, kept, sizes_bytes, strict=True)
    ]
    return placed, missing


def _summarize(made: list[Made], ended: launch.Ended) -> None:
    first = made[0]
    facts = first.facts
    end = f"killed by {ended.signal_name}" if ended.signal_name else f"exit {ended.exit_status}"
    accesses = access.heap_accesses(facts)
    ratio = accesses / facts.events if facts.events else 0.0
    output.note(
        f"tau: {facts.events:,} events of {first.who} stand for {accesses:,} accesses of its heap"
        f" ({ratio:.0f} each); program: {end}"
    )
    if first.converted is not None:
        totals = first.converted.totals
        output.note(
            f"tau: peak {totals.peak_live_bytes:,} bytes; at most {totals.peak_live_objects:,}"
            f" objects at once; {16 * totals.touched_granules:,} bytes touched"
        )
    others = [f"{one.path} ({one.facts.events:,})" for one in made[1:]]
    beside = f"; beside it {processes.names_text(others)}" if others else ""
    size = recordings.bytes_text(first.size_bytes)
    output.note(f"tau: {first.path}, {size}{beside}")
    if not output_file.is_stream(first.path):
        step = "tau import" if first.converted is None else "tau info"
        output.note(f"  next: {step} {first.path}")
