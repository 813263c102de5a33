"""The paper's task sets: phase, period and execution in milliseconds, and pages [P4-16 … P4-24].

The first task has the highest priority. The paper leaves some figures out, which are chosen here:

- the execution times of the tasks of Fig. 19
- the pages of fft and adpcm (it says twenty in all) and of FIR (its 16 kB, and as much again)
- how many numbers lie in a page
"""

import math
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

TLB_PAGES = 64


@dataclass(frozen=True)
class Row:
    """A task: its program, when it runs, and in how many pages; 2^numbers_log2 numbers in each."""

    program: str
    phase_ms: float
    period_ms: float
    execution_ms: float
    pages: int
    numbers_log2: int = 2


@dataclass(frozen=True)
class TaskSet:
    """Tasks that share the processor, and the objects of a page that each allocates with malloc."""

    rows: tuple[Row, ...]
    objects: int

    @property
    def hyperperiod_ms(self) -> float:
        """After so long, everything happens again."""
        return float(math.lcm(*(int(row.period_ms) for row in self.rows)))


def _of(*rows: Row) -> TaskSet:
    return TaskSet(rows, math.ceil(TLB_PAGES / len(rows)))


SETS = {
    name: _of(*(Row(*row) for row in rows))
    for name, rows in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()
}
FIGURE_7 = replace(SETS["Fig. 7"], objects=4)
FIGURE_9, FIGURE_18, FIGURE_20 = SETS["Fig. 9"], SETS["Fig. 18"], SETS["Fig. 20"]
TABLE_1 = {str(tasks): SETS[f"Table I, {tasks} tasks"] for tasks in (2, 3, 4)}

FIGURE_19_PROGRAMS = ("statistics", "nth_largest", "bubble_sort", "insertion_sort", "count")
FIGURE_19_LEAST, FIGURE_19_MOST = 5, 10
FIGURE_19_SHARE = 0.6  # of the processor, all tasks together


def figure_19(tasks: int) -> TaskSet:
    """Task i of 1 … TASKS has a period of 2^i ms, and up to four pages."""
    last_phase = {5: 5, 6: 6}.get(tasks, 10)
    rows = tuple(
        Row(
            FIGURE_19_PROGRAMS[(i - 1) % len(FIGURE_19_PROGRAMS)],
            last_phase - i,
            2**i,
            FIGURE_19_SHARE / tasks * 2**i,
            1 + i % 4,
        )
        for i in range(1, tasks + 1)
    )
    return _of(*rows)
