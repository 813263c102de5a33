"""hw/composable against model/composable.py, every output of every cycle, under cocotb.

Method: random lookups on both ports, with idle cycles and lookups that go away, while software
loads one table after another: pages of every size, entries that overlap, doubtful ones. Examples by
hand have the cycles of hit, miss and load at every place and with any number of entries, every
order, all rights, and every wrong bit of an entry. They also show that the past of another
application leaves nothing behind.
"""

import os
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import cocotb
import pytest

from hw.socket.tb.lockstep import lockstep
from model import composable
from model.composable import LOAD_CYCLES, MISS_CYCLES, TABLE_ENTRIES, TABLE_WORDS, Entry
from model.mmu_cycle import DATA, EXECUTE, INSTR, READ, WRITE, Inputs, Lookup, Outputs
from testing.cocotb_run import run, unit, unit_parameters

CYCLES = 12_000
ENTRIES = (1, 2, 4, 8)
LARGE, SMALL = (18, 18), (12, 9)  # bits of page and frame numbers
TABLES = 8
AT_ONCE = (True, True)
ALL = READ | WRITE | EXECUTE


def new_model() -> composable.Composable:
    """Return the simulated unit's model."""
    values = unit_parameters()
    return composable.Composable(values["PageBits"], values["FrameBits"], values["Entries"])


def reader(memory: Sequence[int]) -> Callable[[int], tuple[int, int]]:
    """What tables 0 and 3 answer from the words of table memory 0."""
    return lambda word: (memory[word], memory[word + 1])


def table_of(entries: Iterable[Entry | None]) -> list[int]:
    """The words of a table, filled up with empty entries."""
    words = [word for entry in entries for word in (entry.words if entry else (0, 0))]
    return words + [0] * (TABLE_WORDS - len(words))


