"""Table I: largest cost of malloc and free, largest footprint, for every trace [P0-38]."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from bench.tile import synthetic
from repro.rtmmu import workloads
from repro.rtmmu.measure import CALLS, CONVENTIONAL, ISAS, MEASURES, OURS, OUT, row_of
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.trace.file import open_trace

# Microseconds and pages as printed: malloc, free, footprint of theirs, then of the other MMU.
PAPER = {
    "Synthetic": (339, 945, 2971, 237, 4145462, 180132),
    "avconv": (327, 547, 621, 233, 2263, 781),
    "FFT": (326, 524, 6263, 233, 94305, 6263),
    "mc": (336, 747, 206, 232, 2899292, 96035),
    "sharpSAT": (327, 702, 4522, 233, 73454, 4718),
    "antom": (325, 668, 2942, 233, 37854, 3176),
    "PHP (neural net)": (322, 437, 476, 233, 1423306, 476),
}
VERSIONS = {
    "ffmpeg": ("ffmpeg", "-version"),
    "minisat": ("dpkg-query", "-W", "minisat"),
    "picosat": ("dpkg-query", "-W", "picosat"),
    "php": ("php", "--version"),
    "valgrind": ("valgrind", "--version"),
}


def paper_ratios(row: str) -> dict[str, float]:
    """The paper's own quotients for one of its rows."""
    malloc, free, pages, their_malloc, their_free, their_pages = PAPER[row]
    return {
        "malloc_penalty": malloc / their_malloc,
        "free_gain": their_free / free,
        "footprint": their_pages / pages,
    }


def recording(trace: Path) -> dict[str, Any]:
    """What a recording holds, and how many accesses the program made."""
    with open_trace(trace) as reader:
        accesses = reader.header.get("accesses", {})
        events_of_op = reader.totals.events_of_op
        heap = accesses.get("heap_loads", 0) + accesses.get("heap_stores", 0)
        other = accesses.get("other_loads", 0) + accesses.get("other_stores", 0)
    touches = events_of_op[synthetic.TOUCH]
    return {
        "trace_bytes": trace.stat().st_size,
        "allocations": sum(events_of_op[: synthetic.FREED]),
        "frees": events_of_op[synthetic.FREED],
        "touch_events": touches,
        "heap_accesses": heap,
        "other_accesses": other,
        "accesses_per_touch_event": heap / touches if touches else None,
    }


def synthetic_trace(seed: int = synthetic.SEED, actions: int = synthetic.ACTIONS) -> Path:
    """The synthetic workload as a trace of first touches."""
    stream = synthetic.first_touches(synthetic.events(seed, actions))
    return synthetic.write(OUT / "traces" / f"synthetic-{seed}-{actions}.tau", seed, stream)


def version(command: tuple[str, ...]) -> str:
    """What a program says of itself; empty if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""


def extremes(rows: list[dict[str, Any]], isa: str) -> dict[str, Any]:
    """Over all rows: the largest penalty, the best and worst gain, the largest of each call."""
    result: dict[str, Any] = {}
    kinds = [f"{kind}_{m}" for kind in ("malloc_penalty", "free_gain") for m in MEASURES]
    for kind in (*kinds, "footprint"):
        values = {row["program"]: row[isa]["ratios"][kind] for row in rows}
        known = {name: value for name, value in values.items() if value is not None}
        least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        result[kind] = {
            "min": known[least],
            "min_program": least,
            "max": known[most],
            "max_program": most,
        }
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


def measure(quick: bool = False, out: Path = OUT) -> dict[str, Any]:
    """One row a trace; a program that this machine lacks is named and left out."""
    rows, missing = [], []
    actions = 20_000 if quick else synthetic.ACTIONS
    by_seed = f"synthetic.py {synthetic.SEED}"
    traces = {"synthetic": ("Synthetic", by_seed, synthetic_trace(actions=actions))}
    for name, program in workloads.programs(quick).items():
        try:
            words = " ".join(program.command)
            traces[name] = (program.paper, words, workloads.record(name, program, out))
        except TauError as error:
            missing.append(name)
            note(f"left out: {name}: {error.message} ({error.next_step or '-'})")
    for name, (paper, words, trace) in traces.items():
        note(f"replaying {name}")
        row = {**row_of(name, trace), "paper": paper, "recording": recording(trace)}
        row["command"] = words
        if paper:
            row["paper_values"] = PAPER[paper]
            row["paper_ratios"] = paper_ratios(paper)
        rows.append(row)
    return {
        "rows": {row["program"]: row for row in rows},
        "extremes": {isa: extremes(rows, isa) for isa in ISAS},
        "missing": missing,
        "versions": {name: version(command) for name, command in VERSIONS.items()},
    }
