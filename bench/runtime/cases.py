"""Cases that are hard for one heap with one lock, compared with the C library's own heap.

`python -m bench runtime.cases [--quick]` writes out/bench/runtime_cases.json. In each round every
allocator has its turn. A ratio is the median of the rounds' ratios, since the machine is shared.
"""

import os
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.commands import cpu_seconds
from bench.runner import Bench, Given
from bench.runtime import answers
from bench.runtime.programs import HERE, INPUTS, Allocator, allocators, built, planned
from tautochrone.run import exchange

ROUNDS = 7
# With it every call of the threads takes the lock.
PLAN = "plan 1 67108864 64*64 128*64 256*64 512*64 1040*64\n"


@dataclass(frozen=True)
class Case:
    """A command, how it is measured, and the most that our ratio to the C library's may be."""

    words: list[str]
    most: float
    variables: dict[str, str] = field(default_factory=dict)
    unit: str = "CPU seconds"  # or "seconds", or "KiB": what the command prints
    plan: str = ""  # ours runs on it

    def measured(self, one: Allocator) -> float:
        """One run with this allocator."""
        variables = self.variables | one.variables
        if self.plan and one.name == "ours":
            with exchange.opened(self.plan) as shared:
                return cpu_seconds(planned(shared, self.words), self.variables)
        if self.unit == "CPU seconds":
            return cpu_seconds(self.words, variables)
        start = time.monotonic()
        done = subprocess.run(
            self.words, env={**os.environ, **variables}, check=True, stdout=subprocess.PIPE
        )
        return time.monotonic() - start if self.unit == "seconds" else float(done.stdout)


def cases(folder: Path, scale: int) -> dict[str, Case]:
    """Those whose programs are installed."""
    program = str(built(folder, HERE / "cases.c", "cases"))
    freed = str(built(folder, HERE / "freed.c", "freed"))
    (folder / "threads.py").write_text(INPUTS["other"]["threads"])
    python = ["/usr/bin/python3", "-S", str(folder / "threads.py")]
    (workers,) = (one for one in answers.programs() if one.name == "node-workers")
    (folder / "x.js").write_text(workers.files["x.js"])

    def pairs(threads: int, *sizes: str, most: float = 1.2, plan: str = "") -> Case:
        words = [program, *sizes, str(threads), str(scale * 1_000_000 // threads)]
        return Case(words, most, plan=plan)

    found = {
        "lone pairs of 64 bytes": pairs(1, "64", "1"),
        "lone pairs of 16 to 1,039 bytes": pairs(1, "16", "1024"),
        "two threads, pairs of 16 to 1,039 bytes": pairs(2, "16", "1024"),
        "eight threads, pairs of 64 bytes": pairs(8, "64", "1"),
        "eight threads, pairs of 16 to 1,039 bytes": pairs(8, "16", "1024"),
        "two threads on a plan, pairs of 16 to 1,039 bytes": pairs(
            2, "16", "1024", most=10, plan=PLAN
        ),
        "eight threads on a plan, pairs of 16 to 1,039 bytes": pairs(
            8, "16", "1024", most=14, plan=PLAN
        ),
        "python, five threads, PYTHONMALLOC=malloc": Case(
            python, 1.0, {"PYTHONMALLOC": "malloc"}
        ),
        "node, six workers, wall time": Case(
            ["node", str(folder / "x.js")], 1.1, unit="seconds"
        ),
        "resident after 1 GiB of 1,000 bytes each is freed": Case(
            [freed, "1000"], 1.5, unit="KiB"
        ),
    }
    return {name: case for name, case in found.items() if shutil.which(case.words[0])}


def compared(case: Case, rounds: int) -> dict[str, Any]:
    """The median of each allocator, and our ratio to the C library's."""
    found = [{one.name: case.measured(one) for one in allocators()} for _ in range(rounds)]
    ratios = [row["ours"] / row["glibc"] for row in found]
    medians = {name: statistics.median(row[name] for row in found) for name in found[0]}
    return medians | {
        "unit": case.unit,
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "largest": max(ratios),
        "most": case.most,
    }


def measure(given: Given) -> dict[str, Any]:
    """All cases."""
    rounds, scale = (1, 1) if given.quick else (ROUNDS, 20)
    return {
        name: compared(case, rounds)
        for name, case in cases(given.folder, scale).items()
        if not given.words or any(word in name for word in given.words)
    }


def complaints(result: dict[str, Any]) -> list[str]:
    """Cases whose median is above their limit."""
    return [
        f"{name}: {row['ratio']:.2f} times the C library's {row['unit']}, most {row['most']}"
        for name, row in result.items()
        if row["ratio"] > row["most"]
    ]


BENCH = Bench("runtime_cases", measure, complaints=complaints)
