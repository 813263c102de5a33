"""One core walks over 7 pages of each of 16 threads: the cost of allocators' layouts in the TLB.

Run `python -m bench runtime.colors [--quick] [--geometry FILE]`, or run.py, which ends with it; it
writes out/bench/runtime-colors.json. The geometry comes from FILE, or `tau tlb discover` finds it
now. If that cannot verify everything, but the index of pages, the layout is colored by that index
and the result says so. Without an index nothing is measured, with the reason.

`layout` is the reference: the pages of a plan for 16 tasks, mapped by the program itself. Each way
alternates with all others, and its least time counts, since the machine is shared. At last
attack.py says what an attacker costs a victim.
"""

import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.commands import TAU
from bench.runner import Bench, Given, conditions, reached
from bench.runtime import attack
from bench.runtime.programs import HERE, allocators, built
from bench.runtime.tasks import plan_of
from tautochrone.errors import TauError
from tautochrone.plan.file import load_any_plan
from tautochrone.plan.sections import TLB
from tautochrone.tlb.discover.document import UNKNOWN, toml_of
from tautochrone.tlb.discover.run import discovered_host
from tautochrone.tlb.geometry import DATA, Geometry, read_geometry
from tautochrone.tlb.partition import HEAP, Partition

THREADS, PAGES = 16, 7
HEAP_PAGES = 16
SHARE = 32  # fraction of the sets that a task gets: half of all are left
ROUNDS, ROUNDS_QUICK = 12, 2
SEEDS = range(1, 7)
CPU_SECONDS = 10.0
MUST = {"ours": 1.1, "colored": 1.1, "glibc": 2.0}  # ÷ layout
LEAST = ("glibc",)  # the others at most


NOTHING: dict[str, Any] = {"rows": [], "reached": {}, "attacks": []}


# ---- the geometry -------------------------------------------------------------------------------


def found_geometry(cpu: int, folder: Path, seeds: Iterable[int] = SEEDS) -> tuple[Path, bool] | str:
    """A file with this machine's geometry, and whether all of it is verified; or why there is
    none."""
    path = folder / "host.toml"
    partly, why = None, "no index was found"
    for seed in seeds:
        document = discovered_host(cpu, seed, CPU_SECONDS)
        if document["is_verified"]:
            path.write_text(toml_of(document["geometry"]))
            return path, True
        partly = partly or pages_only(document)
        why = "; ".join(dict.fromkeys(document["unknown"]))
    if partly is None:
        return why
    path.write_text(toml_of(partly))
    return path, False


def pages_only(document: dict[str, Any]) -> dict[str, Any] | None:
    """The geometry of a document's pages without their directories; None if an index is unknown."""
    rows = [each for each in document["structures"] if each["role"] == DATA]
    arrays = document["arrays"]
    known = [*(each["rows"] for each in rows), *(each["sets"] for each in arrays)]
    if not rows or any(each["value"] == UNKNOWN for each in known):
        return None
    return {
        "format": "tautochrone geometry",
        "version": 1,
        "page_bytes": document["page_bytes"],
        "source": "user",
        "reference": "pages as tau tlb discover found them; directories are unknown",
        "array": [
            {
                "name": each["name"],
                "sets": each["sets"]["value"],
                "ways": each["ways"]["value"]["least"],
                "safe_ways": 1,
            }
            for each in arrays
        ],
        "structure": [
            {
                "role": DATA,
                "page_bytes": each["page_bytes"],
                "array": each["array"],
                "rows": each["rows"]["value"],
            }
            for each in rows
        ],
    }


def last_array(geometry: Geometry) -> int | None:
    """The number of the last array of data pages that has sets."""
    found = [each.array for each in geometry.translating(geometry.page_bytes)]
    colorable = [number for number in found if geometry.arrays[number].is_colorable]
    return colorable[-1] if colorable else None


# ---- the layouts --------------------------------------------------------------------------------


