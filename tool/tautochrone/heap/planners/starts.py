"""The starts of the replayed planner's search: classes by other rules, not yet measured.

docs/design/plan.md has the measurements behind every number here.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Sequence
from types import ModuleType

from tautochrone.plan.file import PlanClass
from tautochrone.heap.planners import Budget
from tautochrone.heap.recordings import Classes
from tautochrone.heap.profile import Instants, Profile, SizeProfile

# Counts are those live at the peak of every prefix of at least this many sixteenths, or a share.
COUNT_PREFIXES = (2, 3, 4, 6, 8, 12, 16)
SHARES = (1.0, 0.8, 0.6)
# The least that a bucket must save, as a fraction of its size.
SAVINGS_MIN = (0.04, 0.02, 0.1, 0.0)
COMBINATIONS_MAX = 256  # combinations of counts that are tried for all sizes at once
EXACT_ROUNDS_MAX = 8  # a start needs no certificate; of 22 recordings, 16 give the same starts
# The classes of a start that save most: all of them, then 3/4 of those, and so on.
PART_NUMERATOR, PART_DENOMINATOR = 3, 4
# How many sizes the search changes: those that save most, and those with the most bytes.
SAVING_SIZES_MAX = 16
LARGEST_SIZES_MAX = 8
CHANGE_PREFIXES = (2, 4, 8, 12)
CHANGE_FACTORS = (2, 1.5, 1.25, 0.8, 0.67, 0.5)


def formula_classes(profile: Profile, planner: str, classes_max: int) -> tuple[Classes, float]:
    """The classes of a formula planner, and its `optimal_within`."""
    instants = _formula_instants(profile, classes_max)
    budget = _planner(planner).budget(instants)
    return _classes_of(instants, budget), budget.optimal_within


def formula_starts(profile: Profile, classes_max: int) -> list[tuple[str, Classes]]:
    """The classes of the greedy and, unless these are proved the best, of the exact planner.

    The exact planner stops after EXACT_ROUNDS_MAX linear rounds and reads no clock.
    """
    instants = _formula_instants(profile, classes_max)
    greedy = _planner("greedy").budget(instants)
    found = [("greedy", _classes_of(instants, greedy))]
    if greedy.optimal_within > 0:
        exact = _planner("exact").budget(
            instants, math.inf, EXACT_ROUNDS_MAX, whole_rounds_max=0
        )
        found.append(("exact", _classes_of(instants, exact)))
    return found


def _planner(name: str) -> ModuleType:
    """Load the exact planner on demand: its solver takes a third of a second to load."""
    return importlib.import_module(f"tautochrone.heap.planners.{name}")


def _formula_instants(profile: Profile, classes_max: int) -> Instants:
    """The sizes with the largest S_i P_i,max, if there are more sizes than classes."""
    ranked = sorted(profile.sizes, key=lambda size: (-_peak_bytes(size), size.size_bytes))
    return profile.reduce([size.size_bytes for size in ranked[:classes_max]])


def _classes_of(instants: Instants, budget: Budget) -> Classes:
    pairs = zip(instants.sizes_bytes, budget.counts, strict=True)
    return tuple(PlanClass(size, count) for size, count in pairs if count > 0)


def prefix_classes(profile: Profile, classes_max: int) -> list[Classes]:
    """Classes that shorter inputs also fill, and scaled parts of the greedy's."""
    found: list[Classes] = []
    for savings_min in SAVINGS_MIN:
        for sixteenths in COUNT_PREFIXES:
            counts = {size.size_bytes: _least_live(size, sixteenths) for size in profile.sizes}
            for share in SHARES:
                found.append(_chosen(profile, counts, share, savings_min, classes_max))
    for counts in _greedy_counts(profile, classes_max):
        for savings_min in SAVINGS_MIN:
            for share in SHARES:
                found.append(_chosen(profile, counts, share, savings_min, classes_max))
    return list(dict.fromkeys(found + _combinations(profile, classes_max)))


