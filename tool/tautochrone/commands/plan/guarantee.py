"""`tau plan --guarantee`: writes and prints a plan whose heap cannot fail within its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone import unseen
from tautochrone.commands.plan import printing
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.heap import pools
from tautochrone.heap.guarantee import Guaranteed, make_guarantee
from tautochrone.heap.planners.bands import SIZE_BYTES_MAX
from tautochrone.heap.limits import Limits, load
from tautochrone.heap.recorded_order import RecordedOrder, recorded_order, told
from tautochrone.machine.core_build import Build
from tautochrone.plan import bounds, sizes
from tautochrone.plan.build import build_of
from tautochrone.plan.contract import sentence
from tautochrone.plan.file import CLASSES_MAX, Plan, save_plan
from tautochrone.plan.header import save_header
from tautochrone.plan.sections import Basis, section_named
from tautochrone.trace import abi
from tautochrone.trace.file import TraceReader, open_trace

if TYPE_CHECKING:
    from tautochrone.heap.plan import Wanted

ROWS_MAX = 12


def _refuse_others(wanted: Wanted) -> None:
    """Raise TauError for options that choose pools in another way."""
    for option, is_given in {
        "--planner": wanted.planner != "replayed",
        "--classes-max": wanted.classes_max != CLASSES_MAX,
        "--pools": wanted.pools != pools.AUTO,
    }.items():
        if is_given:
            raise TauError(
                f"--guarantee does not go with {option}: the limits alone decide its bands",
                f"leave out {option}, or --guarantee",
                EXIT_USAGE,
            )
    if wanted.is_input_fixed:
        raise TauError(
            "--guarantee does not go with --fixed-input: a fixed input needs no limits for others",
            "leave out --guarantee; or keep it, with --margin 0%",
            EXIT_USAGE,
        )


def made_and_saved(
    traces: tuple[Path, ...],
    wanted: Wanted,
    files: Mapping[str, Path | None],
    plan_path: Path | None,
    force: bool,
) -> Guaranteed:
    """Make the plan, and write its file and its header."""
    _refuse_others(wanted)
    header_path = files["--header"]
    readers = [open_trace(trace) for trace in traces]
    limits = _limits_of(files["--limits"], files["--elf"], readers, wanted.layout)
    made = make_guarantee(
        readers,
        wanted.margin,
        wanted.layout,
        wanted.build,
        wanted.skip_misuse,
        wanted.is_as_recorded,
        limits,
    )
    if header_path is not None:
        sizes.refuse_header(made.plan)
    made = replace(made, plan=_with_bounds(made.plan, wanted.build))
    made_by = printing.made_by(traces, wanted, made.plan, files)
    if plan_path is not None:
        save_plan(made.plan, plan_path, made_by, notes(made), force)
    if header_path is not None:
        save_header(made.plan, header_path, made_by, force)
    return made


def _limits_of(
    path: Path | None, elf_path: Path | None, readers: Sequence[TraceReader], layout: str | None
) -> Limits:
    """The limits of a file. Raises TauError if the program has not the sizes of the recordings."""
    if path is None:
        if elf_path is not None:
            raise TauError("--elf needs --limits", "add --limits, or leave out --elf", EXIT_USAGE)
        return Limits()
    if elf_path is None:
        return load(path)
    from tautochrone.translate.program import read_program

    program, layout = read_program(elf_path), sizes.layout_of(readers, layout)
    for reader in readers:
        stated = abi.of_header(reader.header)
        is_same = program.abi == stated if stated else abi.has_words_of(program.abi, layout)
        if not is_same:
            raise TauError(
                f"{elf_path} is for {program.abi}, but {reader.path.name} has sizes of"
                f" {stated or f'the layout {layout}'}",
                "name the program that was recorded with --elf",
                EXIT_USAGE,
            )

    def size_of(name: str) -> int:
        size_bytes = program.types.size_of(name)
        if not 1 <= size_bytes <= SIZE_BYTES_MAX:
            raise ValueError(f"{name} has {size_bytes:,} bytes, not 1 to {SIZE_BYTES_MAX:,}")
        return size_bytes

    return load(path, size_of)


def _with_bounds(plan: Plan, build: Build) -> Plan:
    """The plan with the bounds of its calls, on each target whose compiler is installed."""
    basis = Basis(
        traces=(),
        skip_misuse=False,
        layout=plan.layout,
        system=plan.system,
        heap_bytes=plan.heap_bytes,
        build=build,
        note=output.note,
    )
    found = bounds.make(basis)
    return plan if found is None else replace(plan, sections={**plan.sections, bounds.NAME: found})


def notes(made: Guaranteed) -> tuple[str, ...]:
    """The comments of the plan's file."""
    return (
        sentence(made.plan),
        "optimal_within: the most of the arena without its margin that other bands could save.",
        f"Next: {printing.next_step(made.plan)}",
    )


def _rows(made: Guaranteed) -> list[dict[str, int]]:
    return [
        {
            "size_bytes": row.size_bytes,
            "count": row.count,
            "recorded_peak_count": row.recorded,
            "stated_count": row.stated,
        }
        for row in made.rows
    ]


