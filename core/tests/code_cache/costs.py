"""Costs of calls of the code cache; of a fault, by policy."""

from __future__ import annotations

import re
from pathlib import Path

from core.tests.kit.core_build import ROOT
from core.tests.kit.counted import Counted
from model.code_cache import FRAMES_MAX, INSTRUCTION_PAGES, POLICIES
from tautochrone.machine.longest_path import bound_accesses, bound_instructions
from tautochrone.machine.calls import Machine, core_code
from tautochrone.targets.sources import CORE_FILES

OPERATIONS = ("fault", "use", "age", "drop", "pin")
CACHE_BYTES = 512  # more than struct tau_code_cache
PAGES = 150
FAULTS = 1200
# Leaves room for the port in the longest path of a fault.
FAULT_INSTRUCTIONS_MAX = 350
DESIGN = ROOT / "docs" / "design" / "code_cache.md"
GOLDEN = Path(__file__).with_name("code_cache_golden.json")


class CountedCache(Counted):
    """Full frames, of which the last four loads are recent."""

    def __init__(self, machine: Machine, policy: int, frames: int) -> None:
        """A cache of FRAMES."""
        super().__init__(machine, "code_cache", CACHE_BYTES)
        self.frames, self.answer = frames, machine.reserve(16)
        self.flags = machine.reserve(FRAMES_MAX // 8)
        settings = machine.reserve(20)
        machine.words(settings, 5)[:] = [PAGES, frames, INSTRUCTION_PAGES, policy, 1]
        assert self.call("init", settings, machine.reserve(PAGES)) == "OK"
        self.most.clear()

    def run(self) -> None:
        """Faults at all pages, with all kinds of flags; each refusal."""
        for step in range(FAULTS):
            assert self.call("fault", step * 7 % PAGES, self.answer) == "OK"
            word = (step * 0x9E3779B1 ^ step << 7) & 0xFFFFFFFF
            self.machine.words(self.flags, 2)[:] = [word, word >> 3 ^ 0xFFFF]
            self.result("use", self.flags)
            if step % 5 == 0:
                self.result("age")
        for page in range(PAGES + 1):
            self.call("pin", page)
        for _ in range(2):
            for frame in range(self.frames + 1):
                self.call("drop", frame)


def costs(isa: str) -> dict[str, object]:
    """The longest path of each call. On RISC-V also the measured maximum, of a fault by policy."""
    names = {verb: f"tau_code_cache_{verb}" for verb in (*OPERATIONS, "init")}
    image = core_code("code_cache", isa, CORE_FILES["code_cache"], keep=[*names.values()])
    bounds = {verb: bound_instructions(image.elf, names[verb]) for verb in OPERATIONS}
    assert bounds["fault"] <= FAULT_INSTRUCTIONS_MAX
    found: dict[str, object] = {"bound_instructions": bounds}
    if isa == "m4":
        return found
    most: dict[str, tuple[int, int]] = dict.fromkeys(OPERATIONS, (0, 0))
    by_policy = dict.fromkeys(POLICIES, 0)
    with Machine(image) as machine:
        for number, policy in enumerate(POLICIES):
            for frames in (INSTRUCTION_PAGES, 33, FRAMES_MAX):
                counted = CountedCache(machine, number, frames)
                counted.run()
                by_policy[policy] = max(by_policy[policy], counted.most["fault"][0])
                for verb in OPERATIONS:
                    most[verb] = tuple(map(max, most[verb], counted.most[verb]))
    accesses = {verb: bound_accesses(image.elf, names[verb]) for verb in OPERATIONS}
    for verb in OPERATIONS:
        assert most[verb][0] <= bounds[verb]
        assert most[verb][1] <= accesses[verb]
    found["bound_accesses"] = accesses
    found["max_instructions"] = {verb: most[verb][0] for verb in OPERATIONS}
    found["max_accesses"] = {verb: most[verb][1] for verb in OPERATIONS}
    found["max_fault_instructions_by_policy"] = by_policy
    return found


def documented(golden: dict) -> None:
    """The tables of the design page have the pinned numbers."""
    text = DESIGN.read_text()
    for verb in OPERATIONS:
        bounds = [golden[isa]["bound_instructions"][verb] for isa in ("rv32", "rv32zbb", "m4")]
        cells = " | ".join(map(str, [golden["rv32"]["max_instructions"][verb], *bounds]))
        assert re.search(rf"^\| {verb} \| {re.escape(cells)} \|$", text, re.M), (
            verb,
            cells,
        )
    by_policy = golden["rv32"]["max_fault_instructions_by_policy"]
    cells = " | ".join(str(by_policy[policy]) for policy in POLICIES)
    assert f"| {cells} |\n" in text, cells
