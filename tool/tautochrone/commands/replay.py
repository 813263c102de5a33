"""`tau replay`: carry a recording out on allocators, and tell what each needs and takes."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.trace.ending import Ending, note_ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tautochrone.plan.file import Plan
    from tautochrone.replay.emulator import Counts
    from tautochrone.replay.session import ReplayResult

ALWAYS_SHOWN = ("malloc", "free", "realloc")
COUNTED_SYSTEMS = ("tlsf", "budget")
PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("trace", type=PATH)
@click.option("--on", "on", help="Systems, as in tlsf,budget,glibc (default: ours that can run).")
@click.option("--plan", "plan_path", type=PATH, help="A plan from `tau plan`; budget needs one.")
@click.option("--heap", "heap_bytes", type=click.IntRange(min=1), help="Bytes; else the smallest.")
@click.option("--layout", type=click.Choice(("32", "host")), default="32", show_default=True)
@click.option(
    "--instructions",
    "isa",
    type=click.Choice(("rv32", "m4", "rv32zbb")),
    help="Count them on this target; systems on pages always count, on rv32.",
)
@click.option(
    "--check-level", type=click.IntRange(0, 2), default=0, show_default=True, help="When counting."
)
@click.option(
    "--frames", type=click.IntRange(min=1), help="Pages that can be mapped at once; else enough."
)
@click.option(
    "--touch",
    type=click.Choice(("recorded", "all")),
    default="recorded",
    show_default=True,
    help="Pages: what the program touched, or all of each object.",
)
@click.option(
    "--cycles-max",
    type=click.IntRange(min=1),
    help="On the tile: stop a simulation there (default: 2 * 10^10 cycles).",
)
@click.option("--events", type=click.IntRange(min=1), help="Only the first so many; else all.")
@click.option("--skip-misuse", is_flag=True, help="Leave out frees that name no live object.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    trace: Path,
    on: str | None,
    plan_path: Path | None,
    heap_bytes: int | None,
    layout: str,
    isa: str | None,
    check_level: int,
    frames: int | None,
    touch: str,
    cycles_max: int | None,
    events: int | None,
    skip_misuse: bool,
    as_json: bool,
) -> int:
    """Carry TRACE out on allocators and tell how much memory each needs.

    \b
    tau replay program.tau --on tlsf,budget,glibc --plan plan.toml
    tau replay program.tau --plan plan.toml --heap 65536
    tau replay program.tau --plan plan.toml --instructions rv32
    tau replay program.tau --on rtvm,conventional
    tau replay program.tau --on tile:rtmmu,tile:pagetable --events 100000

    Without --heap the smallest heap that holds is searched for. With it, exit status 3 says that a
    system did not hold in it. Instructions are those of our systems, without payload copies.
    rtvm and conventional are heaps over pages: they tell the pages mapped at once, and what malloc,
    free and a page fault cost. What was touched, `tau record --accesses` records.
    tile:rtmmu and tile:pagetable run the same heaps on a simulated processor with their memory
    management unit, and tell exact cycles. :small-b, :fast or :fast-b behind a tile's name chooses
    its processor, :pipelined tables that are no faster than the page table. The tile makes some
    three million cycles a second: --events replays the beginning of a long recording.
    """
    from tautochrone.plan.file import load_plan
    from tautochrone.plan.remarks import note_plan

    plan = load_plan(plan_path) if plan_path else None
    names = on.split(",") if on else ["tlsf", *(["budget"] if plan else [])]
    _refuse_settings(names, trace, plan is not None, layout, frames, cycles_max)
    with _beginning(trace, events) as replayed_trace:
        ending = _ending(replayed_trace)
        given = _Given(
            *(replayed_trace, plan, heap_bytes, layout, isa, check_level, skip_misuse),
            *(frames, touch == "all", cycles_max),
        )
        facts, systems = _replayed_all(names, given)
    maps_pages = _names_on_pages(names) or _names_on_tile(names)
    if maps_pages and not facts["touches"] and touch == "recorded":
        output.note(
            f"{trace} holds no accesses: pages are mapped for headers and calloc only;"
            " record with `tau record --accesses`, or take --touch all"
        )
    result = {
        "trace": str(trace),
        "plan": str(plan_path) if plan_path else None,
        "layout": layout,
        "heap_bytes": heap_bytes,
        "instructions": isa,
        "check_level": check_level if isa else None,
        "first_events": events,
        "touch": touch,
        "ending": ending.document(),
        **facts,
        "systems": systems,
    }
    output.emit(as_json, "replay", result, lambda: _print(result))
    note_ending(trace, ending)
    note_plan(plan_path, plan)
    return EXIT_DONE if all(system["completed"] for system in systems) else EXIT_LIMIT_EXCEEDED


def _ending(trace: Path) -> Ending:
    """How a trace ended."""
    from tautochrone.trace.file import open_trace

    with open_trace(trace) as reader:
        return reader.ending


@contextmanager
def _beginning(trace: Path, events: int | None) -> Iterator[Path]:
    """The trace, or one of its first EVENTS for as long as this lasts."""
    if events is None:
        yield trace
        return
    from tautochrone.trace.prefix import first_events

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{trace.stem}-first-{events}.tau"
        first_events(trace, events, path)
        try:
            yield path
        except TauError as error:
            message = error.message.replace(str(path), f"{trace}, first {events} events,")
            raise TauError(message, error.next_step, error.exit_code) from error


def _names_on_pages(names: Sequence[str]) -> list[str]:
    """Those of `names` that are systems on pages. Raises TauError if there is no such system."""
    from tautochrone.replay.session import system_named

    return [name for name in names if system_named(name).is_on_pages]


def _names_on_tile(names: Sequence[str]) -> list[str]:
    """Those of `names` that run on the simulated tile."""
    from tautochrone.replay.session import system_named

    return [name for name in names if system_named(name).is_on_tile]


def _refuse_settings(
    names: Sequence[str],
    trace: Path,
    has_plan: bool,
    layout: str,
    frames: int | None,
    cycles_max: int | None,
) -> None:
    """Raise TauError (usage) for options that the systems cannot follow."""
    from tautochrone.replay.session import system_named

    for name in names:
        if system_named(name).needs_plan and not has_plan:
            raise TauError(
                f"{name} needs a plan",
                f"tau plan {trace} -o plan.toml, then give --plan plan.toml",
                EXIT_USAGE,
            )
    on_pages = [*_names_on_pages(names), *_names_on_tile(names)]
    if on_pages and layout != "32":
        raise TauError(
            f"{on_pages[0]} runs as 32-bit code", "leave out --layout, or the system", EXIT_USAGE
        )
    if frames is not None and not on_pages:
        raise TauError(
            "--frames is for systems on pages", "add rtvm or conventional to --on", EXIT_USAGE
        )
    if cycles_max is not None and not _names_on_tile(names):
        raise TauError("--cycles-max is for the tile", "add tile:rtmmu to --on", EXIT_USAGE)


@dataclass(frozen=True)
class _Given:
    """What the command line gave."""

    trace: Path
    plan: Plan | None
    heap_bytes: int | None
    layout: str
    isa: str | None
    check_level: int
    skip_misuse: bool
    frames: int | None
    touches_all: bool
    cycles_max: int | None


def _replayed_all(
    names: Sequence[str], given: _Given
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """What the trace holds, and the entries of "systems"."""
    from tautochrone.replay.session import open_trace_for_replay, refuse_misuse

    refuse_misuse(given.trace, given.skip_misuse)
    opened = open_trace_for_replay(given.trace)
    beside = _replayed_on_tile(list(dict.fromkeys(_names_on_tile(names))), given)
    systems = [beside[name] if name in beside else _replayed(name, given) for name in names]
    facts = {
        "events": int(opened.facts.events),
        "touches": opened.touches,
        "skipped_events": int(opened.facts.skipped),
        "peak_live_bytes": int(opened.facts.peak_live_bytes),
    }
    return facts, systems


def _replayed_on_tile(names: Sequence[str], given: _Given) -> dict[str, dict[str, Any]]:
    """The entries of systems on the tile, by name."""
    if not names:
        return {}
    from tautochrone.replay.tile.entries import tile_entries

    settings = (given.frames, given.heap_bytes, given.check_level, given.skip_misuse)
    return tile_entries(given.trace, names, *settings, given.touches_all, given.cycles_max)


def _replayed(name: str, given: _Given) -> dict[str, Any]:
    """Replay on a system; its entry of "systems"."""
    from tautochrone.replay.session import replay, system_named

    settings = (given.frames, given.heap_bytes, given.check_level, given.skip_misuse)
    if system_named(name).is_on_pages:
        from tautochrone.replay.paging_entries import page_entry

        return page_entry(given.trace, name, *settings, given.touches_all)[0]
    plan = given.plan if system_named(name).needs_plan else None
    done = replay(given.trace, name, plan, given.heap_bytes, given.layout, given.skip_misuse)
    counts = None
    if given.isa is not None and name in COUNTED_SYSTEMS and done.completed:
        from tautochrone.replay.emulator import count

        counts = count(
            *(given.trace, name, given.isa, plan, given.heap_bytes, given.check_level),
            skip_misuse=given.skip_misuse,
        )
    return _system_of(done, counts, plan, given.trace)


def _system_of(
    done: ReplayResult, counts: Counts | None, plan: Plan | None, trace: Path
) -> dict[str, Any]:
    """One entry of "systems"."""
    entry: dict[str, Any] = {
        "name": done.system,
        "completed": done.completed,
        "footprint_bytes": done.footprint_bytes,
        "footprint_ratio": done.footprint_ratio,
        "failed_at_event": done.failed_at_event,
        "cause": done.cause,
    }
    if plan is not None and done.completed:
        from tautochrone.replay.session import plan_fields

        entry |= plan_fields(trace, done, plan)
    entry["operations"] = {
        name: _operation_of(name, count, counts)
        for name, count in done.operations.items()
        if count or name in ALWAYS_SHOWN
    }
    return entry


def _operation_of(name: str, count: int, counts: Counts | None) -> dict[str, Any]:
    """Events of one operation and, if they were counted, the instructions of its calls."""
    entry: dict[str, Any] = {"count": count}
    calls = counts.get(name) if counts is not None else None
    if calls is None:
        return entry
    entry["max_instructions"] = calls.max
    entry["p999_instructions"] = calls.p999
    entry["bound_instructions"] = calls.bound
    entry["mean_instructions"] = round(calls.mean, 2)
    if calls.max_accesses is not None:
        entry["max_accesses"] = calls.max_accesses
        entry["p999_accesses"] = calls.p999_accesses
        entry["bound_accesses"] = calls.bound_accesses
    in_place = counts.get(f"{name}_in_place") if counts is not None else None
    if in_place is not None:
        entry["max_in_place_instructions"] = in_place.max
        entry["bound_in_place_instructions"] = in_place.bound
    for part, parts in (("hit", "hits"), ("miss", "misses")):
        finer = counts.get(f"{name}_{part}") if counts is not None else None
        if finer is not None:
            entry[parts] = finer.count
            entry[f"max_{part}_instructions"] = finer.max
            if finer.bound is not None:
                entry[f"bound_{part}_instructions"] = finer.bound
    return entry


# ---- for people ----


def _print(result: dict[str, Any]) -> None:
    plain = [system for system in result["systems"] if "peak_mapped_pages" not in system]
    on_tile = [system for system in result["systems"] if "cycles" in system]
    on_pages = [
        system
        for system in result["systems"]
        if "peak_mapped_pages" in system and system not in on_tile
    ]
    if on_pages:
        _print_pages(on_pages, result)
    if on_tile:
        from tautochrone.replay.tile.entries import tile_rows, tile_verdict

        for title, rows in tile_rows(on_tile):
            print(title)
            _print_table(rows, text_columns=2 if rows[0][1] == "operation" else 1)
            print()
        for system in on_tile:
            if not system["completed"]:
                print(f"{system['name']} {system['cause']}, at event {system['failed_at_event']}.")
        print(tile_verdict(on_tile))
    if plain:
        _print_plain({**result, "systems": plain})
    print(f"next: {_next_command(result)}")


def _print_pages(systems: list[dict[str, Any]], result: dict[str, Any]) -> None:
    """Tables of systems on pages: what they map, and what their calls cost."""
    rows = [("system", "pages at most", "mean", "faults", "table bytes")]
    for system in systems:
        mean = f"{system['mean_mapped_pages']:.1f}"
        numbers = (system["peak_mapped_pages"], mean, system["faults"], system["table_bytes"])
        rows.append((system["name"], *map(str, numbers)))
    _print_table(rows)
    for system in systems:
        if not system["completed"]:
            print(f"{system['name']} {system['cause']}, at event {system['failed_at_event']}.")
    print("\ninstructions and accesses per call on RV32IMC, -O2 (in brackets with Zbb):")
    head = ("system", "operation", "calls", "p99.9", "max", "bound", "accesses", "bound")
    rows = [head]
    for system in systems:
        for name, calls in system["operations"].items():
            grows = calls["grows"] or ""
            bound = _with_zbb(calls, "bound_instructions") if not grows else grows
            accesses_bound = _with_zbb(calls, "bound_accesses") if not grows else grows
            rows.append(
                (
                    *(system["name"], name, str(calls["count"])),
                    _with_zbb(calls, "p999_instructions"),
                    _with_zbb(calls, "max_instructions"),
                    bound,
                    _with_zbb(calls, "max_accesses"),
                    accesses_bound,
                )
            )
    _print_table(rows, text_columns=2)
    print()
    from tautochrone.replay.paging_entries import pages_verdict

    print(pages_verdict(systems))


def _with_zbb(calls: dict[str, Any], key: str) -> str:
    return f"{calls[key]} ({calls[key + '_zbb']})"


def _print_plain(result: dict[str, Any]) -> None:
    rows = [("system", "heap bytes", "× peak")]
    for system in result["systems"]:
        ratio = f"{system['footprint_ratio']:.3f}" if system["footprint_ratio"] else ""
        size = f"{system['footprint_bytes']:,}".replace(",", " ")
        rows.append((system["name"], size, ratio if system["completed"] else ""))
    _print_table(rows)
    for system in result["systems"]:
        if not system["completed"]:
            print(f"{system['name']} {system['cause']}, at event {system['failed_at_event']}.")
        elif not system.get("plan_holds", True):
            size = system["plan_heap_bytes"]
            print(f"{system['name']} does not hold the trace in the plan's {size} bytes.")
    if result["instructions"]:
        _print_instructions(result)
    print(_verdict(result))


def _print_table(rows: list[tuple[str, ...]], text_columns: int = 1) -> None:
    """Print rows with columns as wide as they need; the first `text_columns` are to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if column < text_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        with output.style(sys.stdout, bold=True) if number == 0 else nullcontext():
            print(line)


