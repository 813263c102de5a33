"""Exact cost of unmapping a region on Sv39 tables: RV64IMAC instructions, loads and stores.

    rows(quick=True)   # [{"backend": "sv39" | "sv39-linear", "pages", "instructions", "accesses",
                       #   "placements"}, …]: the largest over the placements; for sv39 with
                       #   "bound_instructions" and "bound_accesses", the longest path

The port runs in the package unicorn; a code block is counted when it is entered. Placements are
random, from a fixed seed: which of two spaces, which slot, where in it, across the border of a
2 MiB slot or not, and what else hangs in the same tables. Regions are fully mapped, except that
before the constant-time unmap of more than 4,096 pages (`quick`: 512) every eighth placement is
(`quick`: none) and the others have 64 pages. The linear unmap always has all pages.
"""

import json
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import capstone
import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import riscv_const

from testing.sv39.bounds import bound
from testing.sv39.build import build_emulated

SEED = 20261120
PLACEMENTS = 256
LINEAR_PLACEMENTS = {True: 2, False: 8}  # by `quick`; all PLACEMENTS if the region is small
SMALL, LARGE = 1 << 9, 1 << 18
SPARSE_PAGES = 64  # mapped, evenly spread
FULL_PAGES_MAX = {True: SMALL, False: 8 * SMALL}  # by `quick`: all placements are fully mapped
FULL_EVERY = {True: PLACEMENTS + 1, False: 8}  # beyond
TABLES = 1200
FRAMES = LARGE + 4096
CODE, STACK, LINKS, RECORDS, MEMORY = 0x10000, 0x200000, 0x400000, 0x800000, 0x1000000
RETURN = 0x1F0000
ACCESSES = {"lb", "lh", "lw", "ld", "lbu", "lhu", "lwu", "sb", "sh", "sw", "sd"}
ACCESSES |= {"lwsp", "ldsp", "swsp", "sdsp"}
A0 = riscv_const.UC_RISCV_REG_A0


@dataclass(frozen=True)
class Cost:
    """What one call took."""

    result: int
    instructions: int = 0
    accesses: int = 0


class Machine:
    """The emulated processor with the linked port."""

    def __init__(self, elf: Path) -> None:
        """Load `elf` and start the pools."""
        self.uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
        self.uc.mem_map(0, MEMORY + TABLES * 4096)
        with elf.open("rb") as file:
            image = ELFFile(file)
            for segment in image.iter_segments("PT_LOAD"):
                self.uc.mem_write(segment["p_vaddr"], segment.data())
            table = image.get_section_by_name(".symtab")
            self.symbols = {
                symbol.name: (symbol["st_value"], symbol["st_size"])
                for symbol in table.iter_symbols()
            }
        self.decoder = capstone.Cs(
            capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC
        )
        self.uc.reg_write(riscv_const.UC_RISCV_REG_GP, self.symbols["__global_pointer$"][0])
        self.blocks: dict[tuple[int, int], tuple[int, int]] = {}
        self.seen = [0, 0]
        assert self.call("measure_start", TABLES, FRAMES, LINKS, MEMORY, RECORDS).result == 0
        self.spaces = [self.call("measure_space", number).result for number in (0, 1)]

    def count_in(self, *functions: str) -> None:
        """Count the blocks of these functions from now on; they must call nothing else."""
        for name in functions:
            start, size = self.symbols[name]
            self.uc.hook_add(unicorn.UC_HOOK_BLOCK, self._block, None, start, start + size - 1)

    def _block(self, uc: unicorn.Uc, address: int, size: int, _data: object) -> None:
        known = self.blocks.get((address, size))
        if known is None:
            code = list(self.decoder.disasm(bytes(uc.mem_read(address, size)), address))
            assert sum(step.size for step in code) == size
            names = [step.mnemonic.removeprefix("c.") for step in code]
            known = self.blocks[address, size] = (len(names), sum(n in ACCESSES for n in names))
        self.seen[0] += known[0]
        self.seen[1] += known[1]

    def call(self, function: str, *arguments: int) -> Cost:
        """Call a function of up to eight arguments; only counted ones have a cost."""
        for number, value in enumerate(arguments):
            self.uc.reg_write(A0 + number, value)
        self.uc.reg_write(riscv_const.UC_RISCV_REG_SP, STACK + 0x100000)
        self.uc.reg_write(riscv_const.UC_RISCV_REG_RA, RETURN)
        self.seen = [0, 0]
        self.uc.emu_start(self.symbols[function][0], RETURN)
        return Cost(self.uc.reg_read(A0), *self.seen)


