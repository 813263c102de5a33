"""`tau tlb discover` on simulated processors: each value that it finds is right, or unknown.

Method: the ten known geometries with three policies, random geometries against the naive model,
clocks that are worse, and policies that no manual names. A simulated clock has a step, and
interrupts some bursts.
"""

import itertools
import os
import random
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from model.tlb_color import discovery
from tautochrone.files.schema import Reader
from tautochrone.tlb.discover import isolation, procedure
from tautochrone.tlb.discover.checks import Check
from tautochrone.tlb.discover.directories import search as directory
from tautochrone.tlb.discover.document import document_of, show
from tautochrone.tlb.discover.linear import reduced, span
from tautochrone.tlb.discover.meter import Limit, Meter, Scale
from tautochrone.tlb.discover.procedure import Found, discover
from tautochrone.tlb.discover.processors.oracle import Pages, Ticks, Unknown
from tautochrone.tlb.discover.processors.simulated import Costs, SimulatedProcessor
from tautochrone.tlb.discover.run import discovered_simulation
from tautochrone.tlb.discover.sets import Level, block_of
from tautochrone.tlb.geometry import (
    DATA, DIRECTORY, Array, Geometry, Structure, geometry_of_table, known_geometry, known_names
)
from tautochrone.tlb.simulate import Simulator, geometry_or_shape

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
POLICIES = ("lru", "plru", "random")
ALL = [(name, policy) for name in known_names() for policy in POLICIES]
QUICK = [
    *(("tile-16x4", "random"), ("skylake", "plru"), ("u74", "plru"), ("cva6", "random")),
]


def found_on(geometry: Geometry, policy: str, costs: Costs | None = None) -> Found:
    """What the procedure finds."""
    with SimulatedProcessor(geometry, policy, SEED, costs) as processor:
        return discover(processor, SEED, Limit())


def data_structures(geometry: Geometry) -> list[Structure]:
    """Those of data, the first level in front."""
    return [each for each in geometry.structures if each.role == DATA]


def verdict(geometry: Geometry, found: Found) -> str:
    """Whether all indices are right, one is wrong, or one is unknown."""
    truth = data_structures(geometry)
    levels = [each.level for each in found.arrays if each.is_verified]
    for level, structure in zip(levels, truth, strict=False):
        assert level is not None
        if reduced(level.index.rows) != reduced(structure.rows):
            return "wrong"
    return "right" if len(levels) == len(truth) else "unknown"


def safe_truth(ways: int, policy: str) -> int:
    """What nobody can evict, as facts/geometry.toml says."""
    return {"lru": ways, "plru": (ways - 1).bit_length() + 1, "random": 1}[policy]


def check(geometry: Geometry, policy: str, found: Found) -> None:
    """Everything that was found is true."""
    truth = data_structures(geometry)
    for array, structure in zip(found.arrays, truth, strict=False):
        if array.level is None or array.unknown:
            continue
        real = geometry.arrays[structure.array]
        ways = array.level.ways
        # Directory entries may take a way of their own.
        assert ways.least <= real.ways <= ways.most, (array, real)
        if array.safe is not None:
            assert array.safe.count <= safe_truth(real.ways, policy), (array.safe, real)
    if found.sharing is None:
        return
    last = truth[-1].array
    shared = [each for each in geometry.structures if each.role == DIRECTORY and each.array == last]
    assert bool(found.sharing.rows) == bool(shared)


@pytest.mark.parametrize(("name", "policy"), QUICK)
def test_a_known_processor_is_found(name: str, policy: str) -> None:
    geometry = known_geometry(name)
    found = found_on(geometry, policy)
    assert verdict(geometry, found) == "right", (found.unknown, found.arrays)
    check(geometry, policy, found)
    assert found.is_verified, document_of_simulated(geometry, policy, found)["unknown"]


@pytest.mark.slow
def test_of_thirty_processors_at_least_twenty_are_right_and_none_is_wrong() -> None:
    verdicts = []
    for name, policy in ALL:
        geometry = known_geometry(name)
        found = found_on(geometry, policy)
        verdicts.append(verdict(geometry, found))
        print(f"{name}, {policy}: {verdicts[-1]}, {found.cpu_seconds:.1f} CPU seconds")
        check(geometry, policy, found)
    assert verdicts.count("right") >= 20 and verdicts.count("wrong") == 0


