"""How often `tau tlb discover` is right on this machine, next to a busy neighbor.

Writes out/bench/discover.json, a row per run. Processes on all other CPUs read memory at random.
--truth names this machine's geometry: one that tau knows, or a file (default: the one that most
runs found). Complains if an index or a directory is wrong, if too many are unknown, or if a run
takes too long. On a processor of which no run is verified, directories may be unknown in all runs.

--quick takes few runs. A slow test of tool/tests/tlb/discover tries all known geometries on
simulated processors.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.runner import Bench, Given
from tautochrone.errors import TauError
from tautochrone.tlb.discover.linear import reduced
from tautochrone.tlb.discover.run import discovered_host
from tautochrone.tlb.geometry import DATA, DIRECTORY, geometry_of

RUNS, RUNS_QUICK = 20, 2
CPU_SECONDS, CPU_SECONDS_MAX = 5.0, 6.0
INDEX_UNKNOWN_MAX, DIRECTORY_UNKNOWN_MAX = 2 / 20, 4 / 20
NEIGHBOR = """
import numpy
memory = numpy.zeros(1 << 23)
places = numpy.random.default_rng(1).integers(0, memory.size, 1 << 20)
while True:
    memory[places].sum()
"""
RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"
Row = dict[str, Any]


def rows_of(document: Row, role: str) -> list[tuple[str, tuple[int, ...]] | None]:
    """Array and rows of each structure of a role, None where unknown."""
    found: list[tuple[str, tuple[int, ...]] | None] = []
    for each in document["structures"]:
        if each["role"] == role:
            rows = each["rows"]["value"]
            is_known = rows != UNKNOWN
            found.append((each["array"], _rows(rows)) if is_known else None)
    return found


def _rows(texts: list[str]) -> tuple[int, ...]:
    return tuple(reduced(int(each, 16) for each in texts))


def verdict(found: list[tuple[str, tuple[int, ...]] | None], truth: list[tuple[int, ...]]) -> str:
    """Right if all rows span the true ones, unknown if one is missing and none is wrong."""
    known = [each for each in zip(found, truth, strict=False) if each[0] is not None]
    if any(rows != expected for (_, rows), expected in known):
        return WRONG
    return RIGHT if len(known) == len(truth) else UNKNOWN


@contextmanager
def busy_neighbors(cpu: int) -> Iterator[int]:
    """A process that reads memory on each CPU but one; how many there are."""
    others = [each for each in sorted(os.sched_getaffinity(0)) if each != cpu]
    started = []
    try:
        for other in others:
            process = subprocess.Popen([sys.executable, "-c", NEIGHBOR])
            started.append(process)
            os.sched_setaffinity(process.pid, {other})
        yield len(others)
    finally:
        for process in started:
            process.kill()
            process.wait()


def host(runs: int) -> list[Row]:
    """A row for each run on this machine; empty with a note if it cannot be measured."""
    cpu = max(os.sched_getaffinity(0))
    found: list[Row] = []
    with busy_neighbors(cpu) as neighbors:
        for seed in range(1, runs + 1):
            try:
                document = discovered_host(cpu, seed, CPU_SECONDS)
            except TauError as error:
                print(f"skipped: {error.message}", file=sys.stderr)
                return []
            isolation = next((c for c in document["checks"] if c["name"] == "isolation"), None)
            found.append(
                {
                    "rows": rows_of(document, DATA),
                    "directory": _directory(document),
                    "ways": [each["ways"]["value"] for each in document["arrays"]],
                    "isolation": isolation,
                    "is_verified": document["is_verified"],
                    "unknown": document["unknown"],
                    "cpu_seconds": document["cpu_seconds"],
                    "wall_seconds": document["wall_seconds"],
                    "neighbors": neighbors,
                }
            )
    return found


def _directory(document: Row) -> Any:
    """Rows and constant of the directories, [] if they share nothing, None if unknown."""
    for each in document["structures"]:
        if each["role"] == DIRECTORY:
            if each["is_shared"]["value"] is False:
                return []
            rows = each["rows"]["value"]
            is_known = rows != UNKNOWN
            return [*_rows(rows)] if is_known else None
    return []


def truth_of(name: str | None, rows: list[Row]) -> tuple[Any, Any]:
    """Rows of data and of directories of a geometry, or what most runs found."""
    if name is not None:
        geometry = geometry_of(name)
        data = [each for each in geometry.structures if each.role == DATA]
        last = data[-1].array
        directories = [
            [*reduced(each.rows)]
            for each in geometry.structures
            if each.role == DIRECTORY and each.array == last
        ]
        return [tuple(reduced(each.rows)) for each in data], next(iter(directories), [])
    known = [row for row in rows if None not in row["rows"]]
    data_counts = Counter(tuple(rows for _, rows in row["rows"]) for row in known)
    counts = Counter(tuple(row["directory"]) for row in rows if row["directory"] is not None)
    most = data_counts.most_common(1)[0][0] if data_counts else ()
    return list(most), list(counts.most_common(1)[0][0]) if counts else []


def judge(rows: list[Row], truth: tuple[Any, Any]) -> None:
    """Add `index_verdict` and `directory_verdict`."""
    data, directory = truth
    for row in rows:
        row["index_verdict"] = verdict(row["rows"], data)
        if row["directory"] is None:
            row["directory_verdict"] = UNKNOWN
        else:
            row["directory_verdict"] = RIGHT if list(row["directory"]) == directory else WRONG


def is_colorable(runs: list[Row]) -> bool:
    """Whether discovery works on this processor. If no run can tell, that is its answer."""
    return any(row["is_verified"] for row in runs)


def complaints(runs: list[Row]) -> list[str]:
    """Limits that are broken."""
    found = []
    for key, most in (
        ("index_verdict", INDEX_UNKNOWN_MAX),
        ("directory_verdict", DIRECTORY_UNKNOWN_MAX if is_colorable(runs) else 1),
    ):
        counts = Counter(row[key] for row in runs)
        if counts[WRONG] or counts[UNKNOWN] > most * len(runs):
            found.append(f"{key} {dict(counts)}")
    slow = [row["cpu_seconds"] for row in runs if row["cpu_seconds"] > CPU_SECONDS_MAX]
    if slow:
        found.append(f"{max(slow)} CPU seconds")
    for row in runs:
        isolation = row["isolation"]
        if isolation is not None and not isolation["is_passed"]:
            found.append(f"isolation {isolation}")
    return found


def measure(given: Given) -> list[Row]:
    """Runs on this machine, judged."""
    runs = host(RUNS_QUICK if given.quick else RUNS)
    judge(runs, truth_of(given.truth, runs))
    return runs


TRUTH = {"--truth": {"help": "a known geometry or a file (default: what most runs found)"}}
BENCH = Bench("discover", measure, complaints=complaints, options=TRUTH)
