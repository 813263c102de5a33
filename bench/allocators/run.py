"""Allocators beside each other on the same traces in one run: instructions per call, footprint,
code size.

    python -m bench.allocators.run [--quick] [PROGRAM …] [RECORDING.tau …]

Writes out/bench/allocators.json and prints the tables. --quick takes the synthetic traces only, and
recordings take their place. glibc, mimalloc and jemalloc get no recording of another ABI.
Conditions: ours -O2 without checks unless the row says check 1; crates opt-level 3; C libraries as
packaged. Instructions are exact (emulated), payload moves apart; a call that takes more than
INSTRUCTIONS_MAX in total is stopped and marked. Footprints are the smallest arena that completes,
control structures and static data included; those of glibc, mimalloc and jemalloc are memory taken
from the kernel by a process, in this machine's 64-bit layout. Their instructions are left out:
their maxima are system calls, which no user-side count sees.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.allocators import code_size, ours, peers, programs, synthetic, targets
from bench.allocators.images import PEERS, REPOSITORY, PeerMissing
from tautochrone import __version__
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.replay import emulator
from tautochrone.replay.run import smallest_heap
from tautochrone.trace import abi
from tautochrone.trace.file import open_trace

RESULTS = REPOSITORY / "out" / "bench" / "allocators.json"
INSTRUCTIONS_MAX = 200_000_000
# A footprint takes 40 runs and more, of which those in arenas that are too small end early. None is
# searched for a peer that is slower than this on a trace.
SEARCH_INSTRUCTIONS_MAX = 50_000_000
OPERATIONS = ("malloc", "free", "realloc")
HOST_SYSTEMS = ("glibc", "mimalloc", "jemalloc")
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
        row["footprint_bytes"] = ours.footprint(system, trace)
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
            row["footprint_bytes"] = peers.footprint(name, isa, trace)
        except TauError as cause:  # it erred in an arena that was nearly too small
            row["footprint_error"] = cause.message
    return row


def measure_trace(trace: Path) -> dict[str, Any]:
    """Every allocator on one trace; one that cannot run has "missing" with the cause."""
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
            size = smallest_heap(trace, name, layout="host")
            rows.append({"system": name, "isa": "host", "footprint_bytes": size})
        except TauError as cause:
            rows.append({"system": name, "isa": "host", "missing": cause.message})
    for row in rows:
        if "footprint_bytes" in row:
            row["footprint_ratio"] = round(row["footprint_bytes"] / totals.peak_live_bytes, 4)
    facts = {"events": totals.events, "peak_live_bytes": totals.peak_live_bytes}
    return {"trace": trace.stem, **facts, "rows": rows}


def print_trace(result: dict[str, Any]) -> None:
    """One table a trace: instructions malloc, free, realloc on each target; footprint ratio."""
    print(
        f"\n{result['trace']}: {result['events']} events, {result['peak_live_bytes']} B peak live"
    )
    heads = f"{'malloc mean/p99.9/max':>24} {'free':>20} {'realloc':>20}  footprint"
    print(f"{'allocator':26} {'isa':5} {heads}")
    for row in result["rows"]:
        name = row["system"] + (f" (check {row['check_level']})" if "check_level" in row else "")
        if "missing" in row:
            print(f"{name:26} {row['isa']:5} not measured: {row['missing'].splitlines()[0]}")
            continue
        cells = []
        for operation, width in zip(OPERATIONS, (24, 20, 20)):
            calls = row.get("operations", {}).get(operation)
            text = "-"
            if calls:
                keys = ("mean_instructions", "p999_instructions", "max_instructions")
                text = "/".join(f"{calls[key]:.0f}" for key in keys)
            cells.append(f"{text + ('*' if row.get('is_truncated') else ''):>{width}}")
        ratio = f"{row['footprint_ratio']:.3f}" if "footprint_ratio" in row else ""
        ratio = row.get("footprint_error", ratio)
        print(f"{name:26} {row['isa']:5} {' '.join(cells)}  {ratio}")


def conditions() -> dict[str, str]:
    """What the numbers depend on."""
    lines = {
        "tautochrone": __version__,
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    for name, command in (
        ("rv32 compiler", ["riscv64-unknown-elf-gcc", "--version"]),
        ("m4 compiler", ["arm-none-eabi-gcc", "--version"]),
        ("rust", ["/usr/bin/rustc", "--version"]),
    ):
        if shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=30)
            lines[name] = done.stdout.splitlines()[0]
    lines["peers"] = "; ".join(peer.title for peer in PEERS.values())
    return lines


def main() -> None:
    """Measure everything that was asked for."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--quick"]
    recorded = [Path(argument) for argument in arguments if argument.endswith(".tau")]
    traces = recorded or [synthetic.trace(kind) for kind in synthetic.KINDS]
    if not recorded and len(arguments) == len(sys.argv) - 1:
        traces += [run["a"] for run in programs.record_all(tuple(arguments)).values()]
    results = []
    for trace in traces:
        started = time.monotonic()
        results.append(measure_trace(trace))
        print_trace(results[-1])
        note(f"{trace.stem}: {time.monotonic() - started:.0f} s")
    print("\n* stopped before the end of the trace: maxima are lower bounds\n")
    code_size.main()
    document = {
        "version": 1,
        "command": "bench allocators",
        "conditions": conditions(),
        "traces": results,
        "code_size": code_size.measure(),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"\n{RESULTS.relative_to(REPOSITORY)}\n")
    targets.main()


if __name__ == "__main__":
    main()
