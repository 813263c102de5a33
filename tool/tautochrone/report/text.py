"""What `tau replay` prints: tables of memory and costs, and a verdict."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone import unseen
from tautochrone.console import output
from tautochrone.replay.entry import (
    ACCESSES,
    CYCLES,
    INSTRUCTIONS,
    PART_COUNTS,
    Entry,
    Operation,
)
from tautochrone.plan.again import again
from tautochrone.plan.file import load_plan
from tautochrone.report.comparison import (
    cycles_sentence,
    estimates,
    heaps,
    on_pages,
    pages_sentence,
    simulated,
)

Table = list[tuple[str, ...]]
PARTS_OF_EVENTS = 10  # Columns of the table of mapped pages over time.


@dataclass(frozen=True)
class Replayed:
    """The replayed entries. `isa` is the target that instructions were counted on.

    `given` has the words of the other options of the replay, by the option's name; `refused` those
    of the call that a system refused, by its event.
    """

    trace: str
    plan: str | None
    heap_bytes: int | None
    isa: str | None
    build: str
    entries: Sequence[Entry]
    given: Mapping[str, str] = field(default_factory=dict)
    planned: str = "budget"  # The system that the plan is for.
    refused: Mapping[int, str] = field(default_factory=dict)

    def words(self, *without: str) -> str:
        """The options to give to the next command, without some."""
        plan = f" --plan {shlex.quote(self.plan)}" if self.plan and "--plan" not in without else ""
        rest = (words for name, words in self.given.items() if name not in without)
        return plan + "".join(f" {words}" for words in rest)


def show(replayed: Replayed) -> None:
    """Print tables, verdict and the next command."""
    entries = replayed.entries
    if software := on_pages(entries):
        _show_pages(software, replayed)
    if tiles := simulated(entries):
        for title, rows in _tile_tables(tiles):
            print(title)
            _show_table(rows, text_columns=2 if rows[0][1] == "operation" else 1)
            print()
        _show_failures(tiles, replayed)
        print(cycles_sentence(tiles))
    if plain := heaps(entries):
        _show_heaps(plain, replayed)
    for sentence in estimates(entries):
        print(sentence)
    print(unseen.told(unseen.REPLAY))
    print(f"next: {_next_command(replayed)}")


# ---- tables ----


def _show_table(rows: Table, text_columns: int = 1) -> None:
    """Print rows in aligned columns; the first `text_columns` are aligned to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if column < text_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        with output.style(sys.stdout, bold=True) if number == 0 else nullcontext():
            print(line)


def _show_failures(entries: Sequence[Entry], replayed: Replayed) -> None:
    for entry in entries:
        if not entry.held:
            call = replayed.refused.get(entry.failed_at_event or 0)
            asked = f": {call}" if call else "."
            print(f"{entry.name} {entry.cause}, at event {entry.failed_at_event:,}{asked}")


def _show_heaps(entries: Sequence[Entry], replayed: Replayed) -> None:
    """Print the heap of each system, and the costs of its calls if they were counted."""
    rows: Table = [("system", "heap bytes", "× peak")]
    for entry in entries:
        ratio = f"{entry.footprint_ratio:.3f}" if entry.footprint_ratio else ""
        rows.append((entry.name, f"{entry.footprint_bytes:,}", ratio if entry.held else ""))
    _show_table(rows)
    _show_failures(entries, replayed)
    for entry in entries:
        if entry.held and entry.plan_holds is False:
            size = f"{entry.plan_heap_bytes:,} bytes"
            print(f"{entry.name} does not hold the trace in the plan's {size}.")
    if replayed.isa:
        _show_instructions(entries, replayed.isa, replayed.build)
    print(_verdict(entries, replayed.heap_bytes))


