"""The model of the code cache: Fig. 1, the policies' own words, and how many frames are needed, by
search through every schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations

import pytest

from model.code_cache import (
    AGE_BITS,
    INSTRUCTION_PAGES,
    LOAD,
    POLICIES,
    REPLACE,
    RETRY,
    Answer,
    CodeCache,
    Stalled,
    frames_least,
    instructions,
    longest_stall,
)

FOREIGN = 100  # pages that nobody needs any more


def caches(pages_count: int, frames_count: int) -> Iterator[tuple[int, ...]]:
    """Every content and order of FRAMES_COUNT frames: pages that are needed, and foreign ones."""
    for known in range(min(frames_count, pages_count) + 1):
        for pages in permutations(range(pages_count), known):
            for places in combinations(range(frames_count), known):
                cache = [FOREIGN + frame for frame in range(frames_count)]
                for page, place in zip(pages, places, strict=True):
                    cache[place] = page
                yield tuple(cache)


def stalled(pages: int, threads: int, interrupt_pages: int) -> Stalled:
    """THREADS that need PAGES each, none of them shared: less is needed if some are."""
    needs = tuple(frozenset(range(i * pages, (i + 1) * pages)) for i in range(threads))
    return Stalled(needs, frozenset(range(pages * threads, pages * threads + interrupt_pages)))


def filled(policy: str, frames_count: int, least: int) -> CodeCache:
    """A cache whose frame i holds page i."""
    cache = CodeCache(20, frames_count, least, policy)
    while None in cache.holds:
        cache.fault(next(page for page in range(frames_count) if page not in cache.holds))
    return cache


# ---- Operations ---------------------------------------------------------------------------------


def test_figure_1() -> None:
    """[P3-4] Thread 1 executes V1 in P1. Thread 2 needs V2, which replaces it: V1 comes back to
    P2, where V9 was, and both go on."""
    cache = CodeCache(10, 2, 2)
    assert cache.fault(1) == ("OK", Answer(LOAD, 0))
    assert cache.fault(9) == ("OK", Answer(LOAD, 1))
    assert cache.fault(2) == ("OK", Answer(REPLACE, 0, 1))
    assert cache.fault(1) == ("OK", Answer(REPLACE, 1, 9))
    assert cache.fault(2) == ("OK", Answer(RETRY, 0))
    assert (cache.faults, cache.loads, cache.evictions) == (5, 4, 2)


def test_policies_leave_what_they_say() -> None:
    """NRU the unused, aging the least recently used, random all but the recent frames."""
    for policy, left in (("random", [0, 1, 2, 3]), ("nru", [1, 3]), ("aging", [3])):
        cache = filled(policy, 6, 3)
        cache.recent = [4, 5]
        cache.age()
        cache.use({1})
        cache.age()
        cache.use({0, 2})
        cache.ages[3] = 0
        assert cache.candidates() == left
        cache.use(set(range(6)))
        assert cache.candidates() == ([0, 1, 2, 3] if policy != "aging" else [3])


def test_aging_is_least_recently_used() -> None:
    """As long as every page was used within the periods that an age holds, one use in each."""
    cache = filled("aging", AGE_BITS, 1)
    for frame in (3, 1, 4, 0, 5, 2, 7, 6):
        cache.age()
        cache.use({frame})
    order = []
    while len(order) < AGE_BITS:
        (frame,) = cache.candidates()
        order.append(frame)
        cache.use({frame})
        cache.ages[frame] = 0xFF
    assert order == [3, 1, 4, 0, 5, 2, 7, 6]


def test_random_victims_are_uniform() -> None:
    """Each of seven frames is the victim about equally often."""
    cache = filled("random", 7, 1)
    seen = Counter(cache.fault(page % 20)[1].frame for page in range(0, 70_000, 7))
    assert sorted(seen) == list(range(7))
    assert max(seen.values()) < 1.1 * min(seen.values())


def test_refusals() -> None:
    """The first condition decides, and nothing changes."""
    assert CodeCache(5, 3, 4).status() == "FRAMES_TOO_FEW"
    assert CodeCache(0, 3, 3).status() == CodeCache(5, 65, 3).status() == "BAD_ARGUMENT"
    cache = CodeCache(5, 3, 3)
    cache.fault(2)
    assert (cache.pin(5), cache.pin(2), cache.pin(1), cache.pin(1)) == (
        "PAGE_OUTSIDE",
        "PAGE_MAPPED",
        "OK",
        "PAGE_PINNED",
    )
    assert cache.fault(5) == ("PAGE_OUTSIDE", None)
    assert cache.fault(1) == ("PAGE_PINNED", None)
    assert (cache.drop(3), cache.drop(1), cache.drop(0)) == ("FRAME_OUTSIDE", "FRAME_FREE", "OK")
    assert cache.faults == 1


# ---- How many frames are needed -----------------------------------------------------------------


def test_one_instruction_needs_four_frames() -> None:
    """[COLD-5] [COLD-9] Every pattern of code and operand from every content: with four frames it
    ends after at most as many loads as it needs pages. With three, one with four pages never does.
    """
    needs = sorted(set(instructions(6)), key=sorted)
    assert max(map(len, needs)) == INSTRUCTION_PAGES == frames_least(1, 0)
    for frames_count in range(1, 6):
        starts = [(*rest,) for rest in permutations([*range(6), *range(100, 102)], frames_count)]
        for need in needs:
            longest = longest_stall(Stalled((need,)), starts, frames_count - 1)
            assert longest == (len(need) if len(need) <= frames_count else None)


@pytest.mark.parametrize(
    ("pages", "threads", "interrupt_pages"),
    [(1, 1, 0), (1, 2, 0), (1, 3, 0), (1, 4, 0), (2, 1, 0), (2, 2, 0), (3, 1, 0), (4, 1, 0),
     (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 1, 2), (3, 1, 1), (1, 3, 1), (4, 1, 1)],
)  # fmt: skip
def test_the_least_frames_are_least(pages: int, threads: int, interrupt_pages: int) -> None:
    """[COLD-6] ... [COLD-8] With R T + I frames there are never more loads in a row than that, for
    any victim that is not recent. With one less, round robin loads for ever; so does every policy
    if threads alone need more."""
    least = pages * threads + interrupt_pages
    every = stalled(pages, threads, interrupt_pages)
    for frames_count in range(least, min(least + 2, 6)):
        starts = list(caches(least, frames_count))
        for guard in {least - 1, frames_count - 1}:
            longest = longest_stall(every, starts, guard)
            assert longest == least, (frames_count, guard)
    for frames_count in range(1, least):
        starts = [tuple(range(FOREIGN, FOREIGN + frames_count))]
        if least > 1:
            assert longest_stall(every, starts, frames_count - 1) is None
        # In a cycle through all pages, each is the one that round robin evicted last but one.
        cache = CodeCache(least, frames_count, 1)
        for load in range(3 * least):
            answer = cache.fault(load % least)[1]
            assert answer is not None and answer.action != RETRY


def test_without_recent_frames_a_random_victim_may_stall() -> None:
    """Why [COLD-1] is for all policies: four frames are not enough if any may be evicted."""
    assert longest_stall(stalled(4, 1, 0), [(100, 101, 102, 103)], 2) is None
    assert longest_stall(stalled(4, 1, 0), [(100, 101, 102, 103, 104)], 0) is None
    assert longest_stall(stalled(4, 1, 0), [(100, 101, 102, 103, 104)], 3) == 4


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_spares_recent_frames(policy: str) -> None:
    """[COLD-1] So that the search speaks of the policies: whatever was used, in any order."""
    for frames_count in range(1, 6):
        for least in range(1, frames_count + 1):
            cache = CodeCache(9, frames_count, least, policy, seed=frames_count * 7 + least)
            loaded: list[int] = []
            for step in range(400):
                _, answer = cache.fault(step * step % 9)
                assert answer is not None
                if answer.action == RETRY:
                    cache.use({answer.frame})
                    continue
                assert answer.frame not in loaded[max(0, len(loaded) - least + 1) :]
                loaded.append(answer.frame)
                if step % 3 == 0:
                    cache.age()
