"""`tau who`: which functions and lines hold the bytes of a recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tautochrone.commands.options import FILE, FORCE, JSON, PATH, refuse_combinations
from tautochrone.console import output
from tautochrone.console.terminal import in_one_line
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import trace_format
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath
from tautochrone.trace.ending import note_ending

if TYPE_CHECKING:
    from tautochrone.trace.file import TraceReader
    from tautochrone.who.holders import Holders
    from tautochrone.who.places import Place
    from tautochrone.who.stacks import Stacks

ROWS_SHOWN = 20
REMARKS_SHOWN = 6
PLACE_CHARACTERS_MAX = 40
FUNCTION_CHARACTERS_MAX = 100
NOT_RECORDED = "no call site was recorded"
STACKS_STEP = "record with --stacks 8, and their bytes count for the program's lines"


@click.command()
@click.argument("trace", type=PATH)
@click.option("--left", is_flag=True, help="Show what was never freed (default: the peak).")
@click.option(
    "--lifetimes",
    is_flag=True,
    help="Show how many objects each line made, and how long they lived (default: the peak).",
)
@click.option(
    "--misuse",
    is_flag=True,
    help="Show frees of objects that are not alive (default: the peak).",
)
@click.option(
    "--elf",
    type=FILE,
    help="The recorded firmware or program, linked with -g (default: the files that the recording"
    " names).",
)
@click.option(
    "--stacks",
    "shows_stacks",
    is_flag=True,
    help="Show below each line the calls that lead to most of it; the trace needs `tau record"
    " --stacks`.",
)
@click.option(
    "--export",
    "export",
    type=OutputPath(),
    help="Write the stacks and their bytes: .json for speedscope, .pb.gz for pprof, .txt folded"
    " stacks for flame graphs (default: print the table).",
)
@FORCE
@JSON
def command(
    trace: Path,
    left: bool,
    lifetimes: bool,
    misuse: bool,
    elf: Path | None,
    shows_stacks: bool,
    export: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Name the functions and lines that hold the bytes of TRACE.

    At its peak, unless an option says otherwise.

    \b
    tau who program.tau
    tau who program.tau --left
    tau who program.tau --lifetimes --json
    tau who firmware.tau --elf firmware.elf
    tau who program.tau --stacks
    tau who program.tau --export peak.json

    Lines need a program or firmware that was compiled with -g, and not rebuilt since. A line is the
    innermost one of the program's own code: calls that the compiler inlined from system headers,
    such as those of std::vector, count for the line that made them. --json has all inlined calls.
    With recorded stacks, calls in system libraries count for the program's line that called them.
    A resize ends an object and makes another one, at the line of the resize.
    """
    from tautochrone.trace.file import open_trace
    from tautochrone.who.calls import refusals_told
    from tautochrone.who.holders import holders_of
    from tautochrone.who.places import Places
    from tautochrone.who.stacks import Stacks

    given = {"--left": left, "--lifetimes": lifetimes, "--misuse": misuse}
    pairs = (("--left", "--lifetimes"), ("--left", "--misuse"), ("--lifetimes", "--misuse"))
    refuse_combinations(given, [(*pair, "one table at a time") for pair in pairs], ())
    if export is not None:
        _check_export(export, misuse, force, trace, as_json)
    view = next((VIEWS[name] for name, is_given in given.items() if is_given), VIEWS[""])
    with open_trace(trace) as reader:
        places = Places(reader.header, elf)
        holders = holders_of(reader)
        counts = holders.counts
        wanted = [
            number for number, one in enumerate(counts)
            if (view.weight(one) or (as_json and any(one.tolist())))
        ]  # fmt: skip
        stacks = Stacks(reader.calls(), places)
        if shows_stacks and not stacks.has_callers:
            raise TauError(f"{trace} has no stacks", "record it with `tau record --stacks 8`")
        if export is not None:
            _export(export, force, trace, stacks, holders, view.name)
            note_ending(trace, reader.ending)
            return
        by_number = stacks.counted_for(number for number in wanted if number)
        rows = _rows(holders, wanted, by_number, view)
        rows.sort(key=lambda row: (-view.weight(row.counts), row.place.told() if row.place else ""))
        _remark_stacks(reader.header, stacks, rows, places.remarks)
        if refusals := refusals_told(reader, places):
            places.remarks["heap"] = refusals
        if shows_stacks:
            _add_stacks(rows if as_json else rows[:ROWS_SHOWN], stacks)
        result = _document(reader, view, holders, rows, places.remarks)
        output.emit(
            as_json, "who", result, lambda: _print(reader, view, holders, rows, places.remarks)
        )
        note_ending(trace, reader.ending)


