"""Compares measured numbers of the allocators with the limits and goals of targets.toml.

Instruction counts are maxima over the traces, without checks, at -O2, without payload moves.
`bound` is the stated bound for any sequence of calls (tautochrone.machine.longest_path).
"""

from __future__ import annotations

import ctypes
import json
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.allocators import code_size, ours, programs, synthetic
from bench.commands import ROOT
from tautochrone import native
from tautochrone.machine import longest_path
from tautochrone.console.output import note
from tautochrone.replay import emulator

ISAS = ("rv32", "m4")
CALLS = ("malloc", "free")
CLASSES_TRIED = (1, 4, 16, 64)
CONTROL_BYTES = (16 << 10, 64 << 10, 1 << 20)
Numbers = dict[str, float | None]


def verdict(measured: float | None, limit: float | None, goal: float | None = None) -> str:
    """Whether the limit, or even the goal, is kept. Without a limit it is information."""
    if limit is None:
        return "information"
    if measured is None:
        return "NOT MEASURED"
    if goal is not None and measured <= goal:
        return "within goal"
    return "within limit" if measured <= limit else "ABOVE LIMIT"


def maximum(counts: Iterable[emulator.Counts], *operations: str) -> int | None:
    """The largest number of instructions of any of OPERATIONS; None if none was called."""
    found = [c[name].max for c in counts for name in operations if name in c]
    return max(found, default=None)


def more(number: int | None, usual: int | None) -> int | None:
    """A number above another; None if one of them is missing."""
    return number - usual if number and usual else None


def bound_of(system: str, isa: str, operation: str) -> int | None:
    """The stated bound: the longest path of the linked code, payload moves charged as counted."""
    return longest_path.bound_of_image(emulator.core_image(system, isa), operation)


def tlsf_numbers(traces: list[Path]) -> Numbers:
    """malloc, free and realloc of TLSF: maxima over the traces, bounds, and what the checks add.

    The bound of a moving realloc adds the longest malloc and the longest free, so it is above every
    measured call. aligned_alloc moves an object with a requested alignment, so such an object has a
    separate bound.
    """
    found: Numbers = {}
    for isa in ISAS:
        plain, checked = (
            [ours.counts("tlsf", isa, trace, level) for trace in traces] for level in (0, 1)
        )
        for call in CALLS:
            most = maximum(plain, call)
            found[f"tlsf {call}, {isa}, maximum"] = most
            found[f"tlsf {call}, {isa}, bound"] = bound_of("tlsf", isa, call)
            found[f"default checks add to {call}, {isa}"] = more(maximum(checked, call), most)
        image = emulator.core_image("tlsf", isa)
        for what, charged in (
            ("paths without a move", bounds.PAYLOAD_CHARGES),
            ("without payload", longest_path.OVER_ALIGNED_FUNCTIONS),
        ):
            bound = longest_path.bound_of_image(image, "realloc", charged)
            found[f"tlsf realloc, {isa}, {what}, bound"] = bound
        found[f"tlsf realloc, {isa}, in place, maximum"] = maximum(plain, "realloc_in_place")
        found[f"tlsf realloc, {isa}, without payload, maximum"] = maximum(plain, "realloc")
        aligned = longest_path.bound_of_image(image, "realloc")
        found[f"tlsf realloc, {isa}, with a requested alignment, bound"] = aligned
    return found


def hit_plan(classes: int) -> SimpleNamespace:
    """A plan with this many classes; the smallest has enough buckets for all counted calls."""
    return SimpleNamespace(classes=[(8 * (i + 1), 700) for i in range(classes)])


def budget_numbers(traces: list[Path]) -> Numbers:
    """A hit for several numbers of classes, and what a miss adds to TLSF."""
    found: Numbers = {}
    small = synthetic.trace("small")
    for isa in ISAS:
        image = emulator.core_image("budget", isa)
        by_classes = [
            emulator.count_calls(image, small, 1 << 24, hit_plan(count)) for count in CLASSES_TRIED
        ]
        hits = by_classes + [ours.counts("budget", isa, trace) for trace in traces]
        plain = [ours.counts("tlsf", isa, trace) for trace in traces]
        for call in CALLS:
            hit, miss = f"budget hit {call}, {isa}", f"budget miss {call} above tlsf, {isa}"
            bound = longest_path.bound_of_image(image, call, longest_path.SHARED_FUNCTIONS)
            found |= {f"{hit}, maximum": maximum(hits, f"{call}_hit"), f"{hit}, bound": bound}
            missed, usual = maximum(hits, f"{call}_miss"), maximum(plain, call)
            found[f"{miss}, maximum"] = more(missed, usual)
            whole, alone = (bound_of(system, isa, call) for system in ("budget", "tlsf"))
            found[f"{miss}, bound"] = more(whole, alone)
        spread = {maximum([counts], "malloc_hit") for counts in by_classes}
        what = f"budget hit malloc, {isa}, spread over numbers of classes"
        found[what] = max(spread) - min(spread)
    return found


