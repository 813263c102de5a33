"""A trace replayed on the simulated tile: cycles of each call, and whether its pages agree with the
emulated core's.

The tile takes the same cycles every time. So a replay is kept under out/, by its inputs: the
trace, the program that runs on the tile, and the simulator. It runs again if one of them
changes. Our system and the conventional one have the names of page_costs.py here too.
"""

import hashlib
import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from repro.rtmmu.page_costs import CONVENTIONAL, OURS
from repro.rtmmu.workloads import RESULTS
from tautochrone.code.bounds import Code
from tautochrone.console.output import note
from tautochrone.replay.paging import PAGE_BYTES, MappedPages, page_replay
from tautochrone.replay.tile.program import program, simulator, tile_system
from tautochrone.replay.tile.tile import (
    HEAP_PAGES_MAX, TileAccesses, TileCalls, TileReplay, tile_replay
)
from tautochrone.trace.file import open_trace

SYSTEMS = {OURS: "tile:rtmmu", CONVENTIONAL: "tile:pagetable"}
# The window has 2^18 pages, the first of which is never used: a page less than page_model.py's.
HEAP_PAGES = HEAP_PAGES_MAX
FACTS = ("peak_mapped_pages", "end_mapped_pages", "faults", "touches", "events", "placement_hash")


@dataclass(frozen=True)
class TileRun:
    """The kept part of a replay: facts as JSON has them, and the columns of its calls."""

    facts: dict[str, Any]
    calls: dict[str, TileCalls]
    mapped_pages: MappedPages

    @property
    def peak_mapped_pages(self) -> int:
        """The most pages mapped at once."""
        return int(self.facts["peak_mapped_pages"])


def largest(each: TileCalls | TileAccesses) -> dict[str, Any]:
    """What Table I says of an operation."""
    facts: dict[str, Any] = {"count": each.count, "max_cycles": each.max_cycles}
    if isinstance(each, TileAccesses):
        facts["counted"] = np.stack([each.cycles, each.counts], axis=1).tolist()
    return facts


def facts_of(done: TileReplay) -> dict[str, Any]:
    """A replay as JSON has it."""
    facts: dict[str, Any] = {name: getattr(done, name) for name in (*FACTS, "cycles")}
    for kind, each in {**done.calls, **done.accesses}.items():
        facts[kind] = largest(each)
    return facts


def key_of(trace: Path, name: str) -> str:
    """What a replay's cycles depend on, as one word: of the trace, all but who recorded it when."""
    system = tile_system(name)
    built = simulator(system)
    assert built is not None
    digest = hashlib.sha256()
    for address, data in Code(program(system)).segments:
        digest.update(address.to_bytes(4, "little") + data)
    with open_trace(trace) as reader:
        digest.update(json.dumps(reader.header.get("accesses")).encode())
        for columns in reader.columns():
            for column in columns:
                digest.update(column.tobytes())
    digest.update(built.parent.name.encode())
    return digest.hexdigest()[:24]


def replayed(trace: Path, system: str, name: str | None = None) -> TileRun:
    """A trace on a system, or on its variant NAME. Raises RuntimeError if it does not complete."""
    name = name or SYSTEMS[system]
    kept = f"{trace.stem}-{name.replace(':', '-')}-{key_of(trace, name)}.pickle"
    path = RESULTS.out / "tile" / kept
    if path.exists():
        return pickle.loads(path.read_bytes())
    note(f"simulating {trace.stem} on {name}")
    done = tile_replay(trace, name)
    if not done.completed:
        raise RuntimeError(f"{trace} on {name}: {done.cause} at event {done.failed_at_event}")
    run = TileRun(facts_of(done), done.calls, done.mapped_pages)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_bytes(pickle.dumps(run))
    scratch.replace(path)
    return run


def compared_with_core(trace: Path, system: str, run: TileRun) -> dict[str, Any]:
    """The same trace on the emulated core with the tile's heap: whether all pages and places are
    the same, and how many cycles the tile takes for an instruction of the same calls."""
    software = page_replay(trace, system, heap_bytes=HEAP_PAGES * PAGE_BYTES)
    cycles = sum(int(run.calls[kind].cycles.sum()) for kind in ("malloc", "free"))
    counted = sum(int(software.calls[kind].instructions.sum()) for kind in ("malloc", "free"))
    return {
        "agrees": all(getattr(software, name) == run.facts[name] for name in FACTS)
        and np.array_equal(run.calls["free"].event, software.calls["free"].event),
        "cycles_per_instruction": cycles / counted if counted else None,
    }
