"""Cost of recording: nanoseconds and bytes per event, and percent of a program's CPU time.

Run `python -m bench recorder [--quick]`; it writes out/bench/recorder.json. Runs with and
without the recorder alternate. Each figure is a difference or a ratio of their CPU times (user and
system), and the median over the rounds, since the machine is shared. If
heaptrack is installed, it takes its turn in the same rounds: its preloaded half alone, without its
interpreter. It also walks the stack of every event, which we do not.
"""

import os
import resource
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.commands import ROOT, compiled, cpu_seconds, gcc_program
from bench.runner import Bench, Given, conditions

from tautochrone import native
from tautochrone.record import merge
from tautochrone.record import processes, session
from tautochrone.record.launch import PRESET

HERE = Path(__file__).resolve().parent
HEAPTRACK = Path("/usr/lib/heaptrack/libheaptrack_preload.so")
SECONDS = 8.0  # for the rounds of one program
ROUNDS_MIN = 11
ERROR_NS_MAX = 2.0
MUST = {"nanoseconds_per_event": 30.0, "bytes_per_event": 8.0, "overhead_percent": 10.0}


@dataclass(frozen=True)
class Program:
    """A command to record; `heavy`: the limit on overhead is judged on it.

    That is php, as heavy as real programs are (3 million events a CPU second) and long enough to
    be told from noise. The others' overhead is printed all the same: it is the events' density
    times their cost.
    """

    name: str
    command: list[str]
    heavy: bool


def programs(folder: Path, quick: bool) -> list[Program]:
    """The programs that this machine has, built where they must be."""
    pairs = str(compiled(folder / "pairs", HERE / "pairs.c"))
    scale = 10 if quick else 1
    found = [
        Program("pairs", [pairs, str(4_000_000 // scale)], False),
        Program("pairs, 4 threads", [pairs, str(1_000_000 // scale), "4"], False),
    ]
    if shutil.which("php"):
        command = ["php", str(HERE / "network.php"), str(60_000 // scale)]
        found.append(Program("php", command, True))
    if shutil.which("jq"):
        query = f"[range({200_000 // scale}) | {{a: ., b: tostring}}] | length"
        found.append(Program("jq", ["jq", "-n", query], False))
    command = [gcc_program("cc1"), "-quiet", "-O2", f"-I{ROOT}", str(ROOT / "core/tlsf.c")]
    command += ["-o", os.devnull]
    found.append(Program("cc1", command, False))
    code = f"print(sum(len(str({{i: [i]}})) for i in range({600_000 // scale})))"
    found.append(Program("python3", [os.path.realpath(sys.executable), "-S", "-c", code], False))
    return found


def recorded_seconds(command: list[str], folder: Path) -> float:
    """The same, recorded into `folder`, where only this run's recording is left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    library = str(native.DIRECTORY / session.RECORDER)
    value = session.recorder_value(folder, 0, 0, processes.seccomp_filters(), 0)
    return cpu_seconds(command, PRESET | {"LD_PRELOAD": library, session.VARIABLE: value})


def heaptrack_seconds(command: list[str], folder: Path) -> float:
    """The same under heaptrack's preloaded library, whose output goes to a file."""
    out = str(folder / "heaptrack.raw")
    variables = {"LD_PRELOAD": str(HEAPTRACK), "DUMP_HEAPTRACK_OUTPUT": out}
    return cpu_seconds(command, PRESET | variables)


def rounds_for(program: Program) -> int:
    """The shorter a program, the more rounds: its figures are noisier."""
    return max(ROUNDS_MIN, round(SECONDS / 3 / max(0.01, cpu_seconds(program.command, PRESET))) | 1)


def measure(program: Program, folder: Path, rounds: int) -> dict[str, Any]:
    """All figures of one program; ratios are paired within a round."""
    recordings = folder / "recordings"
    plain, ours, theirs = [], [], []
    with_heaptrack = HEAPTRACK.exists()
    for turn in range(rounds + 1):
        seconds = (
            cpu_seconds(program.command, PRESET),
            recorded_seconds(program.command, recordings),
            heaptrack_seconds(program.command, folder) if with_heaptrack and turn % 4 == 1 else 0.0,
        )
        if turn > 0:  # the first round warms the caches
            plain.append(seconds[0])
            ours.append(seconds[1])
            theirs += [seconds[2]] if seconds[2] else []
    (raw,) = recordings.glob(f"*{merge.RAW_SUFFIX}")
    started = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    merged = merge.merge_raw(raw, folder / "out.tau")
    merge_seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - started
    raw_bytes = raw.stat().st_blocks * 512
    events = merged.events
    base = statistics.median(plain)
    costs = [b - a for a, b in zip(plain, ours, strict=True)]
    cost = statistics.median(costs)
    # The standard error of a median of normally distributed differences.
    error = 1.25 * statistics.stdev(costs) / len(costs) ** 0.5 if len(costs) > 1 else 0.0
    percent = statistics.median(100 * (b / a - 1) for a, b in zip(plain, ours, strict=True))
    figures: dict[str, Any] = {
        "program": program.name,
        "command": [Path(program.command[0]).name, *program.command[1:]],
        "heavy": program.heavy,
        "events": events,
        "threads": merged.threads,
        "rounds": rounds,
        "cpu_seconds": base,
        "million_events_per_second": events / base / 1e6,
        "nanoseconds_per_event": cost / events * 1e9,
        "nanoseconds_standard_error": error / events * 1e9,
        "bytes_per_event": raw_bytes / events,
        "overhead_percent": percent,
        "overhead_standard_error": 100 * error / base,
        "trace_bytes_per_event": (folder / "out.tau").stat().st_size / events,
        "merge_nanoseconds_per_event": merge_seconds / events * 1e9,
        "implied_frees": merged.implied_frees,
    }
    if theirs:
        extra = statistics.median(theirs) - base
        figures["heaptrack_nanoseconds_per_event"] = extra / events * 1e9
        figures["heaptrack_overhead_percent"] = 100 * extra / base
    return figures


def reached(all_figures: list[dict[str, Any]]) -> dict[str, bool]:
    """Which of MUST hold: bytes for every program, the overhead for the malloc-heavy ones, and the
    nanoseconds where they stand out of the machine's noise.
    """
    judged = {
        "nanoseconds_per_event": [
            each for each in all_figures if each["nanoseconds_standard_error"] <= ERROR_NS_MAX
        ],
        "bytes_per_event": all_figures,
        "overhead_percent": [each for each in all_figures if each["heavy"]],
    }
    return {
        name: len(judged[name]) > 0 and all(each[name] <= limit for each in judged[name])
        for name, limit in MUST.items()
    }


def measure_all(given: Given) -> dict[str, Any]:
    """All programs."""
    figures = [
        measure(program, given.folder, 3 if given.quick else rounds_for(program))
        for program in programs(given.folder, given.quick)
    ]
    result = {"version": 1, "must": MUST, "reached": reached(figures), "programs": figures}
    return result | {"conditions": conditions()}


BENCH = Bench("recorder", measure_all)