def parts(profile: Profile, classes: Classes) -> list[Classes]:
    """`classes`, then ever fewer: those that save the least of their bytes are dropped first."""
    saved = {size.size_bytes: _saved_fraction(profile, size) for size in profile.sizes}
    ranked = sorted(classes, key=lambda item: (-saved.get(item.size_bytes, 0.0), item.size_bytes))
    found = []
    while ranked:
        found.append(tuple(sorted(ranked, reverse=True)))
        ranked = ranked[: len(ranked) * PART_NUMERATOR // PART_DENOMINATOR]
    return found


def sizes_to_change(profile: Profile) -> list[SizeProfile]:
    """The sizes whose counts the search changes, the most promising first."""
    saving = sorted(profile.sizes, key=lambda size: -_saved_bytes(profile, size))
    largest = sorted(profile.sizes, key=lambda size: -_peak_bytes(size))
    chosen = saving[:SAVING_SIZES_MAX] + largest[:LARGEST_SIZES_MAX]
    return list({size.size_bytes: size for size in chosen}.values())


def counts_to_try(size: SizeProfile, count: int, starts: Sequence[Classes]) -> list[int]:
    """Other counts to try for a class with `count` buckets: decreasing, 0 last if it has any."""
    found = {size.live_at_peak, size.peak_live}
    found.update(_least_live(size, sixteenths) for sixteenths in CHANGE_PREFIXES)
    found.update(dict(start).get(size.size_bytes, 0) for start in starts)
    found.update(min(round(count * factor), size.peak_live) for factor in CHANGE_FACTORS)
    return sorted(found - {0, count}, reverse=True) + ([0] if count else [])


def with_count(classes: Classes, size_bytes: int, count: int) -> Classes:
    """`classes` with `count` buckets of `size_bytes`; without this size if `count` is 0."""
    counts = {**dict(classes), size_bytes: count}
    return tuple(sorted((PlanClass(*item) for item in counts.items() if item[1]), reverse=True))


def _combinations(profile: Profile, classes_max: int) -> list[Classes]:
    """For few sizes: all combinations of no bucket, the count live at the peak, and the most."""
    levels = [
        [0, *dict.fromkeys(count for count in (size.live_at_peak, size.peak_live) if count)]
        for size in profile.sizes
    ]
    if len(levels) > classes_max or math.prod(map(len, levels)) > COMBINATIONS_MAX:
        return []
    return [
        tuple(
            PlanClass(size.size_bytes, count)
            for size, count in zip(profile.sizes, counts, strict=True)
            if count
        )
        for counts in itertools.product(*levels)
    ]


def _greedy_counts(profile: Profile, classes_max: int) -> list[dict[int, int]]:
    """The greedy's counts of the sizes with the most bytes and of those that save most."""
    results = []
    for weight in (_peak_bytes, lambda size: _saved_bytes(profile, size)):
        chosen = sorted(profile.sizes, key=lambda size: (-weight(size), size.size_bytes))
        instants = profile.reduce([size.size_bytes for size in chosen[:classes_max]])
        results.append(dict(zip(instants.sizes_bytes, instants.greedy(), strict=True)))
    return results


def _chosen(
    profile: Profile, counts: dict[int, int], share: float, savings_min: float, classes_max: int
) -> Classes:
    """The classes that save most.

    They take `share` of `counts`, for sizes that save at least `savings_min` of their bytes.
    """
    rows = []
    for size in profile.sizes:
        count = int(counts.get(size.size_bytes, 0) * share)
        saved = size.grown_fraction * profile.granule_bytes
        if count > 0 and saved >= savings_min * size.size_bytes:
            rows.append((-saved * count, -size.size_bytes * count, size.size_bytes, count))
    chosen = sorted(rows)[:classes_max]
    return tuple(sorted((PlanClass(size, count) for _, _, size, count in chosen), reverse=True))


def _least_live(size: SizeProfile, sixteenths: int) -> int:
    """The fewest objects live at the peak of any prefix of at least this many sixteenths."""
    return min(size.live_at_prefix_peak[sixteenths - 1 :])


def _peak_bytes(size: SizeProfile) -> int:
    return size.size_bytes * size.peak_live


def _saved_fraction(profile: Profile, size: SizeProfile) -> float:
    return size.grown_fraction * profile.granule_bytes / size.size_bytes


def _saved_bytes(profile: Profile, size: SizeProfile) -> float:
    return size.grown_fraction * profile.granule_bytes * size.live_at_peak
