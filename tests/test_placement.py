"""Model, host core and RV32 image put every object of a real recording at the same place.

Method: the recording of `recorded` (conftest.py) is carried out by the Python model, by the core in
its 32-bit layout on this machine, and by the core compiled for RV32IMC and Cortex-M4 in the
emulator. Each chains (event, offset) of every object into the hash of tool/native/replay/content.h.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.budget import Budget
from model.tlsf import Tlsf
from tautochrone import native
from tautochrone.machine.core_build import Build
from tautochrone.machine.images import core_image
from tautochrone.facts import trace_format
from tautochrone.plan.file import Plan, PlanClass
from tautochrone.heap.profile import profile_of
from tautochrone.replay import emulator
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.run import replay, safe_heap
from tautochrone.replay.systems import system_named
from tautochrone.replay.systems.native import Native
from tautochrone.trace.file import open_trace

WORD = 2**64
CLASSES_MAX = 8


@pytest.fixture(scope="module")
def plan(recorded: Path) -> Plan:
    """A plan by hand: half of what each frequent class needs, so that both regions are used."""
    sizes = sorted(profile_of([recorded]).sizes, key=lambda one: -one.peak_live)[:CLASSES_MAX]
    chosen = tuple(PlanClass(one.size_bytes, max(1, one.peak_live // 2)) for one in sizes)
    return Plan(chosen, 0, "greedy", 1.0)


def model_of(system: str, heap_bytes: int, plan: Plan) -> Tlsf | Budget:
    """Return the model of a heap; the sizes of the control blocks are facts of the build."""
    core = native.library("libtau_core32_check1.so")
    memory = ctypes.create_string_buffer(heap_bytes + 64)
    start = (ctypes.addressof(memory) + 63) // 64 * 64
    if system == "tlsf":
        facts = core.tau_tlsf_statistics(core.tau_tlsf_init(start, heap_bytes, 0))
        return Tlsf(heap_bytes, facts.control_bytes, check_level=plan.check_level)
    heap = core.array("*tau_budget", [None])
    classes = core.array("tau_budget_class", plan.classes)
    assert core.tau_budget_init(heap, start, heap_bytes, classes, len(classes)) == 0
    facts = core.tau_budget_statistics(heap[0])
    pairs = [tuple(entry) for entry in plan.classes]
    control = (facts.control_bytes, facts.shared.control_bytes)
    return Budget(heap_bytes, pairs, *control, check_level=plan.check_level)


def blocks_of(model: Tlsf | Budget) -> tuple[int, int]:
    """The bytes of all blocks in use, and how many of them have a header."""
    shared = model.shared if isinstance(model, Budget) else model
    regions = model.regions if isinstance(model, Budget) else []
    used = [size for _, size, is_free in shared.blocks() if not is_free] if shared else []
    return sum(used) + sum(len(one.used) * one.bucket_bytes for one in regions), len(used)


def placement_of(
    model: Tlsf | Budget, trace: Path, look: Callable[..., None] = lambda *_: None
) -> tuple[int, int, int]:
    """Carry out `trace` on the model and return the hash of where each object was put.

    Behind it stands what `blocks_of` finds at the first peak of live bytes. `look` is called before
    each event but the first, with the number of events so far and the objects' places and sizes.
    """
    places: dict[int, int | None] = {}
    sizes: dict[int, int] = {}
    hashed = live = peak = 0
    at_peak = (0, 0)
    event = -1
    with open_trace(trace) as reader:
        for block in reader.blocks():
            for row in block:
                event += 1
                look(event, places, sizes)
                if row["flags"]:
                    continue
                slot, size = int(row["slot"]), int(row["size_bytes"])
                live += size - sizes.get(slot, 0)
                sizes[slot] = size
                if row["op"] == trace_format.OP_FREE:
                    assert model.free(places.pop(slot)) == "OK"
                    continue
                place = allocated(model, row, size, places.get(slot))
                places[slot] = place
                if size > 0:
                    assert place is not None, f"the model refused event {event}"
                    hashed = ((hashed ^ event) * 0x9E3779B97F4A7C15 + place) % WORD
                if live > peak:
                    peak, at_peak = live, blocks_of(model)
    return hashed, *at_peak


def allocated(model: Tlsf | Budget, row: Any, size: int, old: int | None) -> int | None:
    """Return where the model puts the object of one event."""
    if row["op"] == trace_format.OP_REALLOC:
        return model.realloc(old, size)
    if row["op"] == trace_format.OP_CALLOC:
        return model.calloc(1, size)
    if row["align_log2"]:
        return model.aligned_alloc(1 << int(row["align_log2"]), size)
    return model.malloc(size)


@pytest.mark.parametrize("system", ["tlsf", "budget"])
@pytest.mark.parametrize("spare", [1.0, 1.5])
def test_all_sides_place_alike(system: str, spare: float, recorded: Path, plan: Plan) -> None:
    heap_bytes = int(safe_heap(recorded, system, plan) * spare) // 8 * 8
    core = replay(recorded, system, plan, heap_bytes)
    assert core.held and core.events > 1000
    hashed, blocks, headers = placement_of(model_of(system, heap_bytes, plan), recorded)
    assert hashed == core.placement_hash
    parts = dict(core.heap_parts or {})
    assert sum(parts.values()) == heap_bytes == core.footprint_bytes
    assert parts["live"] + parts["headers"] + parts["rounding"] == blocks
    assert parts["headers"] == headers * 4 and min(parts.values()) >= 0
    for isa in ("rv32", "m4"):
        image = core_image(system, isa, Build(plan.check_level, "-O2"))
        needed = plan if system == "budget" else None
        counts = emulator.count_calls(image, recorded, heap_bytes, needed)
        assert counts.placement_hash == core.placement_hash, isa


def test_the_map_shows_the_models_objects(recorded: Path, plan: Plan) -> None:
    """At each instant, the share of each part of the heap that objects have, rounded up."""
    heap_bytes, rows, columns = 2 * safe_heap(recorded, "budget", plan), 20, 7
    system = system_named("budget")
    assert isinstance(system, Native)
    trace = open_trace_for_replay(recorded)
    with system.session(trace, plan, check_level=plan.check_level) as session:
        cells = session.map(heap_bytes, rows, columns)
        assert session.map(heap_bytes // 4, rows, columns) is None
    events, row_bytes = int(trace.facts.events), heap_bytes // rows + 1
    instants = {-(-(column + 1) * events // columns): column for column in range(columns)}
    seen = 0

    def look(done: int, places: dict[int, int | None], sizes: dict[int, int]) -> None:
        nonlocal seen
        if done not in instants:
            return
        used = np.zeros(rows * row_bytes, bool)
        for slot, place in places.items():
            if place is not None:
                used[place : place + sizes[slot]] = True
        share = -(-255 * used.reshape(rows, row_bytes).sum(axis=1) // row_bytes)
        assert cells is not None and cells[:, instants[done]].tolist() == share.tolist()
        seen += 1

    placement_of(model_of("budget", heap_bytes, plan), recorded, look)
    assert seen == columns - 1, "the last instant is behind the last event"


def test_another_heap_places_otherwise(recorded: Path, plan: Plan) -> None:
    """The hash tells placements apart: without this, agreement would mean nothing."""
    tight = safe_heap(recorded, "tlsf", plan)
    hashes = {replay(recorded, name, plan, 2 * tight).placement_hash for name in ("tlsf", "budget")}
    assert len(hashes) == 2
