"""Makes a recording of one build of a program into one with the sizes of another build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import abi_format, trace_format
from tautochrone.files import output_file
from tautochrone.trace import abi
from tautochrone.trace.ending import Ending
from tautochrone.trace.file import TraceReader, open_trace
from tautochrone.translate.matching import Match, match
from tautochrone.translate.program import Program, read_program
from tautochrone.translate.recording import (
    LIBRARY,
    SINGLE,
    Asked,
    Call,
    Calls,
    Site,
    calls_of,
    write_translated,
)

BY_TYPES, BY_OPTION, KEPT = "types", "option", "kept"
NO_TYPE, NO_COUNTERPART, SEVERAL, ARRAYS, IN_LIBRARY, MIXED = (
    "no type has this size",
    "a type has no counterpart in the target's program",
    "types of this size have several sizes on the target",
    "only arrays have this size",
    "a library asks for it, and its types are not known",
    "call sites that ask for it also ask for other sizes, as for strings and arrays",
)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Stated:
    """The user's statements for calls whose types are unknown.

    Target sizes by size, sizes that stay, and whether all without a type stay. `trust_types`:
    objects have a type of their size, also where other sizes are asked for too.
    """

    sizes: Mapping[int, int]
    kept: frozenset[int]
    keep_others: bool = False
    trust_types: bool = False


@dataclass(frozen=True)
class Size:
    """A size of the recording where it is asked for by one of recording.SOURCES.

    `target_bytes` is None if it is not known, for the reason `why`.
    """

    call: Call
    match: Match
    asked: Asked
    target_bytes: int | None
    how: str
    why: str = ""


@dataclass(frozen=True)
class Translation:
    """A translation; if `unknown` is not empty, nothing was written."""

    host: Program
    target: Program
    sizes: tuple[Size, ...]
    events: int
    peak_live_bytes: int
    translated_peak_live_bytes: int | None
    notes: tuple[str, ...]
    ending: Ending

    @property
    def unknown(self) -> tuple[Size, ...]:
        """The sizes that have to be stated."""
        return tuple(size for size in self.sizes if size.target_bytes is None)

    def count(self, *how: str) -> int:
        """How many sizes got their target size in one of these ways."""
        return sum(size.how in how for size in self.sizes)


def translate(
    recording: Path,
    host_path: Path,
    target_path: Path,
    out: Path,
    stated: Stated,
    force: bool = False,
    progress: Progress | None = None,
) -> Translation:
    """Translate a recording to `out`, as output_file.written does, if every size is known.

    Raises TauError for a recording that cannot be translated, for programs that do not fit it or
    cannot be read, and for a stated size that does not occur or does not fit the target.
    """
    with open_trace(recording) as reader:
        _check_recording(reader)
        host = read_program(host_path, progress)
        target = read_program(target_path, progress)
        header = dict(reader.header)
        notes = _check_programs(recording, header, host, target)
        calls = calls_of(reader, _own_modules(header, host_path))
        _check_stated(stated, {call.size_bytes for call in calls.asked})
        sizes = _decide_all(host, target, calls, stated)
        _check_width(sizes, target)
        notes += _doubts(sizes)
        told = Translation(
            *(host, target, tuple(sizes), reader.totals.events, reader.totals.peak_live_bytes),
            *(None, tuple(notes), reader.ending),
        )
        if told.unknown:
            return told
        header = _header(header, told)
        targets = {one.call: one.target_bytes or 0 for one in sizes}
        with output_file.written(out, force, [recording, host_path, target_path]) as partial:
            write_translated(reader, partial, header, calls, targets)
            with open_trace(partial) as written:
                peak = written.totals.peak_live_bytes
        return Translation(**{**vars(told), "translated_peak_live_bytes": peak})


def _check_recording(reader: TraceReader) -> None:
    """Refuse a recording whose sizes cannot be translated, whatever the programs are."""
    if reader.header.get("translated"):
        raise TauError(
            f"{reader.path} is translated already",
            "translate the recording that it was made from",
            EXIT_USAGE,
        )
    if reader.totals.events_of_op[trace_format.OP_TOUCH]:
        raise TauError(
            f"{reader.path} holds accesses at offsets within objects, and the members there have"
            " other offsets on the target",
            "record the program without --accesses",
        )


def _check_programs(
    recording: Path, header: Mapping[str, Any], host: Program, target: Program
) -> list[str]:
    """Refuse programs that do not fit the recording; return notes on skipped comparisons."""
    stated, notes = abi.of_header(header), []
    if stated and stated != host.abi:
        raise TauError(
            f"{recording} was recorded on {stated}, {host.path} is for {host.abi}",
            "name the program that was recorded after --from",
        )
    known = header.get("build_id")
    if isinstance(known, str) and known:
        if known.lower() != host.build_id:
            its = f"has build id {host.build_id}" if host.build_id else "has no build id"
            raise TauError(
                f"{host.path} is not the recorded program: it {its}, the recording names {known}",
                "name the program that was recorded after --from, or record this one",
            )
    else:
        notes.append(
            f"the recording has no build id, so {host.path} could not be compared with the program"
            " that was recorded"
        )
    if abi.fits(host.abi, abi.LAYOUT_OF_POINTER[target.pointer_bytes]) or host.abi == target.abi:
        raise TauError(
            f"nothing to translate: structures have the same sizes on {host.abi} and {target.abi}",
            "use the recording as it is",
            EXIT_USAGE,
        )
    return notes


def _check_stated(stated: Stated, found: set[int]) -> None:
    """Refuse sizes that do not occur, and one that is stated twice."""
    for option, sizes in (("--size", stated.sizes.keys()), ("--keep", stated.kept)):
        for size in sorted(sizes):
            if size not in found:
                raise TauError(
                    f"{option} {size}: the recording does not ask for {size} bytes",
                    "leave it out, or correct it; `tau info` lists sizes",
                    EXIT_USAGE,
                )
    both = sorted(stated.sizes.keys() & stated.kept)
    if both:
        raise TauError(
            f"--size {both[0]}={stated.sizes[both[0]]} and --keep {both[0]} contradict each other",
            "give one of them",
            EXIT_USAGE,
        )


def _doubts(sizes: list[Size]) -> list[str]:
    """Return a note on the sizes that rest on --trust-types."""
    doubted = [one for one in sizes if one.how == BY_TYPES and one.call.source != SINGLE]
    if not doubted:
        return []
    allocations = sum(one.asked.allocations for one in doubted)
    return [
        f"{len(doubted):,} sizes with {allocations:,} allocations are translated because of"
        " --trust-types; strings and arrays of these sizes got wrong ones"
    ]


def _check_width(sizes: list[Size], target: Program) -> None:
    """Refuse a size that the target's size_t cannot hold."""
    limit = 1 << 8 * abi_format.POINTER_BYTES[target.abi]
    for one in sizes:
        if one.target_bytes is not None and one.target_bytes >= limit:
            raise TauError(
                f"{one.target_bytes:,} bytes do not fit an address space of {limit:,} bytes",
                f"state another size: --size {one.call.size_bytes}=BYTES",
            )


