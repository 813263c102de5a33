"""The planner that measures: its objective is the smallest heap in which the recordings replay.

Eq 7's dedicated bytes are not the heap: a bucket that is empty at the peak costs its size. And a
plan that fits one input too well is a loss on another. So (DESIGN.md, "The plan", has what was
measured for every number here):

1. Plain TLSF is measured on every recording, and on its first 1/8, 1/4, 1/2 and 3/4 of the events:
   stand-ins for shorter inputs of the same program. They need no recording of their own, because a
   replay that runs out of memory tells how far it came.
2. Candidates: no classes; the counts live at the peak of every prefix from some fraction on (every
   such shorter input would have filled these buckets), for sizes whose buckets save at least some
   fraction of their bytes over TLSF's blocks; and the paper's greedy, whole and scaled.
3. A candidate is admitted if it needs no more than plain TLSF on every recording, at most STRAY
   more on every prefix, and saves at least RETURN_MIN of its dedicated bytes. Of those admitted
   the one with the smallest heap wins.
4. The winner's classes are dropped one by one where that costs nothing, then scaled one by one
   where that gains.

The work is bounded by replays and replayed events, not by time: equal input gives an equal plan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tautochrone.plan import PlanClass
from tautochrone.planners.recordings import Classes, Meter, Recording
from tautochrone.profile import PREFIXES, Profile, SizeProfile

# What a plan may cost over plain TLSF on a prefix: the bound promised for other inputs.
STRAY = 0.02
PREFIX_CHECKS = (2, 4, 8, 12)  # sixteenths of the events
# A prefix that needs less than this part of the whole's heap is no guide.
PREFIX_SHARE_MIN = 0.2
# If the recordings' heaps differ by this factor, nor is a prefix that needs less than the smallest.
RECORDINGS_DIFFER = 1.25
# Counts are those live at the peak of every prefix from so many sixteenths on, or a share of them.
COUNT_PREFIXES = (2, 3, 4, 6, 8, 12, 16)
SHARES = (1.0, 0.8, 0.6)
# What a bucket must save, as a fraction of its size.
SAVINGS_MIN = (0.04, 0.02, 0.1, 0.0)
# What a plan must save, as a fraction of its dedicated bytes: a bet that the sizes come back. Where
# there are few sizes they are predetermined, as the paper has it [P1-1], and will: then neither
# this nor the prefixes are asked for.
RETURN_MIN = 1 / 16
FEW_SIZES = 16
COMBINATIONS_MAX = 256  # of counts that are tried for all sizes at once
# What a change of one class must gain, as a fraction of the heap: less is noise of placement.
GAIN_MIN = 1 / 1024
RESOLUTION = 1 / 4096  # of the heap, while searching
# Work: so many replays, and in all so many events, or for a long recording so many of its replays.
REPLAYS_MAX = 1200
EVENTS_MAX = 200_000_000
WHOLE_REPLAYS_MIN = 160


@dataclass(frozen=True)
class Measured:
    """The winner.

    Its classes (falling sizes), the heap it needs and what plain TLSF needs, over all recordings.
    """

    classes: Classes
    heap_bytes: int
    plain_heap_bytes: int
    replays: int


@dataclass
class _Check:
    """The first `events` of a recording must succeed in `heap_bytes`."""

    recording: Recording
    events: int
    heap_bytes: int


@dataclass
class _Search:
    profile: Profile
    recordings: Sequence[Recording]
    classes_max: int
    meter: Meter
    plain_bytes: int
    checks: list[_Check] = field(default_factory=list)
    best: Classes = ()
    heap_bytes: int = 0

    @property
    def has_few_sizes(self) -> bool:
        """Whether the sizes are the program's types, so that a plan for them is no bet."""
        return len(self.profile.sizes) <= FEW_SIZES

    def most_bytes(self, classes: Classes) -> int:
        """The largest heap with which `classes` are worth what they risk."""
        if self.has_few_sizes:
            return self.plain_bytes
        dedicated_bytes = sum(size_bytes * count for size_bytes, count in classes)
        return self.plain_bytes - int(dedicated_bytes * RETURN_MIN)

    def admit(self, classes: Classes, gain_bytes: int) -> bool:
        """Take `classes` if they need at least `gain_bytes` less and pass every check."""
        if len(classes) > self.classes_max or self.meter.exhausted or not classes:
            return False
        target = min(self.heap_bytes - gain_bytes, self.most_bytes(classes)) // 8 * 8
        for check in self.checks:
            if self.meter.completed(check.recording, classes, check.heap_bytes) < check.events:
                return False
        for recording in self.recordings:
            if self.meter.completed(recording, classes, target) < recording.events:
                return False
        step = max(8, int(target * RESOLUTION))
        self.heap_bytes = max(
            self.meter.smallest(
                recording, classes, recording.events, recording.lowest_bytes - 1, target, step
            )
            for recording in self.recordings
        )
        self.best = classes
        return True


