"""docs/spec/bounds.md holds the longest paths of the linked code, to the instruction.

`python tests/test_bounds_stated.py > docs/spec/bounds.md` writes it.
"""

import functools
import re
from pathlib import Path

from tautochrone.machine.core_build import Build
from tautochrone.machine.longest_path import (
    NEVER,
    OVER_ALIGNED_FUNCTIONS,
    PAYLOAD_CHARGES,
    SHARED_FUNCTIONS,
    UNUSED_FUNCTIONS,
    Code,
    bound_accesses,
    bound_instructions,
    bound_of_image,
)
from tautochrone.machine.calls import core_code
from tautochrone.machine.images import core_image
from tautochrone.targets.build import kept
from tautochrone.targets.heaps import heaps
from tautochrone.targets.sources import CORE_FILES
from tautochrone.tile.cycle_bounds import BANK_ANSWER_CYCLES, CyclePaths
from tautochrone.tile.sources import root

REPOSITORY = Path(__file__).resolve().parent.parent
BOUNDS_PAGE = REPOSITORY / "docs" / "spec" / "bounds.md"
# What a header states of the function below it.
COST = re.compile(
    r"// Cost: (\d+) instructions \((\d+) with Zbb\), (\d+) accesses[^(]*?(tau_\w+)\(", re.DOTALL
)
TEXT = """# Bounds

`python tests/test_bounds_stated.py > docs/spec/bounds.md` writes this page. The test of the same
file holds it equal to the code.

A bound is the longest path through the linked code ([counting.md](counting.md), [BOUND-1]). It
counts the instructions of one call. Payload bytes are not counted: a copy or a clearing is charged
3 instructions. The compiler is gcc 12.2.

Of another build or compiler, `tau plan --build FILE` finds the bounds for the cross compilers that
are installed, and `tau verify --elf` those of the firmware that you linked. Tables for [alignment
4](tlsf.md#alignment-4) and without [statistics](tlsf.md#statistics) are with TLSF.

## Heaps

Each cell has three bounds: check level 0, 1 and 2. Level 1 is the default. -O2 comes first, then
-Os, which firmware is mostly built with. [Half-fit](../design/tlsf.md#rejected) is measured at the
same builds.

No call was seen above its bound. `core/tests/heap/worst_case.py` builds the states of the longest
paths, and `core/tests/heap/test_bounds_reached.py` counts how near calls come to their bounds. At
check level 0 TLSF's malloc and free take exactly their bound, except on RV32IMC at -Os. In all
builds malloc comes within 9 instructions of its bound, free within 6 and aligned_alloc within 12.
The budgeted heap's malloc comes within 35. No bound of their realloc is known to be reached. Each
realloc looks at the block first. Then it resizes in place, or makes one malloc, one copy and one
free. So the longest path is the latter's. `tau_budget_realloc` takes a bucket if the shared region
has no memory. The bounds are those of a port without a lock. With one, a resize in place may take
another block off its list.

The bounds of pools hold for an arena without a heap behind it. *Refused too* means calls that may
exceed a limit and are refused. Pools have no rare states: a random recording reaches the bounds of
malloc, free and aligned_alloc within the limits, and on Cortex-M4 the bound of realloc
(`tool/tests/heap/test_guarantee_steps.py`).

{0}

{1}

## Heaps on the tile

The same longest paths at -O2 in cycles of the simulated tile, with the heap in the tile's own
memory. Each instruction counts with its most cycles ([tile.md](../design/tile.md)). A jump to
an instruction that lies across two words takes one cycle more, so another link of the same code may
differ by some cycles. `tool/tests/tile/test_pools_cycles.py` measures pools on the tile, where
malloc takes exactly its link's bound.

{3}

A release to the shared region costs what TLSF's costs. `tau_tlsf_init`, `tau_tlsf_add_pool`,
`tau_tlsf_walk` and `tau_budget_init` have the loops that their headers state.

## Virtual memory

Instructions and memory accesses at -O2. Every load and store is an access, spills included.

*A frame is ready* means that no frame has to be zeroed, as always in a reserved pool. Otherwise one
page of zeroing is added, which is charged 3 instructions here. `tau_pagetable_unmap` and the
conventional heap's free have no bound: they are linear.

{2}
"""
COPIES = ("tau_tlsf_malloc", "tau_tlsf_aligned_alloc", "tau_tlsf_free")
SHARED_OR_MOVED = (
    *SHARED_FUNCTIONS,
    "budget_realloc_shared",
    "tau_budget_malloc",
    "tau_budget_free",
)
WITHIN = UNUSED_FUNCTIONS["pools"]
# Of pools that refuse what exceeds a limit: no heap is behind them.
REFUSED = tuple(name for name in WITHIN if name != "pools_exceed")
# What the row is called, the system, the operation, and the calls that its paths do not make.
ROWS = (
    ("`tau_tlsf_malloc`", "tlsf", "malloc", ()),
    ("`tau_tlsf_free`", "tlsf", "free", ()),
    ("`tau_tlsf_aligned_alloc`", "tlsf", "aligned_alloc", ()),
    ("`tau_tlsf_realloc`, in place", "tlsf", "realloc", COPIES),
    ("`tau_tlsf_realloc`", "tlsf", "realloc", OVER_ALIGNED_FUNCTIONS),
    ("`tau_tlsf_realloc`, object asked with an alignment", "tlsf", "realloc", ()),
    ("`tau_budget_malloc`, served by a bucket", "budget", "malloc", SHARED_FUNCTIONS),
    ("`tau_budget_free`, of a bucket", "budget", "free", SHARED_FUNCTIONS),
    ("`tau_budget_malloc`", "budget", "malloc", ()),
    ("`tau_budget_free`", "budget", "free", ()),
    ("`tau_budget_realloc`, stays in its bucket", "budget", "realloc", SHARED_OR_MOVED),
    ("`tau_budget_realloc`", "budget", "realloc", ()),
    ("`tau_pools_malloc`, within the limits", "pools", "malloc", WITHIN),
    ("`tau_pools_malloc`, refused too", "pools", "malloc", REFUSED),
    ("`tau_pools_calloc`, within the limits", "pools", "calloc", WITHIN),
    ("`tau_pools_aligned_alloc`, within the limits", "pools", "aligned_alloc", WITHIN),
    ("`tau_pools_aligned_alloc`, refused too", "pools", "aligned_alloc", REFUSED),
    ("`tau_pools_free`", "pools", "free", WITHIN),
    ("`tau_pools_realloc`, within the limits", "pools", "realloc", WITHIN),
    ("`tau_pools_realloc`, refused too", "pools", "realloc", REFUSED),
)
TITLES = {"rv32": "RV32IMC", "rv32zbb": "with Zbb", "m4": "Cortex-M4"}
LEVELS = (0, 1, 2)

