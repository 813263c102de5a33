"""Nanoseconds of a malloc and its free on this machine, ours next to mimalloc's.

    python -m bench allocators.host_speed [--quick] [RECORDING.tau …]

host_speed.c replays each recording on mimalloc (package libmimalloc2.0), TLSF, the budgeted heap
and pools for bands in turns, in one process and one loop. So each round gives a ratio in which the
machine's other work is equal. A ratio is the median of the rounds; the total is the geometric mean
of the recordings.
Conditions:

- Times are CPU time of all events ÷ frees, the loop's own included. Every allocator has just
  replayed the same. Ours takes no lock, and its heap is made anew each time. Recorded
  realloc, calloc and aligned_alloc count; calloc does not clear.
- *Touched* objects get one store to the first byte, as programs make. Otherwise no payload is
  touched, which mimalloc profits from: its malloc reads a free block's first word only.
- Ours is linked, not preloaded, without checks unless the row says check 1. Plans are those of
  `tau plan --layout host` and of `tau plan --guarantee --margin 0 --layout host` for the recording
  itself, in a heap of twice its peak and 8 MiB.
- x86-64-v3 is the instruction set of Haswell and Zen, whose shifts and scans take one instruction.
  A processor without it has no such rows.
"""

import math
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.allocators import ours, programs
from bench.commands import ROOT, compiled
from bench.runner import Bench, Given, conditions
from tautochrone.errors import TauError
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.systems import process
from tautochrone.replay.tile import operations_of

PROGRAMS = ("cc1", "jq", "php", "python", "sqlite")
ALLOCATORS = ("mimalloc", "tlsf", "budget", "pools")  # as host_speed.c takes turns
ROUNDS, ROUNDS_QUICK = 21, 5
ROOM_BYTES = 8 << 20
V3 = ("-march=x86-64-v3",)
V3_FLAGS = {"avx2", "bmi1", "bmi2", "fma", "movbe", "abm"}  # as /proc/cpuinfo calls them
OFF = ("-DTAU_STATISTICS=0",)


class Way(NamedTuple):
    """A build of the core, and whether objects are touched."""

    name: str
    check_level: int
    flags: tuple[str, ...]
    is_touched: bool = False


WAYS = (
    Way("-O2", 0, ()),
    Way("-O2, touched", 0, (), True),
    Way("-O2, check 1", 1, ()),
    Way("-O2 -march=x86-64-v3", 0, V3),
    Way("-O2 -march=x86-64-v3, no statistics", 0, V3 + OFF),
    Way("-O2 -march=x86-64-v3, no statistics, touched", 0, V3 + OFF, True),
)


def library() -> str:
    """mimalloc's. Raises TauError if it is not installed."""
    (peer,) = (each for each in process.SYSTEMS if each.name == "mimalloc")
    found = peer.found()
    if not found:
        raise TauError("mimalloc is not installed", f"apt install {peer.package}")
    return found


def has_v3() -> bool:
    """Whether this processor has that instruction set."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return V3_FLAGS <= set(flags.split())


def built(folder: Path, way: Way) -> Path:
    """The program with the core of this build."""
    sources = [str(ROOT / "core" / name) for name in ("tlsf.c", "budget.c", "pools.c")]
    flags = [*sources, f"-DTAU_CHECK_LEVEL={way.check_level}", *way.flags, "-ldl"]
    return compiled(folder / "host_speed", ROOT / "bench/allocators/host_speed.c", *flags)


def replayed(program: Path, way: Way, recording: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """The row of a recording."""
    trace = open_trace_for_replay(recording)
    events = folder / "events"
    events.write_bytes(operations_of(trace).tobytes())
    facts, plan = trace.facts, ours.plan_of(recording, layout="host")
    bands = ours.bands_of(recording, layout="host")
    heap_bytes = 2 * int(facts.peak_live_bytes) + ROOM_BYTES
    words = [events, int(facts.slots_count), heap_bytes, 1 + rounds, int(way.is_touched), library()]
    words += [bands.alignment_bytes, len(bands.classes)]
    words += [number for pair in bands.classes + plan.classes for number in pair]
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise TauError(f"{recording}: {done.stderr.strip()}")
    lines = [[float(each) for each in line.split()] for line in done.stdout.splitlines()]
    return {"recording": recording.stem, "build": way.name, **row_of(lines[1:])}  # the first warms


def row_of(lines: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Medians of rounds of each of ALLOCATORS; ratios with their range."""
    found: dict[str, Any] = {}
    for place, name in enumerate(ALLOCATORS):
        ratios = [line[place] / line[0] for line in lines]
        found[name] = {
            "nanoseconds": round(statistics.median(line[place] for line in lines), 2),
            "ratio": round(statistics.median(ratios), 3),
            "least": round(min(ratios), 3),
            "most": round(max(ratios), 3),
        }
    return found


def totals_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The geometric mean of each build's recordings."""
    totals = []
    for name in dict.fromkeys(row["build"] for row in rows):
        mine = [row for row in rows if row["build"] == name]
        means = {
            each: math.exp(statistics.fmean(math.log(row[each]["ratio"]) for row in mine))
            for each in ALLOCATORS[1:]
        }
        totals.append({"build": name, **{key: round(mean, 3) for key, mean in means.items()}})
    return totals


def measure(given: Given) -> dict[str, Any]:
    """Every recording in every build."""
    recordings = [Path(word) for word in given.words] or [
        runs["a"] for runs in programs.record_all(PROGRAMS).values()
    ]
    rounds = ROUNDS_QUICK if given.quick else ROUNDS
    rows = []
    for way in WAYS if has_v3() else [each for each in WAYS if V3[0] not in each.flags]:
        program = built(given.folder, way)
        rows += [replayed(program, way, each, given.folder, rounds) for each in recordings]
    return {"conditions": conditions(), "rows": rows, "totals": totals_of(rows)}


BENCH = Bench("host_speed", measure)
