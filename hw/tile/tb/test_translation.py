"""hw/composable and hw/tlb in the tile: a program's translations are the units' models'.

Method: random commands (tb/programs/translate.c) write the page table and the unit's registers, and
load, store and call pages of the window, mapped or not. The model gets the same in the same order,
each lookup by itself; every value, cause and counter must be its own, with random stalls too.
Without stalls, cycles are those the documents state.

Fetches run ahead of execution within a page: they add hits, and misses if the page is refused. So
everything about fetches is compared except their numbers of hits and misses.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from model import composable, tlb
from model.mmu_cycle import DATA, EXECUTE, INSTR, READ, WRITE, Inputs, Lookup, Outputs, Result
from tautochrone.tile.build import Options
from tautochrone.tile.simulation import Simulation
from testing.tile import compiled, run

TABLE, WRITE_UNIT, READ_UNIT, LOAD, STORE, CALL, FRAME, TABLE0 = range(8)  # translate.c
MARK = 0xF0000000
PAGE_BITS = FRAME_BITS = 6
PAGES = 1 << PAGE_BITS
PROGRAM = ("tb/programs/translate.c", "tb/programs/accesses.S")
AT_ONCE = ("tb/programs/at_once.c", "tb/programs/at_once.S")
SEED = os.environ.get("TAU_TEST_SEED", "1")
ACCESS = {LOAD: (DATA, READ), STORE: (DATA, WRITE), CALL: (INSTR, EXECUTE)}
ANY_RIGHTS = (0, READ, READ | WRITE, READ | WRITE | EXECUTE, READ | EXECUTE, EXECUTE)

Command = tuple[int, int, int, int]


class Oracle:
    """A model of a unit on the page table and the frames of the tile."""

    def __init__(self, model: composable.Composable | tlb.Tlb) -> None:
        self.model = model
        self.table = [0] * PAGES
        self.table0 = [0] * 2 * PAGES
        self.stored: dict[int, int] = defaultdict(int)
        self.kind = ""  # The last lookup: hit or miss, or at once.

    def step(self, inputs: Inputs) -> Outputs:
        """A cycle and, as long as the unit reads tables 0 and 3, the next ones; they answer in the
        next cycle."""
        out = first = self.model.step(inputs)
        while out.pair is not None or inputs.pair is not None:
            asked = out.pair
            pair = None if asked is None else (self.table0[asked], self.table0[asked + 1])
            inputs = Inputs(pair=pair)
            out = self.model.step(inputs)
        return first

    def lookup(self, port: int, page: int, access: int) -> Result:
        """One lookup from its offer to its answer, table 2 answering in the next cycle."""
        offers: list[Lookup | None] = [None, None]
        offers[port] = Lookup(page, access)
        word = None
        for _ in range(100):
            asked = offers[INSTR], offers[DATA]
            out = self.model.step(Inputs(lookups=asked, word=word, at_once=(True, True)))
            word = None if out.request is None else self.table[out.request]
            last = out.last[port]
            if out.ready[port] and last is not None:
                self.kind = "at once"
                return Result(0, last)
            if out.ready[port]:
                offers[port] = None
            result = out.results[port]
            if result is not None:
                self.kind = "hit" if out.hits[port] else "miss"
                return result
        raise AssertionError("the model does not answer")

    def carry_out(self, command: Command) -> tuple[int | None, int]:
        """The value that the program must tell (None: any) and why it was refused."""
        operation, a, b, _ = command
        self.kind = ""
        if operation in ACCESS:
            port, access = ACCESS[operation]
            result = self.lookup(port, a, access)
            if result.cause or result.frame is None:
                return None, result.cause
            if operation == STORE:
                self.stored[result.frame] = b
                return None, 0
            return (MARK + result.frame if operation == LOAD else result.frame), 0
        for _ in range(3):  # Counters lag by a cycle or two.
            self.model.step(Inputs())
        if operation == TABLE:
            self.table[a] = b
        elif operation == TABLE0:
            self.table0[a] = b
        elif operation == WRITE_UNIT:
            self.step(Inputs(write=(a, b)))
            self.step(Inputs())
        elif operation == READ_UNIT:
            self.model.step(Inputs(read=a))
            return self.model.step(Inputs()).read, 0
        elif operation == FRAME:
            return self.stored[a], 0
        return b, 0


def check(
    folder: Path,
    options: Options,
    model: composable.Composable | tlb.Tlb,
    commands: list[Command],
    *words: object,
) -> tuple[Simulation, dict[str, set[int]]]:
    """Run commands on the tile and hold them against the model; cycles of loads by their kind."""
    done = run(options, "--program", compiled(folder, *PROGRAM), *words, commands=commands)
    assert done.code == 0, done.console + done.messages
    records = [record for record in done.records() if record.channel == 0]
    assert len(records) == len(commands)
    oracle, seen = Oracle(model), defaultdict(set)
    cycles: dict[str, set[int]] = defaultdict(set)
    for command, record in zip(commands, records, strict=True):
        value, cause = oracle.carry_out(command)
        where = f"command {record.tag} {command}, TAU_TEST_SEED={SEED}"
        assert record.sent == cause, f"{where}: refused for {record.sent}, not {cause}"
        assert value is None or record.value == value, f"{where}: {record.value:#x}, not {value}"
        seen[command[0]].add(cause)
        if command[0] == LOAD and cause == 0:
            cycles[oracle.kind].add(record[2])
    for operation in ACCESS:
        assert seen[operation] == {0, 1, 2}, (operation, seen[operation])
    return done, cycles


def some_access(chance: random.Random, pages: list[int]) -> Command:
    """A load, a store or a call, mostly of a page that has been used before."""
    operation = chance.choice((LOAD, LOAD, LOAD, STORE, STORE, CALL))
    page = chance.choice(pages) if chance.randrange(20) else chance.randrange(1, PAGES)
    return operation, page, chance.getrandbits(32), 0


def dump() -> Iterator[Command]:
    """What stores left in each frame."""
    return ((FRAME, frame, 0, 0) for frame in range(1 << FRAME_BITS))


def composable_commands(seed: int, count: int) -> list[Command]:
    """Tables with pages of every size that fits and with doubtful ones, changed and loaded again
    all the time; writes of registers that are none. Entries do not overlap: which of two counts
    may depend on what waits for a frame."""
    chance = random.Random(seed)
    pages = chance.sample(range(1, PAGES), 12)
    commands: list[Command] = []
    table: dict[int, composable.Entry] = {}

    def write(place: int, words: tuple[int, int]) -> None:
        for offset, word in enumerate(words):
            commands.append((TABLE0, 2 * place + offset, word, 0))

    def entry(place: int) -> None:
        order = chance.choice((0, 0, 1, 2))
        size = 4**order
        page = chance.choice(pages) // size * size
        frame = chance.randrange((1 << FRAME_BITS) // size) * size
        made = composable.Entry(page, order, frame, chance.choice(ANY_RIGHTS))
        for other in [key for key, each in table.items() if each.has(page) or made.has(each.page)]:
            write(other, (0, 0))
            del table[other]
        table[place] = made
        reserved = 1 << 29 + chance.randrange(2) if chance.randrange(12) == 0 else 0
        write(place, (made.words[0] | reserved, made.words[1]))

    def load() -> None:
        commands.append((WRITE_UNIT, composable.LOAD, 0, 0))

    for place in chance.sample(range(composable.TABLE_ENTRIES), 20):
        entry(place)
    load()
    for _ in range(count):
        kind = chance.randrange(100)
        if kind < 6:
            entry(chance.randrange(composable.TABLE_ENTRIES))
            if chance.randrange(3) == 0:
                load()
        elif kind == 6:
            commands.append((WRITE_UNIT, chance.choice((0, 1, 77)), chance.choice((0, 1, 99)), 0))
        elif kind < 10:
            register = chance.choice((composable.DOUBTFUL, composable.REFUSED, composable.SHAPE, 9))
            commands.append((READ_UNIT, register, 0, 0))
        else:
            commands.append(some_access(chance, pages))
    return [*commands, (READ_UNIT, composable.REFUSED, 0, 0), *dump()]


def tlb_commands(seed: int, count: int, shape: tlb.Shape) -> list[Command]:
    """Pages mapped and unmapped, invalidated by page and all, several owners, all counters."""
    chance = random.Random(seed)
    pages = chance.sample(range(1, PAGES), 24)
    commands: list[Command] = []

    def write(register: int, value: int) -> None:
        commands.append((WRITE_UNIT, register, value, 0))

    def change(page: int) -> None:
        frame = chance.randrange(1 << FRAME_BITS)
        owner = chance.choice((1 << tlb.SHARED_SHIFT, 0, 0, 1 << tlb.OWNER_SHIFT))
        word = frame | owner | chance.choice(ANY_RIGHTS) << tlb.RIGHTS_SHIFT
        commands.append((TABLE, page, word if chance.randrange(4) else 0, 0))
        if chance.randrange(8):  # Else the TLB may keep its entries.
            write(tlb.INVALIDATE_PAGE, page)

    def counters() -> None:
        """All of loads and stores. Of the others, the evicted entry and its evictor."""
        owners = 1 << shape.owner_bits
        for structure in range(1 + shape.levels):
            for kind, indices in ((0, 2 * owners), (1, owners * owners)):
                if kind == 0 and structure != DATA:
                    continue
                for index in range(indices):
                    write(tlb.SELECT, structure << 9 | kind << 8 | index)
                    commands.append((READ_UNIT, tlb.COUNTER, 0, 0))

    for number in range(count):
        kind = chance.randrange(100) if number > 40 else 0
        if kind < 16:
            change(chance.choice(pages))
        elif kind == 16:
            write(tlb.INVALIDATE, chance.getrandbits(32))
        elif kind < 20:
            write(tlb.OWNER, chance.randrange((1 << shape.owner_bits) + 1))
        elif kind == 20:
            write(chance.choice((tlb.SEED, tlb.REFUSED, 99)), chance.choice((0, 1 << 16, 77)))
        elif kind == 21:
            register = chance.choice((tlb.OWNER, tlb.REFUSED, tlb.KIND, tlb.LEVEL_1, tlb.LEVEL_2))
            commands.append((READ_UNIT, register, 0, 0))
        elif number == count // 2:
            write(tlb.CLEAR, 0)
        else:
            commands.append(some_access(chance, pages))
    counters()
    return [*commands, *dump()]


def composable_options(entries: int, **more: object) -> Options:
    """A tile with the composable unit."""
    return Options(
        unit="composable",
        page_bits=PAGE_BITS,
        frame_bits=FRAME_BITS,
        unit_parameters=(f"Entries={entries}",),
        **more,
    )


def tlb_options(shape: tlb.Shape, **more: object) -> Options:
    """A tile with that TLB."""
    values = {
        "Sets": shape.sets,
        "Ways": shape.ways,
        "Levels": shape.levels,
        "Sets2": shape.sets2,
        "Ways2": shape.ways2,
        "XorIndex": shape.index,
        "Replacement": shape.replacement,
        "OwnerBits": shape.owner_bits,
    }
    return Options(
        unit="tlb",
        page_bits=PAGE_BITS,
        frame_bits=FRAME_BITS,
        unit_parameters=tuple(f"{name}={value}" for name, value in values.items()),
        **more,
    )


def composable_runs(folder: Path, entries: int, count: int, **more: object) -> None:
    """The same commands with and without stalls."""
    commands = composable_commands(int(SEED) + entries, count)
    options = composable_options(entries, **more)
    for stall in (0, 90):
        model = composable.Composable(PAGE_BITS, FRAME_BITS, entries)
        words = ("--stall", stall, "--stall-seed", SEED)
        done, cycles = check(folder, options, model, commands, *words)
        # The only place of a TLB of one entry is the last one.
        assert cycles.keys() == {"at once", "hit", "miss"} - ({"hit"} if entries == 1 else set())
        if stall == 0:
            (at_once,) = cycles["at once"]
            assert cycles["miss"] == {at_once + composable.MISS_CYCLES}
            assert entries == 1 or cycles["hit"] == {at_once + 1}
        assert done.tile["misses_data"] > 20 and done.tile["hits_data"] > 20


def tlb_runs(folder: Path, shape: tlb.Shape, count: int, **more: object) -> None:
    """The same commands with and without stalls."""
    commands = tlb_commands(int(SEED) + shape.replacement, count, shape)
    options = tlb_options(shape, **more)
    latency = options.latencies[2]
    for stall in (0, 90):
        words = ("--stall", stall, "--stall-seed", SEED, "--fill", 0)
        _, cycles = check(folder, options, tlb.Tlb(shape), commands, *words)
        assert cycles.keys() == {"hit", "miss"}
        if stall == 0:
            (hit,) = cycles["hit"]
            more_cycles = {2, 2 + latency} if shape.levels == 2 else {latency}
            assert cycles["miss"] == {hit + each for each in more_cycles}


def test_composable(tmp_path: Path) -> None:
    """Four entries."""
    composable_runs(tmp_path, 4, 600)


def test_the_same_page_costs_nothing(tmp_path: Path) -> None:
    """A loop in the window takes the cycles it takes in the banks, in one page and in two."""
    program = compiled(tmp_path, *AT_ONCE)
    done = run(composable_options(4), "--program", program)
    assert done.code == 0, done.console + done.messages
    banks, one_page, two_pages, copy_in_banks, copy = (
        int(line.split()[-1]) for line in done.console.splitlines()
    )
    assert banks == one_page == two_pages
    assert copy == copy_in_banks


def test_tlb(tmp_path: Path) -> None:
    """Two levels of LRU."""
    shape = tlb.Shape(PAGE_BITS, FRAME_BITS, 4, 2, 2, 4, 4)
    tlb_runs(tmp_path, shape, 900)


class ForgetsHalf(composable.Composable):
    """A load that leaves TLB and lines of loads and stores alone."""

    def forget(self) -> None:
        """As the model's, but for that."""
        kept = (self.tlbs[DATA], self.lines[DATA]) if hasattr(self, "lines") else None
        super().forget()
        if kept is not None:
            self.tlbs[DATA], self.lines[DATA] = kept


