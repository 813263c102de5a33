"""The planner `replayed`: it minimizes the safe heap in which the recordings replay.

The dedicated bytes of Eq 7 are not the heap: a bucket that is empty at the peak costs its size. A
plan that fits one input too closely loses on another. docs/design/plan.md has the measurements
behind every number here. The method:

1. Plain TLSF is measured on every recording, and on its first 1/8, 1/4, 1/2 and 3/4 of the events.
   These prefixes stand for shorter inputs of the same program. They need no further recording:
   a run tells what each of its prefixes needed.
2. The search has several starts (starts.py): counts live at the peak of every prefix, no classes at
   all, and the classes of the greedy and of the exact planner. With several recordings, the classes
   found for each of them alone are further starts.
3. Classes are admitted if they meet three conditions. They need no more than plain TLSF on every
   recording, at most STRAY more on every prefix, and they save at least RETURN_MIN of their
   dedicated bytes.
4. From the best admitted classes of each start, the search changes one count at a time where that
   saves memory. In an only recording that is not short it stops after PATIENCE replays in a row
   that were refused.
5. Classes that were the best, and every start that is admitted unchanged, are measured on the whole
   recordings, as `tau replay` does, the most promising first. The least safe heap wins: that of
   the classes that need least may be larger, because larger heaps have other tables. What needs
   more than the best so far is not measured, or fails in that.

Replays and replayed events bound the work, not time. So equal input gives an equal plan.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from tautochrone.heap.planners import starts
from tautochrone.heap.recordings import Classes, Meter, Recording, Run
from tautochrone.heap.profile import Profile
from tautochrone.heap.safe import safe_heap

# The most that a plan may need above plain TLSF on a prefix, and so on other inputs.
STRAY = 0.02
PREFIX_CHECKS = (2, 4, 8, 12)  # sixteenths of the events
# A prefix that needs less than this part of the whole recording's heap is ignored.
PREFIX_SHARE_MIN = 0.2
# If the recordings' heaps differ by this factor, so is a prefix that needs less than this part of
# the smallest of them.
RECORDINGS_DIFFER = 1.1
SMALLEST_SHARE = 0.75
# The least saving of a plan, as a fraction of its dedicated bytes, because sizes may not come back
# in other inputs. With few sizes they are predetermined, as in the paper [P1-1]. Then neither this
# rule nor the prefixes apply. The same holds if the caller says that the input is fixed.
RETURN_MIN = 1 / 16
FEW_SIZES = 16
# The least saving of a change of one class, and of a sweep over the sizes for which another one
# follows, as a fraction of the heap; less is noise.
GAIN_MIN = 1 / 4096
SWEEPS_MAX = 2  # from each start
# The refused replays in a row after which the search of an only recording stops. It would go on for
# a third of the time, and of 28 plans find more in 5, at most 0.14 %. With several recordings that
# time is worth 2 % of the heap (python).
PATIENCE = 64
# The results whose counts are changed, of one recording that is not short; of a short one, all
# are, by smaller savings too, in more sweeps, with endless patience.
ENDS_CHANGED_MAX = 2
SHORT_EVENTS = 50_000
SHORT_GAIN_MIN = 1 / 65536
SHORT_SWEEPS_MAX = 4
PREFIXES_START, EMPTY_START = "prefixes", "no classes"
CAREFUL_START = "any input"  # with --fixed-input: the classes found without it
# Why the classes of a start are refused, in words that follow "the pools of …,".
NO_CLASS = "of which there are none"
NO_GAIN = "no better than plain TLSF on some recording"
NO_RETURN = "which save less than 1/16 of their own bytes"
LOSES_ON_PREFIX = "over 2 % worse than plain TLSF if the program stops earlier"
NOT_TRIED = "which the interrupted search had not tried"
BETS = (NO_RETURN, LOSES_ON_PREFIX)
# The most work of one search: a number of replays, and a number of events, or for a long recording
# a number of its replays.
REPLAYS_MAX = 1600
MEASURED_MAX = 32  # of the classes that were the best, those that need least
EVENTS_MAX = 60_000_000
WHOLE_REPLAYS_MIN = 360


@dataclass(frozen=True)
class Start:
    """One start of the search; `heap_bytes` is the heap of its best classes in the end.

    `refused` says why its own classes were not admitted; it is empty if they were. `is_bet`: they
    were refused because of other inputs.
    """

    name: str
    heap_bytes: int
    refused: str = ""
    is_bet: bool = False


@dataclass(frozen=True)
class Measured:
    """The result: the chosen classes (decreasing sizes) and their heap.

    It also has the heap that plain TLSF needs. Both heaps are safe for all recordings.
    """

    classes: Classes
    heap_bytes: int
    plain_heap_bytes: int
    starts: tuple[Start, ...] = ()


@dataclass
class _Check:
    """The first `sixteenths` of the events of recording `index` must succeed in `heap_bytes`."""

    index: int
    sixteenths: int
    heap_bytes: int


@dataclass
class _Search:
    profile: Profile
    recordings: Sequence[Recording]
    plain: list[int]
    classes_max: int
    meter: Meter
    is_input_fixed: bool
    is_one_of_several: bool = False
    checks: list[_Check] = field(default_factory=list)
    best: Classes = ()
    heap_bytes: int = 0
    admitted: dict[Classes, int] = field(default_factory=dict)  # and what they need
    # The largest heap in which classes failed; smaller heaps are not tried again.
    failed_bytes: dict[Classes, int] = field(default_factory=dict)

    @property
    def plain_bytes(self) -> int:
        """The safe heap of plain TLSF for every recording."""
        return max(self.plain)

    @property
    def is_short(self) -> bool:
        """Whether a replay costs so little that the search can be thorough."""
        return len(self.recordings) == 1 and self.recordings[0].events < SHORT_EVENTS

    @property
    def is_predetermined(self) -> bool:
        """Whether the objects of every input are known, so that a plan carries no risk."""
        return self.is_input_fixed or len(self.profile.sizes) <= FEW_SIZES

    def most_bytes(self, classes: Classes) -> int:
        """The largest heap with which `classes` save enough for their risk."""
        if self.is_predetermined:
            return self.plain_bytes
        dedicated_bytes = sum(size_bytes * count for size_bytes, count in classes)
        return self.plain_bytes - int(dedicated_bytes * RETURN_MIN)

    def restart(self) -> None:
        """Forget the best classes, but not the failures."""
        self.best, self.heap_bytes = (), self.plain_bytes

    def admit(self, classes: Classes, gain_bytes: int) -> bool:
        """Accept `classes` if they save at least `gain_bytes` and pass every check."""
        if len(classes) > self.classes_max or self.meter.exhausted or not classes:
            return False
        target = min(self.heap_bytes - gain_bytes, self.most_bytes(classes)) // 8 * 8
        if target <= self.failed_bytes.get(classes, 0):
            return False
        runs = self.runs(classes, target)
        if not runs:
            self.failed_bytes[classes] = target
            return False
        if not self.passes_prefixes(runs):
            self.failed_bytes[classes] = self.plain_bytes
            return False
        self.best, self.heap_bytes = classes, max(run.needed_bytes for run in runs)
        self.admitted[classes] = self.heap_bytes
        return True

    def passes_prefixes(self, runs: Sequence[Run]) -> bool:
        """Whether classes with these runs need little more than plain TLSF on every prefix."""
        return all(
            runs[check.index].prefix_bytes[check.sixteenths - 1] <= check.heap_bytes
            for check in self.checks
        )

    def heaps(self, heap_bytes: int) -> list[int]:
        """In which heap each recording is to complete: no more than plain TLSF needs for it.

        If the input is fixed, only the heap for all recordings counts.
        """
        return [heap_bytes if self.is_input_fixed else min(heap_bytes, most) for most in self.plain]

    def runs(self, classes: Classes, heap_bytes: int) -> list[Run]:
        """The run of each recording in its one of `heaps`; none if one fails."""
        runs = []
        for recording, heap in zip(self.recordings, self.heaps(heap_bytes), strict=True):
            runs.append(self.meter.run(recording, classes, heap))
            if not runs[-1].needed_bytes:
                return []
        return runs


@dataclass(frozen=True)
class _End:
    """The result of the search from one start; `heap_bytes` is what its own tables need."""

    name: str
    classes: Classes
    heap_bytes: int


def plan(
    profile: Profile,
    recordings: Sequence[Recording],
    classes_max: int,
    tick: Callable[[], None] = lambda: None,
    is_input_fixed: bool = False,
    others: Sequence[tuple[str, Classes]] = (),
    is_one_of_several: bool = False,
) -> Measured:
    """Choose classes for the recordings of `profile`, given in the same order.

    `tick` is called after each replay of the search. With `is_input_fixed` the program has no other
    inputs, so the risk on other inputs is not checked. `others` are further starts, by name.
    `is_one_of_several`: the result will be a start for a plan of this and other recordings.
    """
    plain = [safe_heap([one], ()) for one in recordings]
    if not profile.sizes or classes_max == 0:
        return Measured((), max(plain), max(plain))
    events = sum(recording.events for recording in recordings)
    meter = Meter(REPLAYS_MAX, max(EVENTS_MAX, WHOLE_REPLAYS_MIN * events), tick)
    search = _Search(
        profile, recordings, plain, classes_max, meter, is_input_fixed, is_one_of_several
    )
    _prefix_checks(search)
    given = starts.formula_starts(profile, classes_max)
    given += others
    return _measured(search, _ends(search, given), given, {name for name, _ in others})


def plan_several(
    profile: Profile,
    own: Sequence[Profile],
    recordings: Sequence[Recording],
    classes_max: int,
    tick: Callable[[], None] = lambda: None,
    is_input_fixed: bool = False,
) -> tuple[Measured, tuple[Classes, ...]]:
    """Plan for each recording alone, and from there for all; return the result, and those alone.

    `own` has the profile of each recording by itself; it is empty if there is one recording only.
    With `is_input_fixed` the classes found without it are one more start of each search, so that
    the option never costs memory.
    """
    careful: list[list[tuple[str, Classes]]] = [[] for _ in range(len(own) + 1)]
    if is_input_fixed:
        found, alone = plan_several(profile, own, recordings, classes_max, tick)
        careful = [[(CAREFUL_START, classes)] for classes in (*alone, found.classes)]
    starts_alone = []
    for each, recording, more in zip(own, recordings, careful, strict=False):
        by_itself = plan(each, [recording], classes_max, tick, is_input_fixed, more, True)
        starts_alone.append((each.traces[0].path.name, by_itself.classes))
    more = [*starts_alone, *careful[-1]]
    result = plan(profile, recordings, classes_max, tick, is_input_fixed, more)
    return result, tuple(classes for _, classes in starts_alone)


def replays_at_most(events: int) -> int:
    """How many replays a search takes at most, about, if each replays all `events`."""
    return min(REPLAYS_MAX, max(EVENTS_MAX // max(events, 1), WHOLE_REPLAYS_MIN))


def _ends(search: _Search, given: Sequence[tuple[str, Classes]]) -> list[_End]:
    """The best classes that the search reaches from each start, in the order of the starts."""
    ends = []
    for name, tried in (
        (PREFIXES_START, starts.prefix_classes(search.profile, search.classes_max)),
        *((name, starts.parts(search.profile, classes)) for name, classes in given),
        (EMPTY_START, []),
    ):
        search.restart()
        for classes in tried:
            search.admit(classes, 8)
        ends.append(_End(name, search.best, search.heap_bytes))
    changed: dict[Classes, tuple[Classes, int]] = {}
    ranked = sorted(ends, key=lambda end: end.heap_bytes)
    if len(search.recordings) > 1:  # the search on each recording alone has found its classes
        ranked = ranked[:1]
    elif not search.is_short:
        ranked = ranked[:ENDS_CHANGED_MAX]
    for end in ranked:
        if end.classes not in changed:
            search.best, search.heap_bytes = end.classes, end.heap_bytes
            _change_counts(search, [classes for _, classes in given])
            changed[end.classes] = (search.best, search.heap_bytes)
    return [
        _End(end.name, *changed.get(end.classes, (end.classes, end.heap_bytes))) for end in ends
    ]


def _change_counts(search: _Search, given: Sequence[Classes]) -> None:
    """Change one count at a time where that saves memory; drop a class that saves none."""
    promising = starts.sizes_to_change(search.profile)
    gain_min = SHORT_GAIN_MIN if search.is_short else GAIN_MIN
    is_patient = search.is_short or search.is_one_of_several or len(search.recordings) > 1
    refused = 0
    for _ in range(SHORT_SWEEPS_MAX if search.is_short else SWEEPS_MAX):
        before = search.heap_bytes
        chosen = dict(search.best)
        others = [size for size in search.profile.sizes if size.size_bytes in chosen]
        for size in dict.fromkeys(promising + others):
            count = dict(search.best).get(size.size_bytes, 0)
            for other in starts.counts_to_try(size, count, given):
                gain_bytes = int(search.heap_bytes * gain_min) if other else 0
                changed = starts.with_count(search.best, size.size_bytes, other)
                replays = search.meter.replays
                if search.admit(changed, gain_bytes):
                    refused = 0
                elif search.meter.replays > replays:  # what costs nothing tries nobody's patience
                    refused += 1
                if refused == PATIENCE and not is_patient:
                    return
        if before - search.heap_bytes < before * gain_min:
            break


def _measured(
    search: _Search,
    ends: Sequence[_End],
    given: Sequence[tuple[str, Classes]],
    found_before: Container[str],
) -> Measured:
    """The best of starts and results, measured as `tau replay` does, or plain TLSF.

    After an interruption, only the ends are measured, and starts that searches have found:
    `found_before`.
    """
    best_first = sorted(search.admitted.items(), key=_heap)
    refusals, admitted = [], dict([] if search.meter.is_ended else best_first[:MEASURED_MAX])
    admitted |= {end.classes: end.heap_bytes for end in ends if end.classes}
    for name, classes in given:
        is_tried = name in found_before or not search.meter.is_ended
        refusals.append(_refusal(search, classes) if is_tried else NOT_TRIED)
        if not refusals[-1]:
            admitted.setdefault(classes, search.plain_bytes)
    best, heap_bytes = (), search.plain_bytes
    tried = dict(sorted(admitted.items(), key=_heap))
    while tried and not best:  # while plain TLSF is the best, each loses its largest class
        for classes in tried:
            if search.admitted.get(classes, 0) <= heap_bytes:
                best, heap_bytes = _better(search, classes, best, heap_bytes)
        tried = dict.fromkeys(_without_largest(classes) for classes in tried if classes)
    told = tuple(
        Start(end.name, end.heap_bytes, refused, refused in BETS)
        for end, refused in zip(ends, ["", *refusals, ""], strict=True)
    )
    return Measured(best, heap_bytes, search.plain_bytes, told)


def _heap(found: tuple[Classes, int]) -> tuple[int, int]:
    """Order by heap, then by number of classes."""
    return found[1], len(found[0])


def _better(
    search: _Search, classes: Classes, best: Classes, heap_bytes: int
) -> tuple[Classes, int]:
    """`classes` and their safe heap if that is smaller than the best so far, which is kept if not.

    Of several recordings, each needs at most plain TLSF's heap for it.
    """
    most = min(heap_bytes - search.profile.granule_bytes, search.most_bytes(classes))
    runs = classes and search.runs(classes, most)
    if not runs or not search.passes_prefixes(runs):
        return best, heap_bytes
    given = list(zip(search.recordings, search.heaps(most), strict=True))
    heaps = [recording.threshold(classes, guess) for recording, guess in given]
    is_less = all(0 < heap <= least for heap, (_, least) in zip(heaps, given, strict=True))
    return (classes, max(heaps)) if is_less else (best, heap_bytes)


def _without_largest(classes: Classes) -> Classes:
    largest = max(classes, key=lambda item: item.size_bytes * item.count)
    return tuple(item for item in classes if item != largest)


def _refusal(search: _Search, classes: Classes) -> str:
    """Why `classes` are not admitted; empty if they are."""
    if not classes:
        return NO_CLASS
    most = search.most_bytes(classes)
    if most < search.profile.peak_live_bytes:
        return NO_RETURN
    wide = [search.meter.run(each, classes, 2 * search.plain_bytes) for each in search.recordings]
    if all(run.needed_bytes for run in wide) and not search.passes_prefixes(wide):
        return LOSES_ON_PREFIX
    runs = search.runs(classes, search.plain_bytes - search.profile.granule_bytes)
    if not runs:
        return NO_GAIN
    return "" if all(run.needed_bytes <= most for run in runs) else NO_RETURN


def _prefix_checks(search: _Search) -> None:
    plain = search.plain
    least = min(plain) * SMALLEST_SHARE if max(plain) >= min(plain) * RECORDINGS_DIFFER else 0
    if search.is_predetermined:
        return
    for index, (recording, heap_bytes) in enumerate(zip(search.recordings, plain, strict=True)):
        ignored = int(max(heap_bytes * PREFIX_SHARE_MIN, least))
        needed = search.meter.run(recording, (), heap_bytes).prefix_bytes
        for sixteenths in reversed(PREFIX_CHECKS):
            high = needed[sixteenths - 1]
            if high <= ignored:
                break
            most = int(high * (1 + STRAY)) // 8 * 8
            search.checks.append(_Check(index, sixteenths, most))
