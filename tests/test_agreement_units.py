"""Model, core library and RTL agree on every translation and every fault of the same trace.

A random program maps regions, touches pages and unmaps. The core runs it on the emulated RV32
processor, in memory that held anything; the golden model runs it from its contract. The words that
the core stores are copied to the tables of the simulated unit, which then looks up each
access, before and after each fault, and every page at the end.

The second trace is a recording of a real program with its touches, on a heap over pages: where
objects lie, which pages fault and which frames they get must be the same on all three sides.
"""

import json
import os
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tautochrone.tile.units import units
from model.frames import Frames
from model.frames import Machine as Board
from model.page_heap import PAGE_BYTES, PageHeap
from model.pagetable import PageTable
from model.vspace import Space
from tautochrone.machine.calls import MEMORY_ADDRESS, Machine, core_code
from tautochrone.facts import status_format
from tautochrone.facts import trace_format as form
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.tile import operations_of, sizes_before
from tautochrone.targets.sources import CORE_FILES
from testing.cocotb_run import SMALL, run
from testing.cocotb_run import unit as unit_design
from tests.conftest import Tau

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
PAGES_LOG2 = 6
PAGES = 1 << PAGES_LOG2
FRAMES = 40  # Fewer than pages, so that some faults find none.
OPERATIONS = 1000
RIGHTS_SHIFT = 27  # Where the core has them: in the words that the MMU reads.
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
        last = 0 if name == "vspace" else 1  # Overcommit; find mapped pages by their bits.
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
        """The core's FUNCTION answers STATUS; its stores go into the trace."""
        result = status_format.NAMES[self.machine.call(function, *arguments).result]
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
    "unit, name", [(unit.name, unit.space) for unit in units().values() if unit.space]
)
def test_model_core_and_rtl_agree(unit: str, name: str, tmp_path: Path) -> None:
    """Status, fault, cause and frame, at every step."""
    print(f"TAU_TEST_SEED={SEED}")
    table = "peers/conventional/pagetable.c" if name == "pagetable" else f"core/{name}.c"
    files = ["core/frames.c", table]
    calls = ["init", "translate", "map_page"]
    if name == "vspace":
        files += ["core/region_tree.c", "core/validity.c"]
        calls += ["map_region", "unmap_region"]
    else:
        calls.append("unmap")
    keep = ["tau_frames_init", "tau_frames_add", *(f"tau_{name}_{call}" for call in calls)]
    with Machine(core_code(f"agreement_{name}", "rv32", files, keep)) as machine:
        sides = Sides(machine, name)
        _program(sides)
    _agree(sides, unit, tmp_path)


def _agree(sides: Sides, unit: str, tmp_path: Path) -> None:
    """The unit gives the answers of the other two."""
    causes = [answer[1] for answer in sides.answers]
    counts = [causes.count(cause) for cause in (0, NOT_MAPPED, DENIED)]
    print("translated, not mapped, denied:", *counts)
    assert min(counts) > 20, "a poor trace"
    trace, told = tmp_path / "trace.json", tmp_path / "answers.json"
    trace.write_text(json.dumps(sides.steps))
    files_of = {"TAU_UNIT_TRACE": str(trace), "TAU_UNIT_ANSWERS": str(told)}
    run(unit_design(unit, **SMALL), "hw.socket.tb.cocotb_trace", tmp_path, **files_of)
    answers = json.loads(told.read_text())
    looks = [step[1:] for step in sides.steps if step[0] == "look"]
    wrong = [
        (look, answer, right)
        for look, answer, right in zip(looks, answers, sides.answers, strict=True)
        if answer != right
    ]
    assert not wrong, f"{len(wrong)} of {len(looks)}: {wrong[:5]}"


# ---- a recorded program on a heap ----

