"""`tau check`: a plan of bands; `tau check PLAN TRACE…`: which of its limits recordings exceed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.heap.exceeding import Exceeded, exceeded
from tautochrone.heap.guarantee import arena_problem
from tautochrone.plan import sizes
from tautochrone.plan.again import again
from tautochrone.plan.contract import ranges
from tautochrone.plan.file import Plan, bucket_bytes, load_any_plan, load_plan
from tautochrone.plan.remarks import note_plan
from tautochrone.trace import abi
from tautochrone.trace.ending import note_ending
from tautochrone.trace.file import TraceReader, open_trace
from tautochrone.trace.folder import traces_in
from tautochrone.who.calls import calls_at
from tautochrone.who.places import Place


# Of a firmware, whose recording names no module.
ADDRESSES = (
    "+0xADDRESS is a return address: `tau who TRACE --elf FIRMWARE.elf --json` has its line"
)


def heap_problem(plan_path: Path) -> str:
    """How the heap of a plan of bands differs from the bands' arena, or ""."""
    return arena_problem(load_any_plan(plan_path))


def check(plan_path: Path, traces: tuple[Path, ...], as_json: bool) -> int:
    """Print the exceeded limits; return 3 if there are any, 1 if events are missing.

    Raises TauError for another plan.
    """
    plan = load_plan(plan_path)
    if plan.system != "pools":
        raise TauError(
            f"{plan_path} has no limits: it is not a plan of `tau plan --guarantee`",
            f"check the recordings one by one, or replay them: tau replay TRACE --plan {plan_path}",
            EXIT_USAGE,
        )
    if cause := arena_problem(plan):
        raise TauError(f"{plan_path}: {cause}", "make the plan again with `tau plan`")
    opened = {trace: open_trace(trace) for trace in traces_in(traces)}
    for trace, reader in opened.items():
        _refuse_other_sizes(trace, reader, plan)
    found = {trace: exceeded(reader, plan) for trace, reader in opened.items()}
    places = {
        trace: calls_at(reader, [row.first_event for row in found[trace]])
        for trace, reader in opened.items()
    }
    cut = {trace for trace, reader in opened.items() if _is_cut(reader)}
    result: dict[str, Any] = {
        "plan": str(plan_path),
        "within_limits": False if any(found.values()) else None if cut else True,
        "traces": [
            {
                "trace": str(trace),
                "exceeded": [
                    each._asdict() | places[trace][each.first_event].where.document()
                    for each in rows
                ],
                "ending": opened[trace].ending.document(),
            }
            for trace, rows in found.items()
        ],
        unseen.KEY: list(unseen.LIMITS),
    }

    def human() -> None:
        for trace, rows in found.items():
            for row in rows:
                print(f"{trace}: {told(row, plan, places[trace][row.first_event].place)}")
            if not rows:
                part = ", as far as its events are there" if trace in cut else ""
                bands = output.count(len(plan.classes), "band")
                print(f"{trace}: within all limits of {bands}{part}")
        if any(row.site.startswith("+") for rows in found.values() for row in rows):
            print(ADDRESSES)
        print(unseen.told(unseen.LIMITS))
        if over := [trace for trace, rows in found.items() if rows]:
            command = again(plan_path, plan, over)
            print(f"next: {command}")
            if " --limits " in command:
                print("      after raising the limits of these objects in that file")
            else:
                print("      or state a higher limit in a file: --limits FILE (`tau plan --help`)")

    output.emit(as_json, "check", result, human)
    for trace, reader in opened.items():
        note_ending(trace, reader.ending)
    note_plan(plan_path, plan)
    if any(found.values()):
        return EXIT_LIMIT_EXCEEDED
    return EXIT_FAILED if cut else EXIT_DONE


def _is_cut(reader: TraceReader) -> bool:
    """Whether events are missing, so that limits may be exceeded that seem to hold."""
    return any(remark.is_problem for remark in reader.ending.remarks)


def _refuse_other_sizes(trace: Path, reader: TraceReader, plan: Plan) -> None:
    """Raise TauError for a recording of another kind of machine, whose objects have other sizes."""
    name = abi.of_header(reader.header)
    is_of_target = plan.sizes in (sizes.EXACT, sizes.TRANSLATED)
    if name and is_of_target and not abi.has_words_of(name, plan.layout):
        raise TauError(
            f"{trace} has sizes of {name}, and the plan is for the layout {plan.layout}",
            "check a recording of the plan's target",
            EXIT_USAGE,
        )


def told(row: Exceeded, plan: Plan, place: Place | None) -> str:
    """A row in words; PLACE is the function and line of its site."""
    where = f" at event {row.first_event:,}" + (f", from {row.site}" if row.site else "")
    if place is not None and place.frames:
        where += f", {place.told()}"
    objects = output.count(row.peak_count, "object")
    if row.limit_count == 0:
        largest = bucket_bytes(plan.classes[-1].size_bytes, plan.alignment_unit)
        return (
            f"{objects} at once in no band: of up to {row.size_bytes:,} bytes, the largest band"
            f" holds {largest:,}; first{where}"
        )
    sizes_of = ranges(bucket_bytes(size, plan.alignment_unit) for size, _ in plan.classes)
    return (
        f"{objects} of {sizes_of[row.size_bytes]} at once, the limit is {row.limit_count:,};"
        f" first{where}"
    )
