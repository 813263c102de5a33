"""The cases in which `tau run` costs most CPU time, compared with the C library's own heap.

`python -m bench runtime.cases [--quick]` writes out/bench/runtime_cases.json. Runs with both heaps
alternate; of each the one with the least CPU time counts, since the machine is shared.
"""

from pathlib import Path
from typing import Any

from bench.commands import cpu_seconds
from bench.runner import Bench, Given
from bench.runtime.programs import HERE, INPUTS, allocators, built

ROUNDS = 7


def commands(folder: Path, scale: int) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Each case's command, and the variables that it needs."""
    program = str(built(folder, HERE / "cases.c", "cases"))
    (folder / "threads.py").write_text(INPUTS["other"]["threads"])
    pairs = str(scale * 1_000_000)
    python = ["/usr/bin/python3", "-S", str(folder / "threads.py")]
    return {
        "lone pairs of 64 bytes": ([program, "64", "1", "1", pairs], {}),
        "lone pairs of 16 to 1,039 bytes": ([program, "16", "1024", "1", pairs], {}),
        "eight threads, pairs of 64 bytes": ([program, "64", "1", "8", str(scale * 100_000)], {}),
        "python, five threads, PYTHONMALLOC=malloc": (python, {"PYTHONMALLOC": "malloc"}),
    }


def measure(given: Given) -> dict[str, Any]:
    """The least CPU time of each case with both heaps."""
    rounds, scale = (1, 1) if given.quick else (ROUNDS, 5)
    compared = allocators()[:2]
    found = {}
    for case, (words, variables) in commands(given.folder, scale).items():
        best = {one.name: float("inf") for one in compared}
        for _ in range(rounds):
            for one in compared:
                seconds = cpu_seconds(words, variables | one.variables)
                best[one.name] = min(best[one.name], seconds)
        found[case] = best | {"ratio": best["ours"] / best["glibc"]}
    return found


BENCH = Bench("runtime_cases", measure)