HEAP_PAGES = PAGES - 1
READ, WRITE = 1, 2
WORD_BYTES = 4
HEAP_CALLS = ("init", "malloc", "aligned_alloc", "resize", "free")
# A table of words that grows, lists of them, a buffer that grows and is used here and there.
PROGRAM = """
#include <stdlib.h>
#include <string.h>
struct word { struct word *next; unsigned length; char text[]; };
static struct word **table;
static unsigned size = 8, state = 1;
static unsigned below(unsigned limit) {
    state = state * 1103515245u + 12345u;
    return (state >> 8) % limit;
}
static void grow(void) {
    struct word **larger = calloc(2 * size, sizeof *larger);
    for (unsigned i = 0; i < size; i++)
        for (struct word *word = table[i], *next; word != NULL; word = next) {
            next = word->next;
            word->next = larger[word->length % (2 * size)];
            larger[word->length % (2 * size)] = word;
        }
    free(table);
    table = larger;
    size *= 2;
}
int main(void) {
    char *buffer = NULL;
    unsigned buffer_bytes = 0;
    table = calloc(size, sizeof *table);
    for (unsigned i = 0; i < 260; i++) {
        unsigned length = below(12) == 0 ? 1500 + below(9000) : 8 + below(200);
        struct word *word = malloc(sizeof *word + length);
        word->length = length;
        memset(word->text, 'x', below(2) == 0 ? length : 8);
        word->next = table[length % size];
        table[length % size] = word;
        if (i % 64 == 63) grow();
        if (i % 16 == 7) {
            buffer = realloc(buffer, buffer_bytes += 1 + below(3000));
            buffer[below(buffer_bytes)] = 1;
        }
        if (i % 40 == 9) {
            char *line = aligned_alloc(256, 512);
            line[300] = 1;
            free(line);
        }
        for (struct word **link = &table[below(size)]; *link != NULL && i % 3 != 0;) {
            struct word *old = *link;
            *link = old->next;
            free(old);
        }
    }
    return 0;
}
"""


class HeapModel:
    """The heap's model, with the names that `Sides` calls."""

    def __init__(self, heap: PageHeap) -> None:
        self.heap = heap

    def translate(self, page: int, access: int) -> tuple[str, int | None]:
        """Status and frame; the pages of a heap can be read and written."""
        frame = self.heap.mapped.get(page)
        if frame is None:
            return "NOT_IN_REGION", None
        return ("OK", frame) if access & ~(READ | WRITE) == 0 else ("ACCESS_DENIED", None)

    def map_page(self, page: int, access: int) -> str:
        """A fault."""
        return self.heap.map_page(page)


