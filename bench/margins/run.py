"""How many fresh runs a plan refuses, by the number of recordings that it was made from, and its
margin.

Twenty programs are recorded twenty times. A plan is made from some of the runs and tried on the
others, which it has not seen: does it hold each in its bytes? Writes bench/margins/measured.json
and prints the table of README.md.

    nice python -m bench margins [PROGRAM...]
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.commands import OUT
from bench.margins.table import lines
from bench.programs import run_of, table_of
from bench.recording import record
from bench.runner import Bench, Given
from tautochrone.console.output import note
from tautochrone.plan.file import with_margin
from tautochrone.heap.recordings import Classes, ReplayedRecording
from tautochrone.heap.safe import safe_heap
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.trace.file import open_trace

HERE = Path(__file__).resolve().parent
PROGRAMS = table_of(__file__)
MEASURED = HERE / "measured.json"
TRACES = OUT / "margins"
RUNS = 20
LAYOUT = "host"
MARGINS = (0.0, 0.01, 0.02, 0.05, 0.08)
FIVE = tuple(range(5))
THREE = (5, 6, 7)


def recorded(name: str, number: int) -> Path:
    """Record one run of a program, unless it is there. Raises TauError if the program fails."""
    trace = TRACES / f"{name}-{number}.tau"
    if trace.exists():
        return trace
    return record(name, run_of(PROGRAMS[name], number), trace, ["--no-children"])


def tried(
    recordings: Sequence[ReplayedRecording],
    planned_from: Sequence[int],
    classes: Classes,
    measured_bytes: int,
) -> dict[str, Any]:
    """How a plan from some recordings holds all others."""
    own = [recordings[index] for index in planned_from]
    fresh = [recordings[index] for index in range(RUNS) if index not in planned_from]
    refused = {}
    for margin in MARGINS:
        heap_bytes = with_margin(measured_bytes, margin, LAYOUT)
        heap_bytes = safe_heap(own, classes, heap_bytes)
        held = [one.completed(classes, heap_bytes) >= one.events for one in fresh]
        refused[f"{margin:g}"] = held.count(False)
    needs = [safe_heap([one], classes) for one in fresh]
    return {
        "from": list(planned_from),
        "fresh": len(fresh),
        "refused": refused,
        "needs_most": round(max(needs) / measured_bytes - 1, 6),
        "needs": [round(need / measured_bytes - 1, 5) for need in needs],
    }


def measure(name: str) -> dict[str, Any]:
    """All plans of one program."""
    started = time.monotonic()
    paths = [recorded(name, number) for number in range(RUNS)]
    recordings = [ReplayedRecording(open_trace(path), LAYOUT) for path in paths]
    found: dict[str, Any] = {"differs": PROGRAMS[name]["differs"], "events": recordings[0].events}
    five = make_plan([paths[index] for index in FIVE], Wanted(layout=LAYOUT))
    three = make_plan([paths[index] for index in THREE], Wanted(layout=LAYOUT))
    # make_plan of one recording finds the same pools as its search of each alone.
    rows = [
        tried(recordings, [index], classes, safe_heap([recordings[index]], classes))
        for index, classes in zip(FIVE, five.alone, strict=True)
    ]
    found["1"] = rows
    for indices, made in ((THREE, three), (FIVE, five)):
        row = tried(recordings, indices, made.plan.classes, made.measured_heap_bytes)
        assert made.spread is not None
        row["spread"] = round(made.spread.fraction, 6)
        row["pools"] = len(made.plan.classes)
        row["gain"] = round(1 - made.measured_heap_bytes / made.plain_heap_bytes, 6)
        found[str(len(indices))] = [row]
    found["plain"] = [safe_heap([one], ()) for one in recordings]
    note(f"{name}: {time.monotonic() - started:.0f} s")
    return found


def measure_chosen(given: Given) -> dict[str, Any]:
    """Measure the chosen programs, or all, and keep the others' figures."""
    TRACES.mkdir(parents=True, exist_ok=True)
    measured = json.loads(MEASURED.read_text()) if given.words and MEASURED.exists() else {}
    for name in given.words or PROGRAMS:
        measured[name] = measure(name)
        MEASURED.write_text(json.dumps(measured) + "\n")
    return measured


BENCH = Bench("margins", measure_chosen, lines)