PAGED_SOURCES = tuple(
    dict.fromkeys(
        name
        for system in (*heaps(), "hierarchy", "buddy", "code_cache", "tlb_color")
        for name in CORE_FILES[system]
    )
)
# Its paths do not zero a frame: one is ready, as in a reserved pool always.
READY = ("tau_frames_clean_one",)
# Headers that state costs, and of how many functions.
COSTS_STATED = {
    "core/buddy.h": 2,
    "core/code_cache.h": 5,
    "core/vspace.h": 3,
    "core/page_heap.h": 4,
    "peers/conventional/break_heap.h": 2,
}
# What the row is called, the function, the calls that its paths do not make, the check levels.
PAGED_ROWS = (
    ("`tau_region_tree_find`", "tau_region_tree_find", (), (0,)),
    ("`tau_region_tree_next`", "tau_region_tree_next", (), (0,)),
    ("`tau_region_tree_split`", "tau_region_tree_split", (), (0,)),
    ("`tau_region_tree_union`", "tau_region_tree_union", (), (0,)),
    ("`tau_buddy_take`", "tau_buddy_take", (), (0,)),
    ("`tau_buddy_give`", "tau_buddy_give", (), (0,)),
    ("`tau_code_cache_fault`", "tau_code_cache_fault", (), (0,)),
    ("`tau_code_cache_use`", "tau_code_cache_use", (), (0,)),
    ("`tau_code_cache_age`", "tau_code_cache_age", (), (0,)),
    ("`tau_code_cache_drop`", "tau_code_cache_drop", (), (0,)),
    ("`tau_code_cache_pin`", "tau_code_cache_pin", (), (0,)),
    ("`tau_tlb_color_malloc`", "tau_tlb_color_malloc", (), (0, 1)),
    ("`tau_tlb_color_free`", "tau_tlb_color_free", (), (0, 1)),
    ("`tau_vspace_map_region`", "tau_vspace_map_region", (), (0,)),
    ("`tau_vspace_map_page`, a frame is ready", "tau_vspace_map_page", READY, (0,)),
    ("`tau_vspace_map_page`", "tau_vspace_map_page", (), (0,)),
    ("`tau_vspace_unmap_region`", "tau_vspace_unmap_region", (), (0,)),
    ("`tau_hierarchy_map_region`", "tau_hierarchy_map_region", (), (0,)),
    ("`tau_hierarchy_map_page`, a frame is ready", "tau_hierarchy_map_page", READY, (0,)),
    ("`tau_hierarchy_unmap_region`", "tau_hierarchy_unmap_region", (), (0,)),
    ("`tau_page_heap_malloc`, a frame is ready", "tau_page_heap_malloc", READY, (0, 1)),
    ("`tau_page_heap_malloc`", "tau_page_heap_malloc", (), (0, 1)),
    ("`tau_page_heap_free`", "tau_page_heap_free", (), (0, 1)),
    ("`tau_page_heap_aligned_alloc`", "tau_page_heap_aligned_alloc", (), (0, 1)),
    ("`tau_page_heap_resize`", "tau_page_heap_resize", (), (0, 1)),
    ("`tau_break_heap_malloc`, a frame is ready", "tau_break_heap_malloc", READY, (0, 1)),
    ("`tau_break_heap_map_page`, a frame is ready", "tau_break_heap_map_page", READY, (0,)),
)


