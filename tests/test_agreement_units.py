"""Model, core library and RTL agree on every translation and every fault of the same trace.

A random program maps regions, touches pages and unmaps. The core runs it on the emulated RV32
processor, in memory that held anything; the golden model runs it from its contract. The words that
the core stores are copied to the tables of the simulated unit, which then looks up what was
touched, before and behind each fault, and every page at the end.
"""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from tautochrone.calls import Machine, core_code

from hw.rtmmu.tb.simulate import run
from model.frames import Frames
from model.frames import Machine as Board
from model.pagetable import PageTable
from model.vspace import Space

STATUS_HEADER = Path(__file__).resolve().parents[1] / "core" / "status.h"
STATUS = re.findall(r"^    TAU_(\w+)", STATUS_HEADER.read_text(), re.MULTILINE)
SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
PAGES_LOG2 = 6
PAGES = 1 << PAGES_LOG2
FRAMES = 40  # fewer than pages, so that some faults find none
OPERATIONS = 1000
RIGHTS_SHIFT = 27  # where the core has them: in the words that the MMU reads
HANDLE_BYTES = 256
TABLES_BYTES = 1 << 16
NOT_MAPPED, DENIED = 1, 2
ACCESSES = (1, 1, 2, 4)


class Sides:
    """Core and model, call by call; the trace for the RTL, with the answers that it must give."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine = machine
        self.name = name
        self.space, self.frames, self.out = (machine.reserve(HANDLE_BYTES) for _ in range(3))
        links = machine.reserve(4 * FRAMES)
        tables = machine.reserve(TABLES_BYTES)
        garbage = np.random.default_rng(SEED).integers(0, 1 << 32, TABLES_BYTES // 4, np.uint32)
        machine.words(tables, TABLES_BYTES // 4)[:] = garbage
        self._is("OK", "tau_frames_init", self.frames, links, FRAMES, 0)
        self._is("OK", "tau_frames_add", self.frames, 0, FRAMES)
        last = 0 if name == "vspace" else 1  # overcommit; find mapped pages by their bits
        init = f"tau_{name}_init"
        self._is("OK", init, self.space, tables, TABLES_BYTES, PAGES_LOG2, self.frames, last)
        pool = Frames(Board(FRAMES))
        assert pool.add(0, FRAMES) == "OK"
        self.model = Space(PAGES_LOG2, pool) if name == "vspace" else PageTable(PAGES_LOG2, pool)
        pointers = machine.words(self.space, 3)
        counts = (2 * PAGES, 2 * PAGES, PAGES)
        if name == "vspace":
            self.memories = [
                (number, machine.words(int(pointers[number]), count))
                for number, count in enumerate(counts)
            ]
        else:
            self.memories = [(2, machine.words(int(pointers[0]), PAGES))]
        self.stored = [np.zeros(len(words), np.uint32) for _, words in self.memories]
        self.steps: list[list[int | str]] = []
        self.answers: list[list[bool | int | None]] = []

    def _is(self, status: str, function: str, *arguments: int) -> None:
        """The core's FUNCTION answers STATUS; what it stored goes into the trace."""
        result = STATUS[self.machine.call(function, *arguments).result]
        assert result == status, f"{function}{arguments}: {result}, not {status}"

    def _copy(self) -> None:
        for (number, words), before in zip(self.memories, self.stored, strict=True):
            for word in np.flatnonzero(words != before):
                self.steps.append(["store", number, int(word), int(words[word])])
            before[:] = words

    def call(self, operation: str, *arguments: int) -> str:
        """The same call on both sides; they agree on its status."""
        status = getattr(self.model, operation)(*arguments)
        given = list(arguments)
        if operation.startswith("map_"):
            given[-1] <<= RIGHTS_SHIFT
        self._is(status, f"tau_{self.name}_{operation}", self.space, *given)
        self._copy()
        if status == "OK" and operation == "unmap_region":
            self.steps.append(["forget", arguments[0]])
        return status

    def look(self, port: str, page: int, access: int) -> str:
        """A translation on all sides."""
        status, frame = self.model.translate(page, access)
        given = self.space, page, access << RIGHTS_SHIFT, self.out
        self._is(status, f"tau_{self.name}_translate", *given)
        if status == "OK":
            assert int(self.machine.words(self.out, 1)[0]) == frame, page
        self.steps.append(["look", port, page, access])
        cause = {"OK": 0, "NOT_IN_REGION": NOT_MAPPED, "ACCESS_DENIED": DENIED}[status]
        self.answers.append([cause != 0, cause, frame if cause == 0 else None])
        return status

    def touch(self, page: int, access: int, rights: int) -> None:
        """An access by a program: looked up, mapped by the fault handler, looked up again."""
        port = "instr" if access == 4 else "data"
        if self.look(port, page, access) != "NOT_IN_REGION":
            return
        wanted = access if self.name == "vspace" else rights
        if self.call("map_page", page, wanted) == "OK":
            self.look(port, page, access)


