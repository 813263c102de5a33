"""Booted kernels with cold code: bytes out of RAM, cost, and whether the kernel's counters agree
with replay."""

import statistics
from dataclasses import replace
from typing import Any

import numpy as np

from repro.coldcode import goals, kernels, planned
from repro.coldcode.kernels import PROGRAMS, Paging, Work
from repro.coldcode.planned import Wanted
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.linux.flash import START
from tautochrone.coldcode.linux.run import How, compared, result_of
from tautochrone.coldcode.replay import PageTouches

PART = 0.999
FRAMES = (4, 8, 16, 32)
SEEDS = (1, 2, 3, 4, 5)
FOOTPRINT_BYTES = 64 << 20
ROUND = replace(PROGRAMS, rounds=1)
RELEASE = "tau_sv39_code_release_page"


def row(wanted: Wanted, frames: int, work: Work = PROGRAMS) -> dict[str, Any]:
    """A plan on a booted kernel, compared with the kernel with all code in RAM and with replay."""
    made, fragment = planned.linked(wanted)
    paging = Paging(fragment, frames)
    plain, paged = kernels.run_of(work), kernels.run_of(work, paging)
    how = How(made.plan.split.part, frames=frames, seed=work.seed)
    wish = kernels.wish(paging)
    found = result_of(how, wish, plain.built, paged) | compared(how, wish, plain, paged)
    del found["kernel"]
    found["planner"] = wanted.planner
    found["executed_by"] = {"rounds": work.rounds, "memory_bytes": work.memory_bytes}
    if work.seed == PROGRAMS.seed:
        touches = planned.touches_of(made.plan, work)
        found["replayed_loads"] = planned.loads(touches, frames, paging.policy)
        own = touches_of_paged(paged, len(made.plan.pages))
        found["own_replayed_loads"] = planned.loads(own, frames, paging.policy)
    return found


def touches_of_paged(run: kernels.Run, pages_count: int) -> PageTouches:
    """The cold pages that a kernel with paging touched itself, from the release of the last page
    until it showed its counters. Replay of them asks whether a cache is replayed rightly, replay of
    the kernel without paging also whether both do the same."""
    recording = run.recording
    start = np.uint64(read_kernel(run.built.vmlinux).places[START].address)
    functions = np.asarray(recording.functions.starts, np.uint64)
    page_of = ((functions - start) // np.uint64(PAGE_BYTES)).astype(np.int64)
    is_cold = (functions >= start) & (page_of < pages_count)
    released = recording.touches == recording.functions.names.index(RELEASE)
    first, last = recording.times[released][-1], planned.shown_at(recording)
    at = (recording.times > first) & (recording.times < last) & is_cold[recording.touches]
    pages = page_of[recording.touches[at]].astype(np.uint16)
    return PageTouches(pages, np.ascontiguousarray(recording.times[at]), pages_count)


def frames_of(wanted: Wanted) -> int:
    """The frames that a plan for RAM found."""
    return planned.linked(wanted)[0].plan.cache.frames


def seeds() -> dict[str, Any]:
    """System instructions with paging against those without, by seed."""
    rows = [row(Wanted(PART), 16, replace(ROUND, seed=seed)) for seed in SEEDS]
    ratios = [one["system_instructions"] / one["baseline_system_instructions"] for one in rows]
    plain = [one["baseline_system_instructions"] for one in rows]
    return {
        "rounds": ROUND.rounds,
        "ratios": ratios,
        "ratio_median": statistics.median(ratios),
        "baseline_spread": max(plain) / min(plain) - 1,
        "loads": [one["loads"] for one in rows],
        "outputs_equal": all(one["outputs_equal"] for one in rows),
    }


def measure() -> dict[str, Any]:
    """The paper's point by frames, the paper's placement, plans for RAM, and seeds."""
    plans = goals.wanted()
    return {
        "point": row(plans["point"], 16),
        "by_frames": {str(frames): row(plans["point"], frames, ROUND) for frames in FRAMES},
        "same_ram": row(plans["same_ram"], frames_of(plans["same_ram"]), ROUND),
        "profile_based": row(Wanted(PART, "profile-based"), 16, ROUND),
        "small_memory": row(plans["point"], 16, replace(ROUND, memory_bytes=FOOTPRINT_BYTES)),
        "seeds": seeds(),
    }
