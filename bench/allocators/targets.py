"""Compares measured numbers of the allocators with their limits and goals.

A limit is the largest acceptable value, a goal a smaller one to aim at. Instruction counts are
maxima over the traces, without checks, at -O2, without payload moves. `bound` is the stated bound
for any sequence of calls (tautochrone.code.bounds). --quick measures the synthetic traces only.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.allocators import code_size, ours, programs, synthetic
from bench.allocators.images import REPOSITORY
from tautochrone import native
from tautochrone.code import bounds
from tautochrone.console.output import note
from tautochrone.replay import emulator

RESULTS = REPOSITORY / "out" / "bench" / "targets.json"
CLASSES_TRIED = (1, 4, 16, 64)
CONTROL = ((16 << 10, 256), (64 << 10, 400), (1 << 20, 1000))
# Limits of the ratio of footprint to peak live bytes, for seed 0.
BUDGET_RATIO = {"W1": 1.001, "W2": 1.061, "W3": 1.025, "W4": 1.045, "W5": 1.002}


@dataclass
class Row:
    """One number: the largest acceptable value, a smaller one to aim at, and the measured one."""

    what: str
    limit: float | None
    measured: float | None
    goal: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the limit, or even the goal, is kept. Without a limit the row is information."""
        if self.limit is None:
            return "information"
        if self.measured is None:
            return "NOT MEASURED"
        if self.goal is not None and self.measured <= self.goal:
            return "within goal"
        return "within limit" if self.measured <= self.limit else "ABOVE LIMIT"


def maximum(counts: Iterable[emulator.Counts], *operations: str) -> int | None:
    """The largest number of instructions of any of OPERATIONS; None if none was called."""
    found = [c[name].max for c in counts for name in operations if name in c]
    return max(found, default=None)


def bound_of(system: str, isa: str, operation: str) -> int | None:
    """The stated bound: the longest path of the linked code, payload moves charged as counted."""
    return bounds.bound_of_image(emulator.core_image(system, isa), operation)


def tlsf_rows(traces: list[Path]) -> list[Row]:
    """malloc, free and realloc of TLSF: maxima over the traces, bounds, and what the checks add."""
    limits = {
        ("rv32", "malloc"): (150, 130),
        ("rv32", "free"): (145, 125),
        ("m4", "malloc"): (110, 90),
        ("m4", "free"): (105, 85),
    }
    checks = {("rv32", "malloc"): 12, ("rv32", "free"): 20}
    rows = []
    for isa in ("rv32", "m4"):
        plain = [ours.counts("tlsf", isa, trace) for trace in traces]
        checked = [ours.counts("tlsf", isa, trace, 1) for trace in traces]
        for operation in ("malloc", "free"):
            limit, goal = limits[isa, operation]
            title = f"tlsf {operation}, {isa}"
            rows.append(Row(f"{title}, maximum", limit, maximum(plain, operation), goal))
            rows.append(Row(f"{title}, bound", limit, bound_of("tlsf", isa, operation), goal))
            added = (maximum(checked, operation) or 0) - (maximum(plain, operation) or 0)
            added_max = checks.get((isa, operation))
            rows.append(Row(f"default checks add to {operation}, {isa}", added_max, added))
        rows += realloc_rows(isa, plain)
    return rows


def realloc_rows(isa: str, plain: list[emulator.Counts]) -> list[Row]:
    """realloc without copying: calls that stay in place, and all calls without the payload's move.

    The limits are for RV32. The bound of a moving realloc adds the longest malloc and the longest
    free, so it is above every measured call. aligned_alloc moves an object with a requested
    alignment, so such an object has a separate bound.
    """
    limit, goal = (350, 300) if isa == "rv32" else (None, None)
    image = emulator.core_image("tlsf", isa)
    in_place = bounds.bound_of_image(image, "realloc", bounds.PAYLOAD_CHARGES)
    moving = bounds.bound_of_image(image, "realloc", bounds.OVER_ALIGNED_FUNCTIONS)
    aligned = bounds.bound_of_image(image, "realloc")
    title = f"tlsf realloc, {isa}"
    return [
        Row(f"{title}, in place, maximum", limit, maximum(plain, "realloc_in_place"), goal),
        Row(f"{title}, paths without a move, bound", limit, in_place, goal),
        Row(f"{title}, without payload, maximum", limit, maximum(plain, "realloc"), goal),
        Row(f"{title}, without payload, bound", limit, moving, goal),
        Row(f"{title}, with a requested alignment, bound", None, aligned, None),
    ]


def hit_plan(classes: int) -> SimpleNamespace:
    """A plan with this many classes; the smallest has enough buckets for all counted calls."""
    return SimpleNamespace(classes=[(8 * (i + 1), 700) for i in range(classes)])