def _print_instructions(result: dict[str, Any]) -> None:
    from tautochrone.code.images import ISAS

    title = ISAS[result["instructions"]].title
    print(f"\ninstructions per call on {title}, -O2, check level {result['check_level']}:")
    rows = [("system", "operation", "calls", "p99.9", "max", "bound")]
    for system in result["systems"]:
        for name, calls in system["operations"].items():
            if "max_instructions" not in calls:
                continue
            numbers = (calls["count"], calls["p999_instructions"], calls["max_instructions"])
            bound = calls["bound_instructions"]
            rows.append((system["name"], name, *map(str, numbers), str(bound or "none")))
            if "hits" in calls:
                hit_bound = str(calls.get("bound_hit_instructions") or "none")
                hits = (str(calls["hits"]), "", str(calls["max_hit_instructions"]), hit_bound)
                rows.append(("", "  from its budget", *hits))
    _print_table(rows, text_columns=2)
    uncounted = [s["name"] for s in result["systems"] if s["name"] not in COUNTED_SYSTEMS]
    if uncounted:
        print(f"not counted: {', '.join(uncounted)} (bench/allocators counts peers)")
    print()


def _verdict(result: dict[str, Any]) -> str:
    """One sentence: who needs least, or who does not hold."""
    failed = [system["name"] for system in result["systems"] if not system["completed"]]
    if failed:
        heap = "" if result["heap_bytes"] is None else f" in {result['heap_bytes']} bytes"
        return f"{', '.join(failed)} did not hold the trace{heap}."
    if result["heap_bytes"] is not None:
        return f"All hold the trace in {result['heap_bytes']} bytes."
    ranked = sorted(result["systems"], key=lambda system: system["footprint_bytes"])
    best = ranked[0]
    if len(ranked) == 1 or best["footprint_bytes"] == 0:
        return f"{best['name']} holds the trace in {best['footprint_bytes']} bytes."
    least_bytes = best["footprint_bytes"]
    names = [system["name"] for system in ranked if system["footprint_bytes"] == least_bytes]
    if len(names) == len(ranked):
        return f"{' and '.join(names)} need the same: {least_bytes} bytes."
    following = ranked[len(names)]
    less = output.percent(1 - least_bytes / following["footprint_bytes"])
    verb = "needs" if len(names) == 1 else "need"
    return f"{' and '.join(names)} {verb} least: {less} less than {following['name']}."


def _next_command(result: dict[str, Any]) -> str:
    trace, plan = result["trace"], result["plan"]
    names = ",".join(system["name"] for system in result["systems"])
    if not all(system["completed"] for system in result["systems"]):
        if any("peak_mapped_pages" in system for system in result["systems"]):
            return f"tau replay {trace} --on {names}, without --frames and --heap or with more"
        return f"tau replay {trace}" + (f" --plan {plan}" if plan else "")
    if not all(system.get("plan_holds", True) for system in result["systems"]):
        return f"tau plan {trace} OTHERS... -o plan.toml, with every recording that it shall hold"
    if any("cycles" in system for system in result["systems"]):
        others = [name for name in ("rtvm", "conventional") if name not in names.split(",")]
        return f"tau report {trace} --on {','.join([*others, names])} -o report.html"
    if any("peak_mapped_pages" in system for system in result["systems"]):
        return f"tau report {trace} --on rtvm,conventional -o report.html"
    if plan is None:
        return f"tau plan {trace} -o plan.toml"
    return f"tau report {trace} --plan {plan} --on tlsf,budget,glibc -o report.html"
