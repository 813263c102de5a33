"""The output of `tau plan`: notes on the search, comments of the file, text, and JSON."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone import unseen
from tautochrone.console import output
from tautochrone.plan import again, sizes
from tautochrone.plan.file import BANDS, CLASSES_MAX
from tautochrone.heap import pools
from tautochrone.heap.margin import DEFAULT, SPREAD
from tautochrone.plan.sections import section_named
from tautochrone.trace.folder import SUFFIX

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan, PlanTrace
    from tautochrone.heap.plan import Made, Wanted
    from tautochrone.trace.ending import Ending

NAMES_SHOWN_MAX = 4
WIDE_MARGIN = 0.5  # of recordings that differ so much, one is probably the largest that there is
# What optimal_within of a plan file is, for a formula planner and for the planner `replayed`.
OPTIMAL_WITHIN = (
    "optimal_within: the most by which other pools exceed these in the paper's formula.",
    "optimal_within: the most of the measured heap that any other plan could save.",
)


INTERRUPTED = (
    "The search was interrupted: this plan is the best so far, measured as any other;"
    " without the interruption it may need less."
)


def note_search(made: Made) -> None:
    """Print the cost of the search on stderr, and which planners' pools would be a risk."""
    output.note(f"search: {made.replays:,} replays, {made.search_seconds:.1f} s")
    names = defaultdict(list)
    for start in made.found.starts:
        if start.is_bet:
            names[start.refused].append(start.name)
    for refused, those in names.items():
        output.note(
            f"not taken: the pools of {_listed(those)}, {refused}"
            " (if the program always runs the same, add --fixed-input)"
        )


def _listed(names: Sequence[str]) -> str:
    """Names with commas; of many, the first ones and the number of all."""
    if len(names) <= NAMES_SHOWN_MAX:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_SHOWN_MAX])} … ({len(names)} in all)"


def made_by(
    traces: Sequence[Path], wanted: Wanted, plan: Plan, files: Mapping[str, Path | None]
) -> str:
    """The command line that makes the plan again (plan/again.py)."""
    is_guaranteed = plan.planner == BANDS
    options = ["--guarantee"] if is_guaranteed else ["--planner", wanted.planner]
    if wanted.classes_max != CLASSES_MAX:
        options += ["--classes-max", str(wanted.classes_max)]
    if wanted.margin is not None:
        options += ["--margin", f"{wanted.margin * 100:g}%"]
    options += ["--layout", plan.layout]
    if wanted.build.alignment_bytes:
        options += ["--alignment", str(wanted.build.alignment_bytes)]
    if wanted.pools != pools.AUTO:
        options += ["--pools", wanted.pools]
    for is_given, option in (
        (wanted.is_as_recorded, "--sizes-as-recorded"),
        (wanted.skip_misuse, "--skip-misuse"),
        (wanted.is_input_fixed, "--fixed-input"),
    ):
        options += [option] if is_given else []
    return again.made_by([trace.name for trace in traces], options, files)


def notes(made: Made) -> tuple[str, ...]:
    plan = made.plan
    lines = [
        f"Plain TLSF needs {made.plain_heap_bytes:,} bytes for these recordings, this plan "
        f"{made.measured_heap_bytes:,}.",
        OPTIMAL_WITHIN[plan.planner == "replayed"],
    ]
    if plan.margin:
        lines.append(
            f"heap_bytes is {made.margin_bytes:,} bytes larger: a margin of"
            f" {plan.margin * 100:g} %, all in the shared region."
        )
    if not plan.classes:
        lines.append(f"No pools: {made.pools.why}.")
    if sizes.remark(plan):
        lines.append(f"Sizes: {sizes.remark(plan)}.")
    lines += [unseen.sentence(unseen.HEAP_PLAN), f"Next: {next_step(plan)}"]
    return tuple(lines)


