"""How a trace ended, and which events it lacks. Every command that reads a trace reports it.

with open_trace("program.tau") as reader:
    note_ending(reader.path, reader.ending)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tautochrone.console import output
from tautochrone.declarations import Struct
from tautochrone.errors import TauError

RECOVERED = "recovered"
STOPPED = "stopped"
BEGINNING = "beginning"
LOST = "lost"
UNSEEN = "unseen"
NO_EXIT = "no exit"
NO_END = "no end"
# Meanings of a header's `ended`; any other text is a reason why the program did not exit.
ENDED_BY_EXIT = "exit"
ENDED_BY_FLUSH = "still running after its last rows were flushed"
ENDED_WITHOUT_MARK = "no end mark"
# The meaning of each count in the header's `lost` [TRACE-47].
LOST_TEXT = {
    "damaged_chunks": "damaged chunks of the recording were left out",
    "lost_blocks": "blocks of the target's stream were lost in transfer",
    "dropped_rows": "events were dropped because the target's write function refused them",
    "events": "events came after the recorder had stopped, and were lost",
    "calls": "allocator calls were left by a long jump; their effect is not known",
    "bytes": "bytes at the end of the recording are an incomplete event and were left out",
}
REASON_CHARACTERS_MAX = 200
RECORDER_TARGET = "target"
# Next steps for allocations that a recording lacks.
SEE_ALL_ON_TARGET = (
    "wrap every function of the firmware's heap (core/ports/record_wrap.c) and record again"
)
SEE_ALL = "record again so that every allocation is seen"
LOSE_NOTHING_ON_TARGET = (
    "record again without losses: a faster link, a larger TAU_RECORD_BUFFER_BYTES, or a capture "
    "that keeps every byte (core/ports/record_wrap.c)"
)
MARK_THE_END = (
    "call tau_record_wrap_flush() before the capture ends, or let the firmware call exit() "
    "(core/ports/record_wrap.c); then record again"
)


@dataclass(frozen=True)
class Remark:
    """A remark on a trace's end. `is_gap`: for this reason events are missing, or may be."""

    kind: str
    cause: str
    is_gap: bool
    next_step: str | None = None

    @property
    def is_problem(self) -> bool:
        """Whether `tau check` counts it as a problem of the file."""
        return self.is_gap or self.kind == RECOVERED