@functools.cache
def heap_bound(
    system: str, isa: str, level: int, optimize: str, verb: str, without: tuple[str, ...]
) -> int | None:
    """The bound of an operation of a heap: two tables and README have some of them in common."""
    return bound_of_image(core_image(system, isa, Build(level, optimize)), verb, without)


def table(optimize: str) -> list[str]:
    """The measured lines of the table of heaps at an optimization."""
    lines = [f"| at {optimize} | {' | '.join(TITLES.values())} |", "|---" * 4 + "|"]
    for name, system, verb, without in ROWS:
        cells = [
            [heap_bound(system, isa, level, optimize, verb, without) for level in LEVELS]
            for isa in TITLES
        ]
        assert not any(None in cell for cell in cells), f"{name} has no bound"
        lines.append(f"| {name} | {' | '.join(', '.join(map(str, cell)) for cell in cells)} |")
    return lines


@functools.cache
def paged_table() -> list[str]:
    """The measured lines of the table on pages."""
    lines = [
        "| call | check level | RV32IMC | with Zbb | accesses | with Zbb |",
        "|---|---|---|---|---|---|",
    ]
    functions = sorted({function for _, function, _, _ in PAGED_ROWS})
    elves = {
        (isa, level): core_code(
            "paged_bounds", isa, PAGED_SOURCES, functions, check_level=level
        ).elf
        for isa in ("rv32", "rv32zbb")
        for level in (0, 1)
    }
    for name, function, without, levels in PAGED_ROWS:
        for level in levels:
            bounds = [
                bound(elves[isa, level], function, dict.fromkeys(without, NEVER))
                for bound in (bound_instructions, bound_accesses)
                for isa in ("rv32", "rv32zbb")
            ]
            lines.append(f"| {name} | {level} | {' | '.join(map(str, bounds))} |")
    return lines


def tile_table() -> list[str]:
    """The measured lines of malloc and free in cycles of the tile."""
    lines = ["| call | level 0 | level 1 | level 2 |", "|---" * 4 + "|"]
    rows = [row for row in ROWS if row[2] in ("malloc", "free")]
    names = [f"tau_{system}_{verb}" for _, system, verb, _ in rows]
    codes = []
    for level in (0, 1, 2):
        flags = [f"-DTAU_CHECK_LEVEL={level}"]
        sources = [*CORE_FILES["pools"], "targets/programs/hello.c"]
        codes.append(Code(kept("tile", "heaps", root(), sources, flags, keep=names)))
    for (title, _, _, without), name in zip(rows, names, strict=True):
        charges = {**PAYLOAD_CHARGES, **dict.fromkeys(without, NEVER)}
        paths = [CyclePaths(code, BANK_ANSWER_CYCLES, charges) for code in codes]
        bounds = [each.from_address(each.code.symbols[name]) for each in paths]
        lines.append(f"| {title} | {' | '.join(map(str, bounds))} |")
    return lines


