"""The fast simulator of TLBs: access by access the naive one, and the model of hw/tlb.

Method: the C files are compiled with their asserts and with traps for what C leaves undefined.
"""

import os
import random
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from model import mmu_cycle, tlb
from model.tlb_color import simulator as naive
from tautochrone.declarations import Library
from tautochrone.errors import TauError
from tautochrone.tlb.geometry import (
    CODE, DATA, DIRECTORY, Array, Geometry, Structure, known_geometry
)
from tautochrone.tlb.simulate import POLICIES, Simulator
from testing.modelled import model_geometry

ROOT = Path(__file__).resolve().parents[3]
SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
PAGE, LARGE = 4096, 8 * 4096
GEOMETRIES, ACCESSES, OWNERS = 15, 500, 3
GEOMETRIES_FOR_LONG = 300
STRICT = ["-g", "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-UNDEBUG"]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The simulator with its asserts."""
    library = tmp_path_factory.mktemp("native") / "simulator.so"
    sources = sorted((ROOT / "tool/native/tlb").glob("*.c"))
    command = ["gcc", "-shared", "-fPIC", "-std=c17", "-D_GNU_SOURCE"]
    command += ["-Wall", "-Wextra", "-Werror", *STRICT]
    subprocess.run([*command, f"-I{ROOT}", *sources, "-o", library], check=True, timeout=300)
    return Library(library)


def random_geometry(dice: random.Random) -> Geometry:
    """Up to three arrays, with directory entries, code and pages of two sizes."""
    arrays, structures = [], []
    for number in range(dice.randint(1, 3)):
        bits = dice.randint(0, 3)
        arrays.append(Array(str(number), 1 << bits, dice.randint(1, 9), 1))
        for role, size in ((DATA, PAGE), (DATA, LARGE), (DIRECTORY, LARGE), (CODE, PAGE)):
            if number > 0 and dice.random() < 0.4:
                continue
            rows = [size // PAGE << bit for bit in range(bits)]
            rows = [row | size // PAGE << bits + dice.randint(0, 4) for row in rows]
            constant = dice.randrange(1 << bits)
            structures.append(Structure(role, size, number, tuple(rows), constant))
    dice.shuffle(structures)
    return Geometry("random", PAGE, "user", "", None, tuple(arrays), tuple(structures))


def evictions_of(fast: Simulator) -> Counter[tuple[int, int]]:
    """(by, of): how many, as the model has them."""
    counts = fast.evictions()
    return Counter({(by, of): int(counts[by, of]) for by, of in np.argwhere(counts).tolist()})


@pytest.mark.parametrize(
    "geometries", [GEOMETRIES, pytest.param(GEOMETRIES_FOR_LONG, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("policy", POLICIES)
def test_random_geometries_are_the_models(policy: str, geometries: int, strict: Library) -> None:
    """Walks and evictions by whom after each access."""
    dice = random.Random(f"{SEED} {policy}")
    for turn in range(geometries):
        geometry = random_geometry(dice)
        seed = dice.randint(1, naive.SEED_MAX)
        slow = naive.Simulator(model_geometry(geometry), policy, seed)
        pages = dice.choice([10, 100, 1000])
        with Simulator(geometry, policy, seed, OWNERS, strict) as fast:
            for number in range(ACCESSES):
                size, role = dice.choice([(PAGE, DATA), (LARGE, DATA), (PAGE, CODE)])
                owner, address = dice.randrange(OWNERS), dice.randrange(pages) * PAGE
                slow.access(owner, address, size, role)
                fast.run([owner], [address], size, role)
                context = f"seed {SEED}, geometry {turn}, access {number}: {geometry}"
                assert Counter(dict(enumerate(fast.misses().tolist()))) == slow.misses, context
                assert evictions_of(fast) == slow.evictions, context


SHARED_WORD = 1 << tlb.SHARED_SHIFT | 7 << tlb.RIGHTS_SHIFT  # the simulator knows no owners' rights


class Unit:
    """The model of hw/tlb, which is asked for one translation at a time."""

    def __init__(self, shape: tlb.Shape, seed: int) -> None:
        self.unit = tlb.Tlb(shape)
        self.unit.write(tlb.SEED, seed)

    def access(self, owner: int, page: int, port: int) -> bool:
        """Whether the page table was asked."""
        self.unit.write(tlb.OWNER, owner)
        lookup = mmu_cycle.Lookup(page, mmu_cycle.READ)
        asked = (lookup, None) if port == mmu_cycle.INSTR else (None, lookup)
        outputs = self.unit.step(mmu_cycle.Inputs(lookups=asked))
        is_walk = False
        while outputs.results[port] is None:
            word = SHARED_WORD if outputs.request is not None else None
            outputs = self.unit.step(mmu_cycle.Inputs(word=word))
            is_walk |= outputs.request is not None
        self.unit.step(mmu_cycle.Inputs())  # counts the events
        return is_walk

    def evictions(self) -> Counter[tuple[int, int]]:
        """(by, of): how many, in all arrays."""
        found: Counter[tuple[int, int]] = Counter()
        for (_, is_eviction, by, of), count in self.unit.counts.items():
            if is_eviction:
                found[by, of] += count
        return found


SHAPES = {
    "tile-16x4": tlb.Shape(),
    "tile-16x4-128x4": tlb.Shape(levels=2),
    "tile-16x4-128x4-xor": tlb.Shape(levels=2, index=tlb.XOR),
}
HARDWARE = {"lru": tlb.LRU, "plru": tlb.PLRU, "random": tlb.RANDOM}


@pytest.mark.parametrize("policy", HARDWARE)
@pytest.mark.parametrize("name", SHAPES)
def test_the_tiles_shapes_are_the_tiles(name: str, policy: str, strict: Library) -> None:
    """Walks and evictions by whom after each access to data or code, with hw/tlb's own LFSR."""
    shape = tlb.Shape(**{**vars(SHAPES[name]), "replacement": HARDWARE[policy]})
    dice = random.Random(SEED)
    seed = dice.randint(1, naive.SEED_MAX)
    unit, walks = Unit(shape, seed), Counter[int]()
    ports = ((mmu_cycle.INSTR, CODE), (mmu_cycle.DATA, DATA))
    with Simulator(known_geometry(name), policy, seed, OWNERS, strict) as fast:
        for turn in range(3000):
            owner = turn // 10 % OWNERS
            page = dice.randrange(1 << 18) if dice.random() < 0.2 else dice.randrange(700)
            port, role = dice.choice(ports)
            walks[owner] += unit.access(owner, page, port)
            fast.run([owner], [page * PAGE], role=role)
            assert Counter(dict(enumerate(fast.misses().tolist()))) == walks, turn
            assert evictions_of(fast) == unit.evictions(), turn
    assert all(walks.values()) and unit.evictions().total() > 100


def test_one_call_is_many(strict: Library) -> None:
    """A list of accesses is run in order."""
    dice = np.random.default_rng(SEED)
    owners, addresses = dice.integers(0, OWNERS, 5000), dice.integers(0, 500, 5000) * PAGE
    geometry = known_geometry("skylake")
    with (
        Simulator(geometry, "random", 1, OWNERS, strict) as one,
        Simulator(geometry, "random", 1, OWNERS) as other,
    ):
        one.run(owners, addresses)
        for owner, address in zip(owners, addresses, strict=True):
            other.run([owner], [address])
        assert (one.evictions() == other.evictions()).all() and one.evictions().any()
        assert (one.misses() == other.misses()).all()


def test_what_is_too_large_is_refused() -> None:
    """Geometries of a user can have any size."""
    array = Array("huge", 1 << 16, 1 << 16, 1)
    rows = tuple(1 << bit for bit in range(16))
    structures = (Structure(DATA, PAGE, 0, rows, 0),)
    geometry = Geometry("huge", PAGE, "user", "", None, (array,), structures)
    with pytest.raises(TauError, match=r"4,294,967,296 entries; at most 4,194,304"):
        Simulator(geometry, "lru", 1, 1)
