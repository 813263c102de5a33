"""Validates a whole trace against every rule of SPEC."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tautochrone import native
from tautochrone.console import bars
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.trace import file as trace
from tautochrone.trace.ending import RECOVERED, UNSEEN, Ending, see_all, unseen_frees


@dataclass(frozen=True)
class Problem:
    """One problem and its place."""

    place: str
    cause: str


@dataclass(frozen=True)
class Checked:
    """The problems of a file; of a trace, how it ended and the program's misuse.

    `ending` is None if the trace cannot be opened. `misuses` is empty if the file is damaged.
    """

    problems: list[Problem]
    ending: Ending | None = None
    misuses: tuple[Problem, ...] = ()
    next_step: str | None = None


def check_trace(path: Path) -> Checked:
    """Validate a trace."""
    try:
        reader = trace.open_trace(path)
    except TauError as error:
        return Checked([Problem("header", error.message.removeprefix(f"{path}: "))])
    with reader:
        ending = reader.ending
        damage = _check_header(reader) + _check_sites(reader) + _check_blocks(reader)
        problems = [
            Problem("footer" if remark.kind == RECOVERED else "recording", remark.cause)
            for remark in ending.remarks
            if remark.is_problem and not (damage and remark.kind == UNSEEN)
        ]
        if damage:
            return Checked(problems + damage, ending)
        steps = [one.next_step for one in ending.remarks if one.is_problem and one.next_step]
        if unseen_frees(reader.header, reader.totals)[0]:
            steps = [see_all(reader.header)]
        return Checked(problems, ending, tuple(_first_misuses(reader)), "; ".join(steps) or None)


def _first_misuses(reader: trace.TraceReader) -> Iterator[Problem]:
    """Yield the first free of an unknown object and the first double free, if there are any.

    The former says that the recording misses allocations, the latter that the program has a bug.
    """
    totals = reader.totals
    if totals.unknown_count:
        place = totals.unknown_first_event
        yield _misuse(reader, place, "an object that the trace never allocated")
    if totals.double_free_count:
        place = totals.double_free_first_event
        yield _misuse(reader, place, "an object that was already freed")


def _misuse(reader: trace.TraceReader, event: int, what: str) -> Problem:
    """Return the place and the words of an event that names no live object."""
    before = 0
    for columns in reader.columns(("slot", "site", "op")):
        if event < before + len(columns.op):
            break
        before += len(columns.op)
    row = event - before
    slot, site = int(columns.slot[row]), int(columns.site[row])
    cause = f"{trace.OPS[int(columns.op[row])]} of {what}"
    if slot != trace_format.SLOT_NONE:
        cause += f" (slot {slot:,})"
    if site:
        module, offset = reader.sites()[site - 1]
        cause += f", called at {module}+{offset:#x}"
    return Problem(f"event {event}", cause)


def _check_header(reader: trace.TraceReader) -> list[Problem]:
    """Check that the header is a JSON object."""
    is_text = "text" in reader.header and len(reader.header) == 1
    return [Problem("header", "not a JSON object")] if is_text else []


def _check_sites(reader: trace.TraceReader) -> list[Problem]:
    """Check the name of every call site."""
    try:
        reader.sites()
    except TauError as error:
        return [Problem("sites", error.message.removeprefix(f"{reader.path}: "))]
    return []


def _check_blocks(reader: trace.TraceReader) -> list[Problem]:
    """Check every block and follow every object; then compare the footer with the totals."""
    lib = native.library()
    problems = []
    checker = lib.tau_trace_checker_open(reader.handle)
    if not checker:
        raise TauError("memory is short")
    try:
        blocks = range(reader.totals.blocks)
        for index in bars.progress(blocks, "checking", len(blocks)):
            status = lib.tau_trace_checker_block(checker, index)
            if status == trace.STATUS_BAD_EVENT:
                event = lib.tau_trace_checker_event(checker)
                rule = lib.tau_trace_checker_rule(checker).decode()
                problems.append(Problem(f"event {event}", rule))
            elif status:
                first = reader.first_event(index)
                cause = trace.status_error(status, reader.path).message
                place = f"block {index}, from event {first}"
                problems.append(Problem(place, cause.removeprefix(f"{reader.path}: ")))
        if not problems:
            wrong = lib.tau_trace_checker_totals(checker)
            if wrong:
                cause = f"{wrong.decode()} does not match the events"
                problems.append(Problem("footer", cause))
    finally:
        lib.tau_trace_checker_close(checker)
    return problems