# ---- rows ----


@dataclass
class _Row:
    """One line of the source, or one site without a line; `place` is None without a site."""

    place: Place | None
    counts: Any
    sites: dict[int, Place] = field(default_factory=dict)
    first_misuse: int | None = None
    heaviest: int = 0  # the site with most of it
    weight: float = 0
    stack: tuple[Place, ...] = ()  # of that site, if it is shown

    @property
    def has_line(self) -> bool:
        return self.place is not None and bool(self.place.frame.line)


def _rows(
    holders: Holders, wanted: Sequence[int], by_number: dict[int, Place], view: _View
) -> list[_Row]:
    """The sites by line; of those without a line by function, else each alone."""
    rows: dict[Any, _Row] = {}
    for number in wanted:
        place = by_number.get(number)
        key: Any = number
        if place is not None and place.frame.function:
            key = (place.module, place.frame)
        one = holders.counts[number]
        row = rows.get(key)
        if row is None:
            row = rows[key] = _Row(place, one.copy())
        else:
            for name in one.dtype.names:
                both = (row.counts[name], one[name])
                row.counts[name] = max(both) if name == "longest" else sum(both)
        if place is not None:
            row.sites.setdefault(place.offset, place)
        if view.weight(one) > row.weight:
            row.heaviest, row.weight = number, view.weight(one)
        firsts = [row.first_misuse, holders.first_misuse.get(number)]
        row.first_misuse = min((each for each in firsts if each is not None), default=None)
    return list(rows.values())


def _document(
    reader: TraceReader,
    view: _View,
    holders: Holders,
    rows: Sequence[_Row],
    remarks: dict[str, str],
) -> dict[str, Any]:
    return {
        "trace": str(reader.path),
        "sorted_by": view.name,
        "clock": reader.header.get("clock", "ns"),
        "peak_bytes": int(holders.counts["peak_bytes"].sum()),
        "peak_event": holders.peak_event,
        "left_bytes": int(holders.counts["left_bytes"].sum()),
        "left_objects": int(holders.counts["left_objects"].sum()),
        "with_line_bytes": sum(int(row.counts["peak_bytes"]) for row in rows if row.has_line),
        "rows": [_row_document(row) for row in rows],
        "remarks": remarks,
        "ending": reader.ending.document(),
    }


def _row_document(row: _Row) -> dict[str, Any]:
    from tautochrone.who.places import Place

    place = row.place or Place("", 0)
    ended = int(row.counts["ended"])
    return {
        **place.document(),
        "module": row.place.module if row.place is not None else None,
        "peak_bytes": int(row.counts["peak_bytes"]),
        "peak_objects": int(row.counts["peak_objects"]),
        "left_bytes": int(row.counts["left_bytes"]),
        "left_objects": int(row.counts["left_objects"]),
        "made_bytes": int(row.counts["made_bytes"]),
        "made_objects": int(row.counts["made"]),
        "ended_objects": ended,
        "mean_lifetime": row.counts["lived"] / ended if ended else None,
        "longest_lifetime": int(row.counts["longest"]) if ended else None,
        "double_frees": int(row.counts["double_frees"]),
        "unknown_frees": int(row.counts["unknown_frees"]),
        "first_misuse_event": row.first_misuse,
        "sites": [
            {"offset": site.offset, "frames": [one._asdict() for one in site.frames]}
            for site in row.sites.values()
        ],
        "stack": [
            {"module": place.module, "offset": place.offset, **place.document()}
            for place in row.stack
        ],
    }


