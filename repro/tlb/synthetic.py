"""Figs. 7 to 13: the paper's synthetic tasks, which walk pages [P4-16 … P4-19]."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from repro.tlb.experiment import Experiment, measured, misses
from repro.tlb.task_sets import FIGURE_7, FIGURE_9
from tautochrone.tlb.tile.records import Records

MS = 20_000
HYPERPERIODS = 2
SAME_SET, OTHER_SET = ((3,), (3,)), ((3,), (4,))
LATENCIES = (2, 8)
SEEDS = 10


def both(
    cycles_per_ms: int, latency: int, folder: Path
) -> Iterator[tuple[str, Experiment, Records]]:
    """Fig. 7's tasks, each in a set of its own and both in one, with the same work."""
    repeats: list[int] | None = None
    for name, sets in (("other", OTHER_SET), ("same", SAME_SET)):
        experiment = Experiment(FIGURE_7, cycles_per_ms, folder, sets, latency)
        repeats = experiment.repeats = repeats or experiment.repeats
        yield name, experiment, experiment.run(True, 0, HYPERPERIODS)


def figure7(latency: int) -> dict[str, Any]:
    """Misses and cycles by job, both tasks in one set and each in its own."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, _, run in both(MS, latency, Path(folder)):
            found[name] = {
                "misses": [misses(run, task) for task in (0, 1)],
                "cycles": [job.cycles for job in run.of(0)[1:]],
                "cross_evictions": run.cross_evictions,
            }
    found["cycles_more"] = [
        same - other
        for same, other in zip(found["same"]["cycles"], found["other"]["cycles"], strict=True)
    ]
    return found


def measure(seeds: int = SEEDS) -> dict[str, Any]:
    """All of them."""
    return {
        "figure7": {str(latency): figure7(latency) for latency in LATENCIES},
        "figure9": measured(FIGURE_9, MS, seeds, HYPERPERIODS),
        "seeds": seeds,
        "cycles_per_ms": MS,
    }