def next_step(plan: Plan, traces: Sequence[Path] = (), plan_path: Path | None = None) -> str:
    """The next steps for a plan; without paths, for the comment in its file."""
    named = [shlex.quote(str(trace)) for trace in traces] or ["RECORDING"]
    path = shlex.quote(str(plan_path)) if plan_path else "THIS_FILE"
    if plan.sizes == sizes.ESTIMATE:
        return f"have the target's sizes: {sizes.WAYS}"
    if plan.layout == "32":
        return f"tau verify {path} {_folder_of(traces) or ' '.join(named)}"
    system = "pools" if plan.planner == BANDS else "budget"
    return f"tau replay {named[0]} --on tlsf,{system} --plan {path}"


def _folder_of(traces: Sequence[Path]) -> str:
    """The folder whose traces are all of TRACES, "" if there is none."""
    folder = traces[0].parent if len(traces) > 1 else Path()
    if folder == Path() or set(folder.glob(f"*{SUFFIX}")) != set(traces):
        return ""
    return shlex.quote(str(folder))


def result_of(made: Made, limit_bytes: int | None) -> dict[str, Any]:
    plan = made.plan
    result: dict[str, Any] = {
        "planner": plan.planner,
        "classes": [{"size_bytes": size, "count": count} for size, count in plan.classes],
        "dedicated_bytes": plan.dedicated_bytes,
        "shared_bytes": plan.shared_bytes,
        "heap_bytes": plan.heap_bytes,
        "optimal_within": plan.optimal_within,
        "margin": plan.margin,
        "margin_bytes": made.margin_bytes,
        "margin_source": made.margin.source,
        "margin_advised": made.margin.advised,
        "refused_expected": made.margin.refused,
        "spread": made.spread.document() if made.spread is not None else None,
        "pools": {**pools.document(made.pools), "rows": _rows(made)},
        "measured_heap_bytes": made.measured_heap_bytes,
        "plain_heap_bytes": made.plain_heap_bytes,
        "replays": made.replays,
        "search_seconds": round(made.search_seconds, 3),
        "starts": [
            {"name": start.name, "heap_bytes": start.heap_bytes, "refused": start.refused or None}
            for start in made.found.starts
        ],
    }
    return result | plan_document(plan, made.endings, unseen.HEAP_PLAN, limit_bytes)


def plan_document(
    plan: Plan, endings: Sequence[Ending], not_seen: Sequence[str], limit_bytes: int | None
) -> dict[str, Any]:
    """What --json has of every plan of a heap: of its recordings, sections, and the limit."""
    result: dict[str, Any] = {
        "alignment_bytes": plan.alignment_bytes,
        "layout": plan.layout,
        "sizes": plan.sizes,
        "traces": [
            {
                "name": trace.name,
                "sha256": trace.sha256,
                "events": trace.events,
                "peak_live_bytes": trace.peak_live_bytes,
                "ending": ending.document(),
            }
            for trace, ending in zip(plan.traces, endings, strict=True)
        ],
    }
    for name, value in plan.sections.items():
        result |= section_named(name).document(value)
    result[unseen.KEY] = list(not_seen)
    if limit_bytes is not None:
        result["limit_bytes"] = limit_bytes
        result["within_limit"] = plan.heap_bytes <= limit_bytes
    return result


def _rows(made: Made) -> list[dict[str, Any]]:
    """The heap without pools and the one with them: bytes without a margin, and costs of calls."""
    choice, rows = made.pools, []
    systems = [("tlsf", choice.plain_bytes)]
    if choice.pooled_bytes != choice.plain_bytes:
        systems.append(("budget", choice.pooled_bytes))
    for system, heap_bytes in systems:
        found = pools.costs(system, made.build) if made.plan.layout == "32" else []
        rows.append(
            {
                "system": system,
                "heap_bytes": heap_bytes,
                "change": _change(choice) if system == "budget" else "",
                "is_planned": (system == "budget") == bool(made.plan.classes),
                "costs": [cost._asdict() for cost in found],
            }
        )
    return rows


def _change(choice: pools.Choice) -> str:
    """The change that pools make, and by how much runs differ if that is more."""
    more = f"; runs differ by {choice.spread * 100:.1f} %"
    is_within = 0 < choice.saving <= choice.spread
    return f" ({-choice.saving * 100:+.1f} %{more if is_within else ''})"


