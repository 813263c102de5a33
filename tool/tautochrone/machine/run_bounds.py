"""The bounds of `tau run`: the longest paths of malloc and free in the installed library."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tautochrone import native
from tautochrone.machine.longest_path import NEVER, bound_instructions

VERBS = ("malloc", "free")
# Not included in any bound: misuse, refusals and spills, a handler's calls, and waiting.
LEFT_OUT = {
    *("tlsf_refuse", "tlsf_misused", "tlsf_unmerged", "budget_refuse", "budget_misused"),
    *("tau_report_stop", "refuse_foreign", "empty_large", "tau_heap_spill", "pools_exceed"),
    *("tau_high_water_large_bucket", "spill", "tlb_color_foreign"),
    *("tau_nested_calls_admit", "tau_nested_calls_allocate", "tau_nested_calls_free"),
    *("tau_lock_wait", "tau_lock_wake", "tau_spill_return"),
    *("tau_magazines_stop", "open_mine"),
}
# Without a plan only.
MAGAZINES = {"tau_calls_allocate_unplanned", "tau_magazines_allocate", "free_unplanned"}
SHARED = {"allocate_shared", "free_shared"}
# A task's heap has a separate bound: docs/spec/run_colors.md.
COLORED = {"tau_colors_allocate", "tau_colors_free"}
# With a plan of bands, calls beyond its limits too, and frees of their objects.
BEYOND_LIMITS = {
    *("tau_budget_malloc", "tau_tlsf_malloc", "tau_tlsf_free"),
    *("tau_unlocked_budget_malloc", "tau_unlocked_tlsf_malloc", "tau_unlocked_tlsf_free"),
}
PLANNED = {
    *("tau_budget_malloc", "tau_pools_malloc", "tau_budget_free"),
    *("tau_unlocked_budget_malloc", "tau_unlocked_pools_malloc", "tau_unlocked_budget_free"),
}
# Rounds of the only loop of each: BATCH_MAX and ROWS_MAX of magazines.c.
ROUNDS = {
    **dict.fromkeys(("tau_unlocked_tlsf_carve", "tau_magazines_allocate", "take_rows"), 32),
    "free_rows": 8,
}
# Also left out: with several threads nothing but heaps of tasks.
WAYS = {"": COLORED, "_alone": SHARED}


def library() -> Path:
    """The installed library, with its symbols."""
    return native.DIRECTORY / native.RUN_LIBRARY


def bounds(more: Collection[str]) -> tuple[int, int]:
    """The most instructions of malloc and of free. Raises TauError if none exists."""
    charges = dict.fromkeys((*LEFT_OUT, *MAGAZINES, *more), NEVER)
    malloc, free = (bound_instructions(library(), verb, charges) for verb in VERBS)
    return malloc, free


def unplanned() -> dict[str, tuple[int, int]]:
    """The same without a plan: of a call that a magazine serves, and of any other."""
    charges = dict.fromkeys((*LEFT_OUT, *COLORED, *PLANNED), NEVER)
    malloc, free = (bound_instructions(library(), verb, charges, ROUNDS) for verb in VERBS)
    return {"magazine": bounds(COLORED | PLANNED | SHARED | BEYOND_LIMITS), "heap": (malloc, free)}


def operations(has_limits: bool = False) -> dict[str, int]:
    """The bound of each: `malloc` and `free` with several threads, `malloc_alone`, `free_alone`.

    `has_limits`: of calls within the limits of a plan of bands.
    """
    beyond = BEYOND_LIMITS if has_limits else set()
    return {
        verb + way: bound
        for way, more in WAYS.items()
        for verb, bound in zip(VERBS, bounds(more | beyond), strict=True)
    }