def document_of_simulated(geometry: Geometry, policy: str, found: Found) -> dict:
    """The document."""
    with SimulatedProcessor(geometry, policy, SEED) as processor:
        return document_of(found, processor.facts)


def test_the_table_is_a_geometry_with_the_same_sets() -> None:
    """Also the directories': which of their sets is which data set."""
    truth = known_geometry("zen4")
    found = found_on(truth, "lru")
    table = document_of_simulated(truth, "lru", found)["geometry"]
    geometry = geometry_of_table("found", table, Reader("found", ""))
    assert geometry.has_sets_of(truth)
    assert geometry.source == "measured"


@pytest.mark.parametrize("conflicts", [7.03, 6.9])
def test_a_block_that_costs_no_more_than_its_half_is_unknown(conflicts: float) -> None:
    """A baseline that is measured too high makes a level of it; its scale has no length."""
    with SimulatedProcessor(known_geometry("tile-16x4"), "lru", SEED) as processor:
        level = Level(0, 4, Scale(7.03, conflicts))
        with pytest.raises(Unknown, match=f"16 pages cost {conflicts:.2f} .*, half of them 7.03"):
            block_of(Meter(processor), level)


def with_directory_rows(name: str, rows: Sequence[int]) -> Geometry:
    """A known geometry whose directories share the last level by another index."""
    geometry = known_geometry(name)
    structures = [
        replace(each, rows=tuple(rows)) if each.role == DIRECTORY else each
        for each in geometry.structures
    ]
    return replace(geometry, structures=tuple(structures))


