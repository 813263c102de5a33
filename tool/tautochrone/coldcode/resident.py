"""Checks that what a kernel executes when it loads a page of cold code is not cold itself.

    paths = Paths(["handle_exception"], {"handle_exception": ["do_page_fault"]}, {"do_irq"})
    walk = check_resident(kernel, paths, [(cold_start, cold_end)])

From the first instruction of each root, the machine code is walked through every branch, jump and
call, to the returns. TauError names the whole way to the first instruction that is cold, and each
jump or call through a register whose targets are not listed.
"""

import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone.coldcode.control_flow import Instruction, decode
from tautochrone.coldcode.kernel import Kernel
from tautochrone.errors import TauError

KEEP = "leave that function out of the cold code, and link again"
LIST = "list the targets of that function's jumps, or keep it off the path"


@dataclass(frozen=True)
class Paths:
    """Where a walk goes. All are names of functions.

    `indirect` are the functions that each function's jumps and calls through registers can reach.
    `beyond` are those where the path ends: they are called only when the fault was none at a cold
    page.
    """

    roots: Sequence[str]
    indirect: Mapping[str, Collection[str]] = field(default_factory=dict)
    beyond: Collection[str] = ()


@dataclass(frozen=True)
class Walk:
    """The functions that were walked, in the order in which they were reached."""

    functions: tuple[str, ...]
    instructions_count: int


def check_resident(kernel: Kernel, paths: Paths, cold: Sequence[tuple[int, int]]) -> Walk:
    """Walk PATHS. Raises TauError if any instruction lies in one of the COLD ranges.

    A range is its first address and the one after it.
    """
    return _Walker(kernel, paths, cold).walk()


class _Walker:
    def __init__(self, kernel: Kernel, paths: Paths, cold: Sequence[tuple[int, int]]) -> None:
        self.kernel, self.paths, self.cold = kernel, paths, cold
        names = kernel.functions.names
        starts = kernel.functions.starts.tolist()
        sizes = kernel.functions.sizes_bytes.tolist()
        self.functions = {
            start: (name, start + size)
            for start, size, name in zip(starts, sizes, names, strict=True)
        }
        self.starts = starts
        self.beyond = {kernel.address_of(name) for name in paths.beyond}
        self.came_from: dict[int, int | None] = {}
        self.seen: set[tuple[int, tuple[int, int] | None]] = set()
        self.reached: dict[str, None] = {}

    def walk(self) -> Walk:
        """Depth first, from each root."""
        for root in self.paths.roots:
            self._walk_from(self.kernel.address_of(root))
        return Walk(tuple(self.reached), len(self.came_from))

    def _walk_from(self, root: int) -> None:
        # An instruction, where control came from, and what auipc just put into which register.
        waiting: list[tuple[int, int | None, tuple[int, int] | None]] = [(root, None, None)]
        while waiting:
            address, before, pair = waiting.pop()
            self.came_from.setdefault(address, before)
            self._refuse_cold(address)
            instruction = self._at(address)
            # What a jump through a register leads to must be known on each way to it.
            seen = (address, None if instruction.through is None else pair)
            if seen in self.seen:
                continue
            self.seen.add(seen)
            self.reached.setdefault(self._function_at(address)[0])
            called, onward = self._ways(instruction, pair)
            for to in (target for target in called if target not in self.beyond):
                waiting.append((to, address, None))
            for target in (target for target in onward if target not in self.beyond):
                sets = instruction.sets if target == instruction.end else None
                waiting.append((target, address, sets))

    def _ways(
        self, instruction: Instruction, pair: tuple[int, int] | None
    ) -> tuple[list[int], list[int]]:
        """The callees, and where control goes on."""
        called, onward = [], list(instruction.targets)
        if instruction.calls is not None:
            called.append(instruction.calls)
        if instruction.through is not None:
            targets = self._targets(instruction, pair)
            (called if instruction.links else onward).extend(targets)
        if called or instruction.is_trap:
            # A call that ends its function does not return, and a trap there does not go on.
            onward = [to for to in onward if to != instruction.end or to not in self.functions]
        return called, onward

    def _targets(self, instruction: Instruction, pair: tuple[int, int] | None) -> list[int]:
        if pair is not None and pair[0] == instruction.through:
            return [(pair[1] + instruction.offset) % 2**64]
        name = self._function_at(instruction.address)[0]
        if name not in self.paths.indirect:
            verb = "calls" if instruction.links else "jumps"
            raise TauError(f"{self._way(instruction.address)} {verb} through a register", LIST)
        return [self.kernel.address_of(target) for target in self.paths.indirect[name]]

    def _at(self, address: int) -> Instruction:
        encoded = self.kernel.code_at(address, 4) or self.kernel.code_at(address, 2)
        instruction = decode(address, encoded)
        if instruction is None:
            raise TauError(f"{self._way(address)}: no instruction is there", LIST)
        return instruction

    def _refuse_cold(self, address: int) -> None:
        if any(start <= address < end for start, end in self.cold):
            raise TauError(f"the fault path is cold: {self._way(address)}", KEEP)

    def _function_at(self, address: int) -> tuple[str, int]:
        """The name and the start of the function that holds ADDRESS."""
        number = bisect.bisect_right(self.starts, address) - 1
        if number < 0 or address >= self.functions[self.starts[number]][1]:
            return "?", address
        return self.functions[self.starts[number]][0], self.starts[number]

    def _place(self, address: int) -> str:
        name, start = self._function_at(address)
        return f"{name}+{address - start:#x}" if address != start else name

    def _way(self, address: int) -> str:
        """The way from a root to ADDRESS: where each function was left, and ADDRESS at the end."""
        steps = [f"{self._place(address)} ({address:#x})"]
        here: int | None = address
        while here is not None:
            before = self.came_from.get(here)
            if before is not None and self._function_at(before) != self._function_at(here):
                steps.append(self._place(before))
            here = before
        return " -> ".join(reversed(steps))