def _row_text(row: dict[str, Any]) -> str:
    name = "with pools" if row["system"] == "budget" else "without pools"
    said = [pools.Cost(**cost).told() for cost in row["costs"]]
    mark = "  <- this plan" if row["is_planned"] else ""
    return f"{name:<16} {row['heap_bytes']:>12,} bytes{row['change']}{mark}" + "".join(
        f"\n                 {text}" for text in said
    )


def _recorded(traces: Sequence[PlanTrace]) -> str:
    """Events and peaks of one recording, or the range over several."""
    if len(traces) == 1:
        (one,) = traces
        return f"{one.name}: {one.events:,} events, {one.peak_live_bytes:,} bytes live at the peak"
    events = [trace.events for trace in traces]
    peaks = [trace.peak_live_bytes for trace in traces]
    programs = sorted({trace.program for trace in traces if trace.program})
    of = f" of {', '.join(programs)}" if len(programs) > 1 else ""
    return (
        f"{len(traces)} recordings{of}: {output.span(events)} events,"
        f" {output.span(peaks)} bytes live at the peak"
    )


def _runs_text(made: Made) -> Iterator[str]:
    """Lines on single runs, on each recording left out, and on the margin."""
    spread = made.spread
    if spread is not None:
        plain, planned = spread.plain, spread.planned
        without = f"{output.span(plain.heaps)} bytes"
        if made.plan.classes:
            with_pools = f"{output.span(planned.heaps)} bytes with these pools"
            yield f"each run alone needs {with_pools}, {without} without pools"
        else:
            yield f"each run alone needs {without}"
        short = [item for item in spread.left_out if item.short_bytes]
        worst = max((item.short_bytes / item.planned_bytes for item in short), default=0.0)
        yield (
            f"left out in turn: {len(short)} of {len(spread.left_out)} need more than a plan from"
            f" the others has, at most {output.percent(worst)}"
        )
        if planned.least == planned.most and plain.least == plain.most:
            yield "all runs need the same: they say nothing about runs with other inputs"
    yield made.margin.text()
    if spread is not None and made.margin.source == SPREAD and made.plan.margin > WIDE_MARGIN:
        yield f"if no run is larger than the largest of these, give --margin {DEFAULT:.0%}"


def show(
    made: Made, traces: Sequence[Path], plan_path: Path | None, header_path: Path | None
) -> None:
    plan = made.plan
    print(_recorded(plan.traces))
    for row in _rows(made):
        print(_row_text(row))
    if plan.margin:
        print(
            f"heap             {plan.heap_bytes:>12,} bytes, of which"
            f" {made.margin_bytes:,} are margin (+{plan.margin * 100:g} %)"
        )
    for line in _runs_text(made):
        print(line)
    if plan.classes:
        verb = "gets" if len(plan.classes) == 1 else "get"
        print(
            f"{len(plan.classes):,} of {made.sizes_count:,} sizes after rounding to"
            f" {plan.alignment_unit} bytes {verb} a pool: {plan.dedicated_bytes:,} bytes;"
            f" {plan.shared_bytes:,} are shared"
        )
    else:
        print(f"no pools: {made.pools.why}")
    remark = sizes.remark(plan)
    if remark:
        print(remark)
    if made.least_bytes:
        subject = "the plan without its margin" if plan.margin else "this"
        print(
            f"no heap can be smaller than {made.least_bytes:,} bytes (sizes rounded to"
            f" {plan.alignment_unit} bytes): {subject} is at most"
            f" {output.percent(made.above_optimum)} above the optimum"
        )
    for name, value in plan.sections.items():
        for line in section_named(name).told(value):
            print(line)
    print(unseen.told(unseen.HEAP_PLAN))
    print_files(plan, traces, plan_path, header_path)


def print_files(
    plan: Plan, traces: Sequence[Path], plan_path: Path | None, header_path: Path | None
) -> None:
    """Print the written files and the next step."""
    for path in (plan_path, header_path):
        if path is not None:
            print(f"written: {path}")
    is_kept = plan_path is not None
    print(f"next: {next_step(plan, traces, plan_path) if is_kept else 'keep it with -o plan.toml'}")
