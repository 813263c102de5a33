"""`tau plan`: makes a plan file, and on request a C header, from recordings."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.commands.plan_runs import gain_text, runs_text
from tautochrone.commands.replay_options import SizeBytes
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath
from tautochrone.plan.file import ALIGNMENT_BYTES, CLASSES_MAX, LAYOUTS, MARGIN_MAX, PLANNERS
from tautochrone.plan.sections import section_named
from tautochrone.trace.ending import note_ending
from tautochrone.trace.folder import traces_in

if TYPE_CHECKING:
    from tautochrone.plan.making import Made

PATH = click.Path(path_type=Path)
MARGIN_CHARACTERS_MAX = 40
NO_POOL = "No pool saves anything here: give heap_bytes to tau_tlsf_init"
# What optimal_within of a plan file is, for a formula planner and for the planner `replayed`.
OPTIMAL_WITHIN = (
    "optimal_within: the most by which other pools exceed these in the paper's formula.",
    "optimal_within: the most of the measured heap that any other plan could save.",
)


class Margin(click.ParamType):
    """A margin, as `10%` or `0.1`. A whole number without % is ambiguous, so it is refused."""

    name = "PERCENT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The margin as a fraction."""
        if isinstance(value, float):
            return value
        try:
            is_percent = value.endswith("%")
            if len(value) > MARGIN_CHARACTERS_MAX or "e" in value.lower():
                raise ValueError
            margin = Fraction(value.rstrip("%")) / (100 if is_percent else 1)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a margin; write for example 10%", param, ctx)
        if not is_percent and margin >= 1:
            self.fail(f"{value!r} is ambiguous; write {value}%", param, ctx)
        if not 0 <= margin <= MARGIN_MAX:
            self.fail(f"{value!r} is not from 0% to {MARGIN_MAX * 100:g}%", param, ctx)
        return float(margin)


@click.command()
@click.argument("traces", type=PATH, nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "plan_path",
    type=OutputPath(),
    help="Plan file to write; - is stdout (default: none).",
)
@click.option(
    "--planner",
    type=click.Choice(PLANNERS),
    default="replayed",
    show_default=True,
    help="How to choose the pools; the planners are described above.",
)
@click.option(
    "--classes-max",
    type=click.IntRange(0, CLASSES_MAX),
    default=CLASSES_MAX,
    show_default=True,
    help="Largest number of sizes that get a pool.",
)
@click.option(
    "--margin",
    type=Margin(),
    default=None,
    help="Percentage of the measured heap to add to it, as in 10% (default: what follows from the"
    " spread of the recordings; 0% with --fixed-input).",
)
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="32",
    show_default=True,
    help="Word size whose headers and alignments the plan uses: a 32-bit target's, or the host's.",
)
@click.option(
    "--header",
    "header_path",
    type=OutputPath(),
    help="C header to write the plan to as well (default: none).",
)
@click.option("--force", is_flag=True, help="Replace existing outputs (default: refuse).")
@click.option(
    "--limit",
    "limit_bytes",
    type=SizeBytes(),
    help="Largest heap in bytes; exit with 3 if the plan needs more (default: no limit).",
)
@click.option(
    "--skip-misuse",
    is_flag=True,
    help="Leave out frees that name no live object (default: refuse such a trace).",
)
@click.option(
    "--fixed-input",
    "is_input_fixed",
    is_flag=True,
    help="Judge plans by these recordings alone, as the program has no other inputs (default: also"
    " judge them by shorter runs).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def command(
    traces: tuple[Path, ...],
    plan_path: Path | None,
    planner: str,
    classes_max: int,
    margin: float | None,
    layout: str,
    header_path: Path | None,
    force: bool,
    limit_bytes: int | None,
    skip_misuse: bool,
    is_input_fixed: bool,
    as_json: bool,
) -> int:
    """Find pools and a heap size that hold all of TRACES.

    \b
    tau plan runs -o plan.toml
    tau plan program.tau -o plan.toml
    tau plan small.tau large.tau --margin 10% -o plan.toml --header plan.h
    tau plan program.tau --limit 65536 --json

    The planner `replayed` chooses by replay; its plan never needs more than plain TLSF. The
    planners `greedy`, `exact` and `exhaustive` maximize the paper's formula for dedicated
    bytes. The heap of every plan is measured by replay.

    A folder stands for all *.tau in it. Several recordings show how much runs differ, and the
    margin follows from that. One recording says nothing about other runs, so its margin is
    larger.

    With recordings of accesses, the plan also states the frames that a heap on pages reserves.
    It states the bound of each operation on each target whose compiler is installed.
    """
    traces = traces_in(traces)
    outputs = [path for path in (plan_path, header_path) if path is not None]
    for index, path in enumerate(outputs):
        output_file.check(path, force, [*traces, *outputs[:index]], as_json)
    from tautochrone.plan.file import save_plan
    from tautochrone.plan.header import save_header
    from tautochrone.plan.making import make_plan, with_sections
    from tautochrone.trace.file import open_trace

    bar = output.progress(itertools.count(), "replaying plans", None)
    settings = (planner, classes_max, margin, layout, skip_misuse)
    readers = [open_trace(trace) for trace in traces]
    made = make_plan(readers, *settings, lambda: next(bar), is_input_fixed)
    bar.close()
    _note_search(made)
    made = with_sections(made, skip_misuse, output.note)
    made_by = _made_by(traces, *settings, is_input_fixed)
    if plan_path is not None:
        save_plan(made.plan, plan_path, made_by, _notes(made), force)
    if header_path is not None:
        save_header(made.plan, header_path, made_by, force)
    if not any(map(output_file.is_stdout, outputs)):
        output.emit(
            as_json,
            "plan",
            _result(made, limit_bytes),
            lambda: _print(made, traces, plan_path, header_path),
        )
    for path, ending in zip(traces, made.endings, strict=True):
        note_ending(path, ending)
    if limit_bytes is not None and made.plan.heap_bytes > limit_bytes:
        raise TauError(
            f"the heap needs {made.plan.heap_bytes:,} bytes, the limit is {limit_bytes:,}",
            "raise the limit, or see in `tau report` what is live at the peak",
            EXIT_LIMIT_EXCEEDED,
        )
    return EXIT_DONE