def plan(
    profile: Profile,
    recordings: Sequence[Recording],
    classes_max: int,
    tick: Callable[[], None] = lambda: None,
) -> Measured:
    """Choose classes for the recordings of `profile`, given in the same order.

    `tick` is called after each replay.
    """
    events = sum(recording.events for recording in recordings)
    meter = Meter(REPLAYS_MAX, max(EVENTS_MAX, WHOLE_REPLAYS_MIN * events), tick)
    plain = [recording.smallest_heap(()) for recording in recordings]
    most = max(plain, default=0)
    search = _Search(profile, recordings, classes_max, meter, most, heap_bytes=most)
    if profile.sizes and classes_max > 0:
        _prefix_checks(search, plain)
        for classes in _candidates(profile, classes_max):
            search.admit(classes, 8)
        _drop_classes(search)
        _scale_classes(search)
    return _measured(search, plain)


def _measured(search: _Search, plain: list[int]) -> Measured:
    """Measure the winner as `tau replay` does.

    What this finer measure does not confirm loses its largest class until it is worth its risk;
    in the end plain TLSF wins.
    """
    classes = search.best
    while classes:
        heap_bytes = max(recording.smallest_heap(classes) for recording in search.recordings)
        if heap_bytes < max(plain) and heap_bytes <= search.most_bytes(classes):
            return Measured(classes, heap_bytes, max(plain), search.meter.replays)
        largest = max(classes, key=lambda item: item.size_bytes * item.count)
        classes = tuple(item for item in classes if item != largest)
    return Measured((), max(plain, default=0), max(plain, default=0), search.meter.replays)


def _prefix_checks(search: _Search, plain: list[int]) -> None:
    least = min(plain) if max(plain) >= min(plain) * RECORDINGS_DIFFER else 0
    for recording, heap_bytes in zip(search.recordings, plain, strict=True):
        search.checks.append(_Check(recording, recording.events, heap_bytes))
        if search.has_few_sizes:
            continue
        high = heap_bytes
        for sixteenths in reversed(PREFIX_CHECKS):
            events = recording.events * sixteenths // PREFIXES
            step = max(8, int(high * RESOLUTION))
            high = search.meter.smallest(recording, (), events, 0, high, step)
            if high < max(heap_bytes * PREFIX_SHARE_MIN, least):
                break
            search.checks.append(_Check(recording, events, int(high * (1 + STRAY)) // 8 * 8))
    search.checks.reverse()  # the shortest prefix fails first and costs least


# ---- candidates ----


def _candidates(profile: Profile, classes_max: int) -> list[Classes]:
    found: list[Classes] = []
    for savings_min in SAVINGS_MIN:
        for sixteenths in COUNT_PREFIXES:
            counts = {
                size.size_bytes: min(size.live_at_prefix_peak[sixteenths - 1 :])
                for size in profile.sizes
            }
            for share in SHARES:
                found.append(_chosen(profile, counts, share, savings_min, classes_max))
    for counts in _greedy_counts(profile, classes_max):
        for savings_min in SAVINGS_MIN:
            for share in SHARES:
                found.append(_chosen(profile, counts, share, savings_min, classes_max))
    return list(dict.fromkeys(found + _combinations(profile, classes_max)))


def _combinations(profile: Profile, classes_max: int) -> list[Classes]:
    """Where there are few sizes: none, the count live at the peak, or the most, of each."""
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
    """The greedy's counts, for the sizes with the most bytes and for those that save most."""
    results = []
    for weight in (_peak_bytes, _saved_bytes):
        chosen = sorted(profile.sizes, key=lambda size: (-weight(profile, size), size.size_bytes))[
            :classes_max
        ]
        instants = profile.reduce([size.size_bytes for size in chosen])
        results.append(dict(zip(instants.sizes_bytes, instants.greedy(), strict=True)))
    return results


def _peak_bytes(profile: Profile, size: SizeProfile) -> float:
    return size.size_bytes * size.peak_live


def _saved_bytes(profile: Profile, size: SizeProfile) -> float:
    return size.grown_fraction * profile.granule_bytes * size.live_at_peak


def _chosen(
    profile: Profile, counts: dict[int, int], share: float, savings_min: float, classes_max: int
) -> Classes:
    """The classes that save most.

    `share` of `counts`, of sizes that save at least `savings_min` of their bytes.
    """
    rows = []
    for size in profile.sizes:
        count = int(counts.get(size.size_bytes, 0) * share)
        saved = size.grown_fraction * profile.granule_bytes
        if count > 0 and saved >= savings_min * size.size_bytes:
            rows.append((-saved * count, -size.size_bytes * count, size.size_bytes, count))
    chosen = sorted(rows)[:classes_max]
    return tuple(sorted((PlanClass(size, count) for _, _, size, count in chosen), reverse=True))


# ---- one class at a time ----


def _drop_classes(search: _Search) -> None:
    """Fewer classes for the same heap: those that take the most bytes are tried first."""
    for item in sorted(
        search.best, key=lambda item: (-item.size_bytes * item.count, item.size_bytes)
    ):
        search.admit(
            tuple(other for other in search.best if other.size_bytes != item.size_bytes), 0
        )


def _scale_classes(search: _Search) -> None:
    peaks = {size.size_bytes: size.peak_live for size in search.profile.sizes}
    for size_bytes in [item.size_bytes for item in search.best]:
        for factor in (1.25, 0.8):
            count = dict(search.best)[size_bytes]
            scaled = min(max(1, round(count * factor)), peaks[size_bytes])
            if scaled != count:
                search.admit(
                    tuple(
                        PlanClass(size, scaled if size == size_bytes else number)
                        for size, number in search.best
                    ),
                    int(search.heap_bytes * GAIN_MIN),
                )