# ---- stacks ----


def _add_stacks(rows: Sequence[_Row], stacks: Stacks) -> None:
    """Give each row the stack of its heaviest site."""
    stacks.name(site for row in rows for site in stacks.sites_of(row.heaviest))
    for row in rows:
        row.stack = stacks.places_of(row.heaviest)


def _remark_stacks(
    header: Mapping[str, Any], stacks: Stacks, rows: Sequence[_Row], remarks: dict[str, str]
) -> None:
    """Say that stacks would name more lines, or that some of a recording end too early."""
    in_libraries = (row.place is not None and stacks.is_system(row.place) for row in rows)
    if header.get("recorder") == "preload" and not stacks.has_callers and any(in_libraries):
        remarks["libraries"] = STACKS_STEP
    recorded = header.get("stacks")
    cut = recorded.get("cut") if isinstance(recorded, dict) else 0
    if isinstance(cut, int) and cut > 0:
        remarks["stacks"] = (
            f"{output.count(cut, 'stack')} ended early, in code without unwind tables; compile it"
            " with -fasynchronous-unwind-tables"
        )


def _check_export(path: Path, misuse: bool, force: bool, trace: Path, as_json: bool) -> None:
    """Refuse a file that is none of the kinds, or that may not be written."""
    from tautochrone.who.exports import KINDS, kind_of

    if misuse:
        raise click.UsageError("--export and --misuse exclude each other: frees hold no bytes")
    if not kind_of(path):
        raise TauError(
            f"{path}: what to write is not known from its name",
            f"name a file that ends with {', '.join(KINDS)}",
            EXIT_USAGE,
        )
    output_file.check(path, force, [trace], as_json)


def _export(
    path: Path, force: bool, trace: Path, stacks: Stacks, holders: Holders, view: str
) -> None:
    """Write the stacks that hold bytes, in the kind that the file's name ends with."""
    from tautochrone.who.exports import KINDS, kind_of

    kind = {"lifetimes": "made"}.get(view, view)
    what = {"peak": "bytes at the peak", "left": "bytes never freed", "made": "bytes made"}[kind]
    held = stacks.held(holders.counts, kind)
    with output_file.written(path, force, [trace]) as partial:
        partial.write_bytes(KINDS[kind_of(path)](f"{trace.name}: {what}", held))
    output.note(f"tau: {path}: {what}, {output.count(len(held), 'stack')}")


# ---- tables ----


class _View(NamedTuple):
    """A table: what it is sorted by, its columns, and a row's cells."""

    name: str
    weight: Callable[[Any], float]
    columns: tuple[str, ...]
    cells: Callable[[_Row, float, Callable[[float], str]], tuple[str, ...]]


def _held(kind: str) -> _View:
    """The table of bytes at the peak, or left."""

    def cells(row: _Row, total: float, _: Callable[[float], str]) -> tuple[str, ...]:
        size = row.counts[f"{kind}_bytes"]
        part = f"{100 * float(size) / total:.1f}" if total else ""
        return (f"{size:,}", part, f"{row.counts[f'{kind}_objects']:,}")

    return _View(
        kind,
        lambda counts: counts[f"{kind}_bytes"] or bool(counts[f"{kind}_objects"]) / 2,
        ("bytes", "%", "objects"),
        cells,
    )


def _lifetime_cells(
    row: _Row, _: float, duration: Callable[[float], str]
) -> tuple[str, ...]:
    counts = row.counts
    ended = int(counts["ended"])
    lived = (duration(counts["lived"] / ended), duration(counts["longest"])) if ended else ("", "")
    made = (f"{int(counts['made_bytes']):,}", f"{counts['made']:,}", *lived)
    return (*made, f"{counts['left_objects']:,}")


def _misuse_cells(row: _Row, _: float, __: Callable[[float], str]) -> tuple[str, ...]:
    first = "" if row.first_misuse is None else f"{row.first_misuse:,}"
    return (f"{row.counts['double_frees']:,}", f"{row.counts['unknown_frees']:,}", first)


