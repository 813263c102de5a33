"""Plans cold code: which code leaves RAM, its pages, and the number of frames.

The paper asks with a threshold T and a number of frames. A user may ask with the RAM that may be
used, or the faults that are acceptable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from tautochrone.coldcode import residence
from tautochrone.coldcode.fragment import PAGE_BYTES, pages_of
from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.pieces import Code, Split, split_of, thresholds
from tautochrone.coldcode.placement import (
    ColdPieces,
    Pages,
    Touched,
    place,
    place_by_affinity,
    without_repeats,
)
from tautochrone.coldcode.replay import PAGES_MAX, Cache, PageTouches, refuse_frames, replay
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError

FRAMES_TRIED = (4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
CANDIDATES_SEARCHED = 3  # The best plans by affinity alone, which are then searched.
TOUCHES_TRIED_MAX = 4_000_000  # Touches of cold code. A plan with more is never the best.
Plan = TypeVar("Plan")


@dataclass(frozen=True)
class Planned:
    """A plan with its pages, which are lists of piece numbers."""

    code: Code
    split: Split
    cache: Cache
    pages: Pages

    @property
    def is_cold(self) -> np.ndarray:
        """The pieces that leave RAM."""
        return self.split.is_cold

    @cached_property
    def page_pieces(self) -> list[list[Piece]]:
        """The pages for the fragment: each piece with the size that was planned."""
        pieces, sizes = self.code.pieces, self.code.sizes_bytes
        return [
            [replace(pieces[number], size_bytes=int(sizes[number])) for number in page]
            for page in self.pages
        ]

    @property
    def core_bytes(self) -> int:
        """Code that must stay in RAM."""
        return self.code.core_bytes

    @property
    def base_bytes(self) -> int:
        """Other code that stays, since it would be loaded too often."""
        return self.code.resident_bytes(self.is_cold) - self.core_bytes

    @property
    def swappable_bytes(self) -> int:
        """Cold code, without the padding of pages."""
        return int(self.code.sizes_bytes[self.is_cold].sum())

    @property
    def ram_bytes(self) -> int:
        """Code that stays, and the frames."""
        return self.core_bytes + self.base_bytes + self.cache.frames * PAGE_BYTES

    @cached_property
    def faults(self) -> int:
        """Loads in the replay of the recordings it was made from."""
        return replay(self.touches, self.cache).loads

    @cached_property
    def bound(self) -> int:
        """A lower bound of the loads, for any placement of this cold code and any policy."""
        return Touched(cold_of(self.code, self.is_cold, self.cache.frames)).faults_bound()

    @cached_property
    def touches(self) -> PageTouches:
        """The pages that the recordings touch."""
        page_of = np.full(len(self.code.pieces), -1)
        for page, numbers in enumerate(self.pages):
            page_of[numbers] = page
        pages = page_of[self.code.touches]
        at = pages >= 0
        columns = pages[at].astype(np.uint16), np.ascontiguousarray(self.code.times[at])
        return PageTouches(*columns, len(self.pages))


def cold_of(code: Code, is_cold: np.ndarray, frames: int) -> ColdPieces:
    """The pieces to place: cold ones that fit a page."""
    is_small = is_cold & (code.sizes_bytes <= PAGE_BYTES)
    touches = without_repeats(code.touches[is_small[code.touches]])
    return ColdPieces(code.sizes_bytes.tolist(), is_small, touches, frames)


def planned(code: Code, split: Split, cache: Cache) -> Planned:
    """The plan for the code that leaves RAM. Raises TauError if it has too many pages."""
    return with_pages(code, split, cache, place(cold_of(code, split.is_cold, cache.frames)))


def begun(code: Code, split: Split, cache: Cache) -> Planned:
    """As `planned`, without the search."""
    cold = cold_of(code, split.is_cold, cache.frames)
    return with_pages(code, split, cache, place_by_affinity(cold))


def with_pages(code: Code, split: Split, cache: Cache, placed: Pages) -> Planned:
    """The plan with these pages, and the pages of pieces that are larger than one."""
    pages = [sorted(page) for page in placed]
    for number in np.flatnonzero(split.is_cold & (code.sizes_bytes > PAGE_BYTES)).tolist():
        piece = replace(code.pieces[number], size_bytes=int(code.sizes_bytes[number]))
        empty = pages_of(piece) - 1
        pages += [[number], *([] for _ in range(empty))]
    if len(pages) > PAGES_MAX:
        raise TauError(f"{len(pages):,} pages of cold code; at most {PAGES_MAX:,} are possible")
    return Planned(code, split, cache, pages)


# ---- Three ways to ask


def for_part(code: Code, part: float, cache: Cache) -> Planned:
    """The plan for a threshold T and frames."""
    refuse_frames(cache)
    return planned(code, split_of(code, part), cache)


def for_ram(code: Code, ram_bytes: int, cache: Cache) -> Planned:
    """The plan with the fewest faults whose resident code and frames fit into RAM_BYTES.

    For each number of frames, as much code as fits stays: the hottest by threshold, or the code
    that would be loaded most often. Raises TauError if nothing fits.
    """
    found = []
    hottest_first = _by_threshold(code)
    for frames in _frames_tried(cache):
        room = ram_bytes - frames * PAGE_BYTES
        fitting = (one for one in hottest_first if code.resident_bytes(one.is_cold) <= room)
        of_misses = residence.Splits(code, frames).fitting(room)
        for split in (next(fitting, None), of_misses):
            if split is not None and _is_tried(code, split):
                found.append(begun(code, split, replace(cache, frames=frames)))
    if not found:
        least = _least_resident(code, hottest_first, cache) + cache.frames_least * PAGE_BYTES
        raise TauError(
            f"{ram_bytes:,} bytes are too few: the coldest plan takes {least:,}",
            "give more RAM",
            EXIT_LIMIT_EXCEEDED,
        )
    return _best_of(found, lambda plan: (plan.faults, plan.ram_bytes))


def for_faults(code: Code, faults_max: int, cache: Cache) -> Planned:
    """The plan with the least RAM and FAULTS_MAX faults. Raises TauError if there is none."""
    hottest_first = _by_threshold(code)
    found = []
    for frames in _frames_tried(cache):
        of_frames = replace(cache, frames=frames)

        def plan_of(split: Split, cache: Cache = of_frames) -> Planned | None:
            """The plan, if it has few enough faults."""
            plan = begun(code, split, cache) if _is_tried(code, split) else None
            return plan if plan is not None and plan.faults <= faults_max else None

        for splits in (hottest_first, residence.Splits(code, frames)):
            best = _coldest_of(splits, plan_of)
            found += [best] if best is not None else []
    if not found:
        raise TauError(
            f"no plan has {faults_max:,} faults or fewer", "allow more", EXIT_LIMIT_EXCEEDED
        )
    return _best_of(found, lambda plan: (plan.faults > faults_max, plan.ram_bytes, plan.faults))


def _by_threshold(code: Code) -> list[Split]:
    """The split of each threshold, the one with the most hot code first."""
    return [Split(each.part, code.cold_at(each.hot_count)) for each in thresholds(code)]


def _least_resident(code: Code, hottest_first: Sequence[Split], cache: Cache) -> int:
    """The code that stays in the coldest plan that is tried."""

    def tried(split: Split) -> Split | None:
        return split if _is_tried(code, split) else None

    orders = (hottest_first, residence.Splits(code, cache.frames_least))
    coldest = [_coldest_of(splits, tried) for splits in orders]
    return min(code.resident_bytes(split.is_cold) for split in coldest if split is not None)


def _coldest_of(splits: Sequence[Split], plan_of: Callable[[Split], Plan | None]) -> Plan | None:
    """The plan of the last of SPLITS that has one, if all splits before it have one, too."""
    low, high = 0, len(splits)
    best = None
    while low < high:
        middle = (low + high) // 2
        plan = plan_of(splits[middle])
        if plan is None:
            high = middle
        else:
            best, low = plan, middle + 1
    return best


def _best_of(found: Sequence[Planned], key: Callable[[Planned], tuple[int, ...]]) -> Planned:
    """The best plan after a search that begins at the most promising ones."""
    order = sorted(found, key=key)[:CANDIDATES_SEARCHED]
    return min((planned(one.code, one.split, one.cache) for one in order), key=key)


def _frames_tried(cache: Cache) -> list[int]:
    least = cache.frames_least
    return sorted({least, *(frames for frames in FRAMES_TRIED if frames > least)})


def _is_tried(code: Code, split: Split) -> bool:
    return int(np.count_nonzero(split.is_cold[code.touches])) <= TOUCHES_TRIED_MAX
