"""Allocators compared on the same traces in one run: instructions per call, footprint, code size,
and the longest paths of ours and of o1heap at -O2 and -Os, checks off and on.

    python -m bench allocators [--quick] [PROGRAM …] [RECORDING.tau …]

Writes out/bench/allocators.json and prints the tables. --quick takes the synthetic traces only, and
recordings take their place. glibc, mimalloc and jemalloc get no recording of another ABI.
Conditions: ours -O2 without checks unless the row says check 1; crates opt-level 3; C libraries as
packaged. Instructions are exact (emulated), payload moves apart; a call that takes more than
INSTRUCTIONS_MAX in total is stopped and marked. A footprint is the safe arena: the least from which
on every size completes (ours, tool/tautochrone/replay/threshold.py) or every sampled size does
(search.py there), control structures and static data included. For glibc, mimalloc and jemalloc it
is the memory that a process took from the kernel, in this machine's 64-bit layout. Their
instructions are left out: their maxima are system calls, which no user-side count sees.
"""

import contextlib
import multiprocessing
import os
import platform
import time
from pathlib import Path
from typing import Any

from bench.allocators import code_size, half_fit, host_speed, ours, peers, programs, synthetic
from bench.allocators.images import PEERS, PeerMissing
from bench.commands import first_line
from bench.runner import Bench, Given
from tautochrone import __version__
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.replay import emulator
from tautochrone.replay.run import safe_heap
from tautochrone.replay.systems import process
from tautochrone.trace import abi
from tautochrone.trace.file import open_trace

INSTRUCTIONS_MAX = 200_000_000
# A footprint takes 40 runs and more, of which those in arenas that are too small end early. None is
# searched for a peer that is slower than this on a trace.
SEARCH_INSTRUCTIONS_MAX = 50_000_000
OPERATIONS = ("malloc", "free", "realloc")
HOST_SYSTEMS = tuple(each.name for each in process.SYSTEMS)
OUR_SYSTEMS = (("tlsf", 0), ("tlsf", 1), ("budget", 0), ("budget", 1))


def operations_of(counts: emulator.Counts) -> dict[str, dict[str, int | float]]:
    """The counts of the main operations, as `tau replay --json` names them."""
    return {
        name: {
            "count": counts[name].count,
            "mean_instructions": round(counts[name].mean, 1),
            "p999_instructions": counts[name].p999,
            "max_instructions": counts[name].max,
        }
        for name in OPERATIONS
        if name in counts
    }


def our_row(system: str, level: int, trace: Path, isa: str) -> dict[str, Any]:
    """Ours on one trace and target."""
    row: dict[str, Any] = {"system": system, "check_level": level, "isa": isa}
    row["operations"] = operations_of(ours.counts(system, isa, trace, level))
    if level == 0 and isa == "rv32":
        plan = ours.plan_of(trace) if system == "budget" else None
        row["footprint_bytes"] = ours.safe_heap(trace, system, plan)
    return row


def peer_row(name: str, trace: Path, isa: str) -> dict[str, Any]:
    """A peer on one trace and target.

    The layout is the same on both, so its footprint is searched on one.
    """
    row: dict[str, Any] = {"system": name, "isa": isa}
    counts = peers.counts(name, isa, trace, instructions_max=INSTRUCTIONS_MAX)
    row["operations"] = operations_of(counts)
    row["is_truncated"] = counts.is_truncated
    calls = [counts[name] for name in emulator.FUNCTIONS if name in counts]
    spent = sum(one.count * one.mean for one in calls)
    if isa == PEERS[name].isas[0] and spent < SEARCH_INSTRUCTIONS_MAX:
        try:
            row["footprint_bytes"] = peers.safe_heap(name, isa, trace)
        except TauError as cause:  # it erred in an arena that was nearly too small
            row["footprint_error"] = cause.message
    return row


def build_peers() -> None:
    """Build what processes are to share: two builds at once would write the same files."""
    for name, peer in PEERS.items():
        for isa in peer.isas:
            with contextlib.suppress(TauError):  # each trace's rows state the cause
                _ = peers.system(name, isa).image


def measure_trace(trace: Path) -> list[dict[str, Any]]:
    """Every allocator on one trace; one that cannot run has "missing" with the cause."""
    started = time.monotonic()
    with open_trace(trace) as reader:
        totals, recorded_on = reader.totals, abi.of_header(reader.header)
    rows: list[dict[str, Any]] = []
    for system, level in OUR_SYSTEMS:
        rows += [our_row(system, level, trace, isa) for isa in ("rv32", "m4")]
    for name, peer in PEERS.items():
        for isa in peer.isas:
            try:
                rows.append(peer_row(name, trace, isa))
            except (PeerMissing, TauError) as cause:
                rows.append({"system": name, "isa": isa, "missing": cause.message})
    for name in HOST_SYSTEMS if recorded_on in ("", abi.of_host()) else ():
        try:
            size = safe_heap(trace, name, layout="host")
            rows.append({"system": name, "isa": "host", "footprint_bytes": size})
        except TauError as cause:
            rows.append({"system": name, "isa": "host", "missing": cause.message})
    for row in rows:
        if "footprint_bytes" in row:
            row["footprint_ratio"] = round(row["footprint_bytes"] / totals.peak_live_bytes, 4)
    facts = {"events": totals.events, "peak_live_bytes": totals.peak_live_bytes}
    note(f"{trace.stem}: {time.monotonic() - started:.0f} s")
    return [{"trace": trace.stem, **facts, **row} for row in rows]


CONDITIONS = {
    "rv32 compiler": ("riscv64-unknown-elf-gcc", "--version"),
    "m4 compiler": ("arm-none-eabi-gcc", "--version"),
    "rust": ("/usr/bin/rustc", "--version"),
}


def measure(given: Given) -> dict[str, Any]:
    """Everything that was asked for."""
    recorded = [Path(word) for word in given.words if word.endswith(".tau")]
    traces = recorded or [synthetic.trace(kind) for kind in synthetic.KINDS]
    if not recorded and not given.quick:
        traces += [run["a"] for run in programs.record_all(tuple(given.words)).values()]
    build_peers()
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as processes:
        rows = processes.map(measure_trace, traces, chunksize=1)
    versions = {name: first_line(*command) for name, command in CONDITIONS.items()}
    return {
        "version": 2,
        "command": "bench allocators",
        "conditions": {"tautochrone": __version__, "machine": platform.machine(), **versions},
        "rows": [row for each in rows for row in each],
        "bounds": half_fit.measure(),
        "code_size": code_size.measure(),
    }


BENCH = Bench("allocators", measure)
PARTS = (host_speed.BENCH,)
