"""A program's part of a report: its figures, its facts and its verdict."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.console import bars, output
from tautochrone.plan.file import ALIGNMENT_BYTES, Plan, bucket_bytes, load_plan
from tautochrone.plan.remarks import plan_remarks, provenance
from tautochrone.replay.entry import PLANNED, Entry
from tautochrone.report import cost_figures, heap_figures
from tautochrone.report.comparison import (
    estimates,
    by_recording,
    cycles_sentence,
    heaps,
    on_pages,
    pages_sentence,
    simulated,
)
from tautochrone.report.curves import COLUMNS, curves_of
from tautochrone.report.figure import of_bytes
from tautochrone.report.flame_graph import flame_graph
from tautochrone.report.heap_map import heap_map
from tautochrone.report.page import Part
from tautochrone.report.verdict import next_steps, verdict
from tautochrone.trace import abi
from tautochrone.trace.file import TraceReader

COMMAND_CHARACTERS_MAX = 60  # Of a step to do next.
ISA_NAMES = {"rv32": "RV32IMC", "m4": "Cortex-M4"}


@dataclass(frozen=True)
class Replays:
    """The replays: one entry per system, and the target that instructions were counted on.

    `remarks` says which replays used an incomplete trace.
    """

    entries: list[Entry]
    isa: str
    remarks: tuple[str, ...] = ()


def part_of(reader: TraceReader, plan_path: Path | None, replays: Replays) -> Part:
    """Return the part of a report for a trace and its replays."""
    plan = load_plan(plan_path) if plan_path else None
    granule = plan.alignment_unit if plan else ALIGNMENT_BYTES[abi.own_layout(reader.header)]
    entries = plan.classes if plan else ()
    is_banded = plan is not None and plan.system == "pools"
    planned = [(bucket_bytes(entry.size_bytes, granule), entry.count) for entry in entries]
    trace, totals, header = reader.path, reader.totals, reader.header
    curves = curves_of(
        bars.progress(reader.columns(COLUMNS), "reading the trace", totals.blocks),
        events=totals.events,
        duration_ns=totals.duration_ns if reader.is_timed else 0,
        slots_count_max=totals.slots_count_max,
        class_sizes=[size for size, _ in planned],
        granule_bytes=granule,
        is_banded=is_banded,
    )
    panels = [heap_figures.live_bytes(curves)]
    panels += [held] if (held := flame_graph(reader)) else []
    plain = heaps(replays.entries)
    paged = [entry for entry in replays.entries if entry.pages is not None]
    if plain:
        panels.append(heap_figures.footprints(plain, curves.peak_bytes))
        parts = heap_figures.heap_parts(plain, curves.peak_bytes)
        panels += [parts] if parts else []
    if plan is not None and (drawn := heap_map(reader, plan)):
        panels.append(drawn)
    panels += cost_figures.pages(paged, trace.name)
    if replays.entries:
        isa = ISA_NAMES.get(replays.isa, replays.isa)
        counted = cost_figures.instructions(replays.entries, isa)
        panels += [counted] if counted else []
    if plan is not None and is_banded:
        panels.append(heap_figures.limits(curves, plan))
    elif planned:
        panels.append(heap_figures.pools(curves, planned))
    pool_sizes = {size for size, _ in planned}
    panels.append(heap_figures.sizes(reader.sizes(), pool_sizes, granule, is_banded))
    sentences = _said(curves.peak_bytes, replays.entries, plan, trace.name)
    remarks = [f"{trace}: {sentence}" for sentence in reader.ending.sentences]
    remarks += [f"{plan_path}: {text}" for text in plan_remarks(plan, header)]
    remarks += [*replays.remarks, *estimates(replays.entries)]
    document = {
        "trace": str(trace),
        "events": totals.events,
        "peak_live_bytes": curves.peak_bytes,
        "systems": [_listed(entry) for entry in replays.entries],
        unseen.KEY: list(unseen.REPLAY),
        "ending": reader.ending.document(),
    }
    return Part(
        Path(str(header.get("program") or trace.name)).name,
        sentences,
        _facts(header, totals, reader.is_timed),
        panels,
        _provenance(reader, plan),
        remarks,
        document,
        steps=next_steps(trace, _started(header), plan_path, plan, replays.entries),
    )


def _listed(entry: Entry) -> dict[str, Any]:
    """Return an entry for --json; it names its recording if that is not the report's."""
    return entry.document() | ({"recording": entry.recording} if entry.recording else {})