@dataclass(frozen=True)
class Ending:
    """How a trace ended. Without remarks, it holds every event up to the program's exit."""

    events: int
    remarks: tuple[Remark, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing says that events are missing."""
        return not any(remark.is_gap for remark in self.remarks)

    @property
    def sentences(self) -> list[str]:
        """The text of every remark."""
        return [remark.cause for remark in self.remarks]

    @property
    def gaps(self) -> str:
        """Why events are or may be missing, in one line; empty without a reason."""
        return "; ".join(remark.cause for remark in self.remarks if remark.is_gap)

    def document(self) -> dict[str, Any]:
        """Return its object in the JSON."""
        return {
            "complete": self.is_complete,
            "events": self.events,
            "remarks": [
                {"kind": remark.kind, "cause": remark.cause, "gap": remark.is_gap}
                for remark in self.remarks
            ],
        }


def ending_of(header: Mapping[str, Any], totals: Struct) -> Ending:
    """Return how a trace with this header and these totals ended [TRACE-37, TRACE-47].

    The header is the recorder's and may hold anything. Fields that do not follow SPEC are ignored.
    """
    remarks = [_recovered(totals), _copied(header), _stopped(header, totals), _beginning(header)]
    remarks += _lost(header)
    if not any(remark is not None and remark.is_gap for remark in remarks):
        remarks.append(_unseen(header, totals))
    remarks.append(_no_exit(header))
    return Ending(totals.events, tuple(remark for remark in remarks if remark is not None))


def note_ending(path: Path | str, ending: Ending) -> None:
    """Print each remark on the trace at `path` on stderr; `tau -q` drops them."""
    note_remarks(path, ending.remarks)


def note_remarks(path: Path | str, remarks: Iterable[Remark]) -> None:
    """Print remarks as note_ending does."""
    for remark in remarks:
        output.note(f"tau: {path}: {remark.cause}", remark.next_step)


def _recovered(totals: Struct) -> Remark | None:
    """The remark on a footer that is damaged or missing."""
    if not totals.recovered:
        return None
    if totals.reached_end:
        return Remark(RECOVERED, "the footer is damaged; every event was recovered", False)
    behind = f"; {totals.dropped_bytes:,} bytes after it are dropped"
    return Remark(
        RECOVERED,
        f"the footer is missing or damaged: recovered up to event {totals.events:,}"
        + (behind if totals.dropped_bytes else "; later events are lost"),
        True,
    )


def _copied(header: Mapping[str, Any]) -> Remark | None:
    """The remark on a copy of a trace whose footer was damaged or missing."""
    said = header.get("recovered")
    if not isinstance(said, str):
        return None
    return Remark(RECOVERED, f"it is a copy of a trace in which {_short(said)}", True)


def _stopped(header: Mapping[str, Any], totals: Struct) -> Remark | None:
    """The remark on a recorder that stopped before the program ended."""
    if not header.get("truncated"):
        return None
    reason = header.get("truncated_reason")
    why = _short(reason) if isinstance(reason, str) and reason else "no reason is given"
    events = header.get("whole_events")
    events = events if type(events) is int else totals.events
    cause = f"the recorder stopped early, after event {events:,}: {why}"
    return Remark(STOPPED, cause, True)


def _beginning(header: Mapping[str, Any]) -> Remark | None:
    """The remark on a trace that is the beginning of another."""
    kept, whole = header.get("first_events"), header.get("whole_events")
    if type(kept) is not int:
        return None
    of_whole = f" of {whole:,}" if type(whole) is int else ""
    return Remark(BEGINNING, f"only the first {kept:,}{of_whole} events are in it", True)


def _lost(header: Mapping[str, Any]) -> list[Remark]:
    """The remarks on losses after recording. The last one has the next step."""
    step = LOSE_NOTHING_ON_TARGET if _is_of_target(header) else None
    counts = _losses(header)
    return [
        Remark(
            LOST,
            f"{count:,} {LOST_TEXT.get(name, _short(name))}",
            True,
            step if place == len(counts) else None,
        )
        for place, (name, count) in enumerate(counts.items(), start=1)
    ]


def _losses(header: Mapping[str, Any]) -> dict[str, int]:
    """The valid counts of the header's `lost`."""
    lost = header.get("lost")
    counts = lost.items() if isinstance(lost, dict) else ()
    return {name: count for name, count in counts if type(count) is int and count > 0}


def _is_of_target(header: Mapping[str, Any]) -> bool:
    return header.get("recorder") == RECORDER_TARGET


class Frees(Protocol):
    """Counts of frees of objects that are not alive, and their first events."""

    unknown_count: int
    unknown_first_event: int
    double_free_count: int
    double_free_first_event: int


def unseen_frees(header: Mapping[str, Any], frees: Frees) -> tuple[int, int]:
    """The frees which say that an allocation is not in the recording; the first one's event.

    In a target's stream a double free says so, too: an object that was not seen may have been at
    that address in between [REC-21].
    """
    found = [(frees.unknown_count, frees.unknown_first_event)]
    if _is_of_target(header):
        found.append((frees.double_free_count, frees.double_free_first_event))
    firsts = [first for count, first in found if count]
    return sum(count for count, _ in found), min(firsts, default=0)


def see_all(header: Mapping[str, Any]) -> str:
    """The next step for a recording that does not hold every allocation."""
    if not _is_of_target(header):
        return SEE_ALL
    return LOSE_NOTHING_ON_TARGET if _losses(header) else SEE_ALL_ON_TARGET


def misuse_error(path: Path | str, header: Mapping[str, Any], frees: Frees) -> TauError | None:
    """The refusal of a trace with frees of objects that are not alive; None if it has none.

    That allocations are missing from it comes first: most programs are right.
    """
    count, first = unseen_frees(header, frees)
    doubles = 0 if _is_of_target(header) else frees.double_free_count
    said = []
    if count:
        said.append(f"{_unseen_text(count)} (first: event {first:,})")
    if doubles:
        first = frees.double_free_first_event
        said.append(f"it has {output.count(doubles, 'double free')} (first: event {first:,})")
    if not said:
        return None
    step = see_all(header) if count else "repair the program"
    return TauError(
        f"{path}: {', and '.join(said)}",
        f"{step}; `tau check {path}` says where; or leave these events out with --skip-misuse",
    )


def _unseen_text(count: int) -> str:
    frees = "a free is of an object" if count == 1 else f"{count:,} frees are of objects"
    return f"it does not hold every allocation: {frees} that it does not know"


def _unseen(header: Mapping[str, Any], totals: Struct) -> Remark | None:
    """The remark on allocations that the recorder did not see, for no other reason."""
    count, _ = unseen_frees(header, totals)
    return Remark(UNSEEN, _unseen_text(count), True) if count else None


def _no_exit(header: Mapping[str, Any]) -> Remark | None:
    """The remark on a program that did not run to its exit. Its events are complete until then,
    except in a target's stream without an end mark: its last events may be missing.
    """
    ended = header.get("ended")
    if not isinstance(ended, str) or ended == ENDED_BY_EXIT:
        return None
    if ended == ENDED_WITHOUT_MARK:
        cause = "the recording may lack its end: the target's stream has no end mark"
        return Remark(NO_END, cause, True, MARK_THE_END)
    return Remark(NO_EXIT, f"the program did not run to its exit: {_short(ended)}", False)


def _short(text: str) -> str:
    """Shorten a long text."""
    return text if len(text) <= REASON_CHARACTERS_MAX else text[:REASON_CHARACTERS_MAX] + " …"