def test_a_wrong_model_is_noticed(tmp_path: Path) -> None:
    """The commands of test_composable tell it from the right one."""
    commands = composable_commands(int(SEED) + 4, 600)
    options = composable_options(4)
    with pytest.raises(AssertionError, match="refused for|not"):
        check(tmp_path, options, ForgetsHalf(PAGE_BITS, FRAME_BITS, 4), commands)


@pytest.mark.slow
@pytest.mark.parametrize("entries", [1, 2, 8])
def test_composable_of_each_size(tmp_path: Path, entries: int) -> None:
    """Every other number of entries, more commands."""
    composable_runs(tmp_path, entries, 4000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape, latency",
    [
        (tlb.Shape(PAGE_BITS, FRAME_BITS, 4, 4, index=tlb.XOR, replacement=tlb.PLRU), 1),
        (tlb.Shape(PAGE_BITS, FRAME_BITS, 2, 4, 2, 8, 4, tlb.XOR, tlb.RANDOM, 3), 2),
        (tlb.Shape(PAGE_BITS, FRAME_BITS, 8, 1, owner_bits=1), 5),
        (tlb.Shape(PAGE_BITS, FRAME_BITS, 1, 8, 2, 16, 2, replacement=tlb.PLRU), 3),
    ],
    ids=str,
)
def test_tlb_of_each_kind(tmp_path: Path, shape: tlb.Shape, latency: int) -> None:
    """Index functions, replacements, shapes, slower tables, more commands."""
    tlb_runs(tmp_path, shape, 4000, latencies=(1, 1, latency))