def some_entry(chance: random.Random, pages: list[int], page_bits: int, frame_bits: int) -> Entry:
    """An entry that has one of `pages`, as large as it can be in half of all cases."""
    page = chance.choice(pages)
    orders = [
        order
        for order in range(composable.ORDERS)
        if page >= 4**order <= 1 << frame_bits and 4**order < 1 << page_bits
    ]
    order = chance.choice(orders)
    size = 4**order
    frame = chance.randrange((1 << frame_bits) // size) * size
    return Entry(page // size * size, order, frame, chance.randrange(8))


def some_table(chance: random.Random, pages: list[int], page_bits: int, frame_bits: int):
    """A table of any number of entries, now and then a doubtful one or a single wrong bit."""
    words: list[int] = []
    full = chance.random()
    for _ in range(TABLE_ENTRIES):
        entry = list(some_entry(chance, pages, page_bits, frame_bits).words)
        if chance.random() >= full:
            entry[0] = chance.getrandbits(31)
        elif chance.randrange(10) == 0:
            entry[chance.randrange(2)] ^= 1 << chance.randrange(32)
        words += entry
    return words


class Traffic:
    """Random inputs. `loads`: of 1000 cycles; few `pages`, so that they hit."""

    def __init__(self, seed: int, loads: int, pages: int, page_bits: int, frame_bits: int) -> None:
        self.random, self.loads = random.Random(seed), loads
        first = self.random.randrange(1, (1 << page_bits) - 64)
        self.last_page = (1 << page_bits) - 1
        # Half of them are neighbors, which a large page has together.
        self.pages = [self.random.randrange(1, 1 << page_bits) for _ in range(pages)]
        self.pages += [first + self.random.randrange(64) for _ in range(pages)]
        sizes = (self.pages, page_bits, frame_bits)
        self.memory = [word for _ in range(TABLES) for word in some_table(self.random, *sizes)]
        self.held: list[Lookup | None] = [None, None]
        self.seen: set[int | str] = set()

    def lookup(self, port: int, before: Outputs | None) -> Lookup | None:
        """A new lookup, none, or the one that was not taken."""
        chance = self.random
        if before is not None and not before.ready[port] and chance.randrange(8):
            return self.held[port]
        held = self.held[port]
        page = chance.choice(self.pages)
        if held is not None and chance.randrange(3):
            page = min(max(held.page + chance.choice((-1, 0, 0, 0, 1)), 1), self.last_page)
        access = EXECUTE if port == INSTR else chance.choice((READ, WRITE))
        self.held[port] = None if chance.randrange(4) == 0 else Lookup(page, access)
        return self.held[port]

    def __call__(self, before: Outputs | None, word: int | None) -> Inputs:
        """The inputs of a cycle; notes kinds of answers."""
        chance = self.random
        if before is not None:
            self.seen |= {result.cause for result in before.results if result is not None}
            self.seen |= {"hit"} if any(before.hits) else set()
            self.seen |= {"miss"} if any(before.misses) else set()
            self.seen |= {"at once"} if any(each is not None for each in before.last) else set()
        lookups = (self.lookup(INSTR, before), self.lookup(DATA, before))
        at_once = (chance.randrange(8) > 0, chance.randrange(8) > 0)
        write = read = None
        if chance.randrange(1000) < self.loads:
            write = (composable.LOAD, chance.randrange(TABLES))
            if chance.randrange(8) == 0:
                beyond = 2 * (self.last_page + 1) // TABLE_WORDS  # the first that does not exist
                number = chance.choice((beyond, 2 * beyond - 1, chance.getrandbits(32)))
                write = (chance.choice((0, 0, 1, 2, 128, 255)), number)
        elif chance.randrange(20) == 0:
            read = chance.choice((0, 1, 2, 3, chance.randrange(256)))
        return Inputs(lookups, word, write, read, at_once)


class Script:
    """Inputs of each cycle by hand, and the outputs that came."""

    def __init__(self, steps: list[Inputs]) -> None:
        self.steps, self.seen = list(steps), []

    def __call__(self, before: Outputs | None, word: int | None) -> Inputs:
        """The inputs of a cycle."""
        self.seen.append(before)
        return self.steps.pop(0) if self.steps else Inputs()


def look(page: int, access: int = READ) -> list[Inputs]:
    """A lookup of the data port, and as many idle cycles as a miss takes."""
    asked = Inputs(lookups=(None, Lookup(page, access)), at_once=AT_ONCE)
    return [asked, *[Inputs()] * (MISS_CYCLES + 1)]


LOOK_CYCLES = MISS_CYCLES + 2


def load(number: int, latency: int = 1) -> list[Inputs]:
    """Load a table and wait for its end."""
    start = Inputs(write=(composable.LOAD, number))
    return [start, *[Inputs()] * (LOAD_CYCLES + latency - 1)]


async def played(dut, steps: list[Inputs], memory: Sequence[int], latency: int = 1):
    """Run a script; return the outputs of every cycle."""
    script = Script(steps)
    cycles = len(steps) + MISS_CYCLES + 2
    model = new_model()
    await lockstep(dut, model, script, cycles, latency, pairs=reader(memory))
    return script.seen[1:]


def answers(steps: list[Inputs], seen: list[Outputs]) -> list[tuple[int, int, int | None]]:
    """Cycles, cause and frame of each lookup of the data port."""
    found = []
    for cycle, inputs in enumerate(steps):
        if inputs.lookups[DATA] is None:
            continue
        if inputs.at_once[DATA] and seen[cycle].last[DATA] is not None:
            found.append((0, 0, seen[cycle].last[DATA]))
            continue
        later = next(at for at in range(cycle, len(seen)) if seen[at].results[DATA] is not None)
        result = seen[later].results[DATA]
        found.append((later - cycle, result.cause, result.frame))
    return found


@cocotb.test()
async def random_traffic(dut) -> None:
    """Searches that end, searches that begin again, and tables that come all the time."""
    seed = int(os.environ["TAU_TEST_SEED"])
    values = unit_parameters()
    sizes = values["PageBits"], values["FrameBits"]
    for number, (loads, pages) in enumerate(((4, 12), (1, 3), (40, 9))):
        model = new_model()
        traffic = Traffic(seed + number, loads, pages, *sizes)
        pairs, latency = reader(traffic.memory), 1 + number
        await lockstep(dut, model, traffic, CYCLES // 3, latency, pairs=pairs)
        if number == 0:
            assert model.refused, "no write was refused"
            assert {"hit", "miss", "at once", 0, 1, 2} <= traffic.seen, traffic.seen


@cocotb.test()
async def every_place_costs_the_same(dut) -> None:
    """17 cycles for a miss in each entry, found or not, and whichever row goes by; none for a page
    in its line; 1 for a page in the TLB whose line has another of its block. With two entries, the
    page that is not there has taken the place of the other."""
    entries = unit_parameters()["Entries"]
    memory = table_of(Entry(100 + place, 0, place, ALL) for place in range(TABLE_ENTRIES))
    steps, wanted = load(0), []
    for place in range(TABLE_ENTRIES):
        page = 100 + place
        steps += [*[Inputs()] * (place % 5), *look(page), *look(page), *look(99)]
        wanted += [(MISS_CYCLES, 0, place), (0, 0, place), (MISS_CYCLES, 1, None)]
        if entries > 1 and place > 0:
            steps += [*look(page - 1), *look(page)]
            missed = MISS_CYCLES if entries == 2 else 1
            cycles = (missed, 1) if page % composable.BLOCK_PAGES else (0, 0)
            wanted += [(cycles[0], 0, place - 1), (cycles[1], 0, place)]
    seen = await played(dut, steps, memory)
    assert answers(steps, seen) == wanted


@cocotb.test()
async def every_order(dut) -> None:
    """The first and the last page of a page of each size, and their neighbors outside: each block
    waits once."""
    values = unit_parameters()
    chance = random.Random(int(os.environ["TAU_TEST_SEED"]))
    entries, block = [], composable.BLOCK_PAGES
    for order in range(composable.ORDERS):
        size = 4**order
        pages, frames = ((1 << values[name]) // size for name in ("PageBits", "FrameBits"))
        if pages >= 4 and frames >= 1:
            place = chance.randrange(1, pages - 1)
            entries.append(Entry(place * size, order, chance.randrange(frames) * size, ALL))
    assert len(entries) == (composable.ORDERS if values["PageBits"] == 18 else 5)
    memory, steps, wanted = [], [], []
    outside = (MISS_CYCLES, 1, None)
    for number, entry in enumerate(entries):
        memory += table_of([None] * chance.randrange(TABLE_ENTRIES) + [entry])
        end, some = entry.pages - 1, chance.randrange(entry.pages)
        steps += load(number)
        for offset in (-1, 0, some, end, end, end + 1):
            steps += look(entry.page + offset)
        first, second = int(some >= block), int(end // block > some // block)
        wanted += [outside, (MISS_CYCLES, 0, entry.frame), (first, 0, entry.frame + some)]
        wanted += [(second, 0, entry.frame + end), (0, 0, entry.frame + end), outside]
    assert answers(steps, await played(dut, steps, memory)) == wanted


@cocotb.test()
async def all_rights(dut) -> None:
    """Each combination of rights and access: missed, in the TLB, and in its line."""
    table = [Entry(64 + rights, 0, 64 - rights, rights) for rights in range(8)]
    table.append(Entry(200, 0, 5, ALL))
    steps, wanted = load(0), []
    one = unit_parameters()["Entries"] == 1
    for rights in range(8):
        for access in range(8):
            steps += [*load(0), *look(64 + rights, access), *look(64 + rights, access)]
            cause, frame = (2, None) if access & ~rights else (0, 64 - rights)
            wanted += [(MISS_CYCLES, cause, frame), (int(cause != 0), cause, frame)]
            steps += [*look(200, access), *look(64 + rights, access)]
            denied = MISS_CYCLES if one else 1
            wanted += [(MISS_CYCLES, 0, 5), (denied if cause else 0, cause, frame)]
    seen = await played(dut, steps, table_of(table))
    assert answers(steps, seen) == wanted


def sharing(number: int) -> int:
    """The first page of the block of that number, 0 to 15, of those that share a data line."""
    lines = composable.LINES[DATA]
    return composable.BLOCK_PAGES * (lines * number + (5 ^ number % 4 * 16))


@cocotb.test()
async def each_block_has_a_line(dut) -> None:
    """A program that uses as many blocks in turn as there are lines waits for each once. Two that
    share a line, or two of the smallest pages in one block, wait at each change. A load of the
    table forgets all lines. With one entry, each of these changes is a miss."""
    change = MISS_CYCLES if unit_parameters()["Entries"] == 1 else 1
    lines, block = composable.LINES[DATA], composable.BLOCK_PAGES
    large, first, second = lines * block, sharing(8), sharing(9)
    assert composable.Entry(large, 4, 0, ALL).pages == lines * block
    table = [Entry(large, 4, 0, ALL), Entry(first, 1, 256, ALL)]
    table += [Entry(second, 0, 300, ALL), Entry(second + 1, 0, 307, ALL)]
    steps, wanted = load(0), []
    for number in range(2):
        for place in range(0, lines * block, block):
            steps += look(large + place)
            wanted.append((1 - number if place else MISS_CYCLES * (1 - number), 0, place))
    for page, cycles, frame in (
        (first, MISS_CYCLES, 256),
        (second, MISS_CYCLES, 300),
        (first + 1, change, 257),
        (second, change, 300),
        (second + 1, MISS_CYCLES, 307),
        (second, change, 300),
        (second + 1, change, 307),
        (second + 1, 0, 307),
    ):
        steps += look(page)
        wanted.append((cycles, 0, frame))
    steps += [*load(0), *look(large), *look(large)]
    wanted += [(MISS_CYCLES, 0, 0), (0, 0, 0)]
    assert answers(steps, await played(dut, steps, table_of(table))) == wanted


@cocotb.test()
async def a_search_takes_a_place(dut) -> None:
    """Also one that finds nothing: its place is emptied, and the next search takes it. All pages
    have the same line, which answers the page looked up last."""
    entries = unit_parameters()["Entries"]
    table = [Entry(sharing(place), 0, place, ALL) for place in range(entries)]
    steps, wanted = load(0), []
    for place in range(entries):
        steps += look(sharing(place))
        wanted.append((MISS_CYCLES, 0, place))
    for page in (5, 6):
        steps += look(page)
        wanted.append((MISS_CYCLES, 1, None))
    for place in range(1, entries):
        steps += look(sharing(place))
        wanted.append((0 if entries == 2 else 1, 0, place))
    steps += look(sharing(0))
    wanted.append((0 if entries == 1 else MISS_CYCLES, 0, 0))
    assert answers(steps, await played(dut, steps, table_of(table))) == wanted


@cocotb.test()
async def a_load_takes_the_same_time(dut) -> None:
    """With any number of entries, from the write to the first lookup that is taken."""
    for latency in (1, 3):
        memory, steps = [], []
        for count in range(TABLES):
            full = count * TABLE_ENTRIES // (TABLES - 1)
            entries = [Entry(1 + place, 0, place, ALL) for place in range(full)]
            memory += table_of(entries)
            asked = Inputs(lookups=(None, Lookup(1, READ)), at_once=AT_ONCE)
            steps += [*load(count, latency)[:1], *[asked] * (LOAD_CYCLES + latency)]
            steps += [Inputs()] * LOOK_CYCLES
        seen = await played(dut, steps, memory, latency)
        starts = [cycle for cycle, inputs in enumerate(steps) if inputs.write is not None]
        for start in starts:
            taken = next(at for at in range(start + 1, len(seen)) if seen[at].ready[DATA])
            assert taken - start == LOAD_CYCLES + latency <= 80


@cocotb.test()
async def each_wrong_bit(dut) -> None:
    """An entry of each order with each of its 64 bits flipped: an invalid one stays empty."""
    values = unit_parameters()
    memory, steps, orders = [], [], 0
    for order in range(composable.ORDERS):
        size = 4**order
        if 2 * size >= 1 << values["PageBits"]:
            continue
        pair = Entry(size, order, size if 2 * size <= 1 << values["FrameBits"] else 0, ALL).words
        for bit in range(64):
            turned = 1 << bit
            memory += [pair[0] ^ turned % (1 << 32), pair[1] ^ turned >> 32]
        steps += [*load(orders), Inputs(read=composable.DOUBTFUL), Inputs()]
        for page in (size - 1, size, 2 * size - 1, 2 * size):
            steps += look(page)
        orders += 1
    assert orders >= 4
    seen = await played(dut, steps, memory)
    counts = [outputs.read for outputs in seen if outputs.read]
    # Reserved: bits 18 to 25, 29 and 30 of the page, 18 to 26, 30 and 31 of the frame. Of a larger
    # page, 2 bits an order of both are doubtful besides; a page number becomes 0 once.
    if values["PageBits"] == values["FrameBits"] == 18:
        assert counts == [21 + 1 + misaligned(order) for order in range(orders)], counts


def misaligned(order: int) -> int:
    """How many bits of a page of 4^order, turned alone, leave a number that is not a multiple."""
    larger = sum(1 for bit in range(3) if order < order ^ (1 << bit))
    return 4 * order + larger


@cocotb.test()
async def of_two_entries_for_a_page_the_lower_one_counts(dut) -> None:
    """In one row or in two, whichever goes by first, and one inside the other."""
    pairs = ((0, 1), (8, 11), (62, 63), (3, 40), (2, 61))
    table: list[Entry | None] = [None] * TABLE_ENTRIES
    for number, (low, high) in enumerate(pairs):
        rights = (READ, WRITE) if number % 2 == 0 else (WRITE, READ)
        table[low] = Entry(200 + 4 * number, number % 2, 4 * low, rights[0])
        table[high] = Entry(200 + 4 * number, 1 - number % 2, 4 * high, rights[1])
    steps = load(0)
    for number in range(len(pairs)):
        steps += [*[Inputs()] * (3 * number), *look(200 + 4 * number)]
    found = answers(steps, await played(dut, steps, table_of(table)))
    assert [cause for _, cause, _ in found] == [2 * (number % 2) for number in range(len(pairs))]


@cocotb.test()
async def the_past_leaves_nothing(dut) -> None:
    """After a load the same accesses take the same cycles whatever came before."""
    entries = unit_parameters()["Entries"]
    chance = random.Random(int(os.environ["TAU_TEST_SEED"]))
    memory = table_of(Entry(10 + place, 0, place, ALL) for place in range(16))
    memory += table_of(Entry(50 + place, 0, place, ALL) for place in range(16))
    runs = []
    for past in range(4):
        steps = load(0)
        for _ in range(past * 5):  # another application
            steps += [*look(chance.randrange(8, 28)), *[Inputs()] * chance.randrange(20)]
        steps += load(1)
        begin = past * 5
        for step in range(3 * entries):
            steps += look(50 + (step * step + step // 3) % (entries + 2))
        runs.append(answers(steps, await played(dut, steps, memory))[begin:])
    assert all(each == runs[0] for each in runs) and len(runs[0]) == 3 * entries


@pytest.mark.slow
def test_sizes_are_their_model(tmp_path: Path) -> None:
    """1, 2, 4 and 8 entries; in `make check` a random one of them and 4."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.randrange(1 << 32)))
    run_size(tmp_path / "large", LARGE, 4, seed)
    run_size(tmp_path / "small", SMALL, ENTRIES[seed % 4], seed)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [LARGE, SMALL])
@pytest.mark.parametrize("entries", ENTRIES)
def test_size(tmp_path: Path, bits: tuple[int, int], entries: int) -> None:
    """Each size with a seed of its own."""
    run_size(tmp_path, bits, entries, random.randrange(1 << 32))


def run_size(folder: Path, bits: tuple[int, int], entries: int, seed: int) -> None:
    """Build and run all cocotb tests on one size."""
    print(f"bits {bits}, entries {entries}, TAU_TEST_SEED={seed}")
    parameters = {"PageBits": bits[0], "FrameBits": bits[1], "Entries": entries}
    design = unit("composable", **parameters)
    run(design, "hw.composable.tb.test_composable", folder, TAU_TEST_SEED=str(seed))