class HeapSides(Sides):
    """The same with a heap over the space, and a program's objects in it."""

    def __init__(self, machine: Machine) -> None:
        self.origin = machine.reserve(PAGES * PAGE_BYTES, PAGE_BYTES)
        assert self.origin == MEMORY_ADDRESS
        super().__init__(machine, "vspace")
        self.heap = machine.reserve(HANDLE_BYTES)
        first = machine.call("tau_tlsf_control_bytes", HEAP_PAGES * PAGE_BYTES).result
        control_bytes = first - WORD_BYTES  # Everything before the first payload's header.
        arguments = self.heap, self.space, self.origin, 1, HEAP_PAGES, (1 << 32) - 1
        self._is("OK", "tau_page_heap_init", *arguments)
        pool = Frames(Board(FRAMES))
        assert pool.add(0, FRAMES) == "OK"
        self.model = HeapModel(PageHeap(pool, 1, HEAP_PAGES, control_bytes, check_level=0))
        self._copy()
        self.objects: dict[int, tuple[int, int]] = {}  # By slot: address from page 0 on, bytes.

    def both(self, operation: str, *arguments: int) -> int:
        """The same call of the heap on both sides: an address from page 0 on, or a truth."""
        placed = operation not in ("free", "resize")
        given = list(arguments)
        if not placed:
            given[0] += self.origin
        result = self.machine.call(f"tau_page_heap_{operation}", self.heap, *given).result
        wanted = getattr(self.model.heap, operation)(*arguments)
        if operation == "free":
            result, wanted = status_format.NAMES[result] == "OK", wanted == "OK"
        if placed:
            result, wanted = result - self.origin if result else 0, wanted or 0
        assert result == wanted, (operation, arguments)
        tops = [word // 2 for word in np.flatnonzero(self.memories[0][1] != self.stored[0])]
        self._copy()
        self.steps += [["forget", int(start)] for start in tops]
        return int(result)

    def place(self, slot: int, size_bytes: int, align_log2: int = 0) -> int:
        """A new object."""
        if align_log2 == 0:
            address = self.both("malloc", size_bytes)
        else:
            address = self.both("aligned_alloc", 1 << align_log2, size_bytes)
        assert address or not size_bytes, "the program needs more pages than the space has"
        self.objects[slot] = address, size_bytes
        return address

    def access(self, address: int, size_bytes: int, access: int) -> None:
        """Each page of some bytes is looked up, and mapped if it faults."""
        last = (address + max(size_bytes, 1) - 1) // PAGE_BYTES
        for page in range(address // PAGE_BYTES, last + 1):
            self.touch(page, access, access)

    def resize(self, slot: int, size_bytes: int) -> None:
        """realloc: in place, or its mapped pages move."""
        address, old_bytes = self.objects[slot]
        if self.both("resize", address, size_bytes):
            self.objects[slot] = address, size_bytes
            return
        moved = self.place(slot, size_bytes)
        for offset in range(0, min(old_bytes, size_bytes), form.GRANULE_BYTES):
            if (address + offset) // PAGE_BYTES in self.model.heap.mapped:
                self.access(moved + offset, form.GRANULE_BYTES, WRITE)
        self.both("free", address)

    def carry_out(self, operation: np.void, is_store: bool) -> None:
        """An event of the recording."""
        op, slot, size = (int(operation[name]) for name in ("op", "slot", "size_bytes"))
        address, size_bytes = self.objects.get(slot, (0, 0))
        if op == form.OP_TOUCH:
            end = min(size + int(operation["align"]) * form.GRANULE_BYTES, size_bytes)
            if size < end:
                self.access(address + size, end - size, WRITE if is_store else READ)
        elif op == form.OP_FREE:
            if address:
                self.both("free", address)
            self.objects[slot] = 0, 0
        elif op == form.OP_REALLOC and address and size:
            self.resize(slot, size)
        else:
            assert op in (form.OP_MALLOC, form.OP_CALLOC, form.OP_REALLOC, form.OP_ALIGNED_ALLOC)
            made = self.place(slot, size, int(operation["align"]))
            if op == form.OP_CALLOC:
                self.access(made, size, WRITE)


@pytest.fixture(scope="module")
def recording(tau: Tau, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program's recording, with its touches."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "words.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-w", "-o", folder / "words", folder / "words.c"], check=True)
    tau("record", "--accesses", "-o", folder / "words.tau", "--", folder / "words")
    return folder / "words.tau"


@pytest.mark.parametrize("unit", [unit.name for unit in units().values() if unit.space == "vspace"])
def test_a_recorded_program_agrees(unit: str, recording: Path, tmp_path: Path) -> None:
    """Addresses, faults, frames; pages nobody has are looked up all the time, too."""
    print(f"TAU_TEST_SEED={SEED}")
    chance = random.Random(SEED)
    operations = operations_of(open_trace_for_replay(recording))
    keep = ["tau_frames_init", "tau_frames_add", "tau_tlsf_control_bytes"]
    keep += [f"tau_vspace_{call}" for call in ("init", "translate", "map_page")]
    keep += [f"tau_page_heap_{call}" for call in HEAP_CALLS]
    flags = (f"-DTAU_SPACE_ORIGIN={MEMORY_ADDRESS:#x}u",)
    image = core_code("agreement_heap", "rv32", CORE_FILES["page_heap"], keep, flags)
    with Machine(image) as machine:
        sides = HeapSides(machine)
        for number, operation in enumerate(operations):
            sides.carry_out(operation, number % 2 == 1)
            sides.look("data", chance.randrange(PAGES), chance.choice(ACCESSES))
    assert len(operations) > 700 and int((operations["op"] == form.OP_TOUCH).sum()) > 200
    assert max(sizes_before(operations)) > 20_000
    _agree(sides, unit, tmp_path)
