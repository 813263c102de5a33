"""`tau record --accesses`: runs the program and makes the traces."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone import __version__
from tautochrone.console import output
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.record import accesses as access
from tautochrone.record import launch, outcome, processes, recordings
from tautochrone.record.program import EXIT_CANNOT_RECORD
from tautochrone.record.raw_header import STOP_DETACHED, STOP_REASONS
from tautochrone.trace.ending import note_ending


@dataclass(frozen=True)
class AccessTrace(outcome.ProcessRecord):
    """The trace of one process; with --raw its unconverted recording."""

    facts: Struct | None = None
    converted: access.Converted | None = None

    @property
    def events(self) -> int:
        """How many events it has."""
        return self.facts.events

    def document(self) -> dict[str, Any]:
        """Return its object in the JSON; accesses are as in the trace's header."""
        told = access.trace_header(self.path, self.header, self.facts)
        said = {"path": str(self.path), "file_bytes": self.size_bytes, "name": self.who.name}
        names = ("program", "pid", "parent", "ended", "truncated", "accesses", "stack_accesses")
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


def record(
    words: list[str], out: Path | None, how: outcome.Options, full: bool, events_max: int | None
) -> int:
    """Record `words` and its children under Valgrind; return the exit status. Raises TauError.

    `full` and `events_max` as in access.run.
    """
    with recordings.raw_folder(access.RAW_SUFFIX) as folder:
        access.build()
        which = "every use" if full else "the first use"
        what = f"and {which} of each 16 bytes; the program runs about 5 to 30 times slower"
        outcome.note_start(words[0], how, what)
        ended = access.run(
            words, folder, how.preset, how.children, how.output_to_stderr, full, events_max
        )
        made, missing = _finish(folder, out, how, words[0], ended)
    recordings.say_missing(missing, ended.running)
    for one in made:
        if one.converted is not None:
            status = ended.exit_status if one is made[0] else 0
            for sentence in access.advice(one.converted, status):
                output.note(f"tau: {one.who}: {sentence}")
            note_ending(one.path, one.converted.ending)
    if how.as_json:
        output.emit(True, "record", outcome.document(made, missing, ended), lambda: None)
    else:
        _summarize(made, how, ended)
    return ended.exit_status


def _finish(
    folder: Path, out: Path | None, how: outcome.Options, name: str, ended: launch.Ended
) -> tuple[list[AccessTrace], list[recordings.NotRecorded]]:
    """Convert every recording in `folder` and name it. Also return processes without an event."""
    raws = recordings.raws_in(folder, access.RAW_SUFFIX)
    if not raws:
        raise TauError(
            f"{name} left no recording: Valgrind could not start it",
            "read Valgrind's message above; `tau doctor` checks this machine",
            EXIT_CANNOT_RECORD,
        )
    made = []
    found = [(raw, access.read_header(raw)) for raw in raws]
    for path, header in outcome.chosen(found, how, ended):
        if how.raw:
            made.append(AccessTrace(path, header, facts=access.survey(path)))
            continue
        target = path.with_suffix(".tau")
        extra: dict[str, Any] = {"tautochrone": __version__}
        extra |= launch.ended_key(ended, header.pid)
        if processes.find(header.pid) is not None:
            reason = STOP_REASONS[STOP_DETACHED]
            extra |= {"ended": "still running", "truncated": True, "truncated_reason": reason}
        converted = access.convert(path, target, extra)
        path.unlink()
        made.append(AccessTrace(target, header, facts=converted.facts, converted=converted))
    placed, without_events = outcome.place(made, out, how, ended)
    return placed, [recordings.without_events(one.who) for one in without_events]


def _summarize(made: list[AccessTrace], how: outcome.Options, ended: launch.Ended) -> None:
    first = made[0]
    facts = first.facts
    accesses = access.heap_accesses(facts)
    ratio = accesses / facts.events if facts.events else 0.0
    output.note(
        f"tau: {facts.events:,} events of {first.who} stand for {accesses:,} accesses of its heap"
        f" ({ratio:.0f} each); program: {outcome.end_text(ended)}"
    )
    if first.converted is not None:
        totals = first.converted.totals
        output.note(
            f"tau: peak {totals.peak_live_bytes:,} bytes; at most"
            f" {output.count(totals.peak_live_objects, 'object')} at once;"
            f" {16 * totals.touched_granules:,} bytes touched"
        )
    step = "tau import" if first.converted is None else "tau info"
    outcome.note_places(made, f"{step} {first.path}")
    if not how.is_folder:
        outcome.note_larger([one.document() for one in made])