def _show_instructions(entries: Sequence[Entry], isa: str, build: str) -> None:
    from tautochrone.machine.images import ISAS

    print(f"\ninstructions per call on {ISAS[isa].title}, {build}:")
    rows: Table = [("system", "operation", "calls", "p99.9", "max", "bound")]
    for entry in entries:
        for name, operation in entry.operations.items():
            counted = operation.measure(INSTRUCTIONS)
            if counted is None:
                continue
            numbers = (operation.count, counted.p999, counted.max, counted.bound)
            rows.append((entry.name, name, *map(_number, numbers)))
            rows += _hits(operation)
    _show_table(rows, text_columns=2)
    if any(entry.name == "pools" and entry.unit is not None for entry in entries):
        print("bounds of pools hold within the limits of the plan; beyond them calls cost more")
    if any(entry.name.startswith("library:") and entry.unit is not None for entry in entries):
        print("libraries count as they were compiled")
    uncounted = [entry.name for entry in entries if entry.unit is None and entry.held]
    if uncounted:
        print(f"not counted: {', '.join(uncounted)} (bench/allocators counts peers)")
    print()


def _hits(operation: Operation) -> Table:
    """Return the row of the calls that a pool served, if they were counted."""
    part = next(iter(PART_COUNTS))
    hits = operation.measure(INSTRUCTIONS, part)
    if hits is None:
        return []
    count = _number(operation.parts[part])
    return [("", "  pool hits", count, "", _number(hits.max), _number(hits.bound))]


def _number(value: int | None) -> str:
    return "none" if value is None else f"{value:,}"


def _show_pages(entries: Sequence[Entry], replayed: Replayed) -> None:
    """Print the mapped pages of systems on pages, and the costs of their calls."""
    rows: Table = [("system", "peak pages", "mean", "faults", "table bytes")]
    for entry in entries:
        assert entry.pages is not None
        pages = entry.pages
        tables = "" if pages.table_bytes is None else f"{pages.table_bytes:,}"
        numbers = (f"{pages.peak:,}", f"{pages.mean:,.1f}", f"{pages.faults:,}", tables)
        rows.append((entry.name, *numbers))
    _show_table(rows)
    if any(map(_has_large_tables, entries)):
        print("tables for a space of 2^20 pages; `tau plan` says what your program needs")
    _show_failures(entries, replayed)
    print("\ninstructions and accesses per call on RV32IMC, -O2 (in parentheses with Zbb):")
    rows = [("system", "operation", "calls", "p99.9", "max", "bound", "accesses", "bound")]
    for entry in entries:
        for name, operation in entry.operations.items():
            costs = [_with_zbb(operation, INSTRUCTIONS, "p999")]
            for unit in (INSTRUCTIONS, ACCESSES):
                costs.append(_with_zbb(operation, unit, "max"))
                costs.append(operation.grows or _with_zbb(operation, unit, "bound"))
            rows.append((entry.name, name, f"{operation.count:,}", *costs))
    _show_table(rows, text_columns=2)
    print()
    print(pages_sentence(entries))


def _has_large_tables(entry: Entry) -> bool:
    """Whether the tables are for the replayed space, which is larger than the heap needs."""
    from tautochrone.replay.paging import table_bytes

    assert entry.pages is not None
    heap_pages, tables = entry.pages.heap_pages, entry.pages.table_bytes
    return bool(heap_pages and tables and tables > table_bytes(entry.name, heap_pages))


def _with_zbb(operation: Operation, unit: str, statistic: str) -> str:
    plain, with_zbb = operation.measure(unit), operation.measure(unit, build="zbb")
    return f"{_number(getattr(plain, statistic))} ({_number(getattr(with_zbb, statistic))})"


