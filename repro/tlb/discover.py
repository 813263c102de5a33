"""Algorithm 1 and the cost of a miss, on the tile [P4-11, P4-15].

A job touches some pages at a stride again and again. If they fit, it misses at most once for each.
If they all lie in one set and are more than its ways, it misses at every access. The counter is
exact, so nothing has to be averaged.
"""

import tempfile
from pathlib import Path
from typing import Any

from repro.tlb.benchmarks import PROGRAMS
from repro.tlb.experiment import simulated
from tautochrone.tlb.geometry import DATA
from tautochrone.tlb.tile import placing, shape, simulation
from tautochrone.tlb.tile.records import Job
from tautochrone.tlb.tile.system import PAGE_BYTES, TileTask

SHAPES = (("16x4", 2), ("16x4", 8), ("8x2", 2), ("4x4", 2), ("16x4+128x4", 2))
ROUNDS = 20
HEAP_PAGES, OBJECT_PAGES = 100, 98
PERIOD = 20_000
JOBS = 36  # six strides and up to six pages: those that fit the object


def jobs_of(name: str, latency: int, folder: Path) -> list[Job]:
    """A job for each stride and number of pages."""
    tlb = shape.parsed(name, latency=latency)
    geometry = tlb.geometry()
    everywhere = placing.all_sets(geometry)
    place = placing.place(geometry, 1, everywhere, heap_pages=HEAP_PAGES)
    arguments = (OBJECT_PAGES * PAGE_BYTES, ROUNDS, 0, 0)
    task = TileTask("strider", PERIOD, 0, PROGRAMS / "strider.c", arguments, place)
    state, stack = placing.extents(geometry, everywhere, 0, ((DATA, 1),) * 2)
    cycles = (JOBS + 1) * PERIOD
    kernel, builder = (state.start, stack.start), simulation.builder(folder)
    return simulated([task], kernel, cycles, tlb, builder).of(0)


def found_shape(jobs: list[Job]) -> dict[str, Any]:
    """Sets and ways of the first level. The fewest pages that miss at each access are one more than
    a set has ways; the smallest stride at which so few do is the number of sets."""
    thrashing = {}
    for job in jobs:
        stride, pages = job.value >> 16, job.value & 0xFFFF
        if job.misses[1] >= (ROUNDS - 1) * pages:  # the first round finds some
            thrashing.setdefault(stride, pages)
    fewest = min(thrashing.values())
    stride = min(stride for stride, pages in thrashing.items() if pages == fewest)
    return {
        "sets": stride,
        "ways": fewest - 1,
        "index_bits": list(range(12, 12 + stride.bit_length() - 1)),
    }


def penalty(jobs: list[Job], ways: int, sets: int) -> float:
    """Cycles of a miss: the same accesses at the stride of the sets and of one page."""
    by_value = {job.value: job for job in jobs}
    missing, hitting = (by_value[stride << 16 | ways + 1] for stride in (sets, 1))
    return (missing.cycles - hitting.cycles) / (missing.misses[1] - hitting.misses[1])


def measure() -> dict[str, Any]:
    """Every shape."""
    rows = []
    for name, latency in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            jobs = jobs_of(name, latency, Path(folder))
        found = found_shape(jobs)
        cycles = penalty(jobs, found["ways"], found["sets"])
        rows.append({"shape": name, "latency": latency, "penalty_cycles": cycles, **found})
    return {"shapes": rows, "rounds": ROUNDS}