def place(choose: random.Random, pages: int) -> int:
    """Return where `pages` pages may start: in a slot, or across a small slot's border."""
    large = choose.randrange(256) * LARGE
    if pages <= SMALL and (pages == 1 or choose.random() < 0.75):
        start = large + choose.randrange(LARGE // SMALL) * SMALL
        start += choose.randrange(SMALL - pages + 1)
    elif pages <= SMALL:
        start = large + choose.randrange(1, LARGE // SMALL) * SMALL - choose.randrange(1, pages)
    else:
        start = large + choose.randrange(LARGE - pages + 1)
    return start if start else place(choose, pages)


def bystanders(machine: Machine, choose: random.Random, space: int, start: int) -> list[int]:
    """Map up to three small regions in the GiB of `start`, so that its shared table is there."""
    made = []
    for _ in range(choose.randrange(4)):
        other = start // LARGE * LARGE + choose.randrange(1, LARGE // SMALL) * SMALL
        if other // SMALL == start // SMALL:
            continue
        if machine.call("measure_map", space, other, 1, 1).result == 1:
            made.append(other)
    return made


def cost_of(machine: Machine, function: str, pages: int, full_every: int, placements: int) -> Cost:
    """Return the largest cost of `function` over random placements of a region of `pages` pages.

    One in `full_every` has all pages mapped.
    """
    choose = random.Random(SEED + pages)
    instructions = accesses = 0
    for number in range(placements):
        step = 1 if number % full_every == full_every - 1 else pages // SPARSE_PAGES
        space = machine.spaces[choose.randrange(2)]
        start = place(choose, pages)
        is_small = start // SMALL == (start + pages - 1) // SMALL
        others = bystanders(machine, choose, space, start) if is_small else []
        mapped = machine.call("measure_map", space, start, pages, step).result
        assert mapped == -(-pages // step), (start, pages, mapped)
        cost = machine.call(function, space, start)
        assert cost.result == 0
        instructions = max(instructions, cost.instructions)
        accesses = max(accesses, cost.accesses)
        for other in others:
            assert machine.call("tau_sv39_unmap_region", space, other).result == 0
        machine.call("measure_clean", TABLES)
    return Cost(0, instructions, accesses)


def rows(quick: bool, linear_pages_max: int = LARGE) -> list[dict[str, int | str]]:
    """Return a row for each way to unmap and each size; the linear way's up to LINEAR_PAGES_MAX."""
    ways = {"sv39": "tau_sv39_unmap_region", "sv39-linear": "tau_sv39_linear_unmap_region"}
    found: list[dict[str, int | str]] = []
    with tempfile.TemporaryDirectory() as folder:
        elf = build_emulated(Path(folder) / "measure.elf")
        for backend, function in ways.items():
            machine = Machine(elf)
            machine.count_in(function)
            for log2 in range(0, 19, 3 if quick else 1):
                pages = 1 << log2
                is_linear = backend == "sv39-linear"
                if is_linear and pages > linear_pages_max:
                    continue
                is_full = is_linear or pages <= FULL_PAGES_MAX[quick]
                every = 1 if is_full else FULL_EVERY[quick]
                is_few = is_linear and (quick or pages > SMALL)
                count = LINEAR_PLACEMENTS[quick] if is_few else PLACEMENTS
                cost = cost_of(machine, function, pages, every, count)
                row: dict[str, int | str] = {
                    "backend": backend,
                    "pages": pages,
                    "instructions": cost.instructions,
                    "accesses": cost.accesses,
                    "placements": count,
                }
                if not is_linear:
                    row["bound_instructions"] = bound(elf, "unmap_region", True)
                    row["bound_accesses"] = bound(elf, "unmap_region", True, of_accesses=True)
                found.append(row)
    return found


if __name__ == "__main__":
    json.dump(rows("--quick" in sys.argv), sys.stdout, indent=1)
