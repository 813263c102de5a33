"""hw/tlb against model/tlb.py, every output of every cycle, under cocotb.

Method: random lookups of few pages over sets that overflow, with changes of owner and invalidations
in every cycle of a miss. The page table changes meanwhile, and its entries are any 32 bits. Every
counter is read during the run, and all at the end. On the model alone: one owner's answers are the
same to the cycle, whatever another one tries. A few shapes are tested, so that each index
function, replacement and number of levels occurs. The slow test has all shapes.
"""

import os
import random
from pathlib import Path

import cocotb
import pytest

from hw.socket.tb.lockstep import lockstep
from model import tlb
from model.mmu_cycle import DATA, EXECUTE, INSTR, READ, WRITE, Inputs, Lookup, Outputs
from testing.cocotb_run import run, unit, unit_parameters

PAGE_BITS, FRAME_BITS = 8, 7
CYCLES = int(os.environ.get("TAU_TEST_CYCLES", "4000"))
SEEDS = 3
OWNED = (1 << tlb.SHARED_SHIFT, *(owner << tlb.OWNER_SHIFT for owner in (0, 0, 1, 3)))
SLOTS, SLOT_CYCLES, LOOKUP_CYCLES = 60, 50, 40  # a slot's last lookups end within it
ALL_RIGHTS = 7 << tlb.RIGHTS_SHIFT
NAMES = ("Sets", "Ways", "Levels", "Sets2", "Ways2", "XorIndex", "Replacement", "OwnerBits")
QUICK = [
    (4, 2, 1, 8, 4, tlb.MODULO, tlb.LRU, 2),
    (4, 4, 2, 8, 4, tlb.XOR, tlb.PLRU, 2),
    (2, 8, 1, 8, 4, tlb.MODULO, tlb.RANDOM, 2),
]
SHAPES = [
    (4, 4, 1, 8, 4, tlb.MODULO, tlb.PLRU, 1),
    (8, 4, 1, 8, 4, tlb.XOR, tlb.LRU, 4),
    (1, 8, 1, 8, 4, tlb.XOR, tlb.LRU, 3),
    (1, 1, 1, 8, 4, tlb.MODULO, tlb.LRU, 2),
    (16, 1, 2, 4, 2, tlb.MODULO, tlb.RANDOM, 2),
    (2, 4, 2, 4, 8, tlb.MODULO, tlb.LRU, 2),
    (4, 2, 2, 8, 2, tlb.XOR, tlb.RANDOM, 3),
    (1, 2, 2, 1, 8, tlb.MODULO, tlb.PLRU, 4),
    (4, 1, 2, 16, 1, tlb.XOR, tlb.LRU, 1),
]


def new_model() -> tlb.Tlb:
    """Return the simulated unit's model."""
    values = [unit_parameters()[name] for name in NAMES]
    sets, ways, levels, sets2, ways2, index, replacement, owner_bits = values
    return tlb.Tlb(
        tlb.Shape(
            page_bits=PAGE_BITS,
            frame_bits=FRAME_BITS,
            sets=sets,
            ways=ways,
            levels=levels,
            sets2=sets2,
            ways2=ways2,
            index=index,
            replacement=replacement,
            owner_bits=owner_bits,
        )
    )


class Traffic:
    """Random inputs and a random page table. `software`: writes and reads in 1000 cycles."""

    def __init__(self, seed: int, software: int, pages: int) -> None:
        self.random, self.software = random.Random(seed), software
        self.pages = [self.random.randrange(1 << PAGE_BITS) for _ in range(pages)]
        self.words = {page: self.word() for page in range(1 << PAGE_BITS)}
        self.held: list[Lookup | None] = [None, None]

    def word(self) -> int:
        """A word of the table: often a mapping, sometimes none, sometimes anything."""
        kind = self.random.randrange(10)
        if kind < 7:
            return self.random.randrange(1 << FRAME_BITS) | self.random.choice(OWNED) | ALL_RIGHTS
        return 0 if kind == 7 else self.random.getrandbits(32)

    def lookup(self, port: int, before: Outputs | None) -> Lookup | None:
        """A new lookup, none, or the one that was not taken."""
        chance = self.random
        if before is not None and not before.ready[port] and chance.randrange(8):
            return self.held[port]
        page = chance.choice(self.pages) if chance.randrange(30) else chance.randrange(256)
        access = EXECUTE if port == INSTR else chance.choice((READ, WRITE))
        self.held[port] = None if chance.randrange(5) == 0 else Lookup(page, access)
        return self.held[port]

    def write(self) -> tuple[int, int]:
        """A write; half of them say what the page table's software says after a change."""
        chance = self.random
        kind = chance.randrange(12)
        if kind < 5:
            page = chance.choice(self.pages)
            self.words[page] = self.word()
            return tlb.INVALIDATE_PAGE, page
        if kind < 8:
            return tlb.OWNER, chance.randrange(5)
        if kind == 8:
            return tlb.SELECT, chance.choice((chance.randrange(1 << 11), chance.randrange(1 << 4)))
        if kind == 9:
            return tlb.SEED, chance.choice((0, chance.randrange(1 << 16), 1 << 16))
        if kind == 10:
            register = tlb.CLEAR if chance.randrange(4) == 0 else tlb.INVALIDATE
            return register, chance.getrandbits(32)
        return chance.randrange(256), chance.getrandbits(chance.choice((8, 32)))

    def __call__(self, before: Outputs | None, word: int | None) -> Inputs:
        """The inputs of a cycle."""
        lookups = (self.lookup(INSTR, before), self.lookup(DATA, before))
        write = read = None
        if self.random.randrange(1000) < self.software:
            write = self.write()
        elif self.random.randrange(1000) < 4 * self.software:
            read = self.random.choice((*range(11), tlb.COUNTER, tlb.COUNTER))
        return Inputs(lookups, word, write, read)


