"""The mechanisms by themselves: bytes of tables, bounds of the tree, cost of unmapping by size.

The whole of the last, at every size and over 256 placements, is `make bench B=unmap`; here are
enough sizes to say in claims.md what the mechanism costs.
"""

from typing import Any

from bench.unmap import run as bench
from repro.rtmmu.page_costs import ISAS
from tautochrone import native
from tautochrone.machine.longest_path import bound_instructions
from tautochrone.machine.calls import core_code
from testing.sv39 import unmap_cost as sv39_unmap_cost

PAGES_LOG2 = 20
WORD_BYTES = 4
TREE_FUNCTIONS = ("find", "next", "split", "union")
UNMAP_PAGES = (1, 64, 4096)
PLACEMENTS = 64
PLACEMENTS_LINEAR = 2
OURS = ("direct", "hierarchical")
LINEAR = ("conventional", "conventional-mapped")


def table_bytes(pages_log2: int = PAGES_LOG2) -> dict[str, Any]:
    """Bytes of every table of a space, from the library. In both systems each frame of the machine
    also has a link [G-5]."""
    library = native.library("libtau_core32.so")

    def asked(name: str, *arguments: int) -> int:
        return int(getattr(library, name)(*arguments))

    pages = 1 << pages_log2
    tree = asked("tau_region_tree_size_bytes", pages_log2)
    validity = asked("tau_validity_size_bytes", pages)
    plain = asked("tau_pagetable_size_bytes", pages_log2, 0)
    level, words = pages >> 10, pages >> 15
    paper_tree = pages // 8 + level * WORD_BYTES * 3 + words * WORD_BYTES * 3 + WORD_BYTES * 3
    return {
        "pages_log2": pages_log2,
        "tree": tree,
        "paper_tree": paper_tree,
        "paper_original_tree_mib": pages * 5 * 10 * WORD_BYTES / (1 << 20),
        "validity": validity,
        "plain_page_table": plain,
        "validity_over_plain": validity / plain,
        "space": (space := asked("tau_vspace_size_bytes", pages_log2)),
        "space_over_plain": space / plain,
        "frame_link": WORD_BYTES,
    }


def tree_bounds() -> dict[str, Any]:
    """Most instructions of each operation of the region tree, from its longest path."""
    names = [f"tau_region_tree_{name}" for name in TREE_FUNCTIONS]
    return {
        isa: {
            name: bound_instructions(
                core_code("rtmmu-tree", isa, ["core/region_tree.c"], keep=names).elf,
                f"tau_region_tree_{name}",
            )
            for name in TREE_FUNCTIONS
        }
        for isa in ISAS
    }


def unmap_costs(sizes: tuple[int, ...] = UNMAP_PAGES) -> dict[str, Any]:
    """Cost of giving a region back at each size, ours and the linear ways."""
    result: dict[str, Any] = {}
    for backend in (*OURS, *LINEAR):
        count = PLACEMENTS if backend in OURS else PLACEMENTS_LINEAR
        result[backend] = bench.rows_of(backend, sizes, count)
    result["sv39"] = sv39_unmap_cost.rows(True)
    split: dict[str, list[dict[str, Any]]] = {}
    for rows in result.values():
        for row in rows:
            split.setdefault(row["backend"], []).append(row)
    return {
        backend: {
            "rows": rows,
            "max_instructions": max(row["instructions"] for row in rows),
            "max_accesses": max(row["accesses"] for row in rows),
            "pages": [min(row["pages"] for row in rows), max(row["pages"] for row in rows)],
            "flat_instructions": bench.flatness(rows, "instructions"),
            "flat_accesses": bench.flatness(rows, "accesses"),
        }
        for backend, rows in split.items()
    }


def measure() -> dict[str, Any]:
    """Bytes, bounds and costs."""
    return {"bytes": table_bytes(), "tree": tree_bounds(), "unmap": unmap_costs()}
