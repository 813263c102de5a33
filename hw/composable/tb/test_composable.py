"""hw/composable against model/composable.py, every output of every cycle, under cocotb.

Method: random lookups on both ports, with idle cycles and lookups that go away, over a page table
that software writes all the while: entries twice for a page, pages and frames that do not exist,
halves of entries, invalidations in every cycle of a search. Then by hand: the cycles of hit and
miss wherever the entry is, and what the past of another application leaves behind (nothing).
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import cocotb
import pytest

from hw.socket.tb.lockstep import lockstep
from model import composable
from model.mmu_cycle import DATA, EXECUTE, INSTR, READ, WRITE, Inputs, Lookup, Outputs
from testing.cocotb_run import run, unit, unit_parameters

PAGE_BITS, FRAME_BITS = 10, 9
CYCLES = 12_000
ENTRIES = (1, 2, 4, 8)


def new_model() -> composable.Composable:
    """Return the model of what is simulated."""
    parameters = unit_parameters()
    return composable.Composable(PAGE_BITS, FRAME_BITS, parameters["Entries"])


class Traffic:
    """Random inputs. `software`: writes and reads in 1000 cycles; few `pages`, so that they hit."""

    def __init__(self, seed: int, software: int, pages: int) -> None:
        self.random, self.software = random.Random(seed), software
        self.pages = [self.random.randrange(1, 1 << PAGE_BITS) for _ in range(pages)]
        self.held: list[Lookup | None] = [None, None]
        self.seen: set[int | str] = set()
        self.slot: int | None = None  # its frame is written, its page comes next

    def lookup(self, port: int, before: Outputs | None) -> Lookup | None:
        """A new lookup, none, or the one that was not taken."""
        chance = self.random
        if before is not None and not before.ready[port] and chance.randrange(8):
            return self.held[port]
        page = chance.choice(self.pages) if chance.randrange(50) else chance.randrange(1024)
        access = EXECUTE if port == INSTR else chance.choice((READ, WRITE))
        self.held[port] = None if chance.randrange(4) == 0 else Lookup(page, access)
        return self.held[port]

    def write(self) -> tuple[int, int]:
        """A write, mostly of an entry that makes sense."""
        chance = self.random
        kind = chance.randrange(20)
        if kind == 0:
            return chance.randrange(256), chance.getrandbits(32)
        if kind == 1:
            return composable.CLEAR, 0
        if kind < 5:
            return composable.INVALIDATE, chance.getrandbits(32)
        slot = composable.TABLE + 2 * chance.randrange(composable.TABLE_ENTRIES)
        if self.slot is not None and kind < 19:
            slot, self.slot = self.slot, None
            return slot, chance.choice([*self.pages, 0, 1 << PAGE_BITS]) | composable.VALID
        if kind < 18:
            self.slot = slot
            frame = chance.randrange((1 << FRAME_BITS) + 20)
            return slot + 1, frame | chance.randrange(9) << composable.RIGHTS_SHIFT
        return slot, chance.choice(self.pages) | chance.choice((0, composable.VALID))

    def __call__(self, before: Outputs | None, word: int | None) -> Inputs:
        """The inputs of a cycle; notes kinds of answers."""
        if before is not None:
            self.seen |= {result.cause for result in before.results if result is not None}
            self.seen |= {"hit"} if any(before.hits) else set()
            self.seen |= {"miss"} if any(before.misses) else set()
        lookups = (self.lookup(INSTR, before), self.lookup(DATA, before))
        write = read = None
        if self.random.randrange(1000) < self.software:
            write = self.write()
        elif self.random.randrange(1000) < self.software:
            read = self.random.choice((2, 3, 4, 5, 5, self.random.randrange(256)))
        return Inputs(lookups, word, write, read)


class Script:
    """Inputs of each cycle by hand, and the outputs that came."""

    def __init__(self, steps: list[Inputs]) -> None:
        self.steps, self.seen = steps, []

    def __call__(self, before: Outputs | None, word: int | None) -> Inputs:
        """The inputs of a cycle."""
        self.seen.append(before)
        return self.steps.pop(0) if self.steps else Inputs()


def entry_writes(slot: int, page: int, frame: int, rights: int = 7) -> list[Inputs]:
    """Write an entry: its frame, then its page."""
    register = composable.TABLE + 2 * slot
    return [
        Inputs(write=(register + 1, frame | rights << composable.RIGHTS_SHIFT)),
        Inputs(write=(register, page | composable.VALID)),
    ]


async def answers(dut, steps: list[Inputs]) -> list[tuple[int, int]]:
    """Run a script; return when data lookups were answered, and with which cause."""
    script = Script(steps)
    await lockstep(dut, new_model(), script, len(steps) + 40)
    results = [(i - 1, o.results[DATA]) for i, o in enumerate(script.seen) if o]
    return [(cycle, result.cause) for cycle, result in results if result is not None]


@cocotb.test()
async def random_traffic(dut) -> None:
    """Searches that end, searches that begin again, and a table that is written all the time."""
    seed = int(os.environ["TAU_TEST_SEED"])
    for number, (software, pages) in enumerate(((30, 12), (6, 5), (300, 9))):
        model = new_model()
        traffic = Traffic(seed + number, software, pages)
        await lockstep(dut, model, traffic, CYCLES // 3)
        if number == 0:
            assert model.refused and {"hit", "miss", 0, 1, 2} <= traffic.seen, traffic.seen


@cocotb.test()
async def every_place_costs_the_same(dut) -> None:
    """33 cycles for a miss, in the first and in the last entry, found or not; 1 for a hit."""
    steps = [each for slot in range(64) for each in entry_writes(slot, 100 + slot, slot)]
    idle, taken = [Inputs()] * 40, []
    for page in (100, 163, 131, 99, 100):
        steps += [Inputs(write=(composable.INVALIDATE, 0)), *idle[:3]]
        for _ in range(2):
            taken.append(len(steps))
            steps += [Inputs(lookups=(None, Lookup(page, READ))), *idle]
    came = await answers(dut, steps)
    cycles = [at - start for start, (at, _) in zip(taken, came, strict=True)]
    assert cycles == [33, 1, 33, 1, 33, 1, 33, 33, 33, 1]
    assert [cause for _, cause in came] == [0, 0, 0, 0, 0, 0, 1, 1, 0, 0]


@cocotb.test()
async def of_two_entries_for_a_page_the_lower_one_counts(dut) -> None:
    """In one row or in two, whichever goes by first: only the right one may be read or not."""
    pairs = ((0, 1), (10, 11), (62, 63), (3, 40), (2, 61))
    steps = []
    for number, (low, high) in enumerate(pairs):
        rights = (READ, WRITE) if number % 2 == 0 else (WRITE, READ)
        for slot, allowed in zip((low, high), rights, strict=True):
            steps += entry_writes(slot, 200 + number, slot, allowed)
    for number in range(len(pairs)):
        steps += [Inputs(lookups=(None, Lookup(200 + number, READ)))] + [Inputs()] * 40
    came = await answers(dut, steps)
    assert [cause for _, cause in came] == [2 * (number % 2) for number in range(len(pairs))]


@cocotb.test()
async def the_past_leaves_nothing(dut) -> None:
    """After table and invalidation, the same accesses take the same cycles whatever came before."""
    entries = unit_parameters()["Entries"]
    chance = random.Random(int(os.environ["TAU_TEST_SEED"]))
    runs = []
    for past in range(4):
        steps = []
        for slot in range(16):
            steps += entry_writes(slot, 10 + slot, slot)
        for _ in range(past * 5):  # another application
            steps += [Inputs(lookups=(None, Lookup(chance.randrange(8, 28), READ)))]
            steps += [Inputs()] * chance.randrange(33, 40)
        for slot in range(16):
            steps += entry_writes(slot, 50 + slot, slot)
        steps += [Inputs(write=(composable.INVALIDATE, 0))]
        begin = len(steps)
        for step in range(3 * entries):
            page = 50 + (step * step + step // 3) % (entries + 2)
            steps += [Inputs(lookups=(None, Lookup(page, READ)))] + [Inputs()] * 34
        runs.append([(at - begin, why) for at, why in await answers(dut, steps) if at >= begin])
    assert all(run == runs[0] for run in runs) and len(runs[0]) == 3 * entries


def test_sizes_are_their_model(tmp_path: Path) -> None:
    """1, 2, 4 and 8 entries; in `make check` a random one of them and 4."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.randrange(1 << 32)))
    for entries in {4, ENTRIES[seed % 4]}:
        run_size(tmp_path / str(entries), entries, seed)


@pytest.mark.slow
@pytest.mark.parametrize("entries", ENTRIES)
def test_size(tmp_path: Path, entries: int) -> None:
    """Each size with a seed of its own."""
    run_size(tmp_path, entries, random.randrange(1 << 32))


def run_size(folder: Path, entries: int, seed: int) -> None:
    """Build and run all cocotb tests on one size."""
    print(f"entries {entries}, TAU_TEST_SEED={seed}")
    parameters = {"PageBits": PAGE_BITS, "FrameBits": FRAME_BITS, "Entries": entries}
    design = unit("composable", **parameters)
    run(design, "hw.composable.tb.test_composable", folder, TAU_TEST_SEED=str(seed))