def _made_by(
    traces: tuple[Path, ...],
    planner: str,
    classes_max: int,
    margin: float | None,
    layout: str,
    skip_misuse: bool,
    is_input_fixed: bool,
) -> str:
    """The command line without its outputs, which do not change the plan."""
    words = ["tau plan", *(trace.name for trace in traces), "--planner", planner]
    if classes_max != CLASSES_MAX:
        words += ["--classes-max", str(classes_max)]
    if margin is not None:
        words += ["--margin", f"{margin * 100:g}%"]
    if layout != "32":
        words += ["--layout", layout]
    if skip_misuse:
        words.append("--skip-misuse")
    if is_input_fixed:
        words.append("--fixed-input")
    return " ".join(words)


def _note_search(made: Made) -> None:
    """Print on stderr what the search cost, and which planners' pools it dropped as a risk."""
    output.note(f"search: {made.replays:,} replays, {made.search_seconds:.1f} s")
    bets = [start for start in made.starts if start.is_bet]
    for start in bets:
        output.note(
            f"tried and dropped: the pools of {start.name}, {start.refused}"
            " (add --fixed-input if it always runs the same)"
        )


def _notes(made: Made) -> tuple[str, ...]:
    plan = made.plan
    notes = [
        f"Plain TLSF needs {made.plain_heap_bytes:,} bytes for these recordings, this plan "
        f"{made.measured_heap_bytes:,}.",
        OPTIMAL_WITHIN[plan.planner == "replayed"],
    ]
    if plan.margin:
        notes.append(
            f"heap_bytes is {made.margin_bytes:,} bytes larger: a margin of"
            f" {plan.margin * 100:g} %, all in the shared region."
        )
    if not plan.classes:
        notes.append(f"{NO_POOL}.")
    notes.append("Next: tau replay RECORDING --on tlsf,budget --plan THIS_FILE")
    return tuple(notes)


def _result(made: Made, limit_bytes: int | None) -> dict[str, Any]:
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
        "layout": plan.layout,
        "measured_heap_bytes": made.measured_heap_bytes,
        "plain_heap_bytes": made.plain_heap_bytes,
        "replays": made.replays,
        "search_seconds": round(made.search_seconds, 3),
        "starts": [
            {"name": start.name, "heap_bytes": start.heap_bytes, "refused": start.refused or None}
            for start in made.starts
        ],
        "traces": [
            {
                "name": trace.name,
                "sha256": trace.sha256,
                "events": trace.events,
                "peak_live_bytes": trace.peak_live_bytes,
                "ending": ending.document(),
            }
            for trace, ending in zip(plan.traces, made.endings, strict=True)
        ],
    }
    for name, value in plan.sections.items():
        result |= section_named(name).document(value)
    if limit_bytes is not None:
        result["limit_bytes"] = limit_bytes
        result["within_limit"] = plan.heap_bytes <= limit_bytes
    return result


def _print(
    made: Made, paths: tuple[Path, ...], plan_path: Path | None, header_path: Path | None
) -> None:
    plan = made.plan
    for trace in plan.traces:
        print(
            f"{trace.name}: {trace.events:,} events,"
            f" {trace.peak_live_bytes:,} bytes live at the peak"
        )
    print(f"plain TLSF needs {made.plain_heap_bytes:>14,} bytes")
    margin = f", of which margin {made.margin_bytes:,} (+{plan.margin * 100:g} %); without it"
    print(
        f"this plan needs  {plan.heap_bytes:>14,} bytes{margin if plan.margin else ''}"
        f" ({gain_text(made)})"
    )
    for line in runs_text(made):
        print(line)
    if plan.classes:
        print(
            f"{len(plan.classes):,} of {made.sizes_count:,} sizes after rounding to"
            f" {ALIGNMENT_BYTES[plan.layout]} bytes get a pool: {plan.dedicated_bytes:,} bytes;"
            f" {plan.shared_bytes:,} are shared"
        )
    else:
        print(NO_POOL)
    if made.least_bytes:
        subject = "the plan without its margin" if plan.margin else "this"
        print(
            f"no heap can be smaller than {made.least_bytes:,} bytes (sizes rounded to"
            f" {ALIGNMENT_BYTES[plan.layout]} bytes): {subject} is at most"
            f" {output.percent(made.above_optimum)} above the optimum"
        )
    for name, value in plan.sections.items():
        for line in section_named(name).told(value):
            print(line)
    for path in (plan_path, header_path):
        if path is not None:
            print(f"written: {path}")
    if plan_path is not None:
        print(f"next: tau replay {paths[0]} --on tlsf,budget --plan {plan_path}")
    else:
        print("next: keep it with -o plan.toml, then tau replay --plan plan.toml")
