"""Cost of recording accesses: CPU time compared with Valgrind's own tools, events and bytes.

Run `python -m bench access [--quick]`; it writes out/bench/access.json. Each program runs
plain, under Valgrind without a tool (none), under our tool and under DHAT, which keeps sums of the
same accesses, in turns. A figure is the median over the rounds. *Steady* is the CPU time of the
whole input minus a trivial input's, so that neither the start of Valgrind nor the translation of
the program's start counts.
"""

import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.commands import ROOT, compiled, cpu_seconds
from bench.runner import Bench, Given
from testing.satisfiability import formula
from tautochrone.record import accesses as access
from tautochrone.record.launch import PRESET

RECORDINGS = "recordings"
ROUNDS, ROUNDS_QUICK = 3, 1
TOOLS = ("plain", "none", "ours", "dhat")
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
    source = ROOT / "linux" / "accesses" / "tests" / "programs" / "fourier.c"
    fourier = str(compiled(folder / "fourier", source))
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


def seconds_of(tool: str, command: list[str], folder: Path, library: Path) -> float:
    """CPU time of one run, with the heaps above malloc switched off."""
    variables = PRESET | ({"VALGRIND_LIB": str(library)} if tool == "ours" else {})
    return cpu_seconds(words_of(tool, command, folder), variables, is_checked=False)


def measure(program: Program, folder: Path, rounds: int) -> dict[str, Any]:
    """All figures of one program."""
    library, recordings = access.build(), folder / RECORDINGS
    recordings.mkdir(exist_ok=True)
    seconds: dict[str, list[float]] = {tool: [] for tool in TOOLS}
    steady: dict[str, list[float]] = {tool: [] for tool in TOOLS}
    for _ in range(rounds):
        for tool in TOOLS:
            trivial = seconds_of(tool, program.trivial, folder, library)
            for old in recordings.iterdir():
                old.unlink()
            whole = seconds_of(tool, program.whole, folder, library)
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


def measure_all(given: Given) -> list[dict[str, Any]]:
    """All programs."""
    rounds = ROUNDS_QUICK if given.quick else ROUNDS
    chosen = programs(given.folder, given.quick)
    return [measure(program, given.folder, rounds) for program in chosen]


BENCH = Bench("access", measure_all)
