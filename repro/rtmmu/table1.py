"""Table I: largest cost of malloc and free, largest footprint, for every trace [P0-38]."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.commands import first_line
from bench.tile import synthetic
from repro.engine.claims import sentences_of
from repro.rtmmu import workloads
from repro.rtmmu.page_costs import CALLS, CONVENTIONAL, ISAS, MEASURES, OURS, row_of
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.trace.file import open_trace

SENTENCES = sentences_of(workloads.RESULTS.home)
QUICK_ACTIONS = 20_000
PAPER: dict[str, list[int]] = SENTENCES["paper_values"]


def with_paper(row: dict[str, Any], paper: str) -> dict[str, Any]:
    """A row with what the paper's row has, if there is one, and the paper's own quotients."""
    if not paper:
        return {**row, "paper": paper}
    malloc, free, pages, their_malloc, their_free, their_pages = PAPER[paper]
    own = {
        "malloc_penalty": malloc / their_malloc,
        "free_gain": their_free / free,
        "footprint": their_pages / pages,
    }
    return {**row, "paper": paper, "paper_values": PAPER[paper], "paper_ratios": own}


def recording(trace: Path) -> dict[str, Any]:
    """What a recording holds, and how many accesses the program made."""
    with open_trace(trace) as reader:
        accesses = reader.header.get("accesses", {})
        events_of_op = reader.totals.events_of_op
        heap = accesses.get("heap_loads", 0) + accesses.get("heap_stores", 0)
    touches = events_of_op[synthetic.TOUCH]
    return {
        "allocations": sum(events_of_op[: synthetic.FREED]),
        "frees": events_of_op[synthetic.FREED],
        "touch_events": touches,
        "heap_accesses": heap,
        "accesses_per_touch_event": heap / touches if touches else None,
    }


def synthetic_trace(seed: int = synthetic.SEED, actions: int = synthetic.ACTIONS) -> Path:
    """The synthetic workload as a trace of first touches."""
    stream = synthetic.first_touches(synthetic.events(seed, actions))
    path = workloads.RESULTS.out / "traces" / f"synthetic-{seed}-{actions}.tau"
    return synthetic.write(path, seed, stream)


def traces(
    names: Iterable[str], actions: int, quick: bool, is_kept: bool = False
) -> dict[str, tuple[str, str, Path]]:
    """Each trace's row in the paper, its command and its file. A program that this machine lacks
    is named and left out. IS_KEPT: what another stage has recorded is taken as it is."""
    by_seed = f"synthetic.py {synthetic.SEED}"
    found = {"synthetic": ("Synthetic", by_seed, synthetic_trace(actions=actions))}
    out = workloads.RESULTS.out / "quick" if quick else workloads.RESULTS.out
    for name, program in workloads.programs(quick).items():
        path = workloads.trace_path(name, out)
        try:
            if name in names:
                if not (is_kept and path.exists()):
                    workloads.record(name, program, out)
                found[name] = (program.paper, " ".join(program.run.command), path)
        except TauError as error:
            note(f"left out: {name}: {error.message} ({error.next_step or '-'})")
    return found


def span(values: dict[str, float | None]) -> dict[str, Any]:
    """The least and the most of what the programs have, and whose they are."""
    known = {name: value for name, value in values.items() if value is not None}
    least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    return {"min": known[least], "min_program": least, "max": known[most], "max_program": most}


def extremes(rows: list[dict[str, Any]], isa: str) -> dict[str, Any]:
    """Over all rows: the largest penalty, the best and worst gain, the largest of each call."""
    result: dict[str, Any] = {}
    kinds = [f"{kind}_{m}" for kind in ("malloc_penalty", "free_gain") for m in MEASURES]
    for kind in (*kinds, "footprint"):
        result[kind] = span({row["program"]: row[isa]["ratios"][kind] for row in rows})
    result["within_bounds"] = all(within_bounds(row, isa) for row in rows)
    result["calls"] = {
        system: {
            call: {
                f"max_{m}": max(row[isa]["systems"][system][call][f"max_{m}"] for row in rows)
                for m in MEASURES
            }
            for call in CALLS
        }
        for system in (OURS, CONVENTIONAL)
    }
    return result


def within_bounds(row: dict[str, Any], isa: str) -> bool:
    """Whether no call of ours was above its bound."""
    calls = row[isa]["systems"]["rtvm"]
    return all(
        calls[call][f"max_{measure}"] <= calls[call][f"bound_{measure}"]
        for call in ("malloc", "free", "fault")
        for measure in MEASURES
        if calls[call]["count"]
    )


def measure(is_quick: bool = False) -> dict[str, Any]:
    """One row per trace."""
    programs = workloads.programs(is_quick)
    found = traces(programs, QUICK_ACTIONS if is_quick else synthetic.ACTIONS, is_quick)
    rows = {}
    for name, (paper, words, trace) in found.items():
        note(f"replaying {name}")
        row = {**row_of(name, trace), "recording": recording(trace), "command": words}
        rows[name] = with_paper(row, paper)
    return {
        "rows": rows,
        "extremes": {isa: extremes([*rows.values()], isa) for isa in ISAS},
        "missing": sorted(programs.keys() - rows.keys()),
        "versions": {name: first_line(*command) for name, command in SENTENCES["versions"].items()},
    }


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(is_quick=True)
