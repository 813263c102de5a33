"""The table of mechanisms: what test_mechanisms.py makes of each.

A row names a mechanism whose C file calls_NAME.c enters its calls in core/tests/kit/mechanism.h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.tests.buddy import costs as buddy_costs
from core.tests.buddy.replay import BuddyReplay
from core.tests.code_cache import costs as code_cache_costs
from core.tests.code_cache.replay import CodeCacheReplay
from core.tests.heap.replay import BudgetReplay, PoolsReplay, TlsfReplay
from core.tests.kit.core_build import ASSERTS, Build
from core.tests.kit.replay import Replay
from core.tests.pages.replay import HierarchyReplay, VspaceReplay
from core.tests.tables import costs_region_tree
from core.tests.tables.replay import PageTableReplay, RegionTreeReplay
from core.tests.tlb_color import costs as tlb_color_costs

# Frames that are cheap to look at, and every assert.
STRICT = (ASSERTS, "TAU_PAGE_LOG2=6")
SMALL = ("TAU_CODE_CACHE_FRAMES_MAX=32u", "TAU_SPACE_PAGES_LOG2_MAX=12")
LARGE = ("TAU_CODE_CACHE_FRAMES_MAX=224u", "TAU_SPACE_PAGES_LOG2_MAX=26")
SANITIZED = Build(64, 2, 1, "-O1", "gcc", sanitize=True, defines=STRICT)
SANITIZED_32 = Build(32, 1, 0, "-O1", "gcc", sanitize=True, defines=STRICT)
PLAIN = Build(64, defines=STRICT)
# One configuration each of what goes wrong apart: layouts, levels, junk, optimizers, compilers, the
# end of a bitmap from which bits are counted, scans by table, and the sizes of spaces and caches.
BUILDS = [
    SANITIZED,
    SANITIZED_32,
    Build(32, 0, 0, "-O2", "gcc"),
    Build(64, 1, 0, "-Os", "gcc", defines=("TAU_ASSERT_LEVEL=1", "TAU_PAGE_LOG2=6", *SMALL)),
    Build(64, 0, 0, "-O2", "clang-14"),
    Build(32, 2, 1, "-O0", "clang-14"),
    Build(32, 1, 0, "-O1", "gcc", True, (*STRICT, *LARGE, "__arm__", "TAU_BITS_SCAN=0")),
]
SMALL_CACHES = BUILDS[3]
# Of check-all: what the builds above have only together with something else.
APART = [
    Build(64, 1, 0, "-Os", "gcc", defines=("TAU_ASSERT_LEVEL=1",)),
    Build(32, 1, 0, "-O1", "gcc", True, (*STRICT, "__arm__", "TAU_BITS_SCAN=0")),
    Build(32, 1, 0, "-O1", "gcc", True, (*STRICT, *LARGE)),
    Build(64, 1, 0, "-Os", "gcc", False, (*STRICT, *SMALL)),
]
STRICT_CACHES = APART[-1]
FUZZED = Build(64, 2, 1, "-O1", "clang-14", sanitize=True, defines=STRICT)


@dataclass(frozen=True)
class States:
    """An exploration: calls deep (0: any number), at most so many states, more arguments.

    `is_slow`: not in `make check`. `may_stop`: as many states as the limit allows.
    """

    depth: int
    states_max: int
    arguments: tuple[int, ...] = ()
    build: Build = PLAIN
    is_slow: bool = False
    may_stop: bool = False

    def words(self) -> list[str]:
        """On the command line."""
        return [str(number) for number in (self.depth, self.states_max, *self.arguments)]


@dataclass(frozen=True)
class Costs:
    """Pinned costs: of an instruction set, where, and whether a document states them."""

    costs: Callable[[str], dict[str, Any]]
    golden: Path
    isas: Sequence[str] = ("rv32", "rv32zbb")
    documented: Callable[[dict[str, Any]], None] | None = None


@dataclass(frozen=True)
class Mechanism:
    """One row: how many random calls in each sanitized build; a model; states; costs.

    Of the random calls `modeled` are repeated by `replay`, in a run of their own.
    """

    name: str
    calls: int
    calls_for_long: int = 10_000_000
    states: tuple[States, ...] = ()
    replay: type[Replay] | None = None
    modeled: int = 40_000
    costs: Costs | None = None


MECHANISMS = [
    Mechanism(
        "tlsf",
        calls=250_000,
        replay=TlsfReplay,
        states=(
            States(6, 4_000_000),
            States(5, 4_000_000, build=Build(32)),
            States(6, 4_000_000, build=Build(32), is_slow=True),
            States(12, 10_000_000, is_slow=True, may_stop=True),
        ),
    ),
    Mechanism("budget", calls=250_000, replay=BudgetReplay),
    Mechanism("pools", calls=250_000, calls_for_long=20_000_000, replay=PoolsReplay),
    Mechanism(
        "buddy",
        calls=100_000,
        calls_for_long=5_000_000,
        states=(
            States(0, 1_500_000, (14, 0, 14)),
            States(0, 20_000, (13, 1, 11, 1)),
            States(0, 1_500_000, (16, 0, 16), is_slow=True),
        ),
        replay=BuddyReplay,
        costs=Costs(buddy_costs.costs, buddy_costs.GOLDEN, documented=buddy_costs.documented),
    ),
    Mechanism(
        "code_cache",
        calls=100_000,
        # Policy, pages, frames, least frames.
        states=(
            States(0, 1 << 20, (0, 5, 4, 4), SMALL_CACHES),
            States(0, 1 << 20, (1, 5, 4, 3), SMALL_CACHES),
            States(0, 1 << 20, (2, 5, 3, 2), SMALL_CACHES),
            States(0, 1 << 20, (3, 4, 2, 1), SMALL_CACHES),
            States(0, 1 << 20, (0, 5, 3, 3), STRICT_CACHES, is_slow=True),
            States(0, 1 << 20, (1, 5, 4, 4), STRICT_CACHES, is_slow=True),
            States(0, 1 << 20, (2, 4, 4, 3), STRICT_CACHES, is_slow=True),
            States(0, 1 << 20, (3, 4, 3, 2), STRICT_CACHES, is_slow=True),
        ),
        replay=CodeCacheReplay,
        modeled=60_000,
        costs=Costs(
            code_cache_costs.costs,
            code_cache_costs.GOLDEN,
            ("rv32", "rv32zbb", "m4"),
            code_cache_costs.documented,
        ),
    ),
    Mechanism(
        "region_tree",
        calls=200_000,
        replay=RegionTreeReplay,
        costs=Costs(
            costs_region_tree.costs,
            costs_region_tree.GOLDEN,
            documented=costs_region_tree.documented,
        ),
    ),
    Mechanism(
        "vspace",
        calls=500_000,
        # Pages as a power of two, frames.
        states=(States(4, 1 << 20, (7, 4)), States(6, 1 << 22, (5, 3), is_slow=True)),
        replay=VspaceReplay,
    ),
    Mechanism(
        "hierarchy",
        calls=200_000,
        # The same, and records.
        states=(
            States(4, 1 << 20, (7, 4, 4)),
            States(5, 1 << 22, (7, 4, 4), is_slow=True),
        ),
        replay=HierarchyReplay,
    ),
    Mechanism("pagetable", calls=200_000, replay=PageTableReplay),
    Mechanism(
        "tlb_color",
        calls=150_000,
        costs=Costs(
            tlb_color_costs.costs,
            tlb_color_costs.GOLDEN,
            tuple(tlb_color_costs.CONFIGURATIONS),
        ),
    ),
]
