"""Cost of unmapping a region at each size, ours and the conventional ways.

Writes out/bench/unmap.json, a list of {backend, pages, instructions, accesses, placements}: the
largest over the placements, of regions that were mapped as a whole. `direct` (core/vspace.c),
`hierarchical` (core/hierarchy.c), and of peers/conventional/pagetable.c `conventional` (each page
is looked at) and `conventional-mapped` (mapped pages are) are RV32IMC code in a space of 2^20
pages, with Zbb in the fields that end with `_zbb`. `sv39` and `sv39-linear` (core/ports) are
RV64IMAC code on ordinary RISC-V page tables. Complains if a constant-time way is not flat (1.05) or
exceeds its bound.

The placements are half random; the others start where every word of the region tree, on all of its
levels, holds nothing but the region's own ends, which is the longest path there is. --quick takes
few sizes and placements.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from bench.runner import Bench
from tautochrone.console.output import note
from testing.sv39 import unmap_cost as sv39_unmap_cost
from testing import table_cost as costs

PAGES_LOG2 = 20
SIZES_LOG2 = 17
SIZES_QUICK = (1, 2, 33, 512)
PLACEMENTS, PLACEMENTS_QUICK = 256, 100
PLACEMENTS_LINEAR = 8  # for large regions: the cost is the same wherever they lie
LARGE_PAGES = 256
CONSTANT = ("direct", "hierarchical", "sv39")
LINEAR = ("conventional", "conventional-mapped", "sv39-linear")
FLAT_MAX = 1.05
SUFFIXES = {"rv32": "", "rv32zbb": "_zbb"}
UNITS = ("instructions", "accesses")


def rows_of(backend: str, sizes: Iterable[int], placements_count: int) -> list[dict[str, Any]]:
    """A row for each size of a way to unmap that is 32-bit code."""
    found = {
        pages: {"backend": backend, "pages": pages, "instructions": 0, "accesses": 0}
        for pages in sizes
    }
    for isa, suffix in SUFFIXES.items():
        for pages, row in found.items():
            is_large = backend in LINEAR and pages > LARGE_PAGES
            count = PLACEMENTS_LINEAR if is_large else placements_count
            # Each size starts from fresh tables, so that none depends on those before it.
            with costs.Tables(backend, isa, PAGES_LOG2) as tables:
                places = costs.placements(pages, PAGES_LOG2, count, seed=pages)[:count]
                worst = costs.unmap_costs(tables, pages, places)
            row.update({f"{unit}{suffix}": worst[i] for i, unit in enumerate(UNITS)})
            row["placements"] = len(places)
            if backend in CONSTANT:
                bounds = costs.bounds_of(backend, "unmap_region", isa)
                row.update({f"bound_{unit}{suffix}": bounds[i] for i, unit in enumerate(UNITS)})
    return list(found.values())


def flatness(rows: Iterable[dict[str, Any]], key: str) -> float:
    """The largest number of any size over the smallest of any."""
    numbers = np.array([row[key] for row in rows])
    return float(numbers.max() / numbers.min())


def complaints(rows: list[dict[str, Any]]) -> list[str]:
    """Constant-time ways that are not flat, or above their bounds."""
    found = []
    for backend in CONSTANT:
        chosen = [row for row in rows if row["backend"] == backend]
        for unit in UNITS:
            if chosen and flatness(chosen, unit) > FLAT_MAX:
                found.append(f"{backend}: {unit} vary by {flatness(chosen, unit):.3f}")
            for suffix in SUFFIXES.values():
                for row in chosen:
                    bound = row.get(f"bound_{unit}{suffix}")
                    if bound is not None and row[f"{unit}{suffix}"] > bound:
                        found.append(f"{backend}, {row['pages']} pages: {unit}{suffix} > {bound}")
    return found


def measure(quick: bool) -> list[dict[str, Any]]:
    """All rows."""
    sizes = SIZES_QUICK if quick else tuple(1 << power for power in range(SIZES_LOG2))
    count = PLACEMENTS_QUICK if quick else PLACEMENTS
    rows = []
    for backend in ("direct", "hierarchical", "conventional", "conventional-mapped"):
        note(f"unmap: {backend} …")
        rows += rows_of(backend, sizes, count)
    note("unmap: sv39 …")
    return rows + sv39_unmap_cost.rows(quick)


BENCH = Bench("unmap", lambda given: measure(given.quick), complaints=complaints)
