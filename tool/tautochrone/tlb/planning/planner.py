"""Plans which principal owns which sets, and where its pages are [P4-4, P4-10].

Each principal gets few shares and a small window: fewer shares need a larger one. Those that need
most shares choose first, because ranges of a power of two must be aligned in some geometries.
Shares that are left go to isolated principals that would evict their own entries, the neediest
first. Cost: a few searches of the address range per principal and number of shares.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tautochrone.console.output import count
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.facts import tile_format
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import ISOLATED, PAGES_MAX, UNCOLORED, Partition, Principal
from tautochrone.tlb.planning.demand import Demand, demands_of
from tautochrone.tlb.planning.placement import (
    Refusal,
    Search,
    over_capacity,
    place,
    place_uncolored,
)
from tautochrone.tlb.planning.shares import Bits, PageRange, Shares, divide
from tautochrone.tlb.tasks import FixedSets, TaskSet
from tautochrone.tlb.tile.shape import shape_of


def crowded_entries(partition: Partition) -> int:
    """How many entries lie in sets that all principals together fill beyond the safe ways."""
    safe_ways = [array.safe_ways for array in partition.geometry.arrays]
    entries = partition.entries_of_all().items()
    return sum(count for place, count in entries if count > safe_ways[place[0]])


def price(colored: Partition, uncolored: Partition) -> dict[str, dict[str, int]]:
    """For both: bytes of windows and page tables, and entries in crowded sets."""
    return {
        name: {
            "address_space_bytes": each.address_space_bytes,
            "page_table_bytes": each.page_table_bytes,
            "crowded_entries": crowded_entries(each),
        }
        for name, each in (("colored", colored), ("uncolored", uncolored))
    }


def told(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The price and the promise, as lines of text."""
    ours, theirs = found["colored"], found["uncolored"]
    windows, tables = (
        f"{ours[key]:,} bytes, not {theirs[key]:,}"
        for key in ("address_space_bytes", "page_table_bytes")
    )
    lines = [f"price of the colors: windows of {windows}; page tables of {tables}"]
    before, after = theirs["crowded_entries"], ours["crowded_entries"]
    if not before:
        lines.append(
            "colors buy nothing while all keep to these pages: without them no set has more entries"
            " than safe ways either"
        )
    if after > before:
        lines.append(
            f"colors cost misses here: {after:,} entries share sets that do not hold them, and"
            f" {before:,} without colors"
        )
    elif after == before != 0:
        lines.append(
            f"colors neither cost nor save misses here: {after:,} entries share sets that do not"
            " hold them, with colors and without"
        )
    elif before:
        lines.append(
            f"promise: {after:,} entries share sets that do not hold them; {before:,} without"
            " colors"
        )
    return lines


RANGES_MAX = 4  # of as many shares, tried for one principal
OWNERS_MAX = 3  # named in a refusal
STEP = 8  # numbers of shares that are tried grow by this part of themselves

USUAL_STEP = "give it less memory, plan fewer tasks, or take another geometry"
ISOLATED_STEP = '; with mode = "isolated" it may miss'


Group = tuple[Demand, ...]  # those who use the same sets in turn; the first one's


@dataclass(frozen=True)
class Misfit:
    """A principal that got no place, and why."""

    name: str
    cause: str
    next_step: str


@dataclass(frozen=True)
class Planned:
    """The partition of the tasks that fit, in the file's order; the misfits; the free shares."""

    partition: Partition
    misfits: tuple[Misfit, ...]
    shares_count: int
    shares_free: int
    sets_per_share: tuple[tuple[str, int], ...]  # array and how many
    uncolored: Partition | None = None  # the same tasks without sets, if it was asked for

    def left(self) -> str:
        """The free shares, as text."""
        sets = " and ".join(
            f"{count(number, 'set')} of {array}" for array, number in self.sets_per_share
        )
        return (
            f"{self.shares_free:,} of {count(self.shares_count, 'share')} of the sets free; a share"
            f" is {sets}"
        )

    def document(self) -> dict[str, Any]:
        """The object for `tau tlb plan --json`, without the partition."""
        return {
            "shares": {"count": self.shares_count, "free": self.shares_free},
            "not_fitting": [{"name": each.name, "cause": each.cause} for each in self.misfits],
            "price": None if self.uncolored is None else price(self.partition, self.uncolored),
        }


