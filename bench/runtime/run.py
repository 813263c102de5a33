"""Cost of the preloaded heap for real programs: CPU time and peak memory, next to other allocators.

Run `python -m bench runtime [--quick]`; it writes out/bench/runtime.json, and ends with
cases.py, answers.py and colors.py. Runs with each allocator alternate. The machine
is shared, so each allocator's run with the least CPU time (user and system) counts, and the least
peak memory. jemalloc and mimalloc come from packages and take their turn in every third round.
"""

import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

from bench.commands import ROOT
from bench.runner import Bench, Given, conditions, reached
from bench.runtime import answers, cases, colors
from bench.runtime.programs import HERE, Allocator, allocators, built, planned, programs
from tautochrone.console.output import note
from tautochrone.run import exchange

ROUNDS = 10
PEERS_EVERY = 3  # rounds; the C library and we are in each
SECONDS_MIN = 0.8
SPARSE = ROOT / "linux/runtime/tests/programs/runtime_sparse.c"
# A pool for each size of the microbenchmark that has one, in a heap with room for the rest.
CALLS_PLAN = "1 268435456 64*1000 128*1000"
MUST = {
    "mean_seconds": 1.03,
    "largest_seconds": 1.10,
    "largest_peak": 1.10,
    "mixed": 1.0,
    "pairs": 1.6,
    "sparse_peak_kib": 8192,
}


def run_once(launcher: Path, command: list[str], one: Allocator) -> tuple[float, int]:
    """CPU seconds and peak KiB of one run, children included; measure.c says how."""
    quiet = subprocess.DEVNULL
    result = launcher.with_suffix(".txt")
    words = [str(launcher), str(result), one.variables["LD_PRELOAD"], *command]
    subprocess.run(words, check=True, stdout=quiet, stderr=quiet)
    seconds, peak_kib = result.read_text().split()
    return float(seconds), int(peak_kib)


def measure_program(
    launcher: Path, command: list[str], compared: list[Allocator], rounds: int
) -> dict[str, dict[str, float]]:
    """The least seconds and KiB of each allocator."""
    best = {one.name: {"seconds": float("inf"), "peak_kib": float("inf")} for one in compared}
    for turn in range(rounds):
        for one in compared[: None if turn % PEERS_EVERY == 0 else 2]:
            seconds, peak_kib = run_once(launcher, command, one)
            found = best[one.name]
            found["seconds"] = min(found["seconds"], seconds)
            found["peak_kib"] = min(found["peak_kib"], peak_kib)
    return best


def measure_calls(folder: Path, compared: list[Allocator], rounds: int, scale: int) -> Any:
    """Nanoseconds of a pair of calls, the least of the rounds."""
    command = [str(built(folder, HERE / "calls.c", "calls")), str(scale)]
    ways = {one.name: (command, one.variables) for one in compared}
    best: dict[str, list[float]] = {}
    with exchange.opened(f"plan {CALLS_PLAN}\n") as shared:
        ways["planned"] = (planned(shared, command), {})
        for _ in range(rounds):
            for name, (words, variables) in ways.items():
                environment = dict(os.environ) | variables
                done = subprocess.run(
                    words, env=environment, check=True, capture_output=True, text=True
                )
                found = [float(word) for word in done.stdout.split()]
                best[name] = [min(pair) for pair in zip(found, best.get(name, found), strict=True)]
    return {name: {"pairs_ns": pair[0], "mixed_ns": pair[1]} for name, pair in best.items()}


def ratios(rows: dict[str, dict[str, dict[str, float]]], key: str) -> list[float]:
    """Ours divided by glibc's, of each program."""
    return [row["ours"][key] / row["glibc"][key] for row in rows.values()]


def judge(result: dict[str, Any]) -> dict[str, float]:
    """The figures that MUST limits."""
    calls = result["calls"]
    return {
        "mean_seconds": statistics.mean(ratios(result["programs"], "seconds")),
        "largest_seconds": max(ratios(result["programs"], "seconds")),
        "largest_peak": max(ratios(result["programs"], "peak_kib")),
        "mixed": calls["ours"]["mixed_ns"] / calls["glibc"]["mixed_ns"],
        "pairs": calls["planned"]["pairs_ns"] / calls["glibc"]["pairs_ns"],
        "sparse_peak_kib": result["sparse_kib"]["ours"],
    }


def measure(given: Given) -> dict[str, Any]:
    """Programs, calls and a sparse calloc with each allocator."""
    rounds, scale = (1, 1) if given.quick else (ROUNDS, 10)
    compared = allocators()
    folder, found = given.folder, {}
    launcher = built(folder, HERE / "measure.c", "measure")
    for program, command in programs(folder).items():
        note(f"runtime: {program}")
        found[program] = measure_program(launcher, command, compared, rounds)
    command = [str(built(folder, SPARSE, "sparse"))]
    result: dict[str, Any] = {
        "rounds": rounds,
        "programs": found,
        "calls": measure_calls(folder, compared, rounds, scale),
        "sparse_kib": {one.name: run_once(launcher, command, one)[1] for one in compared},
        "must": MUST,
    }
    short = [name for name, row in found.items() if row["glibc"]["seconds"] < SECONDS_MIN]
    figures = judge(result)
    result |= {"figures": figures, "reached": reached(figures, MUST)}
    return result | {"conditions": {**conditions(), "short": short}}


BENCH = Bench("runtime", measure)
PARTS = (cases.BENCH, answers.BENCH, colors.BENCH)
