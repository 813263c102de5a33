"""Costs of take and give of the buddy allocator, by number of splits or merges."""

from __future__ import annotations

import re
from pathlib import Path

from core.tests.kit.core_build import ROOT
from core.tests.kit.counted import Counted, within_bounds
from model.buddy import ARITY, ORDERS, size_bytes
from tautochrone.machine.calls import Machine, core_code

OPERATIONS = ("take", "give")
AT_MOST = {"take": 250, "give": 350}
FRAMES_COUNT = ARITY**ORDERS  # one group of the largest order
BUDDY_BYTES = 128  # more than struct tau_buddy
DESIGN = ROOT / "docs" / "design" / "buddy.md"
GOLDEN = Path(__file__).with_name("buddy_golden.json")


class CountedBuddy(Counted):
    """An allocator of all orders."""

    def __init__(self, machine: Machine) -> None:
        """A table of FRAMES_COUNT frames, all handed in."""
        super().__init__(machine, "buddy", BUDDY_BYTES)
        self.frame = machine.reserve(4)
        needed = size_bytes(FRAMES_COUNT)
        assert self.call("init", machine.reserve(needed), needed, FRAMES_COUNT) == "OK"
        assert self.call("add", 0, FRAMES_COUNT) == "OK"

    def take(self, order: int, steps: int | None = None) -> int:
        """The frame that is taken."""
        assert self.call("take", order, self.frame, kind=steps) == "OK"
        return int(self.machine.words(self.frame, 1)[0])

    def give(self, frame: int, order: int, steps: int | None = None) -> None:
        """As the call."""
        assert self.call("give", frame, order, kind=steps) == "OK"

    def refuse(self, frame: int, order: int) -> None:
        """Every give of ORDER's block at FRAME, and of what lies after it, but the right one."""
        size = ARITY**order
        for wrong in {frame, frame + 1, frame + size // 2, frame + size}:
            for asked in range(ORDERS + 1):
                if (wrong, asked) != (frame, order):
                    assert self.call("give", wrong, asked) != "OK"

    def every_way(self) -> None:
        """Each order from each source, with each number of free siblings; each refusal.

        A path depends on nothing else: not on which member it is, nor on the neighbors in a list.
        """
        for source in range(ORDERS):
            held = [self.take(source)] if source < ORDERS - 1 else []
            while len(held) < ARITY:
                for order in range(source + 1):
                    frame = self.take(order, source - order)
                    self.refuse(frame, order)
                    self.give(frame, order, source - order)
                held.append(self.take(source, 0))
            for frame in reversed(held):
                self.give(frame, source)
        held = [self.take(ORDERS - 1) for _ in range(ARITY)]
        for order in range(ORDERS + 1):
            assert self.call("take", order, self.frame) != "OK"
            assert self.call("give", FRAMES_COUNT, order) != "OK"


def costs(isa: str) -> dict[str, dict[str, object]]:
    """The longest paths of take and give, and the measured maximum by splits or merges."""
    keep = [f"tau_buddy_{verb}" for verb in (*OPERATIONS, "init", "add")]
    image = core_code("buddy", isa, ["core/buddy.c"], keep=keep)
    with Machine(image) as machine:
        counted = CountedBuddy(machine)
        counted.every_way()
    found = counted.costs(image.elf, OPERATIONS)
    assert within_bounds(found)
    assert all(found[verb]["bound_instructions"] <= most for verb, most in AT_MOST.items())
    by_steps = "max_instructions_by_steps"
    return {
        verb: row | {by_steps: [counted.most[verb, steps][0] for steps in range(ORDERS)]}
        for verb, row in found.items()
    }


def documented(golden: dict) -> None:
    """The table of the design page has the pinned numbers."""
    text = DESIGN.read_text()
    for verb in OPERATIONS:
        cells = " | ".join(map(str, golden["rv32"][verb]["max_instructions_by_steps"]))
        assert re.search(rf"^\| {verb} .*\| {re.escape(cells)} \|$", text, re.M), cells
