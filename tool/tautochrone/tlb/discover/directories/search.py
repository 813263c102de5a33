"""Whether entries of page directories take ways of the last level, and of which sets.

docs/spec/discover.md, [DISC-18] ... [DISC-21]. *Attackers* are pages of one set, more than it has
ways, each below a directory entry of its own. All of them walk in each pass. If the entries of
their directories go to the set of the *victims*, the victims walk too.
"""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from tautochrone.tlb.discover.checks import Check
from tautochrone.tlb.discover.directories.many import SUFFERS, most_suffering
from tautochrone.tlb.discover.linear import reduced, span, sums
from tautochrone.tlb.discover.meter import Meter
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown
from tautochrone.tlb.discover.ways import Level, low, pass_ticks

ATTACKER_BITS = 6  # So 64 of them: more than ways, and than a processor's cache of directories.
TRIALS, SURE_TRIALS = 5, 15
SCANS = 2
CANDIDATES = 4
MANY = 32  # Sets that are asked once.
SETS_LEAST = 4
COMPARED = 2
STARTS = 4  # Sets of the positive control.
HIT = 0.5  # As a fraction of the way from sets that do not suffer to the one that does.
PART = 0.22  # The fraction of victims that must walk.
VISIBLE = 0.1  # Missing directory entries must add at least this fraction of a walk.
MIXES = 8  # Neutral bits that are tried in addition.
REPEATS = 3
PAUSE_SECONDS = 0.002
PAUSES_SECONDS = (0.002, 0.02, 0.05, 0.1)  # A neighbor's turn ends.
CHECKS, TRIES = 12, 3


@dataclass(frozen=True)
class Sharing:
    """Rows are masks of page numbers; `constant` is what the index is joined with. Without rows,
    directories do not share the level. `control`: why that would have been seen. `miss_walks`:
    what a directory entry that misses adds to a walk, in walks; None if there is none.
    """

    rows: tuple[int, ...]
    constant: int
    control: str
    miss_walks: float | None
    checks: list[Check] = field(default_factory=list)


@dataclass
class Search:
    """Attackers on a level, and what their victims suffer."""

    meter: Meter
    level: Level
    directory_bits: int
    vectors: list[int]
    quiet: float = 0.0  # Ticks of victims whom nobody evicts.
    struck: float = 0.0  # Ticks of victims in the set of the attackers' directories.
    place: float = 0.0  # The last answer's. 0.5 is in the middle between a hit and none.

    def attackers(self, base: int, victims: int) -> Pages:
        """Attackers below the directories from `base` on, in another set than the victims."""
        index = self.level.index
        moved = index.of(base)
        starts = (
            each
            for each in range(1, index.sets)
            if index.page_in(each) < 1 << self.directory_bits and each ^ moved != victims
        )
        start = next(starts, None)
        if start is None:
            raise Unknown("too few sets differ within a directory's pages")
        return span(self.vectors) ^ np.uint64(index.page_in(start) ^ base)

    def ticks(self, number: int, base: int = 0, trials: int = TRIALS) -> float:
        """What a pass over the victims of a set takes."""
        others = self.attackers(base, number)
        return low(pass_ticks(self.meter, self.level, number, others, trials))

    def struck_of(self, numbers: list[int], base: int) -> int | None:
        """The one of some sets that the directories from `base` on go to; None if it is none.

        All are asked one after another, so that a neighbor disturbs all of them.
        """
        for _ in range(REPEATS if len(numbers) < MANY else 1):
            others = self.others(numbers)
            asked = [*numbers, *others]
            found = {each: self.ticks(each, base) for each in asked}
            if others:
                beyond = max(map(found.__getitem__, numbers)) - max(map(found.__getitem__, others))
                self.place = beyond / (2 * self._clear)
            first, second, *_rest = sorted(asked, key=found.__getitem__, reverse=True)
            if found[first] - found[second] > self._clear:
                if self.ticks(first, base) - self.ticks(second, base) > self._clear:
                    return first if first in numbers else None
            elif found[first] - self.quiet < self._clear:
                return None
            time.sleep(PAUSE_SECONDS)
        return None

    @property
    def least(self) -> float:
        """Ticks that victims who suffer take more than others."""
        return max(0.5, self.level.live / 6) * self.level.ways.walk

    @property
    def _clear(self) -> float:
        victims = self.level.live * self.level.ways.walk
        return max(1.0, min(HIT * (self.struck - self.quiet), PART * victims))

    def others(self, numbers: list[int]) -> list[int]:
        """Two sets to compare with."""
        sets = self.level.index.sets
        drawn = self.level.groups.dice.permutation(sets).tolist()
        return [each for each in drawn if each not in numbers][:COMPARED]


def sharing_of(meter: Meter, level: Level) -> Sharing:
    """The directory structure of the last level. Raises Unknown."""
    bits = meter.oracle.facts.directory_bits
    if bits is None:
        return Sharing((), 0, "the page table has no directories", None)
    kernel = [each for each in level.index.kernel if not each % (1 << bits)]
    if len(kernel) <= ATTACKER_BITS or level.index.sets < SETS_LEAST:
        raise Unknown("too few pages below different directories share a set")
    search = Search(meter, level, bits, kernel[-ATTACKER_BITS:])
    miss_walks = _miss_walks(search, kernel)
    number = _struck_set(search, kernel)
    if number is None:
        if miss_walks < VISIBLE or not _can_see(search):
            raise Unknown(
                "no set suffers, but directory entries are not seen to miss, or victims to suffer,"
                " so the search may be blind"
            )
        suffering = most_suffering(meter, level, bits)
        if suffering > SUFFERS:
            raise Unknown(
                "no set suffers from directories that should share one, but some do from more"
                f" directories than the level has entries ({suffering:.2f} of the most possible)"
            )
        control = (
            f"directory entries that miss cost {miss_walks:.2f} walks, and no set suffers, not even"
            " from twice as many as the level has entries"
        )
        return Sharing((), 0, control, miss_walks)
    columns = {
        bit: _set_of(search, 1 << bit, number) ^ number
        for bit in range(bits, meter.oracle.facts.page_bits)
    }
    rows = tuple(
        sum(1 << bit for bit, column in columns.items() if column >> row & 1)
        for row in range(len(level.index.rows))
    )
    if len(reduced(rows)) < len(rows):
        raise Unknown("directory entries seem to go to some of the sets only")
    found = Sharing(rows, number, "victims suffer in one set", miss_walks)
    return replace(found, checks=_checks(search, found))