def _tile_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield tables with titles: mapped pages, mapped pages over time, and costs."""
    rows: Table = [("system", "peak pages", "mean", "faults", "total cycles")]
    for entry in entries:
        assert entry.pages is not None and entry.simulation is not None
        pages, cycles = entry.pages, entry.simulation.cycles
        numbers = (f"{pages.peak:,}", f"{pages.mean:,.1f}", f"{pages.faults:,}", f"{cycles:,}")
        rows.append((entry.name, *numbers))
    yield "on a simulated Ibex with each unit, pages of 4 KiB:", rows
    tenths = [f"{100 * part // PARTS_OF_EVENTS} %" for part in range(1, PARTS_OF_EVENTS + 1)]
    rows = [("system", *tenths)]
    rows += [(entry.name, *(f"{most:,}" for most in _most_by_part(entry))) for entry in entries]
    yield "peak of mapped pages in each tenth of the events:", rows
    rows = [("system", "operation", "count", "p99.9", "max", "bound")]
    for entry in entries:
        for name, operation in entry.operations.items():
            counted = operation.measure(CYCLES)
            assert counted is not None
            numbers = tuple(f"{n:,}" for n in (operation.count, counted.p999, counted.max))
            bound = operation.grows or "" if counted.bound is None else f"{counted.bound:,}"
            rows.append((entry.name, name, *numbers, bound))
    yield "cycles per call, per fault (access to repetition) and per access that hits:", rows


def _most_by_part(entry: Entry) -> list[int]:
    """The peak of mapped pages in each tenth of the events; a tenth without change keeps it."""
    assert entry.pages is not None
    curve, events = entry.pages.curve, max(entry.events or 0, 1)
    most = [-1] * PARTS_OF_EVENTS
    for event, high in zip(curve["event"], curve["max"], strict=True):
        part = min(event * PARTS_OF_EVENTS // events, PARTS_OF_EVENTS - 1)
        most[part] = max(most[part], high)
    for part in range(PARTS_OF_EVENTS):
        if most[part] < 0:
            most[part] = most[part - 1] if part else 0
    return most


# ---- sentences ----


def _verdict(entries: Sequence[Entry], heap_bytes: int | None) -> str:
    """Return one sentence: which system needs least, or which do not hold."""
    failed = [entry.name for entry in entries if not entry.held]
    if failed:
        heap = "" if heap_bytes is None else f" in {heap_bytes:,} bytes"
        return f"{', '.join(failed)} did not hold the trace{heap}."
    if heap_bytes is not None:
        return f"All hold the trace in {heap_bytes:,} bytes."
    ranked = sorted(entries, key=lambda entry: entry.footprint_bytes)
    least_bytes = ranked[0].footprint_bytes
    if len(ranked) == 1 or least_bytes == 0:
        return f"{ranked[0].name} holds the trace in {least_bytes:,} bytes."
    names = [entry.name for entry in ranked if entry.footprint_bytes == least_bytes]
    if len(names) == len(ranked):
        return f"{' and '.join(names)} need the same: {least_bytes:,} bytes."
    following = ranked[len(names)]
    less = output.percent(1 - least_bytes / following.footprint_bytes)
    verb = "needs" if len(names) == 1 else "need"
    return f"{' and '.join(names)} {verb} least: {less} less than {following.name}."


def _next_command(replayed: Replayed) -> str:
    """Return the next command to run."""
    plan, entries = replayed.plan, replayed.entries
    trace = shlex.quote(replayed.trace)
    names = ",".join(entry.name for entry in entries)
    if not all(entry.held for entry in entries):
        if len(heaps(entries)) < len(entries):
            limits = "--frames, --heap and --plan" if plan else "--frames and --heap"
            rest = replayed.words("--frames", "--heap", "--plan")
            return f"tau replay {trace} --on {names}{rest}, without {limits} or with more"
        return f"tau replay {trace}{replayed.words('--heap')}"
    if any(entry.plan_holds is False for entry in entries):
        assert plan is not None
        if replayed.planned == "pools":
            return f"tau check {shlex.quote(plan)} {trace}"
        return again(Path(plan), load_plan(plan), [Path(replayed.trace)])
    if simulated(entries):
        others = [name for name in ("rtvm", "conventional") if name not in names.split(",")]
        names = ",".join([*others, names])
        return f"tau report {trace} --on {names}{replayed.words()} -o report.html"
    if on_pages(entries):
        return f"tau report {trace} --on rtvm,conventional{replayed.words()} -o report.html"
    if plan is None:
        shared = (replayed.given.get(name) for name in ("--layout", "--skip-misuse"))
        words = "".join(f" {word}" for word in shared if word)
        return f"tau plan {trace}{words} -o plan.toml"
    # glibc takes memory on demand, so it has no --heap.
    words = replayed.words("--heap")
    planned = f"{replayed.planned},tlsf" if replayed.planned == "pools" else "tlsf,budget"
    return f"tau report {trace}{words} --on {planned},glibc -o report.html"