def heap_of(size_bytes: int) -> tuple[Any, Any, Any]:
    """Return the core, a TLSF in SIZE_BYTES in the layout of a 32-bit machine, and its memory."""
    core = native.library("libtau_core32.so")
    memory = ctypes.create_string_buffer(size_bytes + 8)
    heap = core.tau_tlsf_init((ctypes.addressof(memory) + 7) & ~7, size_bytes, 0)
    return core, heap, memory


def overhead_numbers() -> Numbers:
    """The header of a block, the smallest block, and the control block."""
    core, heap, memory = heap_of(1 << 16)

    def taken(size_bytes: int) -> int:
        before = core.tau_tlsf_statistics(heap).used_bytes
        core.tau_tlsf_malloc(heap, size_bytes)
        return int(core.tau_tlsf_statistics(heap).used_bytes - before)

    header = "header: bytes that a block of 1020 takes above it"
    found: Numbers = {header: taken(1020) - 1020, "smallest block": taken(1)}
    for size_bytes in CONTROL_BYTES:
        core, heap, memory = heap_of(size_bytes)
        control = int(core.tau_tlsf_statistics(heap).control_bytes)
        found[f"control block at {size_bytes >> 10} KiB"] = control
    del memory
    return found


def code_numbers() -> Numbers:
    """The code of malloc + free at -Os."""
    return {
        f"tlsf code -Os malloc+free, {isa}": code_size.our_sizes("tlsf", isa, 0)["malloc_free"]
        for isa in ISAS
    }


def stored_numbers() -> Numbers:
    """Footprints from the stored results of repro/budget."""
    figure5, cross, again = (
        json.loads((ROOT / f"repro/budget/results/{stage}.json").read_text(encoding="utf-8"))
        for stage in ("figure5", "cross_input", "recordings")
    )
    found: Numbers = {}
    for what, ratios in (
        ("seed 0, replayed plan", figure5["seed_0_over_peak"]),
        ("all peaks at once, greedy plan", figure5["full_peak_over_peak"]["greedy"]),
    ):
        found |= {f"budget / peak live, {name}, {what}": ratios[name] for name in ratios}
    found["replayed plan over tlsf, own recording"] = cross["own_over_tlsf_max"]
    on_b = "plan of a over tlsf on b"
    found |= {f"{on_b}, {program}": ratio for program, ratio in cross["other_over_tlsf"].items()}
    found[f"{on_b}, worst of all"] = cross["other_over_tlsf_max"]
    others = "the same, other recordings of ffmpeg, both ways, worst"
    found[others] = again.get("replayed_other_over_tlsf_max")
    return found | {"plan of a and b over tlsf, worst on either": cross["both_over_tlsf_max"]}


def limits() -> dict[str, list[float]]:
    """What targets.toml says."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def measure(quick: bool) -> list[dict[str, Any]]:
    """Measure every number. QUICK leaves out the traces of real programs."""
    traces = [synthetic.trace(kind) for kind in synthetic.KINDS]
    if not quick:
        traces += [inputs["a"] for inputs in programs.record_all().values()]
    groups: dict[str, Callable[[], Numbers]] = {
        "tlsf": lambda: tlsf_numbers(traces),
        "budget": lambda: budget_numbers(traces),
        "overhead": overhead_numbers,
        "code": code_numbers,
        "footprint": stored_numbers,
    }
    known, found = limits(), Numbers()
    for name, group in groups.items():
        note(f"measuring: {name}")
        found |= group()
    rows = []
    for what in dict.fromkeys([*found, *known]):
        limit, goal = [*known.get(what, ()), None, None][:2]
        row = {"what": what, "limit": limit, "goal": goal, "measured": found.get(what)}
        rows.append(row | {"verdict": verdict(found.get(what), limit, goal)})
    return rows
