"""The plain page table: C programs, model, the stated cost a page, mutants that must fail."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import unicorn
from unicorn import riscv_const

from core.tests.kit.core_build import Build
from core.tests.mutants.mutate import Mutant
from core.tests.tables.table_programs import (
    BUILDS,
    Replay,
    examples_pass,
    fuzzer_finds_nothing,
    random_calls_pass,
    survives,
)
from model.frames import Frames, Machine
from model.pagetable import PageTable
from tautochrone.machine.images import CODE_ADDRESS
from testing.table_cost import READ as TABLE_READ
from testing.table_cost import Tables, bounds_of, image_of

# Instructions of RV32IMC and memory accesses of one more page in the walks, as
# docs/spec/conventional.md states them.
UNMAPPED_PAGE = (4, 1)
MAPPED_PAGE = (11, 3)
UNMAPPED_WORD = (4, 1)  # 32 pages, by their bits
ARGUMENTS = (
    riscv_const.UC_RISCV_REG_A0,
    riscv_const.UC_RISCV_REG_A1,
    riscv_const.UC_RISCV_REG_A2,
)
BIT_PAGE_MAX = (22, 4)  # a mapped page, found by its bit


@pytest.mark.parametrize("built", BUILDS, ids=str)
def test_examples(built: Build, tmp_path: Path) -> None:
    """The C program's own tests pass."""
    examples_pass(built, "pagetable", tmp_path)


@pytest.mark.parametrize("arm", [False, True])
def test_random_calls(arm: bool, tmp_path: Path) -> None:
    """Three hundred thousand calls against the naive account, bits counted from either end."""
    random_calls_pass("pagetable", arm, tmp_path)


class PageTableReplay(Replay):
    """A log of fuzz_pagetable in model/pagetable.py."""

    def line_M(self, frames_count: int) -> None:
        """A machine."""
        self.pool = Frames(Machine(frames_count))
        assert self.pool.add(0, frames_count) == "OK"
        self.tables: dict[int, PageTable] = {}

    def line_S(self, index: int, pages_log2: int) -> None:
        """A table is made."""
        self.tables[index] = PageTable(pages_log2, self.pool)

    def line_P(self, index: int, page: int, rights: int, status: int) -> None:
        """map_page."""
        self.expect("map_page", self.tables[index].map_page(page, rights), status)

    def line_U(self, index: int, start: int, pages: int, status: int) -> None:
        """unmap."""
        self.expect("unmap", self.tables[index].unmap(start, pages), status)

    def line_T(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """translate."""
        answer, found = self.tables[index].translate(page, access)
        self.expect("translate", answer, status)
        assert (found or 0) == frame


EXPECTED_STATUSES = {
    *(
        f"map_page {status}"
        for status in "OK PAGE_ZERO PAGE_OUTSIDE BAD_ARGUMENT PAGE_MAPPED NO_FRAME".split()
    ),
    *(f"unmap {status}" for status in "OK PAGE_ZERO PAGE_OUTSIDE REGION_TOO_LARGE".split()),
    *(f"translate {status}" for status in "OK NOT_IN_REGION ACCESS_DENIED".split()),
}


def test_the_account_is_the_model(tmp_path: Path) -> None:
    """Forty thousand calls of the fuzzer, repeated in Python; every status must have occurred."""
    PageTableReplay().agrees("pagetable", EXPECTED_STATUSES, tmp_path)


def cost(tables: Tables, start: int, pages: int, mapped: range) -> tuple[int, int]:
    """Instructions and accesses of unmapping a range of which some pages are mapped."""
    for page in mapped:
        tables.map_page(page)
    done = tables.unmap(start, pages)
    return done.instructions, done.accesses


def each(first: tuple[int, int], second: tuple[int, int], count: int) -> tuple[float, float]:
    """What each of COUNT more pages added to the cost FIRST."""
    return (second[0] - first[0]) / count, (second[1] - first[1]) / count


def test_unmap_is_linear_and_tight() -> None:
    """What a page more costs each walk [P0-34, G-3]: exact, so that it cannot become slower."""
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


def test_faults_have_a_bound() -> None:
    """map_page and translate are constant."""
    for verb in ("map_page", "translate"):
        print(verb, bounds_of("conventional", verb, "rv32"))
        assert bounds_of("conventional", verb, "rv32")[0] <= 80


MUTANTS = [
    Mutant(
        "entry kept",
        "pagetable_inline.h",
        "            *entry = 0;\n",
        "            (void)entry;\n",
    ),
    Mutant("frame lost", "pagetable_inline.h", "    chain->newest = frame;\n", ""),
    Mutant("frame not counted", "pagetable_inline.h", "    chain->count++;\n", ""),
    Mutant("not linked", "pagetable_inline.h", "    chain->links[frame] = chain->newest;\n", ""),
    Mutant("bit not set", "pagetable_inline.h", "|= tau_bits_mask(page & 31u);", "|= 0;"),
    Mutant("bits kept", "pagetable.c", "    *word ^= bits;\n", ""),
    Mutant(
        "front not masked",
        "pagetable.c",
        "within = tau_bits_from(first & 31u);",
        "within = ~UINT32_C(0);",
    ),
    Mutant(
        "end not masked",
        "pagetable.c",
        "within &= ~tau_bits_above((end - 1) & 31u);",
        "within &= ~UINT32_C(0);",
    ),
    Mutant(
        "mask kept for all words",
        "pagetable.c",
        "        within = ~UINT32_C(0);\n    }\n",
        "    }\n",
    ),
    Mutant(
        "last page left",
        "pagetable_inline.h",
        "&table->entries[end];",
        "&table->entries[end - (end > first)];",
    ),
    Mutant(
        "range too long by one",
        "pagetable.c",
        "if (pages > table->pages_count - start.number)",
        "if (pages > table->pages_count - start.number + 1)",
    ),
    Mutant(
        "any rights",
        "pagetable.c",
        "if (rights == 0 || (rights & ~TAU_RIGHTS) != 0)",
        "if ((rights & ~TAU_RIGHTS) != 0)",
    ),
    Mutant("mapped over", "pagetable.c", "        return TAU_PAGE_MAPPED;", "        (void)0;"),
    Mutant(
        "rights not asked",
        "pagetable.c",
        "(access & ~entry) == 0 ? TAU_OK",
        "entry != 0 ? TAU_OK",
    ),
]


def test_every_mutant_applies() -> None:
    """Each text is in the core exactly once, so that the slow test cannot rot unseen."""
    for mutant in MUTANTS:
        assert mutant.text()


@pytest.mark.slow
def test_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """Half a minute of libFuzzer, which looks for programs that reach new code."""
    fuzzer_finds_nothing("pagetable", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_no_mutant_survives(mutant: Mutant, tmp_path: Path) -> None:
    """At least one C program fails."""
    assert not survives(mutant, "pagetable", tmp_path), f"no test notices: {mutant}"