OTHER_BITS = [1 << bit for bit in range(18, 26)]
SUMS = [0x101 << bit for bit in range(9, 17)]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [OTHER_BITS, SUMS])
@pytest.mark.parametrize("policy", POLICIES)
def test_directories_that_spread_over_many_sets_are_not_called_their_own(
    policy: str, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then 64 of them overflow no set, though they cost walks. Twice the level's entries do."""
    monkeypatch.setattr(directory, "_miss_walks", lambda *_arguments: 1.0)
    found = found_on(with_directory_rows("zen4", rows), policy)
    assert found.sharing is None
    assert "from more directories than the level has entries" in found.directory_unknown


def test_pages_that_cost_as_much_as_an_overflow_prove_nothing() -> None:
    """Data caches: each page that was walked over before makes the victims' pass longer."""

    class WithCaches(SimulatedProcessor):
        def after(self, before: Pages, pages: Pages) -> float:
            return super().after(before, pages) + 0.2 * before.size

    with WithCaches(known_geometry("cortex-a53"), "lru", SEED) as processor:
        found = discover(processor, SEED, Limit())
    assert found.sharing is None
    assert "so many pages cost victims as much" in found.directory_unknown


def unknown(*_arguments: object) -> None:
    """A step that cannot tell."""
    raise Unknown("a neighbor is loud")


@pytest.mark.parametrize("name", ["tile-16x4", "zen4"])
def test_nothing_is_verified_without_the_check_of_isolation(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procedure, "isolation_of", unknown)
    geometry = known_geometry(name)
    found = found_on(geometry, "lru")
    document = document_of_simulated(geometry, "lru", found)
    assert verdict(geometry, found) == "right" and found.isolation is None
    assert not document["is_verified"] and document["geometry"] is None
    assert document["unknown"] == ["a neighbor is loud"]


def test_a_level_that_cannot_be_measured_again_stays_a_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the level in front would pass for the last one, and be verified."""
    monkeypatch.setattr(procedure, "measured_again", unknown)
    monkeypatch.setattr(
        procedure, "block_of", lambda *each: unknown() if each[1].number else block_of(*each)
    )
    found = found_on(known_geometry("zen4"), "lru")
    first, second = found.arrays
    assert first.is_verified and second.unknown == "a neighbor is loud"
    assert not found.is_verified and found.sharing is None


def test_one_wrong_answer_of_a_check_is_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown index, and unknown directories."""
    wrong = [Check("pages", 19, 20, 0.4)]
    monkeypatch.setattr(directory, "_checks", lambda *_: wrong)
    found = found_on(known_geometry("zen4"), "lru")
    assert found.sharing is None and found.directory_unknown.endswith("right 19 times of 20")
    monkeypatch.setattr(procedure, "checks_of", lambda *_: wrong)
    found = found_on(known_geometry("tile-16x4"), "lru")
    assert found.arrays[0].unknown.endswith("right 19 times of 20")
    assert not found.is_verified


@pytest.mark.parametrize(
    ("elsewhere_walks", "same_ratio", "is_passed"),
    [(0.1, 2.0, True), (0.6, 2.0, False), (0.1, 1.5, False)],
)
def test_isolation_needs_an_attack_that_works(
    elsewhere_walks: float, same_ratio: float, is_passed: bool
) -> None:
    assert isolation.Isolation(elsewhere_walks, same_ratio, 1).is_passed == is_passed


@pytest.mark.parametrize("sets", [2, 4])
def test_when_every_set_walks_into_the_victims_isolation_is_unknown(
    sets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their directories' entries are in all sets."""
    monkeypatch.setattr(isolation, "_directory_sets", lambda *_: set(range(sets)))
    found = found_on(geometry_or_shape(f"{sets}x4"), "lru")
    assert not found.is_verified and "directories of every other set" in found.directory_unknown


def test_directories_beyond_every_set_are_unknown() -> None:
    """All sets differ in bits of directories only: attackers cannot be put next to the victims."""
    rows = (1 << 9, 1 << 10, 1 << 11)
    structures = (Structure(DATA, 4096, 0, rows, 0), Structure(DIRECTORY, 4096 << 9, 0, rows, 0))
    geometry = Geometry("far", 4096, "user", "a test", None, (Array("a", 8, 4, 1),), structures)
    found = found_on(geometry, "lru")
    assert "too few sets differ" in found.directory_unknown and not found.is_verified


def random_geometry(dice: random.Random) -> tuple[Geometry, int]:
    """One array whose rows are sums of any bits, and the bits of its page numbers."""
    rank = dice.randint(1, 3)
    bits = dice.randint(rank + 3, 7)  # so that a set has more pages than ways
    rows: list[int] = []
    while len(rows) < rank:
        row = dice.randrange(1, 1 << bits)
        if len(reduced([*rows, row])) > len(rows):
            rows.append(row)
    sets, ways = 1 << rank, dice.choice([1, 2, 3, 4])
    array = Array("a", sets, ways, 1)
    structure = Structure(DATA, 4096, 0, tuple(rows), 0)
    return Geometry("random", 4096, "user", "a test", None, (array,), (structure,)), bits


def mates_by_model(geometry: Geometry, bits: int) -> tuple[int, list[int]]:
    """Ways and mates of page 0, as the naive model finds them."""

    def walks(pages: Sequence[int]) -> int:
        with Simulator(geometry, "lru", 1, 2) as simulator:
            owners = np.zeros(len(pages), np.uint32)
            owners[-1] = 1
            simulator.run(owners, np.array(pages, np.uint64) * 4096)
            return int(simulator.misses()[1])

    return discovery.mates(walks, 1 << bits)


@pytest.mark.parametrize("seed", range(SEED, SEED + 6))
def test_any_linear_index_is_the_models(seed: int) -> None:
    """Rows with any number of bits. The model knows nothing of rows: it only tries pages."""
    geometry, bits = random_geometry(random.Random(seed))
    ways, mates = mates_by_model(geometry, bits)
    assert ways == geometry.arrays[0].ways
    found = found_on(geometry, "lru")
    (array,) = found.arrays
    assert array.level is not None and not array.unknown, array.unknown
    same = [page for page in range(1 << bits) if array.level.index.of(page) == 0]
    assert same == mates
    assert array.level.ways.least == array.level.ways.most == ways


@pytest.mark.parametrize(
    ("shape", "policy"),
    [("64x8:xor", "nru"), ("32x1", "lru"), ("16x12:xor", "lru"), ("2x3", "nru")],
)
def test_one_level_of_any_shape(shape: str, policy: str) -> None:
    geometry = geometry_or_shape(shape)
    found = found_on(geometry, policy)
    assert verdict(geometry, found) == "right", found.arrays[0].unknown


def test_a_loud_neighbor_makes_values_unknown_at_most() -> None:
    geometry = known_geometry("cva6")
    found = found_on(geometry, "lru", Costs(interrupted=0.8))
    assert verdict(geometry, found) != "wrong"
    check(geometry, "lru", found)


class StandingClock:
    """A processor whose clock stands still."""

    def __init__(self, processor: SimulatedProcessor) -> None:
        self.facts = processor.facts

    def walk(self, pages: Pages, shuffles: int) -> Ticks:
        """No time passes."""
        return np.zeros(shuffles) * pages.size

    def after(self, before: Pages, pages: Pages) -> float:
        """No time passes."""
        return 0.0 * (before.size + pages.size)

    def baseline(self, count: int, fitting: int) -> float:
        """No time passes."""
        return 0.0 * (count + fitting)


def test_a_clock_that_stands_still_is_named() -> None:
    with SimulatedProcessor(known_geometry("cva6"), "lru") as processor:
        standing = StandingClock(processor)
        found = discover(standing, SEED, Limit())
        document = document_of(found, standing.facts)
    assert not found.is_verified and "clock stands still" in found.unknown
    assert document["geometry"] is None and document["arrays"] == []
    assert document["costs"]["access"]["value"] == "unknown"


def test_without_a_visible_tlb_nothing_is_claimed() -> None:
    """The positive control: if many pages cost no more than few, nothing is said to be shared."""
    geometry = known_geometry("cva6")
    found = found_on(geometry, "lru", Costs(miss=0.0, walk=0.0))
    assert not found.is_verified and "no TLB is visible" in found.unknown


def test_directories_that_cost_nothing_stay_unknown() -> None:
    """No set suffers, but no directory entry is seen to miss either."""
    geometry = known_geometry("cortex-a53")
    found = found_on(geometry, "lru", Costs(directory=0.0))
    assert verdict(geometry, found) == "right"
    assert found.sharing is None and "blind" in found.directory_unknown
    assert not found.is_verified


def test_a_limit_of_walks_keeps_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    geometry = known_geometry("zen4")
    with SimulatedProcessor(geometry, "lru", SEED) as processor:
        found = discover(processor, SEED, Limit(walks=1000))
    assert found.calls == 1000
    assert not found.is_verified
    causes = (found.unknown, found.directory_unknown, *(each.unknown for each in found.arrays))
    assert any("the limit of 1,000 walks" in cause for cause in causes)
    assert verdict(geometry, found) != "wrong"
    show(document_of_simulated(geometry, "lru", found))
    assert "unknown values could not be checked" in capsys.readouterr().out


def test_a_simulated_processor_is_found_alike_on_any_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On one where each look at the clock of CPU time finds eleven days gone, too: the search is
    limited by walks, so the document is the same but for its times."""

    def document() -> dict:
        found = discovered_simulation("16x4", "lru", SEED, 100_000)
        return {key: value for key, value in found.items() if not key.endswith("_seconds")}

    here, ticks = document(), itertools.count()
    monkeypatch.setattr(time, "process_time", lambda: 1e6 * next(ticks))
    assert document() == here
    assert here["is_verified"]


def test_a_fully_associative_processor_has_nothing_to_own() -> None:
    array = Array("all", 1, 24, 1)
    structure = Structure(DATA, 4096, 0, (), 0)
    geometry = Geometry("fa", 4096, "user", "a test", None, (array,), (structure,))
    found = found_on(geometry, "lru")
    assert verdict(geometry, found) == "right" and found.is_verified
    level = found.arrays[0].level
    assert level is not None and (level.index.sets, level.ways.least) == (1, 24)


def test_spans_are_all_sums() -> None:
    assert sorted(span([1, 6]).tolist()) == [0, 1, 6, 7]