@dataclass
class _Plan:
    """The sets and pages given so far."""

    tasks: TaskSet
    pages: PageRange
    shares: Shares
    used: Bits = field(init=False)
    owners: list[str | None] = field(init=False)  # of each share
    found: dict[str, Principal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.used = np.zeros(self.pages.count, dtype=bool)
        if self.tasks.window.start in (0, tile_format.ADDRESS_WINDOW):
            self.used[0] = True  # reserved: NULL is not an object, and the tile has no page 0
        self.owners = [None] * self.shares.count


def plan_partition(
    tasks: TaskSet, geometry: Geometry, is_uncolored: bool = False, is_compared: bool = False
) -> Planned:
    """Plan the sets and pages of tasks and kernel. Raises TauError for a mistake of the user.

    With `is_uncolored` nobody gets sets, whatever the file asks for. With `is_compared` the result
    also has the partition without sets, if all fit both ways.
    """
    demands = demands_of(tasks, geometry.page_bytes, shape_of(geometry, 1) is not None)
    without = [
        replace(each, mode=UNCOLORED, fixed_sets=(), shares_sets_with=None) for each in demands
    ]
    if is_uncolored:
        return _planned(tasks, geometry, without)
    found = _planned(tasks, geometry, demands)
    if not is_compared or found.misfits:
        return found
    other = _planned(tasks, geometry, without)
    return found if other.misfits else replace(found, uncolored=other.partition)


def _planned(tasks: TaskSet, geometry: Geometry, demands: Sequence[Demand]) -> Planned:
    pages = _pages(tasks, geometry)
    plan = _Plan(tasks, pages, divide(pages))
    fixed = {each.name: _fixed_range(plan, each) for each in demands}
    _check_overlaps(plan, demands, fixed)
    misfits: dict[str, Refusal] = {}
    needs: dict[str, Need] = {}
    known: dict[Demand, Need | Refusal] = {}
    for each in demands:
        alike = replace(each, name="", place="")
        if alike not in known:
            known[alike] = _wanted(plan, each, fixed[each.name])
        wanted = known[alike]
        if isinstance(wanted, Refusal):
            misfits[each.name] = wanted
        else:
            needs[each.name] = wanted
    groups = _groups([each for each in demands if each.name in needs])
    order = sorted(
        groups,
        key=lambda group: (fixed[group[0].name][0] is None, -_most(group, needs).shares),
    )
    refused: dict[Group, Refusal] = {}  # less and less is free, so equals are refused, too
    for group in order:
        alike = tuple(replace(each, name="", place="") for each in group)
        wide = _most(group, needs)
        refusal = refused.get(alike) or _give(plan, group, fixed[group[0].name], wide)
        if refusal is not None:
            misfits |= {each.name: refusal for each in group}
            refused[alike] = refusal
    alone = [group[0] for group in groups if len(group) == 1]
    _give_spare(plan, [each for each in alone if each.name in plan.found], fixed)
    names = [each.name for each in demands]
    principals = tuple(plan.found[name] for name in names if name in plan.found)
    return Planned(
        Partition(geometry, tasks.window.word_bytes, principals),
        tuple(
            Misfit(
                each.name,
                misfits[each.name].cause,
                misfits[each.name].next_step
                or USUAL_STEP + ISOLATED_STEP * (each.mode != ISOLATED),
            )
            for each in demands
            if each.name in misfits
        ),
        plan.shares.count,
        plan.owners.count(None),
        tuple(
            (array.name, array.sets // plan.shares.count)
            for array, shares in zip(geometry.arrays, plan.shares.share_of, strict=True)
            if shares is not None
        ),
    )


def refuse_misfits(found: Planned) -> None:
    """Raise TauError if a principal does not fit."""
    if found.misfits:
        first = found.misfits[0]
        more = len(found.misfits) - 1
        others = f" ({count(more, 'other')} as well)" if more else ""
        raise TauError(
            f"{first.name} does not fit{others}: {first.cause}",
            first.next_step,
            EXIT_LIMIT_EXCEEDED,
        )


def _pages(tasks: TaskSet, geometry: Geometry) -> PageRange:
    window, page_bytes = tasks.window, geometry.page_bytes
    if window.size_bytes < 4 * page_bytes:
        raise tasks.fail(
            "window.size_bytes",
            f"{window.size_bytes} bytes are fewer than four pages of {page_bytes}",
        )
    if window.size_bytes > PAGES_MAX * page_bytes:
        raise tasks.fail(
            "window.size_bytes",
            f"{count(window.size_bytes // page_bytes, 'page')} are too many to search",
            f"give at most {PAGES_MAX * page_bytes:#x}",
        )
    return PageRange(geometry, window.start // page_bytes, window.size_bytes // page_bytes)


# ---- sets that the user fixes -------------------------------------------------------------------

Range = tuple[int | None, int | None]  # the first share and how many; None: the planner's choice


def _fixed_range(plan: _Plan, demand: Demand) -> Range:
    """The shares of the sets that the user gives a principal."""
    first, number = None, None
    for index, fixed in enumerate(demand.fixed_sets):
        at, wanted = _shares_of_sets(plan, f"{demand.place}.sets[{index}]", fixed)
        if (number not in (None, wanted)) or (at is not None and first not in (None, at)):
            raise plan.tasks.fail(
                f"{demand.place}.sets[{index}]",
                f"{demand.name} gets other shares by its sets of {demand.fixed_sets[0].array}",
                "name one array; the other sets follow from it",
            )
        first, number = at if at is not None else first, wanted
    return first, number


def _shares_of_sets(plan: _Plan, place: str, fixed: FixedSets) -> tuple[int | None, int]:
    arrays, tasks = plan.pages.geometry.arrays, plan.tasks
    names = [array.name for array in arrays]
    colorable = [
        array.name for array, shares in zip(arrays, plan.shares.share_of, strict=True)
        if shares is not None
    ]  # fmt: skip
    if fixed.array not in colorable:
        cause = (
            f"nobody can own sets of {fixed.array}"
            if fixed.array in names
            else f"{plan.pages.geometry.name} has no array {fixed.array}"
        )
        raise tasks.fail(f"{place}.array", cause, f"use one of {', '.join(colorable)}")
    number = names.index(fixed.array)
    sets, share_of = arrays[number].sets, plan.shares.share_of[number]
    assert share_of is not None
    per_share = sets // plan.shares.count
    if fixed.count + (fixed.first or 0) > sets:
        cause = f"it asks for set {fixed.count + (fixed.first or 0) - 1}, but there are {sets}"
        raise tasks.fail(place, f"{fixed.array}: {cause}", f"use sets 0 to {sets - 1}")
    if fixed.count % per_share:
        raise tasks.fail(
            f"{place}.count",
            f"{fixed.count} sets of {fixed.array} are not a multiple of {per_share}",
            f"sets are given in shares: {per_share} of {fixed.array} each",
        )
    wanted = fixed.count // per_share
    if fixed.first is None:
        return None, wanted
    given = share_of[fixed.first : fixed.first + fixed.count]
    first = int(given.min())
    if sorted(plan.shares.sets(number, first, wanted)) != list(
        range(fixed.first, fixed.first + fixed.count)
    ):
        raise tasks.fail(
            f"{place}.first",
            f"sets {fixed.first} to {fixed.first + fixed.count - 1} of {fixed.array} are not a"
            " range of shares, because shares follow from another array",
            "give first in another array, or leave it out",
        )
    return first, wanted


def _check_overlaps(plan: _Plan, demands: Sequence[Demand], fixed: dict[str, Range]) -> None:
    for each in demands:
        first, number = fixed[each.name]
        if first is None or number is None:
            continue
        for share in range(first, first + number):
            owner = plan.owners[share]
            if owner is not None:
                raise plan.tasks.fail(
                    f"{each.place}.sets", f"{owner} owns some of these sets, too", "give each once"
                )
            plan.owners[share] = each.name
    plan.owners = [None] * plan.shares.count


# ---- sets that the planner chooses --------------------------------------------------------------


@dataclass(frozen=True)
class Need:
    """What a principal gets if it can be had: shares, and pages of its window."""

    shares: int
    window_pages: int


def _groups(demands: Sequence[Demand]) -> list[Group]:
    names = {each.name: each.shares_sets_with or each.name for each in demands}
    return [
        tuple(each for each in demands if names[each.name] == name)
        for name in dict.fromkeys(names.values())
    ]


def _most(group: Group, needs: Mapping[str, Need]) -> Need:
    """What each of a group gets along with: the most shares, the first one's window."""
    return replace(needs[group[0].name], shares=max(needs[each.name].shares for each in group))


def _wanted(plan: _Plan, demand: Demand, fixed: Range) -> Need | Refusal:
    """The shares and the window that a principal needs if it is alone.

    Fewer shares need a larger window. Of both, it gets the pair whose larger part of what there is
    is smallest.
    """
    alone = _Plan(plan.tasks, plan.pages, plan.shares)
    refusal, best, best_part = Refusal("it has no pages"), None, 2.0
    for number in _numbers(plan, demand, fixed):
        if number / plan.shares.count >= best_part:
            break
        found = _try(alone, demand, fixed[0] or 0, number, plan.pages.count)
        if isinstance(found, Refusal):
            refusal = found
            continue
        pages = found.window_bytes // plan.pages.geometry.page_bytes
        part = max(number / plan.shares.count, pages / plan.pages.count)
        if part < best_part:
            best, best_part = Need(number, pages), part
    shares_count = fixed[1] or plan.shares.count
    return best or over_capacity(plan.pages, plan.shares, demand, shares_count) or refusal


def _numbers(plan: _Plan, demand: Demand, fixed: Range) -> Iterator[int]:
    """How many shares are tried, rising."""
    if demand.mode == UNCOLORED:
        yield 0
        return
    if fixed[1] is not None:
        yield fixed[1]
        return
    number = 1
    while number <= plan.shares.count:
        yield number
        number += max(1, number // STEP) if plan.shares.any_range else number


def _give(plan: _Plan, group: Group, fixed: Range, need: Need) -> Refusal | None:
    """Give those of a group the lowest free shares with which each has a place."""
    refusal, demand = None, group[0]
    numbers = list(_numbers(plan, demand, fixed))
    enough = [each for each in numbers if each >= need.shares]
    tries = [(number, need.window_pages) for number in enough]
    tries += [(number, plan.pages.count) for number in enough]
    tries += [(number, plan.pages.count) for number in numbers if number < need.shares]
    for number, pages_max in tries:
        for first in itertools.islice(_free_ranges(plan, number, fixed[0]), RANGES_MAX):
            refusal = _place_all(plan, group, first, number, pages_max)
            if refusal is None:
                return None
    if refusal is not None:
        return refusal
    return Refusal(
        f"it needs {count(need.shares, 'share')} of sets in a row; {plan.owners.count(None)} of"
        f" {plan.shares.count} are free{_most_shares(plan)}",
        "give those less memory, smaller objects or mode isolated, or take another geometry",
    )


def _place_all(
    plan: _Plan, group: Group, first: int, number: int, pages_max: int
) -> Refusal | None:
    """Place each of a group in the same shares; none if one is refused."""
    for each in group:
        found = _try(plan, each, first, number, pages_max)
        if isinstance(found, Refusal):
            for other in group[: group.index(each)]:
                _free(plan, range(first, first + number), plan.found.pop(other.name))
            return found
        _take(plan, group[0], first, number, found)
    return None


def _most_shares(plan: _Plan) -> str:
    """Who has most of the shares."""
    owners = Counter(owner for owner in plan.owners if owner is not None)
    most = ", ".join(f"{name} {number}" for name, number in owners.most_common(OWNERS_MAX))
    more = ", ..." if len(owners) > OWNERS_MAX else ""
    return f" ({most}{more})" if most else ""


def _free_ranges(plan: _Plan, number: int, first: int | None) -> Iterator[int]:
    """The first share of each free range of `number` shares, rising."""
    step = 1 if plan.shares.any_range else max(number, 1)
    starts = range(0, plan.shares.count - number + 1, step) if first is None else [first]
    for start in starts:
        if not any(plan.owners[start : start + number]):
            yield start


def _give_spare(plan: _Plan, demands: Sequence[Demand], fixed: dict[str, Range]) -> None:
    """Give free shares to isolated principals whose sets do not hold all their entries.

    The one with most entries too many gets the next number of shares with which it has fewer, again
    and again. Bound: each turn takes a free share, or is the last one of a principal.
    """
    needs = {
        each: _excess(plan, plan.found[each.name])
        for each in demands
        if each.mode == ISOLATED and fixed[each.name] == (None, None)
    }
    while None in plan.owners and any(needs.values()):
        neediest = max(needs, key=lambda demand: needs[demand])
        needs[neediest] = _enlarge(plan, neediest, needs[neediest])


def _enlarge(plan: _Plan, demand: Demand, excess: int) -> int:
    """Move a principal to the fewest shares with which it has fewer entries too many.

    Returns how many these are; 0 if no number of free shares helps.
    """
    found = plan.found[demand.name]
    own = [share for share, owner in enumerate(plan.owners) if owner == demand.name]
    _free(plan, own, found)
    most = plan.owners.count(None)
    for number in _numbers(plan, demand, (None, None)):
        if not len(own) < number <= most:
            continue
        for first in itertools.islice(_free_ranges(plan, number, None), RANGES_MAX):
            tried = _try(plan, demand, first, number, plan.pages.count)
            if isinstance(tried, Principal) and (left := _excess(plan, tried)) < excess:
                _take(plan, demand, first, number, tried)
                return left
    _take(plan, demand, own[0], len(own), found)
    return 0


def _excess(plan: _Plan, found: Principal) -> int:
    """How many entries of a principal are more than its sets hold."""
    safe_ways = [array.safe_ways for array in plan.pages.geometry.arrays]
    alone = Partition(plan.pages.geometry, plan.tasks.window.word_bytes, (found,))
    entries = alone.entries(found.runs)
    return sum(max(0, number - safe_ways[place[0]]) for place, number in entries.items())


def _try(
    plan: _Plan, demand: Demand, first: int, number: int, pages_max: int
) -> Principal | Refusal:
    fixed = plan.tasks.window.word_bytes, pages_max
    search = Search(plan.pages, plan.shares, first, number, demand, plan.used, *fixed)
    return place_uncolored(search) if demand.mode == UNCOLORED else place(search)


def _take(plan: _Plan, demand: Demand, first: int, number: int, found: Principal) -> None:
    plan.owners[first : first + number] = [demand.name] * number
    page_bytes = plan.pages.geometry.page_bytes
    start = found.window_start // page_bytes - plan.pages.first
    plan.used[start : start + found.window_bytes // page_bytes] = True
    plan.found[found.name] = found


def _free(plan: _Plan, shares: Sequence[int], found: Principal) -> None:
    """Undo `_take`."""
    for share in shares:
        plan.owners[share] = None
    page_bytes = plan.pages.geometry.page_bytes
    start = found.window_start // page_bytes - plan.pages.first
    plan.used[start : start + found.window_bytes // page_bytes] = False
