"""The positive control of a search for directories' sets that found none.

docs/spec/discover.md, [DISC-21]. Twice as many directory entries as the last level has must
overflow one of its sets at least, if they go there, whatever their index is. So the pages of an
eighth of the sets are walked over, each below a directory of its own, and the victims of every
other set are timed. That many pages also push the victims out of the data caches. So they are
compared with as many pages of the same sets in few directories.
"""

import numpy as np

from tautochrone.tlb.discover.index import Index
from tautochrone.tlb.discover.meter import Meter
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown, pages_of
from tautochrone.tlb.discover.ways import Level, low, pass_ticks

OVERFLOW = 2  # Times as many directories as the level has entries.
PARTS = 8  # Groups of sets. The pages of a group have page-table lines of their own.
SCANNED_PARTS = 2  # So that each set is outside of one of them.
SCANS, TRIALS, SURE_TRIALS = 2, 2, 7
CANDIDATES, COMPARED, REPEATS = 4, 4, 3
SEEN = 0.5  # Of what attackers in the victims' own set cost: what others must leave of it.
SUFFERS = 0.25  # Of that: more is not an accident of the clock.


def most_suffering(meter: Meter, level: Level, directory_bits: int) -> float:
    """What many directories cost the victims of the set that suffers most.

    Its unit is what attackers in their own set cost them. Raises Unknown if the pages below the
    directories cost them that already.
    """
    worst = 0.0
    for part in range(SCANNED_PARTS):
        far = pages_below(meter, level, directory_bits, part, is_spread=True)
        near = pages_below(meter, level, directory_bits, part, is_spread=False)
        used = {*_numbers(level.index, part)}
        victims = [each for each in range(level.index.sets) if each not in used]
        unit = _unit(meter, level, near, victims)
        scans = [
            [min(pass_ticks(meter, level, each, far, TRIALS)) for each in victims]
            for _ in range(SCANS)
        ]
        for place in np.argsort(-np.min(scans, axis=0))[:CANDIDATES].tolist():
            number = victims[place]
            costs = [
                low(pass_ticks(meter, level, number, far, SURE_TRIALS))
                - low(pass_ticks(meter, level, number, near, SURE_TRIALS))
                for _ in range(REPEATS)
            ]
            worst = max(worst, min(costs) / unit)
    return worst


def pages_below(
    meter: Meter, level: Level, directory_bits: int, part: int, is_spread: bool
) -> Pages:
    """Pages of a part of the sets, in directories of their own or as few as possible.

    Raises Unknown if there are too few directories.
    """
    index = level.index
    wanted = OVERFLOW * index.sets * level.ways.least
    numbers = _numbers(index, part)
    found: list[int] = []
    for directory in range(1 << (meter.oracle.facts.page_bits - directory_bits)):
        base = directory << directory_bits
        moved = index.of(base)
        first = len(found) % len(numbers) if is_spread else 0
        low_parts = (index.page_in(each ^ moved) for each in numbers[first:] + numbers[:first])
        inside = [base ^ each for each in low_parts if each < 1 << directory_bits]
        found += inside[:1] if is_spread else inside
        if len(found) >= wanted:
            return pages_of(found[:wanted])
    raise Unknown(f"{wanted} directories would overflow the level, but there are fewer")


def _numbers(index: Index, part: int) -> list[int]:
    """The sets of a part. They differ from each other in the upper rows, so in the upper bits."""
    apart = min(PARTS, index.sets)
    return [each for each in range(index.sets) if each % apart == part]


def _unit(meter: Meter, level: Level, near: Pages, victims: list[int]) -> float:
    """What attackers in their own set cost victims. Raises Unknown if `near` ones cost as much."""
    drawn = level.groups.dice.permutation(victims)[:COMPARED].tolist()
    nobody = pages_of([])
    costs = {"nobody": 0.0, "near": 0.0, "own": 0.0}
    for number in drawn:
        mine = level.pages_in(number, 3 * level.live)[level.live :]
        for name, others in (("nobody", nobody), ("near", near), ("own", mine)):
            passes = [
                low(pass_ticks(meter, level, number, others, SURE_TRIALS)) for _ in range(REPEATS)
            ]
            costs[name] += min(passes)
    unit = costs["own"] - costs["nobody"]
    if unit <= 0 or costs["own"] - costs["near"] < SEEN * unit:
        raise Unknown(
            "no set suffers, but so many pages cost victims as much as a set that overflows, so"
            " more directories than the level has entries cannot be tried"
        )
    return unit / len(drawn)