def budget_rows(traces: list[Path]) -> list[Row]:
    """A hit for several numbers of classes, and what a miss adds to TLSF."""
    rows = []
    small = synthetic.trace("small")
    for isa in ("rv32", "m4"):
        image = emulator.core_image("budget", isa)
        by_classes = {
            count: emulator.count_calls(image, small, 1 << 24, hit_plan(count))
            for count in CLASSES_TRIED
        }
        hits = list(by_classes.values()) + [ours.counts("budget", isa, trace) for trace in traces]
        plain = [ours.counts("tlsf", isa, trace) for trace in traces]
        for operation, hit_limits, miss_limits in (
            ("malloc", (45, 35), (40, 25)),
            ("free", (40, 30), (15, 10)),
        ):
            limit, goal = hit_limits if isa == "rv32" else (None, None)
            title = f"budget hit {operation}, {isa}"
            bound = bounds.bound_of_image(image, operation, bounds.SHARED_FUNCTIONS)
            rows.append(Row(f"{title}, maximum", limit, maximum(hits, f"{operation}_hit"), goal))
            rows.append(Row(f"{title}, bound", limit, bound, goal))
            limit, goal = miss_limits if isa == "rv32" else (None, None)
            title = f"budget miss {operation} above tlsf, {isa}"
            missed, usual = maximum(hits, f"{operation}_miss"), maximum(plain, operation)
            added = missed - usual if missed and usual else None
            rows.append(Row(f"{title}, maximum", limit, added, goal))
            whole, alone = bound_of("budget", isa, operation), bound_of("tlsf", isa, operation)
            added = whole - alone if whole and alone else None
            rows.append(Row(f"{title}, bound", limit, added, goal))
        spread = {maximum([c], "malloc_hit") for c in by_classes.values()}
        what = f"budget hit malloc, {isa}: spread over {CLASSES_TRIED} classes"
        rows.append(Row(what, 0, max(spread) - min(spread)))
    return rows


def heap_of(size_bytes: int) -> tuple[Any, Any, Any]:
    """Return the core, a TLSF in SIZE_BYTES in the layout of a 32-bit machine, and its memory."""
    core = native.library("libtau_core32.so")
    memory = ctypes.create_string_buffer(size_bytes + 8)
    heap = core.tau_tlsf_init((ctypes.addressof(memory) + 7) & ~7, size_bytes, 0)
    return core, heap, memory


def overhead_rows() -> list[Row]:
    """The header of a block, the smallest block, and the control block."""
    core, heap, memory = heap_of(1 << 16)

    def taken(size_bytes: int) -> int:
        before = core.tau_tlsf_statistics(heap).used_bytes
        core.tau_tlsf_malloc(heap, size_bytes)
        return int(core.tau_tlsf_statistics(heap).used_bytes - before)

    rows = [
        Row("header: bytes that a block of 1020 takes above it", 4, taken(1020) - 1020),
        Row("smallest block", 16, taken(1)),
    ]
    for size_bytes, limit in CONTROL:
        core, heap, memory = heap_of(size_bytes)
        control = int(core.tau_tlsf_statistics(heap).control_bytes)
        rows.append(Row(f"control block at {size_bytes >> 10} KiB", limit, control))
    del memory
    return rows


def code_rows() -> list[Row]:
    """The code of malloc + free at -Os."""
    limits = {"m4": (750, 650), "rv32": (1000, 900)}
    rows = []
    for isa, (limit, goal) in limits.items():
        size = code_size.our_sizes("tlsf", isa, 0)["malloc_free"]
        rows.append(Row(f"tlsf code -Os malloc+free, {isa}", limit, size, goal))
    return rows


def stored_rows(path: Path | None = None) -> list[Row]:
    """Footprints from the stored results of repro/budget."""
    folder = path or REPOSITORY / "repro" / "budget" / "results"

    def stored(stage: str) -> dict[str, Any]:
        file = folder / f"{stage}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    figure5, cross, again = (stored(stage) for stage in ("figure5", "cross_input", "recordings"))
    full = figure5.get("full_peak_over_peak", {}).get("greedy", {})
    seed = figure5.get("full_peak_seed")
    rows = []
    for name, limit in BUDGET_RATIO.items():
        title = f"budget / peak live, {name}"
        measured = figure5.get("seed_0_over_peak", {}).get(name)
        rows.append(Row(f"{title}, seed 0, replayed plan", limit, measured))
        rows.append(Row(f"{title}, seed {seed}, greedy plan", limit, full.get(name)))
    own, other = cross.get("own_over_tlsf_max"), cross.get("other_over_tlsf_max")
    both = cross.get("both_over_tlsf_max")
    rows.append(Row("replayed plan over tlsf, own recording", 1.0, own))
    for program, ratio in cross.get("other_over_tlsf", {}).items():
        rows.append(Row(f"plan of a over tlsf on b, {program}", 1.02, ratio, 1.0))
    rows.append(Row("plan of a over tlsf on b, worst of all", 1.02, other, 1.0))
    other = again.get("replayed_other_over_tlsf_max")
    rows.append(Row("the same, other recordings of ffmpeg, both ways, worst", 1.02, other, 1.0))
    rows.append(Row("plan of a and b over tlsf, worst on either", 1.02, both, 1.0))
    return rows


def measure(quick: bool) -> list[Row]:
    """Measure every row. QUICK leaves out the traces of real programs."""
    traces = [synthetic.trace(kind) for kind in synthetic.KINDS]
    if not quick:
        traces += [inputs["a"] for inputs in programs.record_all().values()]
    groups: dict[str, Callable[[], list[Row]]] = {
        "tlsf": lambda: tlsf_rows(traces),
        "budget": lambda: budget_rows(traces),
        "overhead": overhead_rows,
        "code": code_rows,
        "footprint": stored_rows,
    }
    rows: list[Row] = []
    for name, group in groups.items():
        note(f"measuring: {name}")
        rows += group()
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows as a table."""
    lines = [f"{'number':56} {'limit':>8} {'goal':>8} {'measured':>10}  verdict"]
    for row in rows:
        goal = "" if row.goal is None else f"{row.goal:g}"
        measured = "-" if row.measured is None else f"{row.measured:.5g}"
        limit = "" if row.limit is None else f"{row.limit:g}"
        lines.append(f"{row.what:56} {limit:>8} {goal:>8} {measured:>10}  {row.verdict}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and store in out/bench/targets.json."""
    rows = measure("--quick" in sys.argv[1:])
    print(table(rows))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    document = [{**asdict(row), "verdict": row.verdict} for row in rows]
    RESULTS.write_text(
        json.dumps({"version": 1, "rows": document}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