def _own_modules(header: Mapping[str, Any], host_path: Path) -> Callable[[Site], bool]:
    """Return a predicate: whether a call site is in the program, not in a library."""
    program, name = header.get("program"), host_path.name
    return lambda site: site[0] == program or Path(site[0]).name == name


def _decide_all(host: Program, target: Program, calls: Calls, stated: Stated) -> list[Size]:
    """Return the decision for each call, by size."""
    found = [
        _by_types(host, target, call, asked, stated.trust_types)
        for call, asked in sorted(calls.asked.items(), key=lambda item: item[0])
    ]
    # A statement is about what types do not tell; if they tell all of a size, it contradicts them.
    open_sizes = {one.call.size_bytes for one in found if one.target_bytes is None}
    return [
        one
        if one.target_bytes is not None and one.call.size_bytes in open_sizes
        else _by_statement(one, stated)
        for one in found
    ]


def _by_types(
    host: Program, target: Program, call: Call, asked: Asked, trust_types: bool
) -> Size:
    """Return the target size as types tell it, or why they do not."""
    is_own = call.source != LIBRARY
    found = match(host, target, call.size_bytes, is_hinted=is_own)
    is_trusted = call.source == SINGLE or (trust_types and is_own)
    if found.target_size is not None and is_trusted:
        return Size(call, found, asked, found.target_size, BY_TYPES)
    return Size(call, found, asked, None, "", _why(found) if is_own else IN_LIBRARY)


def _by_statement(one: Size, stated: Stated) -> Size:
    """Return a size as the user states it; unchanged if nothing is stated."""
    size = one.call.size_bytes
    if size in stated.sizes:
        return Size(one.call, one.match, one.asked, stated.sizes[size], BY_OPTION)
    is_other = stated.keep_others and not one.match.has_type
    if size in stated.kept or is_other:
        return Size(one.call, one.match, one.asked, size, KEPT)
    return one


def _why(found: Match) -> str:
    """Why the target size is not known of a size that the program asks for."""
    if not found.has_type:
        return NO_TYPE
    if not all(one.target_sizes for one in found.candidates):
        return NO_COUNTERPART
    if len(found.target_sizes) > 1:
        return SEVERAL
    return ARRAYS if found.has_arrays_only else MIXED


def _header(header: dict[str, Any], told: Translation) -> dict[str, Any]:
    """Return the header of the translated recording [TRACE-48]."""
    translated = {
        "from": told.host.abi,
        "sizes": told.count(BY_TYPES, BY_OPTION),
        "kept": told.count(KEPT),
    }
    header |= {"abi": told.target.abi, "translated": translated}
    header["build_id"] = told.target.build_id
    return header