VIEWS = {
    "": _held("peak"),
    "--left": _held("left"),
    "--lifetimes": _View(
        "lifetimes",
        lambda counts: counts["made_bytes"] or bool(counts["made"]) / 2,
        ("bytes made", "objects", "mean lifetime", "longest", "never freed"),
        _lifetime_cells,
    ),
    "--misuse": _View(
        "misuse",
        lambda counts: counts["double_frees"] + counts["unknown_frees"],
        ("double frees", "unknown frees", "first event"),
        _misuse_cells,
    ),
}


def _print(
    reader: TraceReader,
    view: _View,
    holders: Holders,
    rows: Sequence[_Row],
    remarks: dict[str, str],
) -> None:
    """Print a table for people."""
    print(in_one_line(f"{reader.path}: {_heading(view, holders)}"))
    held = f"{view.name}_bytes"
    total = float(holders.counts[held].sum()) if held in holders.counts.dtype.names else 0.0
    duration = _duration_of(reader)
    lines = [(*view.columns, "line", "function")]
    for row in rows[:ROWS_SHOWN]:
        lines.append((*view.cells(row, total, duration), *_where(row)))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    numbers = len(view.columns)
    shown = zip(lines, ((), *(row.stack for row in rows)), strict=False)
    for line, stack in shown if rows else ():
        cells = [cell.rjust(width) for cell, width in zip(line[:numbers], widths, strict=False)]
        cells.append(line[numbers].ljust(min(widths[numbers], PLACE_CHARACTERS_MAX)))
        print("  ".join([*cells, line[-1]]).rstrip())
        for place in stack:
            print(in_one_line(f"{'':{sum(widths[:numbers]) + 2 * numbers}}{place.told()}"))
    if len(rows) > ROWS_SHOWN:
        print(f"… {len(rows) - ROWS_SHOWN:,} more; --json has all")
    if total:
        located = sum(float(row.counts[held]) for row in rows if row.has_line)
        print(f"{100 * located / total:.1f} % of these bytes have a line")
    for module, remark in list(remarks.items())[:REMARKS_SHOWN]:
        print(in_one_line(f"{PurePath(module).name or 'addresses without a module'}: {remark}"))
    if len(remarks) > REMARKS_SHOWN:
        print(f"… {len(remarks) - REMARKS_SHOWN:,} more modules without lines; --json has all")


def _heading(view: _View, holders: Holders) -> str:
    counts = holders.counts
    if view.name == "peak":
        objects = output.count(int(counts["peak_objects"].sum()), "object")
        at = "" if holders.peak_event is None else f", after event {holders.peak_event:,}"
        return f"{int(counts['peak_bytes'].sum()):,} bytes live at the peak{at}, in {objects}"
    if view.name == "left":
        objects = output.count(int(counts["left_objects"].sum()), "object")
        return f"{int(counts['left_bytes'].sum()):,} bytes never freed, in {objects}"
    if view.name == "lifetimes":
        return f"{output.count(int(counts['made'].sum()), 'object')}, by who made them"
    frees = int(counts["double_frees"].sum() + counts["unknown_frees"].sum())
    return f"{output.count(frees, 'free')} of objects that are not alive, by who called free"


def _where(row: _Row) -> tuple[str, str]:
    """The line and the function of a row."""
    if row.place is None:
        return "", NOT_RECORDED
    function = row.place.frame.function
    if len(function) > FUNCTION_CHARACTERS_MAX:
        function = function[: FUNCTION_CHARACTERS_MAX - 2] + " …"
    return in_one_line(row.place.at), in_one_line(function)


def _duration_of(reader: TraceReader) -> Callable[[float], str]:
    """How lifetimes of this recording are written."""
    units = {trace_format.CLOCK_EVENTS: "events", trace_format.CLOCK_ACCESSES: "accesses"}
    unit = units.get(str(reader.header.get("clock")))
    if unit is None:
        return lambda value: output.duration(int(value))
    return lambda value: f"{value:,.0f} {unit}"
