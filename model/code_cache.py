"""Golden model of the code cache: lists of frames, and the search for endless loads [P3-3, G-9].

Written from docs/spec/code_cache.md. Every operation returns the C function's result: a status
name, and the steps of a fault. `longest_stall` plays all schedules of threads, interrupts and
replacement against instructions that need several pages at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import product

PAGES_MAX = 65535
FRAMES_MAX = 64
INSTRUCTION_PAGES = 4
AGE_BITS = 8
VISITED = 4
POLICIES = ("round_robin", "random", "nru", "aging")
RETRY, LOAD, REPLACE = "retry", "load", "replace"
MASK = 0xFFFFFFFF


def frames_least(threads: int, interrupt_pages: int) -> int:
    """As TAU_CODE_CACHE_FRAMES_LEAST."""
    return INSTRUCTION_PAGES * threads + interrupt_pages


@dataclass(frozen=True)
class Answer:
    """The answer to a fault; `evicted` is the page that a replacement unmaps."""

    action: str
    frame: int
    evicted: int | None = None


@dataclass
class CodeCache:
    """A cache as tau_code_cache_init makes it; `status` says whether it would be refused."""

    pages_count: int
    frames_count: int
    frames_least: int
    policy: str = "round_robin"
    seed: int = 1
    holds: list[int | None] = field(init=False)
    recent: list[int] = field(default_factory=list)  # oldest first
    pinned: set[int] = field(default_factory=set)
    faults: int = 0
    loads: int = 0
    evictions: int = 0
    drops: int = 0

    def __post_init__(self) -> None:
        """Every frame is empty, and nothing was used."""
        self.holds = [None] * self.frames_count
        self.used = [False] * self.frames_count
        self.ages = [0] * self.frames_count
        self.random = self.seed or 1

    def status(self) -> str:
        """The result of tau_code_cache_init."""
        is_valid = 1 <= self.pages_count <= PAGES_MAX and 1 <= self.frames_count <= FRAMES_MAX
        if not is_valid or self.frames_least < 1 or self.policy not in POLICIES:
            return "BAD_ARGUMENT"
        return "OK" if self.frames_count >= self.frames_least else "FRAMES_TOO_FEW"

    def fault(self, page: int) -> tuple[str, Answer | None]:
        """As tau_code_cache_fault."""
        if page >= self.pages_count:
            return "PAGE_OUTSIDE", None
        if page in self.pinned:
            return "PAGE_PINNED", None
        self.faults += 1
        if page in self.holds:
            return "OK", Answer(RETRY, self.holds.index(page))
        frame = self._victim()
        evicted = self.holds[frame]
        self.holds[frame] = page
        self.used[frame], self.ages[frame] = True, 0
        self.recent.append(frame)
        del self.recent[: max(0, len(self.recent) - (self.frames_least - 1))]
        self.loads += 1
        self.evictions += evicted is not None
        return "OK", Answer(LOAD if evicted is None else REPLACE, frame, evicted)

    def use(self, frames: set[int]) -> None:
        """As tau_code_cache_use."""
        for frame in frames & set(range(self.frames_count)):
            self.used[frame] = True

    def age(self) -> None:
        """As tau_code_cache_age."""
        for frame, used in enumerate(self.used):
            self.ages[frame] = self.ages[frame] >> 1 | used << (AGE_BITS - 1)
            self.used[frame] = False

    def drop(self, frame: int) -> str:
        """As tau_code_cache_drop."""
        if frame >= self.frames_count:
            return "FRAME_OUTSIDE"
        if self.holds[frame] is None:
            return "FRAME_FREE"
        self.holds[frame] = None
        self.drops += 1
        return "OK"

    def pin(self, page: int) -> str:
        """As tau_code_cache_pin."""
        if page >= self.pages_count:
            return "PAGE_OUTSIDE"
        if page in self.pinned:
            return "PAGE_PINNED"
        if page in self.holds:
            return "PAGE_MAPPED"
        self.pinned.add(page)
        return "OK"

    def candidates(self) -> list[int]:
        """The frames of which the policy takes one, ascending."""
        if self.policy == "round_robin":
            return [self.loads % self.frames_count]
        allowed = [frame for frame in range(self.frames_count) if frame not in self.recent]
        empty = [frame for frame in allowed if self.holds[frame] is None]
        if empty or self.policy == "random":
            return empty or allowed
        if self.policy == "nru":
            return [frame for frame in allowed if not self.used[frame]] or allowed
        least = min((self.used[frame], self.ages[frame]) for frame in allowed)
        return [frame for frame in allowed if (self.used[frame], self.ages[frame]) == least]

    def _victim(self) -> int:
        left = self.candidates()
        if self.policy in ("round_robin", "aging"):
            return left[0]
        self.random ^= self.random << 13 & MASK
        self.random ^= self.random >> 17
        self.random ^= self.random << 5 & MASK
        return left[self.random * len(left) >> 32]


class Visits:
    """The visits of tau_sv39_code_visit: some frames at each fault."""

    def __init__(self, cache: CodeCache) -> None:
        """The first one begins at frame 0."""
        self.cache, self.first, self.left = cache, 0, cache.frames_count

    def visit(self, accessed: set[int]) -> None:
        """The frames ACCESSED have that bit. It is cleared in those that are visited."""
        self.left -= 1
        if self.left == 0:
            self.left = self.cache.frames_count
            self.cache.age()
            return
        visited = set(range(self.first, self.first + VISITED))
        self.cache.use(visited & accessed)
        accessed -= visited
        self.first += VISITED
        if self.first >= self.cache.frames_count:
            self.first = 0


# ---- How many frames are needed -----------------------------------------------------------------


def instructions(pages_count: int) -> Iterator[frozenset[int]]:
    """What an instruction of a machine with PAGES_COUNT cold pages can need, each pattern once.

    Its code lies on one page or two adjacent ones, its operand on none, one or two, maybe the same.
    """
    runs = [(first,) for first in range(pages_count)]
    runs += [(first, first + 1) for first in range(pages_count - 1)]
    yield from {frozenset(code + operand) for code, operand in product(runs, [(), *runs])}


@dataclass(frozen=True)
class Stalled:
    """Threads that each are at an instruction, and interrupts whose handlers load pages.

    A cache is a tuple of pages, the oldest load first. `guard` loads are safe from eviction; of the
    others, any may be the victim, so that this stands for every policy. In round robin it is the
    oldest.
    """

    needs: tuple[frozenset[int], ...]
    interrupt_pages: frozenset[int] = frozenset()

    def after(self, cache: tuple[int, ...], guard: int) -> Iterator[tuple[int, ...]]:
        """The caches that one more load can lead to, as long as no thread has all it needs.

        Whoever has all pages is not chosen: the schedule is the worst. Any missing page may be the
        first to fault.
        """
        wanted = self.interrupt_pages.union(*self.needs) - set(cache)
        for page in wanted:
            for place in range(len(cache) - guard):
                yield (*cache[:place], *cache[place + 1 :], page)


def longest_stall(stalled: Stalled, caches: Collection[tuple[int, ...]], guard: int) -> int | None:
    """The most loads in a row from one of CACHES during which no thread ends its instruction.

    None: no limit. A depth-first search over all caches that can be reached; a cache that
    is met again on its own path is an endless loop.
    """
    known: dict[tuple[int, ...], int] = {}
    for start in caches:
        path = [] if start in known else [(start, stalled.after(start, guard))]
        longest, on_path = [0], {start}
        while path:
            here, following = path[-1]
            after = next(following, None)
            if after in on_path:
                return None
            if after is None:
                path.pop()
                on_path.remove(here)
                known[here] = longest.pop()
                longest[-1:] = [max(longest[-1], known[here] + 1)] if longest else []
            elif after in known:
                longest[-1] = max(longest[-1], known[after] + 1)
            else:
                path.append((after, stalled.after(after, guard)))
                on_path.add(after)
                longest.append(0)
    return max(map(known.__getitem__, caches))
