"""Costs of hierarchical tables and the plain page table: stated bounds, and the cost of a page."""

from __future__ import annotations

import struct
from collections.abc import Callable

import unicorn
from unicorn import riscv_const

from core.tests.kit.core_build import CORE
from tautochrone.machine.images import CODE_ADDRESS
from testing.table_cost import READ as TABLE_READ
from testing.table_cost import (
    RIGHTS,
    Tables,
    bounds_of,
    image_of,
    placements,
    unmap_costs,
)

# The bounds of core/hierarchy.h, at most 2^20 pages: instructions on RV32IMC, the same with Zbb,
# memory accesses.
STATED = {
    "map_region": (488, 418, 150),
    "map_page": (282, 246, 88),
    "unmap_region": (459, 386, 131),
    "translate": (52, 51, 13),
}
FLAT_MAX = 1.05  # Largest cost at any size by the largest at any other.

# Instructions of RV32IMC and memory accesses of one more page in the walks, as
# docs/spec/conventional.md states them.
UNMAPPED_PAGE = (4, 1)
MAPPED_PAGE = (11, 3)
UNMAPPED_WORD = (4, 1)  # 32 pages, by their bits.
ARGUMENTS = (
    riscv_const.UC_RISCV_REG_A0,
    riscv_const.UC_RISCV_REG_A1,
    riscv_const.UC_RISCV_REG_A2,
)
BIT_PAGE_MAX = (22, 4)  # A mapped page, found by its bit.


def test_hierarchy_bounds_are_as_stated() -> None:
    """The longest path of each operation, in instructions and accesses [P0-27]."""
    text = (CORE / "hierarchy.h").read_text()
    for verb, (instructions, with_zbb, accesses) in STATED.items():
        plain = bounds_of("hierarchical", verb, "rv32")
        bits = bounds_of("hierarchical", verb, "rv32zbb")
        print(verb, plain, bits)
        assert plain[0] <= instructions
        assert bits[0] <= with_zbb
        assert max(plain[1], bits[1]) <= accesses
        assert f"{instructions} instructions ({with_zbb} with Zbb), {accesses} accesses" in text


def test_hierarchy_unmap_costs_the_same_at_every_size() -> None:
    """The largest of 256 placements, from one page to 2^16, by the largest at any other size."""
    with Tables("hierarchical", "rv32", 20) as tables:
        costs = [
            unmap_costs(tables, pages, placements(pages, 20, 256, 1), mapped_max=3)
            for pages in (1, 2, 31, 33, 1024, 1 << 16)
        ]
    print(costs)
    for index in (0, 1):
        measured = [cost[index] for cost in costs]
        assert max(measured) <= FLAT_MAX * min(measured)
        assert max(measured) <= bounds_of("hierarchical", "unmap_region", "rv32")[index]


def test_hierarchy_faults_cost_no_more_than_stated() -> None:
    """Faults at both ends and in the middle of a large region, with and without a record."""
    pages = 40000
    instructions = accesses = 0
    with Tables("hierarchical", "rv32", 20) as tables:
        for start, _, _ in placements(pages, 20, 64, 1):
            tables.map_region(start, pages)
            for page in (start, start + 20000, start + 20001, start + pages - 1):
                done = tables.map_page(page)
                instructions = max(instructions, done.instructions)
                accesses = max(accesses, done.accesses)
                translated = tables.translate(page)
                assert translated.instructions <= STATED["translate"][0]
            tables.unmap(start, pages)
    print(instructions, accesses, RIGHTS)
    assert instructions <= STATED["map_page"][0]
    assert accesses <= STATED["map_page"][2]


def cost(tables: Tables, start: int, pages: int, mapped: range) -> tuple[int, int]:
    """Instructions and accesses of unmapping a range of which some pages are mapped."""
    for page in mapped:
        tables.map_page(page)
    done = tables.unmap(start, pages)
    return done.instructions, done.accesses


def each(first: tuple[int, int], second: tuple[int, int], count: int) -> tuple[float, float]:
    """The cost that each of COUNT more pages added to FIRST."""
    return (second[0] - first[0]) / count, (second[1] - first[1]) / count


def test_pagetable_unmap_is_linear_and_tight() -> None:
    """The exact cost of one more page for each walk [P0-34, G-3]: it must not grow."""
    none = range(0)
    with Tables("conventional", "rv32", 16) as tables:
        base = cost(tables, 100, 1000, none)
        assert each(base, cost(tables, 100, 2000, none), 1000) == UNMAPPED_PAGE
        full = cost(tables, 100, 1000, range(100, 1100))
        assert each(full, cost(tables, 100, 2000, range(100, 2100)), 1000) == MAPPED_PAGE
    with Tables("conventional-mapped", "rv32", 16) as tables:
        base = cost(tables, 4096, 1024, none)
        assert each(base, cost(tables, 4096, 2048, none), 32) == UNMAPPED_WORD
        sparse = cost(tables, 4096, 1024, range(4096, 4096 + 8))
        more = cost(tables, 4096, 1024, range(4096, 4096 + 16))
        print(each(sparse, more, 8))
        assert each(sparse, more, 8) <= BIT_PAGE_MAX


def test_unicorn_counts_the_same() -> None:
    """The walk of all reserved pages on a second processor, the emulator unicorn."""
    image = image_of("conventional", "rv32")
    table, entries, frames, links = 0x40000000, 0x40010000, 0x40000100, 0x40060000
    pages, mapped = 1000, 600
    for some in (0, mapped):
        machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        machine.mem_map(CODE_ADDRESS, 1 << 20)
        machine.mem_map(table, 1 << 20)
        machine.mem_write(CODE_ADDRESS, image.code)
        # struct tau_pagetable and struct tau_frames, whose list of given-up frames is `dirty`.
        machine.mem_write(table, struct.pack("<5I", entries, 0, 1 << 16, some, frames))
        dirty = frames + 16
        machine.mem_write(frames, struct.pack("<8I", links, 1 << 16, 0, 0, 0, 0, dirty, 0))
        entry = [TABLE_READ | frame for frame in range(some)]
        machine.mem_write(entries + 4 * 100, struct.pack(f"<{some}I", *entry))
        machine.reg_write(riscv_const.UC_RISCV_REG_RA, CODE_ADDRESS + (1 << 19))
        machine.reg_write(riscv_const.UC_RISCV_REG_SP, table + (1 << 20) - 16)
        for register, value in zip(ARGUMENTS, (table, 100, pages), strict=True):
            machine.reg_write(register, value)
        counts = [0, 0]

        def count(kind: int) -> Callable[..., None]:
            def add(*_: object, counts: list[int] = counts) -> None:
                counts[kind] += 1

            return add

        machine.hook_add(unicorn.UC_HOOK_CODE, count(0))
        machine.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, count(1))
        start = image.symbols["tau_pagetable_unmap"]
        machine.emu_start(start, CODE_ADDRESS + (1 << 19))
        assert struct.unpack("<I", machine.mem_read(dirty + 4, 4))[0] == some
        with Tables("conventional", "rv32", 16) as tables:
            assert tuple(counts) == cost(tables, 100, pages, range(100, 100 + some))


def test_pagetable_faults_have_a_bound() -> None:
    """map_page and translate are constant."""
    for verb in ("map_page", "translate"):
        print(verb, bounds_of("conventional", verb, "rv32"))
        assert bounds_of("conventional", verb, "rv32")[0] <= 80