def _program(sides: Sides) -> None:
    """Regions of random places, sizes and rights; touches around them; unmaps."""
    chance = random.Random(SEED)
    starts = [1]
    for _ in range(OPERATIONS):
        start = chance.choice((chance.randrange(1, PAGES), chance.choice(starts)))
        kind = chance.random()
        if kind < 0.12:
            pages, rights = chance.randrange(1, 20), chance.choice((1, 3, 5, 7))
            if sides.name != "vspace" or sides.call("map_region", start, pages, rights) == "OK":
                starts.append(start)
        elif kind < 0.2:
            if sides.name == "vspace":
                sides.call("unmap_region", start)
            else:
                sides.call("unmap", start, chance.randrange(1, PAGES - start + 1))
        else:
            page = min(start + chance.randrange(6), PAGES - 1)
            sides.touch(page, chance.choice(ACCESSES), chance.choice((1, 3, 5, 7)))
    for page in range(1, PAGES):
        for access in ACCESSES[1:]:
            sides.look("data", page, access)


@pytest.mark.parametrize(
    "unit, name",
    [("tau_rtmmu", "vspace"), ("tau_rtmmu_tlb", "vspace"), ("tau_pagetable", "pagetable")],
)
def test_model_core_and_rtl_agree(unit: str, name: str, tmp_path: Path) -> None:
    """Status, fault, cause and frame, at every step."""
    print(f"TAU_TEST_SEED={SEED}")
    files = ["frames.c", f"{name}.c"]
    calls = ["init", "translate", "map_page"]
    if name == "vspace":
        files += ["region_tree.c", "validity.c"]
        calls += ["map_region", "unmap_region"]
    else:
        calls.append("unmap")
    keep = ["tau_frames_init", "tau_frames_add", *(f"tau_{name}_{call}" for call in calls)]
    with Machine(core_code(f"agreement_{name}", "rv32", files, keep)) as machine:
        sides = Sides(machine, name)
        _program(sides)
    causes = [answer[1] for answer in sides.answers]
    counts = [causes.count(cause) for cause in (0, NOT_MAPPED, DENIED)]
    print("translated, not mapped, denied:", *counts)
    assert min(counts) > 20, "a poor trace"
    trace, told = tmp_path / "trace.json", tmp_path / "answers.json"
    trace.write_text(json.dumps(sides.steps))
    files_of = {"TAU_UNIT_TRACE": str(trace), "TAU_UNIT_ANSWERS": str(told)}
    run(unit, "hw.rtmmu.tb.cocotb_trace", tmp_path, **files_of)
    answers = json.loads(told.read_text())
    looks = [step[1:] for step in sides.steps if step[0] == "look"]
    wrong = [
        (look, answer, right)
        for look, answer, right in zip(looks, answers, sides.answers, strict=True)
        if answer != right
    ]
    assert not wrong, f"{len(wrong)} of {len(looks)}: {wrong[:5]}"
