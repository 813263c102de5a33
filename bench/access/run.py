"""What recording accesses costs: CPU time beside Valgrind's own tools, events and bytes.

Run `python -m bench.access.run [--quick]`; it writes out/bench/access.json. Each program runs
plain, under Valgrind without a tool (none), under our tool and under DHAT, which keeps sums of the
same accesses, in turns. A figure is the median over the rounds. *Steady* is the CPU time of the
whole input less that of a trivial one, so that neither the start of Valgrind nor the translation of
the program's start counts.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testing.satisfiability import formula
from tautochrone.record import accesses as access
from tautochrone.record.launch import PRESET

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "out" / "bench"
RECORDINGS = "recordings"
ROUNDS, ROUNDS_QUICK = 3, 1
TOOLS = ("plain", "none", "ours", "dhat")
# Accesses of the heap for one event of the trace, at least.
MUST_RATIO = 100
FFMPEG = "ffmpeg -loglevel error -nostdin -y -f lavfi -i testsrc=size=320x240:rate=25:duration={}"


@dataclass(frozen=True)
class Program:
    """A command on its whole input, and on a trivial one."""

    name: str
    whole: list[str]
    trivial: list[str]


def programs(folder: Path, quick: bool) -> list[Program]:
    """The programs that this machine has, built where they must be."""
    scale = 10 if quick else 1
    fourier = str(folder / "fourier")
    source = str(ROOT / "linux" / "accesses" / "tests" / "programs" / "fourier.c")
    subprocess.run(["gcc", "-O2", "-o", fourier, source, "-lm"], check=True)
    found = [Program("fourier", [fourier, str(1400 // scale)], [fourier, "1"])]
    if shutil.which("minisat"):
        hard = str(formula(folder / "hard.cnf", 150 if quick else 200, 3))
        easy = str(formula(folder / "easy.cnf", 10, 3))
        command = ["minisat", "-verb=0"]
        found.append(Program("minisat", [*command, hard], [*command, easy]))
    if shutil.which("php"):
        network = ["php", "-n", str(ROOT / "bench" / "recorder" / "network.php")]
        found.append(Program("php", [*network, str(8_000 // scale)], [*network, "1"]))
    if shutil.which("ffmpeg"):
        coder = ["-threads", "1", "-c:v", "mpeg4", "-f", "avi", str(folder / "out.avi")]
        whole, trivial = FFMPEG.format(4 / scale).split(), FFMPEG.format(0.04).split()
        found.append(Program("ffmpeg", [*whole, *coder], [*trivial, *coder]))
    return found


def words_of(tool: str, command: list[str], folder: Path) -> list[str]:
    """The command line that runs `command` under one of TOOLS."""
    quiet = ["valgrind", "-q", "--vgdb=no"]
    return {
        "plain": command,
        "none": [*quiet, "--tool=none", *command],
        "ours": [*quiet, f"--tool={access.TOOL}", f"--folder={folder / RECORDINGS}", *command],
        "dhat": [*quiet, "--tool=dhat", f"--dhat-out-file={folder / 'dhat.out'}", *command],
    }[tool]


def cpu_seconds(tool: str, command: list[str], folder: Path, library: Path) -> float:
    """User and system time of one run, with the heaps above malloc switched off."""
    environment = dict(os.environ) | PRESET
    if tool == "ours":
        environment["VALGRIND_LIB"] = str(library)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet = subprocess.DEVNULL
    words = words_of(tool, command, folder)
    # A solver's exit status tells its answer.
    subprocess.run(words, env=environment, check=False, stdout=quiet, stderr=quiet, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(program: Program, folder: Path, rounds: int) -> dict[str, Any]:
    """All figures of one program."""
    library, recordings = access.build(), folder / RECORDINGS
    recordings.mkdir(exist_ok=True)
    seconds: dict[str, list[float]] = {tool: [] for tool in TOOLS}
    steady: dict[str, list[float]] = {tool: [] for tool in TOOLS}
    for _ in range(rounds):
        for tool in TOOLS:
            trivial = cpu_seconds(tool, program.trivial, folder, library)
            for old in recordings.iterdir():
                old.unlink()
            whole = cpu_seconds(tool, program.whole, folder, library)
            seconds[tool].append(whole)
            steady[tool].append(max(whole - trivial, 0.0))
            if tool == "ours":
                (raw,) = recordings.iterdir()
                recording = raw.rename(folder / f"kept{access.RAW_SUFFIX}")
    converted = access.convert(recording, folder / "out.tau")
    facts = converted.facts
    accesses = access.heap_accesses(facts)
    median = {tool: statistics.median(steady[tool]) for tool in TOOLS}
    return {
        "program": program.name,
        "rounds": rounds,
        "cpu_seconds": {tool: statistics.median(seconds[tool]) for tool in TOOLS},
        "steady_seconds": median,
        "times_plain": median["ours"] / max(median["plain"], 1e-9),
        "times_none": median["ours"] / max(median["none"], 1e-9),
        "dhat_times_ours": median["dhat"] / max(median["ours"], 1e-9),
        "heap_accesses": accesses,
        "all_accesses": facts.all_loads + facts.all_stores,
        "nanoseconds_per_heap_access": 1e9 * (median["ours"] - median["none"]) / accesses,
        "events": facts.events,
        "touched_bytes": 16 * converted.totals.touched_granules,
        "accesses_per_event": accesses / facts.events,
        "trace_bytes": (folder / "out.tau").stat().st_size,
    }


def reached(figures: list[dict[str, Any]]) -> dict[str, bool]:
    """Whether each program's trace has as few events as wanted."""
    return {one["program"]: one["accesses_per_event"] >= MUST_RATIO for one in figures}


def main() -> int:
    """Measure, write the JSON, print the table; returns 1 if a ratio is missed."""
    quick = "--quick" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rounds = ROUNDS_QUICK if quick else ROUNDS
        figures = [measure(program, folder, rounds) for program in programs(folder, quick)]
    OUT.mkdir(parents=True, exist_ok=True)
    limits = reached(figures)
    document = {"programs": figures, "must_ratio": MUST_RATIO, "reached": limits, "quick": quick}
    (OUT / "access.json").write_text(json.dumps(document, indent=1) + "\n")
    print("program    heap accesses    events  ratio  × plain  × none  DHAT ÷ ours  trace bytes")
    for one in figures:
        print(
            f"{one['program']:9} {one['heap_accesses']:14,} {one['events']:9,}"
            f" {one['accesses_per_event']:6.0f} {one['times_plain']:8.1f} {one['times_none']:7.1f}"
            f" {one['dhat_times_ours']:12.1f} {one['trace_bytes']:12,}"
        )
    return 0 if all(limits.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
