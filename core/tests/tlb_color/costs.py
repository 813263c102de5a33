"""Cost that a colored heap adds to malloc and free of TLSF."""

from __future__ import annotations

from pathlib import Path

from tautochrone.machine.longest_path import bound_instructions
from tautochrone.machine.calls import Machine, core_code
from tautochrone.facts import status_format
from tautochrone.targets.sources import CORE_FILES

GOLDEN = Path(__file__).with_name("tlb_color_golden.json")
ABOVE_MAX = {"malloc": 12, "free": 16}
PAGE = 4096
# The paper's TLB: 16 sets of 4 ways with a linear index, of which sets 4 to 7 are owned.
SETS_LOG2, OWNED = 4, 0xF0
WINDOW_LOG2 = 18
PAGES = 12


class ColoredHeap:
    """A started heap on the emulated processor, and its TLSF."""

    def __init__(self, machine: Machine) -> None:
        """Twelve pages in three runs."""
        self.machine = machine
        window = machine.reserve(1 << WINDOW_LOG2, 1 << WINDOW_LOG2)
        page_log2 = PAGE.bit_length() - 1
        array = self.words(1 << SETS_LOG2, 4, 4)
        rows = self.words(*(1 << bit for bit in range(SETS_LOG2)))
        structure = self.words(rows, 0, page_log2 << 8)
        geometry = self.words(array, structure, 1 | 1 << 8 | page_log2 << 16)
        sets = self.words(self.words(OWNED), 0)
        no_miss = 1 << 16
        windows = self.words(window, WINDOW_LOG2 | page_log2 << 8 | no_miss, PAGES)
        principals = self.words(sets, windows, 0, 1, 0, 0)
        partition = self.words(geometry, principals, 1)
        self.heap = machine.reserve(64)
        pages = (1 << WINDOW_LOG2) // PAGE
        bits = machine.reserve(pages // 8)
        arguments = (self.heap, partition, 0, 0, bits, pages // 32)
        assert status_format.NAMES[machine.call("tau_tlb_color_init", *arguments).result] == "OK"
        assert status_format.NAMES[machine.call("tau_tlb_color_start", self.heap).result] == "OK"
        self.blocks = int(machine.words(self.heap, 1)[0])

    def words(self, *values: int) -> int:
        """The address of a copy of these words."""
        address = self.machine.reserve(4 * len(values))
        self.machine.words(address, len(values))[:] = values
        return address

    def seen(self, mechanism: str, heap: int, size: int) -> tuple[int, int]:
        """The instructions of a malloc and of its free, once the peak of use is noted."""
        warm = self.machine.call("tau_tlsf_malloc", self.blocks, size)
        self.machine.call("tau_tlsf_free", self.blocks, warm.result)
        made = self.machine.call(f"tau_{mechanism}_malloc", heap, size)
        assert made.result != 0
        freed = self.machine.call(f"tau_{mechanism}_free", heap, made.result)
        assert status_format.NAMES[freed.result] == "OK"
        return made.instructions, freed.instructions


def above_tlsf(isa: str, level: int) -> dict[str, dict[str, int]]:
    """Bounds of malloc and free, and the cost above TLSF's, as bounded and as measured."""
    names = [f"tau_{mechanism}_{verb}" for mechanism in ("tlb_color", "tlsf") for verb in ABOVE_MAX]
    keep = [*names, "tau_tlb_color_init", "tau_tlb_color_start"]
    image = core_code("tlb_color", isa, CORE_FILES["tlb_color"], keep, check_level=level)
    with Machine(image) as machine:
        counted = ColoredHeap(machine)
        added = {
            tuple(
                own - tlsf
                for own, tlsf in zip(
                    counted.seen("tlb_color", counted.heap, size),
                    counted.seen("tlsf", counted.blocks, size),
                    strict=True,
                )
            )
            for size in (1, 24, 100, 1000, PAGE, 3 * PAGE)
        }
    assert len(added) == 1  # the same for every size
    found = {}
    for verb, seen in zip(ABOVE_MAX, added.pop(), strict=True):
        bound = bound_instructions(image.elf, f"tau_tlb_color_{verb}")
        below = bound_instructions(image.elf, f"tau_tlsf_{verb}")
        found[verb] = {
            "bound": bound,
            "bound_above_tlsf": bound - below,
            "seen_above_tlsf": seen,
        }
    return found


CONFIGURATIONS = {
    f"{isa} level {level}": (isa, level) for isa in ("rv32", "rv32zbb") for level in (0, 1, 2)
}


def costs(configuration: str) -> dict[str, dict[str, int]]:
    """The same in a CONFIGURATION. Some call takes the longest path, which is short."""
    found = above_tlsf(*CONFIGURATIONS[configuration])
    for verb, most in ABOVE_MAX.items():
        assert found[verb]["bound_above_tlsf"] <= most
        assert found[verb]["seen_above_tlsf"] == found[verb]["bound_above_tlsf"]
    return found