def planned(folder: Path, geometry_path: Path, array: str, sets: int) -> Path:
    """A plan of 16 tasks."""
    count = max(1, sets // SHARE)
    tasks = {f"t{number}": (HEAP_PAGES, count) for number in range(THREADS)}
    return plan_of(folder, geometry_path, array, tasks)


def layout_of(partition: Partition) -> list[str]:
    """The addresses of the first pages of each task's heap."""
    addresses = []
    for task in partition.principals:
        pages = [page for run in task.runs_of(HEAP) for page in partition.addresses(run)]
        addresses += [f"{page:x}" for page in pages[:PAGES]]
    return addresses


def ways_of(program: Path, cpu: int, plan: Path, layout: list[str]) -> dict[str, Any]:
    """The command and the variables of each way."""
    plain = [str(program), str(cpu), "plain"]
    found: dict[str, Any] = {"layout": ([str(program), str(cpu), "layout", *layout], {})}
    for one in allocators():
        found[one.name] = (plain, one.variables)
    found["glibc, one arena"] = (plain, allocators()[0].variables | {"MALLOC_ARENA_MAX": "1"})
    run = [*TAU, "run", "--colors", str(plan), "--unverified"]
    found["colored"] = ([*run, "--", str(program), str(cpu), "name"], {})
    return found


def crowding(geometry: Geometry, array: int, pages: list[int]) -> int:
    """The most pages in one set."""
    (structure,) = (
        each
        for each in geometry.translating(geometry.page_bytes, DATA)
        if each.array == array and each.role == DATA
    )
    return max(Counter(structure.index(page // geometry.page_bytes) for page in pages).values())


def measured(ways: dict[str, Any], rounds: int) -> dict[str, dict[str, Any]]:
    """The least and the least median of ticks per access of each way, and its pages."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for name, (command, variables) in ways.items():
            done = subprocess.run(
                command,
                env=dict(os.environ) | variables,
                capture_output=True,
                text=True,
                check=True,
            )
            words = done.stdout.split()
            least, median = map(float, words[:2])
            row = best.setdefault(name, {"ticks": least, "median": median, "pages": []})
            row["median"] = min(row["median"], median)
            if least <= row["ticks"]:
                row |= {"ticks": least, "pages": [int(word, 16) for word in words[2:]]}
    return best


def measure(given: Given) -> dict[str, Any]:
    """All ways and the attack, or why nothing can be measured."""
    cpu = max(os.sched_getaffinity(0))
    folder = given.folder
    try:
        found = (given.geometry, True) if given.geometry else found_geometry(cpu, folder)
    except TauError as error:
        found = error.message
    if isinstance(found, str):
        return NOTHING | {"skipped": found}
    path, is_verified = found
    geometry = read_geometry(path)
    array = last_array(geometry)
    if array is None:
        return NOTHING | {"skipped": "no TLB of this machine has sets that could be owned"}
    facts = geometry.arrays[array]
    plan = planned(folder, path, facts.name, facts.sets)
    program = built(folder, HERE / "colors.c", "colors")
    partition = load_any_plan(plan).sections[TLB]
    ways = ways_of(program, cpu, plan, layout_of(partition))
    rows = measured(ways, ROUNDS_QUICK if given.quick else ROUNDS)
    attacked = attack.attacked(folder, attack.planned(folder, path, facts), cpu)
    for row in rows.values():
        row["pages_in_a_set"] = crowding(geometry, array, row.pop("pages"))
        row["ratio"] = row["ticks"] / rows["layout"]["ticks"]
    return {
        "version": 1,
        "geometry": geometry.digest(),
        "is_verified": is_verified,
        "sets": facts.sets,
        "ways": facts.ways,
        "rows": rows,
        "must": MUST,
        "reached": reached({way: row["ratio"] for way, row in rows.items()}, MUST, LEAST),
        "attacks": [attacked],
        "conditions": conditions(),
    }


def skipped(result: dict[str, Any]) -> list[str]:
    """Why nothing could be measured."""
    return [f"skipped: {result['skipped']}"] if "skipped" in result else []


GEOMETRY = {"--geometry": {"type": Path, "help": "the geometry (default: discover it)"}}
BENCH = Bench("runtime-colors", measure, skipped, options=GEOMETRY)