def _said(
    peak_live_bytes: int, entries: Sequence[Entry], plan: Plan | None, recording: str
) -> list[str]:
    """Return the verdict: sentences on heaps, on heaps on pages, and on the tile.

    `recording` names the report's trace; sentences on pages name another one.
    """
    sentences = []
    plain, guaranteed = _by_plan(heaps(entries), plan)
    if plain or not entries:
        heap = (plan.heap_bytes, plan.margin) if plan else (None, 0.0)
        peaks = [trace.peak_live_bytes for trace in plan.traces] if plan else []
        sentences += verdict(peak_live_bytes, plain, *heap, peaks)
    sentences += [
        "A heap that cannot fail within its limits, in any order of calls, takes"
        f" {of_bytes(entry.footprint_bytes)} ({entry.name})."
        for entry in guaranteed
    ]
    if in_software := on_pages(entries):
        sentences += by_recording(in_software, recording, pages_sentence)
    if on_tile := simulated(entries):
        sentences += by_recording(on_tile, recording, cycles_sentence)
    return sentences


def _by_plan(entries: list[Entry], plan: Plan | None) -> tuple[list[Entry], list[Entry]]:
    """The entries that do not need another kind of plan, and the entries that need pools."""
    pools = [entry for entry in entries if entry.name == "pools"]
    if plan is None or not pools:
        return entries, []
    if plan.system == "pools":
        return [each for each in entries if each.role != PLANNED or each in pools], []
    held = [entry for entry in pools if entry.held and entry.footprint_bytes]
    return [each for each in entries if each not in pools], held


def _command(header: Mapping[str, Any]) -> str:
    """The recorded command, "" if the recording does not say it."""
    recorded = header.get("command")
    return shlex.join(map(str, recorded)) if isinstance(recorded, list) else ""


def _started(header: Mapping[str, Any]) -> str:
    """The recorded command as words to type, without its end if it is long."""
    command = _command(header) or "PROGRAM"
    return command if len(command) <= COMMAND_CHARACTERS_MAX else f"{command.split()[0]} …"


def _facts(header: Mapping[str, Any], totals: Any, is_timed: bool) -> dict[str, str]:
    """Return facts about the recording. `header` is the recorder's; any key may be missing."""
    started_ns = header.get("started_unix_ns")
    where = [str(header[name]) for name in ("host", "machine") if header.get(name)]
    facts = {
        "command": _command(header),
        "recorded": _date(started_ns) if isinstance(started_ns, int) else "",
        "on": ", ".join(where),
        "ABI of the sizes": abi.of_header(header) or "not stated",
        "events": f"{totals.events:,}",
        "duration": output.duration(totals.duration_ns) if is_timed and totals.duration_ns else "",
        "threads": f"{totals.threads:,}",
        "most objects at once": f"{totals.peak_live_objects:,}",
    }
    misuse = totals.unknown_count + totals.double_free_count
    if misuse:
        facts["events of misuse"] = f"{misuse:,} (left out)"
    return facts | {"not looked at": "; ".join(unseen.REPLAY)}


def _date(unix_ns: int) -> str:
    """Return an instant as UTC, to the second; "" if it is outside the calendar."""
    try:
        instant = datetime.fromtimestamp(unix_ns // 10**9, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return instant.strftime("%Y-%m-%d %H:%M:%S UTC")


def _provenance(reader: TraceReader, plan: Plan | None) -> dict[str, str]:
    """Return the sources of the report: the trace's hash, and how the plan was made."""
    made = {"trace": reader.path.name, "SHA-256 of the trace": reader.sha256()}
    if plan is not None:
        made["planner"] = f"{plan.planner}{_distance(plan)}"
        made |= provenance(plan)
    return made


def _distance(plan: Plan) -> str:
    """Return how far a plan's heap can be above the optimum, as a part of the optimum.

    The verdict's percentages have the same base. A formula planner proves nothing about the heap.
    """
    if plan.planner != "replayed" or plan.optimal_within >= 1:
        return ""
    above = plan.optimal_within / (1 - plan.optimal_within)
    subject = "the heap without its margin" if plan.margin else "the heap"
    return f"; {subject} is at most {output.percent(above)} above the smallest possible"