class ThenCounters:
    """`traffic` for so many cycles, then every counter is selected and read."""

    def __init__(self, traffic: Traffic, cycles: int, model: tlb.Tlb) -> None:
        bits, self.traffic, self.left = model.shape.owner_bits, traffic, cycles
        self.steps = [Inputs(word=0)] * 20  # pending lookups end
        for structure in range(len(model.levels)):
            for evictions, count in ((0, 2 << bits), (1, 1 << 2 * bits)):
                for index in range(count):
                    value = structure << 9 | evictions << 8 | index
                    self.steps += [Inputs(write=(tlb.SELECT, value)), Inputs(read=tlb.COUNTER)]

    def __call__(self, before: Outputs | None, word: int | None) -> Inputs:
        """The inputs of a cycle."""
        if self.left > 0:
            self.left -= 1
            return self.traffic(before, word)
        step = self.steps.pop(0) if self.steps else Inputs()
        return Inputs(step.lookups, word, step.write, step.read)


@cocotb.test()
async def random_traffic(dut) -> None:
    """Quiet and busy software, tables of 1 to 5 cycles; evictions of every kind are seen."""
    seed, is_seen = int(os.environ["TAU_TEST_SEED"]), False
    for number in range(SEEDS):
        model = new_model()
        capacity = model.shape.sets * model.shape.ways
        pages = 2 * capacity + 2 + capacity // 2 * number * model.shape.levels
        pages <<= model.shape.owner_bits  # only an owner's own pages fill the TLB
        traffic = Traffic(seed + number, (4, 60, 250)[number], pages)
        stimulus = ThenCounters(traffic, CYCLES, model)
        cycles = CYCLES + len(stimulus.steps) + 2
        latency = (1, 2, 5)[number]
        await lockstep(dut, model, stimulus, cycles, latency, lambda page: traffic.words[page])
        is_seen |= any(kind == 1 for _, kind, _, _ in model.counts)
    assert is_seen  # a late CLEAR leaves none in one of them


async def cycles_of(dut, latency: int, pages: list[int]) -> list[int]:
    """Look pages up one after the other on the data port; return the cycles of each answer."""
    taken: list[int] = []
    came: list[int] = []
    at = -1

    def stimulus(before: Outputs | None, word: int | None) -> Inputs:
        nonlocal at
        if before is not None and before.results[DATA] is not None:
            came.append(at)
        at += 1
        lookup = None
        if len(taken) == len(came) and len(taken) < len(pages):
            lookup = Lookup(pages[len(taken)], READ)
            taken.append(at)
        return Inputs((None, lookup), word)

    def words(page: int) -> int:
        return page % (1 << FRAME_BITS) | ALL_RIGHTS

    await lockstep(dut, new_model(), stimulus, 20 * len(pages) + 20, latency, words)
    return [answered - start for start, answered in zip(taken, came, strict=True)]


@cocotb.test()
async def stated_cycles(dut) -> None:
    """Hit 1; from the table 1 + latency, with a second level 3 + latency, and 3 if it is there."""
    shape = new_model().shape
    for latency in (1, 4):
        miss = latency + (1 if shape.levels == 1 else 3)
        assert await cycles_of(dut, latency, [9, 9, 9]) == [miss, 1, 1]


