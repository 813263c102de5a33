"""Computes a sound bound of a call or a fault on the tile, in cycles.

    tile_bounds(tile_system("tile:rtmmu"))      # {"malloc": …, "free": …, "fault": …, "unmap": …}

The bound is the longest path through the linked program (machine/longest_path.py). The weight of an
instruction is the most cycles that it takes on Ibex's two-stage pipeline ("Pipeline Details" in its
manual):

1. 1 cycle. A load or store takes 2 plus the wait for its answer, a multiplication 3 (mulh 4), a
   division 37, a write of mstatus or mie 3, since it empties the pipeline.
2. A taken branch takes 3, a jump, call or return 2. If the target instruction spans two words of
   the instruction memory, both are fetched, which takes one more.
3. Accesses relative to sp and gp, and all accesses of the functions that work on tables (OUTSIDE),
   go to banks that answer in one cycle. Any other access may go to the window and wait for a
   translation.
4. Calls of the replay program are measured between two stores. The whole block of code around the
   call counts, even outside of the two stores.
5. A fault is 6 cycles of the processor, the answer, and the handler to its mret (doc/tile.md).

The weights are exact: random functions take as long as their longest path
(tool/tests/tile/test_cycle_bounds.py). Infeasible paths count too. The bound assumes naturally
aligned accesses, no interrupt, no fault inside a call (the core's heaps map pages before they write
them), and a ready frame. None means unbounded: the code loops, or the processor's configuration or
the unit has other rules.
"""

import functools
from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path

import capstone

from tautochrone.machine.longest_path import NEVER, RISCV_BRANCHES, Code, LongestPath, Step
from tautochrone.errors import TauError
from tautochrone.tile.systems import TileSystem, program

CONFIG = "small"
TAKEN_CYCLES, JUMP_CYCLES, BANK_ANSWER_CYCLES, TRAP_CYCLES = 3, 2, 1, 6
ARITHMETIC_CYCLES = {"mul": 3, "mulh": 4, "mulhu": 4, "mulhsu": 4}
ARITHMETIC_CYCLES |= dict.fromkeys(("div", "divu", "rem", "remu"), 37)
# From the timer's cycle to the first instruction of its handler, if no instruction is in the way.
INTERRUPT_CYCLES = 4
TIMER_OFFSET_BYTES = 4 * 7  # Its place in a table of vectors.
WFI = (0x10500073).to_bytes(4, "little")
CSR_WRITES = {1, 2, 5, 6}  # funct3 of SYSTEM; a set from x0 only reads
EMPTYING_CSRS, EMPTYING_CYCLES = {0x300, 0x304}, 3  # mstatus, mie
MEMORY_BASES = {"sp", "gp"}
UNKNOWN_TIME = {"wfi", "fence", "fence.i", "ecall"}
READY = {"tau_frames_clean_one": NEVER}
VECTORS = "tau_tile_vectors"
# Prefixes of the names of functions that have no pointer into the window.
OUTSIDE = ("tau_vspace_", "tau_region_tree_", "tau_validity_", "tau_frames_", "tau_pagetable_")


def naps(code: Code) -> list[int]:
    """The addresses at which a program falls asleep."""
    return [address for address in range(*code.text, 2) if code.bytes_at(address) == WFI]