def document() -> str:
    """The whole text of docs/spec/bounds.md."""
    tables = (table("-O2"), table("-Os"), paged_table(), tile_table())
    return TEXT.format(*("\n".join(lines) for lines in tables))


def test_the_stated_bounds_are_those_of_the_code() -> None:
    assert BOUNDS_PAGE.read_text() == document()


def test_the_headers_costs_are_those_of_the_code() -> None:
    """The first row of each function is what its header states: level 0, with a frame ready."""
    rows = paged_table()[2:]
    for name, functions_stated in COSTS_STATED.items():
        stated = COST.findall((REPOSITORY / name).read_text())
        assert len(stated) == functions_stated
        for plain, zbb, accesses, function in stated:
            row = next(row for row in rows if f"`{function}`" in row)
            print(row)
            assert f"| 0 | {plain} | {zbb} | {accesses} |" in row


# README's rows: malloc and free in docs/spec/bounds.md, and the check level.
README_ROWS = {
    "TLSF, no checks": ("`tau_tlsf_malloc`", "`tau_tlsf_free`", 0),
    "budgeted heap, no checks": ("`tau_budget_malloc`", "`tau_budget_free`", 0),
    "served by one of its pools": (
        "`tau_budget_malloc`, served by a bucket",
        "`tau_budget_free`, of a bucket",
        0,
    ),
    "TLSF, default checks": ("`tau_tlsf_malloc`", "`tau_tlsf_free`", 1),
    "pools for bands, default checks": (
        "`tau_pools_malloc`, within the limits",
        "`tau_pools_free`",
        1,
    ),
}
README_PEERS = {"o1heap, no assertions": "off", "o1heap, assertions": "on"}


def cells_of(page: Path, first: str) -> list[list[str]]:
    """The cells after the first of each table row whose first cell is FIRST."""
    rows = (line.strip("|").split("|") for line in page.read_text().splitlines() if "|" in line)
    return [[cell.strip() for cell in row[1:]] for row in rows if row[0].strip() == first]


def test_the_readme_states_the_bounds_of_the_pages() -> None:
    """Of ours from docs/spec/bounds.md, at -O2 and -Os; of o1heap from docs/design/tlsf.md."""
    readme, bounds = REPOSITORY / "README.md", REPOSITORY / "docs" / "spec" / "bounds.md"
    for name, (malloc, free, level) in README_ROWS.items():
        builds = [
            [f"{one.split(', ')[level]} / {other.split(', ')[level]}" for one, other in pairs]
            for pairs in map(zip, cells_of(bounds, malloc)[:2], cells_of(bounds, free)[:2])
        ]
        assert cells_of(readme, name) == [list(map("; ".join, zip(*builds, strict=True)))]
    for name, checks in README_PEERS.items():
        rows = [
            cells_of(
                REPOSITORY / "docs" / "design" / "tlsf.md",
                f"o1heap 2, crate 0.0.2, {option}, checks {checks}",
            )[0][:3]
            for option in ("-O2", "-Os")
        ]
        assert cells_of(readme, name) == [list(map("; ".join, zip(*rows, strict=True)))]


def test_what_must_be_reached_is() -> None:
    """[P0-17] [P0-21]: find within 120 and 60 instructions, a fault within 220 and 150."""
    stated = {line.split("|")[1].strip(): line.split("|")[3:5] for line in paged_table()}
    plain, zbb = map(int, stated["`tau_region_tree_find`"])
    assert plain <= 120 and zbb <= 60
    plain, zbb = map(int, stated["`tau_vspace_map_page`, a frame is ready"])
    assert plain <= 220 and zbb <= 150


if __name__ == "__main__":
    print(document(), end="")