@cocotb.test()
async def what_comes_from_the_second_level_keeps_its_owner(dut) -> None:
    """Owner 1 looks twice at more pages than the first level has; then owner 0 tries the last."""
    shape = new_model().shape
    pages = range(1, 2 + shape.sets * shape.ways * 3 // 2)
    steps = [(owner, page) for owner in (1, 1, 0) for page in (pages if owner else pages[::-1])]
    owner, is_waiting = 0, False

    def stimulus(before: Outputs | None, word: int | None) -> Inputs:
        nonlocal owner, is_waiting
        is_waiting = is_waiting and (before is None or before.results[DATA] is None)
        if is_waiting or not steps:
            return Inputs(word=word)
        if steps[0][0] != owner:
            owner = steps[0][0]
            return Inputs(word=word, write=(tlb.OWNER, owner))
        is_waiting = True
        return Inputs((None, Lookup(steps.pop(0)[1], READ)), word)

    def words(page: int) -> int:
        return page % (1 << FRAME_BITS) | ALL_RIGHTS | 1 << tlb.OWNER_SHIFT

    await lockstep(dut, new_model(), stimulus, 20 * len(steps) + 20, 2, words)
    assert not steps


@cocotb.test()
async def colors_keep_apart(dut) -> None:
    """Pages of one color up to the ways never miss after the first time, whatever others do."""
    shape = new_model().shape
    if shape.sets == 1 or shape.index != tlb.MODULO:
        return
    chance = random.Random(int(os.environ["TAU_TEST_SEED"]))
    mine = [shape.sets * i for i in range(1, shape.ways + 1)]
    others = [page for page in range(1 << PAGE_BITS) if page % shape.sets]
    pages = list(mine)
    for _ in range(60):
        pages += [chance.choice(mine), chance.choice(others)]
    cycles = await cycles_of(dut, 2, pages)
    again = cycles[len(mine) :: 2]
    assert set(again) == {1} and set(cycles[len(mine) + 1 :: 2]) != {1}


def run_shape(folder: Path, values: tuple[int, ...], cycles: int) -> None:
    """Build and run all cocotb tests on one shape."""
    parameters = {"PageBits": PAGE_BITS, "FrameBits": FRAME_BITS}
    parameters |= dict(zip(NAMES, values, strict=True))
    seed = os.environ.get("TAU_TEST_SEED", str(random.randrange(1 << 32)))
    print(f"{parameters}, TAU_TEST_SEED={seed}")
    given = {"TAU_TEST_SEED": seed, "TAU_TEST_CYCLES": str(cycles)}
    run(unit("tlb", **parameters), "hw.tlb.tb.test_tlb", folder, **given)


@pytest.mark.parametrize("cycles", [1000, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("values", QUICK)
def test_shape(tmp_path: Path, values: tuple[int, ...], cycles: int) -> None:
    """One and two levels, and each replacement."""
    run_shape(tmp_path, values, cycles)


def answers(shape: tlb.Shape, words: list[int], seed: int, is_wild: bool) -> list[Outputs]:
    """What owner 1 is answered in every other slot. In those between, owner 2 does nothing, or
    looks up anything."""
    model, neighbor, found = tlb.Tlb(shape), random.Random(seed), list[Outputs]()
    own, request = random.Random(seed), None
    for cycle in range(SLOTS * SLOT_CYCLES):
        slot, at = divmod(cycle, SLOT_CYCLES)
        lookups: list[Lookup | None] = [None, None]
        if 0 < at < LOOKUP_CYCLES and (slot % 2 == 0 or is_wild):
            chance = neighbor if slot % 2 else own
            lookups = [
                Lookup(chance.randrange(len(words)), chance.choice(accesses))
                for accesses in ((EXECUTE,), (READ, WRITE))
            ]
        word = None if request is None else words[request]
        write = (tlb.OWNER, 1 + slot % 2) if at == 0 else None
        outputs = model.step(Inputs((lookups[INSTR], lookups[DATA]), word, write))
        request = outputs.request
        found += [outputs] if slot % 2 == 0 else []
    return found


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("replacement", [tlb.LRU, tlb.PLRU])
def test_what_is_refused_leaves_no_trace(replacement: int, levels: int) -> None:
    """Pages of two owners in sets of their own, shared ones that neither has the right to use."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.randrange(1 << 32)))
    print(f"TAU_TEST_SEED={seed}")
    chance, sets = random.Random(seed), 4
    words = [
        chance.randrange(1 << FRAME_BITS)
        | chance.randrange(1, 8) << tlb.RIGHTS_SHIFT
        | (1 + (page % sets) // 2) << tlb.OWNER_SHIFT
        for page in range(16 * sets)
    ]
    for page in chance.sample(range(len(words)), sets):
        words[page] = chance.randrange(1, 1 << FRAME_BITS) | 1 << tlb.SHARED_SHIFT
    shape = tlb.Shape(PAGE_BITS, FRAME_BITS, sets, 4, levels, 8, 4, tlb.MODULO, replacement)
    quiet, wild = (answers(shape, words, seed, is_wild) for is_wild in (False, True))
    causes = {result.cause for outputs in quiet for result in outputs.results if result}
    assert causes == {0, 2}
    assert quiet == wild


@pytest.mark.slow
@pytest.mark.parametrize("values", SHAPES)
def test_more_shapes(tmp_path: Path, values: tuple[int, ...]) -> None:
    """Every index function, replacement, one way, one set, up to sixteen owners."""
    run_shape(tmp_path, values, 4000)