def _struck_set(search: Search, kernel: list[int]) -> int | None:
    """The one set whose victims suffer; None if there is none. Sets the search's scale.

    What no pass over all sets disturbs is what suffers. A candidate is then compared with others.
    """
    base = search.vectors
    suspicion = 0.0
    for mix in (None, *kernel[:2]):
        # With a bit of the directories that does not matter, more ways of a set may be used.
        search.vectors = base if mix is None else [*base[1:], mix]
        every = range(search.level.index.sets)
        found = np.min([[search.ticks(each) for each in every] for _ in range(SCANS)], axis=0)
        search.quiet = float(np.median(found))
        for number in np.argsort(-found)[:CANDIDATES].tolist():
            excess = _excess(search, number)
            if excess > search.least:
                search.struck = search.quiet + excess
                _mix(search, kernel, number)
                if search.struck - search.quiet < search.least:
                    raise Unknown("victims of one set seemed to suffer, and then no longer")
                return int(number)
            suspicion = max(suspicion, excess)
    search.vectors = base
    if suspicion > search.least / 2:
        raise Unknown("victims of one set seem to suffer, but not in each comparison")
    return None


def _excess(search: Search, number: int) -> float:
    """A set's time above the slowest other set's: the least difference of some rounds."""
    differences = []
    for _ in range(REPEATS):
        others = search.others([number])
        beside = max(search.ticks(each, 0, SURE_TRIALS) for each in others)
        differences.append(search.ticks(number, 0, SURE_TRIALS) - beside)
    return min(differences)


def _can_see(search: Search) -> bool:
    """Whether victims would be seen to suffer: they do if the attackers are in their own set."""
    level = search.level
    number = int(level.groups.dice.integers(level.index.sets))
    mine = level.pages_in(number, 3 * level.live)[level.live :]
    struck = low(pass_ticks(search.meter, level, number, mine, SURE_TRIALS))
    return struck - search.ticks(number, 0, SURE_TRIALS) > search.least


def _mix(search: Search, kernel: list[int], number: int) -> None:
    """Take in the bit with which the victims suffer most. It must not move the directories."""
    base = best = search.vectors
    first = most = search.struck
    for mix in [each for each in kernel if each not in base][:MIXES]:
        search.vectors, search.struck = base, first
        if search.struck_of([number], mix) == number:
            search.vectors = [*base[1:], mix]
            ticks = search.ticks(number, 0, SURE_TRIALS)
            if ticks > most:
                most, best = ticks, search.vectors
    search.vectors = best
    # The largest of noisy numbers is too large.
    search.struck = min(search.ticks(number, 0, SURE_TRIALS) for _ in range(REPEATS))


def _set_of(search: Search, base: int, near: int) -> int:
    """The set of the directories from `base` on; those near a known one are tried first."""
    sets = search.level.index.sets
    close = [near, *(near ^ 1 << bit for bit in range(sets.bit_length() - 1))]
    for pause in PAUSES_SECONDS:
        number = search.struck_of(close, base)
        if number is not None:
            return number
        time.sleep(pause)
    number = search.struck_of(list(range(sets)), base)
    if number is not None:
        return number
    raise Unknown(f"the set of the directory entry of page {base:#x} was not found, others were")


def _miss_walks(search: Search, kernel: list[int]) -> float:
    """What directory entries that miss add to a walk, in walks.

    Pages of one set in few directories, and as many in directories of their own, all walk. The
    latter cost more if their directory entries have to be loaded each time.
    """
    level = search.level
    near_vectors = [*(each for each in level.index.kernel if each < kernel[0]), *kernel]
    starts = level.groups.starts(STARTS)
    near = search.meter.cost(sums(starts, span(near_vectors[:ATTACKER_BITS])))
    far = search.meter.cost(sums(starts, span(kernel[-ATTACKER_BITS:])))
    return (far - near) / level.ways.walk


def _checks(search: Search, found: Sharing) -> list[Check]:
    """Directories at random: victims in their set suffer, victims in another one do not."""
    dice = search.level.groups.dice
    bits = search.meter.oracle.facts.page_bits
    sets = search.level.index.sets
    result = []
    for name, expected in (("directories of one set", True), ("of other sets", False)):
        right, margin = 0, HIT
        for _ in range(CHECKS):
            base = int(dice.integers(1 << (bits - search.directory_bits))) << search.directory_bits
            number = found.constant ^ sum(
                (base & row).bit_count() % 2 << bit for bit, row in enumerate(found.rows)
            )
            asked = number if expected else number ^ int(dice.integers(1, sets))
            for _ in range(TRIES):
                if (search.struck_of([asked], base) is not None) == expected:
                    right += 1
                    margin = min(margin, abs(search.place - 0.5))
                    break
        result.append(Check(name, right, CHECKS, margin))
    return result