class CyclePaths(LongestPath):
    """Longest paths of a tile's program in cycles.

    `window_answer`: of a translated access. `charges`: as of LongestPath.
    """

    def __init__(
        self, code: Code, window_answer: int, charges: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(code, READY if charges is None else charges)
        self.window_answer = window_answer
        self.functions = sorted(code.names)

    def from_address(self, start: int) -> int:
        """The most cycles from `start` to a return; code that never returns is left out."""
        self._leave_out_what_never_returns(start)
        return super().from_address(start)

    def _leave_out_what_never_returns(self, start: int) -> None:
        steps: dict[int, Step] = {}
        returns = {address for address, charge in self.charged.items() if charge >= 0}
        waiting = [start]
        while waiting:
            address = waiting.pop()
            if address in steps or address in returns or address in self.charged:
                continue
            step = self._all().get(address)
            if step is None:
                returns.add(address)  # assumed to return; refused if a path leads here
                continue
            steps[address] = step
            waiting += [*step.targets, *(() if step.calls is None else (step.calls,))]
        before = -1
        while before != len(returns):
            before = len(returns)
            for address in sorted(steps, reverse=True):
                step = steps[address]
                goes_on = not step.targets or any(target in returns for target in step.targets)
                if goes_on and (step.calls is None or step.calls in returns):
                    returns.add(address)
        for address in steps.keys() - returns:
            self.known.setdefault((address, 0), NEVER)

    @functools.cache  # noqa: B019  (lives as long as the process, like the paths)
    def instruction(self, address: int) -> capstone.CsInsn:
        """The instruction at an address. Raises TauError if the tile has no such one."""
        for found in self.code.decoder.disasm(self.code.bytes_at(address), address, 1):
            return found
        raise TauError(f"no instruction can be decoded at {self.code.place(address)}")

    def fetch(self, address: int | None) -> int:
        """Extra cycles of a jump to an address for a second word."""
        return int(address is not None and address % 4 == 2 and self.instruction(address).size == 4)

    def access(self, insn: capstone.CsInsn) -> int:
        """Cycles of a load or store."""
        function = self.code.names[self.functions[bisect_right(self.functions, insn.address) - 1]]
        memory = [each.mem for each in insn.operands if each.type == capstone.riscv.RISCV_OP_MEM]
        is_stack = insn.mnemonic in ("c.lwsp", "c.swsp")  # these have no explicit operand
        is_near = memory and all(insn.reg_name(each.base) in MEMORY_BASES for each in memory)
        is_bank = is_stack or is_near or function.startswith(OUTSIDE)
        return 1 + (BANK_ANSWER_CYCLES if is_bank else self.window_answer)

    def length(self, address: int, step: Step, following: int | None) -> int:
        """Cycles of an instruction before the `following` one."""
        insn = self.instruction(address)
        name = insn.mnemonic.removeprefix("c.")
        if name in UNKNOWN_TIME:
            raise TauError(f"{self.code.place(address)}: `{name}` takes an unknown time")
        if name in RISCV_BRANCHES:
            is_next = following == address + insn.size
            return 1 if is_next else TAKEN_CYCLES + self.fetch(following)
        if step.calls is not None:
            return JUMP_CYCLES + self.fetch(step.calls) + self.fetch(following)
        if name == "j" or not step.targets:
            return JUMP_CYCLES + self.fetch(following)
        if step.accesses:
            return self.access(insn)
        if _empties_the_pipeline(int.from_bytes(insn.bytes, "little")):
            return EMPTYING_CYCLES
        return ARITHMETIC_CYCLES.get(name, 1)

    # ---- calls of the replay program ----

    def measured(self, name: str) -> int:
        """The most cycles of the blocks of code that call a function, with the call.

        Raises TauError if no code calls it.
        """
        called = self.code.symbols[name]
        found = [self._block(site) for site in self.sites(called)]
        if not found:
            raise TauError(f"nothing calls {name}")
        return max(found) + self.from_address(called)

    def sites(self, called: int) -> list[int]:
        """The addresses of all calls of a function."""
        return [
            address
            for address, step in self._all().items()
            if step is not None and step.calls == called
        ]

    def leaving(self, function: range) -> list[int]:
        """The addresses of a function's instructions that return, or jump out of it in any case."""
        return [
            address
            for address, step in self._all().items()
            if address in function
            and step is not None
            and all(target not in function for target in step.targets)
        ]

    @functools.cache  # noqa: B019
    def _all(self) -> dict[int, Step | None]:
        """Every instruction of the code in order; None for one that is not straight-line code."""
        steps: dict[int, Step | None] = {}
        address, end = self.code.text
        while address < end:
            try:
                steps[address] = self.code.step(address)[0]
            except TauError:
                steps[address] = None
            address += 4 if self.code.bytes_at(address)[0] & 3 == 3 else 2
        return steps

    def _block(self, site: int) -> int:
        """Cycles of the straight-line code around a call, without the called function."""
        steps = self._all()
        order = list(steps)
        entered = {
            target
            for address, step in steps.items()
            if step is not None
            for target in step.targets
            if not self._is_plain(address)
        }
        place = order.index(site)
        first = place
        while order[first] not in entered and self._is_plain(order[first - 1]):
            first -= 1
        last = place + 1
        while order[last] not in entered and self._is_plain(order[last]):
            last += 1
        length = 0
        for address, following in zip(order[first:last], order[first + 1 : last + 1], strict=True):
            step = steps[address]
            assert step is not None
            length += self.length(address, step, following)
        return length

    def _is_plain(self, address: int) -> bool:
        """Whether control always continues at the next instruction."""
        step = self._all().get(address)
        size = 4 if self.code.bytes_at(address)[0] & 3 == 3 else 2
        return step is not None and step.calls is None and step.targets == (address + size,)


def _empties_the_pipeline(word: int) -> bool:
    is_write = word >> 12 & 7 in CSR_WRITES and (word >> 12 & 3 == 1 or word >> 15 & 31 != 0)
    return word & 0x7F == 0x73 and is_write and word >> 20 in EMPTYING_CSRS


def answer_cycles(system: TileSystem) -> int:
    """The most cycles from the request of a load or store in the window to its answer.

    With the TLB of regions that is a miss, which is proved to be answered no later than without it
    (hw/rtmmu/formal/tau_rtmmu_tlb_proof.sv).
    """
    validity, table = max(system.latencies[:2]), system.latencies[2]
    is_plain = system.heap.space == "pagetable"
    return (table if is_plain else max(2 * validity, table)) + 1


def tile_bounds(system: TileSystem) -> dict[str, int | None]:
    """The most cycles of each operation of the replay program; None if unbounded.

    Raises TauError if the program cannot be built.
    """
    kinds = ("malloc", "aligned_alloc", "resize", "free", "fault", "map", "unmap", "load", "store")
    return {kind: tile_bound(system, kind) for kind in kinds}


def tile_bound(system: TileSystem, kind: str) -> int | None:
    """As tile_bounds, of one operation."""
    if system.config != CONFIG:
        return None
    answer = answer_cycles(system)
    if kind in ("load", "store"):
        return answer
    paths = _paths(program(system), answer)
    try:
        if kind == "fault":
            return answer - 1 + TRAP_CYCLES + paths.from_address(paths.code.symbols[VECTORS])
        if kind in ("map", "unmap"):
            return paths.measured(f"tau_{system.heap.space}_{kind}_region")
        return paths.measured(system.heap.call(kind))
    except (TauError, KeyError):
        return None


@functools.lru_cache(maxsize=8)
def _paths(path: Path, answer: int) -> CyclePaths:
    return CyclePaths(Code(path), answer)