def result_of(made: Guaranteed, order: RecordedOrder, limit_bytes: int | None) -> dict[str, Any]:
    """The document of --json."""
    plan = made.plan
    result: dict[str, Any] = {
        "planner": plan.planner,
        "guarantee": sentence(plan),
        "heap_bytes": plan.heap_bytes,
        "measured_heap_bytes": made.measured_heap_bytes,
        "peak_live_bytes": made.peak_live_bytes,
        "optimal_within": plan.optimal_within,
        "pools": _rows(made),
        "margin": plan.margin,
        "margin_bytes": made.margin_bytes,
        "margin_source": plan.margin_source,
        "left_out": [each._asdict() for each in made.excesses],
        "others": asdict(made.others) | order._asdict(),
        "search_seconds": round(made.seconds, 3),
        "costs": [cost._asdict() for cost in _costs(plan)],
    }
    return result | printing.plan_document(plan, made.endings, unseen.GUARANTEE, limit_bytes)


def _evidence(made: Guaranteed) -> list[str]:
    """What the recordings say about other runs."""
    which = "limits that are not stated" if made.limits.limits else "limits"
    margin = f"{which} are {made.plan.margin * 100:g} % above the recorded ones"
    if same := sum(row.count == row.recorded for row in made.rows) if made.plan.margin else 0:
        margin += f", in whole objects, so {output.count(same, 'band')} stayed as recorded"
    if not made.excesses:
        which = "the default" if made.plan.margin_source == "default" else "as given"
        return [f"{margin} ({which}): one recording says nothing about other runs"]
    lines = [f"{margin}; each recording against a plan of the others with the same margin:"]
    for each in made.excesses:
        said = []
        if each.bands_count:
            said.append(
                f"exceeds {output.count(each.bands_count, 'band')} by"
                f" {output.count(each.objects, 'object')}, {each.bytes:,} bytes"
            )
        if each.above_count:
            said.append(
                f"has {output.count(each.above_count, 'object')} of up to {each.above_bytes:,}"
                " bytes in no band"
            )
        lines.append(f"  {each.name}: {'; '.join(said) or 'stays within all limits'}")
    return lines


def _costs(plan: Plan) -> list[pools.Cost]:
    """Costs of calls within the limits, and of code; nothing for a plan of this machine."""
    return pools.costs("pools", build_of(plan)) if plan.layout == "32" else []


def show(
    made: Guaranteed,
    order: RecordedOrder,
    traces: Sequence[Path],
    plan_path: Path | None,
    header_path: Path | None,
) -> None:
    """Print the plan for people."""
    plan, others = made.plan, made.others
    for trace in plan.traces:
        print(
            f"{trace.name}: {trace.events:,} events, {trace.peak_live_bytes:,} bytes live at the"
            " peak"
        )
    bands = output.count(len(plan.classes), "band")
    print(
        f"arena            {plan.heap_bytes:>14,} bytes, for {bands} of {made.sizes_count:,} sizes"
    )
    print(
        f"  without the margin {made.measured_heap_bytes:>12,} bytes,"
        f" {made.measured_heap_bytes / made.peak_live_bytes:.3f} times the peak; other bands could"
        f" save at most {output.percent(plan.optimal_within)}"
    )
    print(
        f"a pool per size  {others.static_bytes:>14,} bytes at the recorded numbers, without"
        " margin and tables; it cannot fail within them either"
    )
    print(
        f"any allocator    {others.any_order_bytes:>14,} bytes at least, to hold every order of"
        " calls with this peak and any sizes between the smallest and the largest (Robson 1971)"
    )
    print(
        f"half-fit         {others.half_fit_bytes:>14,} bytes for the same, without metadata, by"
        " o1heap's README"
    )
    for line in told(order):
        print(line)
    shown = made.rows[:ROWS_MAX]
    states = f" {'stated':>10}" if made.limits.limits else ""
    print(f"{'sizes up to':>16} {'limit':>10} {'recorded':>10}{states}")
    for row in shown:
        stated = f" {row.stated:>10,}" if states else ""
        print(f"{row.size_bytes:>16,} {row.count:>10,} {row.recorded:>10,}{stated}")
    if len(plan.classes) > len(shown):
        print(f"{'…':>16} {len(plan.classes) - len(shown)} more in the plan")
    for name, value in plan.sections.items():
        for line in section_named(name).told(value):
            print(line)
    for cost in _costs(plan):
        print(f"within the limits, {cost.told()}")
    print("No call fails while no band holds more objects than its limit, in any order.")
    if below := [row for row in made.rows if row.count < row.recorded]:
        first = below[0]
        print(
            f"{output.count(len(below), 'limit')} below the recorded number, so the recordings"
            f" exceed the plan: of up to {first.size_bytes:,} bytes {first.count:,} are stated, and"
            f" {first.recorded:,} were alive at once"
        )
    for limit in made.limits.limits:
        if limit.name not in made.seen:
            print(f"{limit.name}: no recording has such an object ({limit.told()})")
    for line in _evidence(made):
        print(line)
    remark = sizes.remark(plan)
    if remark:
        print(remark)
    print(unseen.told(unseen.GUARANTEE))
    printing.print_files(plan, traces, plan_path, header_path)
