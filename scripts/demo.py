"""The main job on a real program: the C compiler compiling core/tlsf.c.

Records it, plans its heap, and a heap that cannot fail within its limits, replays both and other
allocators. Records the accesses of a shorter compilation too, which are few enough for a simulated
processor: replays them on heaps over pages, ours and the conventional one, in software and on the
tile, each with its memory management unit. Writes out/demo/report.html. Last, a firmware runs on
its plan, verified on its own machine code (demo_firmware.py). Prints its findings and the next
command to try. What the steps say on the way goes to stderr. The tile's simulators are built
meanwhile; where they cannot be, the demo says why and goes on.
"""

import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import demo_firmware

from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.tile import systems as tile_systems

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("out/demo")
TAU = str(Path(sys.executable).parent / "tau")
COMPILE = ["gcc", "-O2", "-I.", "-c", "core/tlsf.c", "-o", str(OUT / "tlsf.o")]
COMPILE_SHORTER = ["gcc", "-O1", "-I.", "-c", "core/frames.c", "-o", str(OUT / "frames.o")]
ONLY = ("--only", "cc1")  # of gcc's programs
SHORTER = " ".join([*COMPILE_SHORTER[:2], COMPILE_SHORTER[4]])
SYSTEMS = "tlsf,budget,kingsley,static,glibc"
PAGED_SYSTEMS = "rtvm,conventional"
TILE_SYSTEMS = "tile:rtmmu,tile:pagetable"
# Replayed too where the library is installed.
OPTIONAL_SYSTEMS = ("mimalloc", "jemalloc")


def step(text: str, *words: str, shows: bool = False) -> dict[str, Any]:
    """Run `tau WORDS… --json`, saying TEXT and the seconds on stderr; return the document.

    With `shows` on a terminal the command shows its progress, and the seconds stand behind that.
    """
    started = time.monotonic()
    shows = shows and sys.stderr.isatty()
    print(f"{text} …", end="\n" if shows else " ", file=sys.stderr, flush=True)
    options = ["--json"] if "--" not in words else []
    quiet = [] if shows else ["-q"]
    done = subprocess.run(
        [TAU, *quiet, *words, *options], stdout=subprocess.PIPE, cwd=ROOT, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"\ndemo: `tau {' '.join(words)}` failed with {done.returncode}")
    print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)
    return json.loads(done.stdout)


def simulator_of(name: str) -> str | None:
    """Build a system's simulator unless it is there; return why that failed, None if it did not."""
    try:
        tile_systems.simulator(tile_systems.tile_system(name))
    except TauError as error:
        return error.message + (f"; next: {error.next_step}" if error.next_step else "")
    return None


def installed_systems() -> str:
    """Return the systems to replay on, those that this machine lacks left out."""
    found = json.loads(
        subprocess.run([TAU, "-q", "doctor", "--json"], capture_output=True, text=True).stdout
    )
    works = {finding["name"] for finding in found["findings"] if finding["works"]}
    return ",".join([SYSTEMS, *(name for name in OPTIONAL_SYSTEMS if name in works)])


def main() -> None:
    """Do the steps and print what came out."""
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    (ROOT / OUT).mkdir(parents=True)
    output.configure(color="auto", quiet=True)
    with ThreadPoolExecutor() as pool:
        building = [pool.submit(simulator_of, name) for name in TILE_SYSTEMS.split(",")]
        trace, plan, replay = (str(OUT / name) for name in ("cc1.tau", "plan.toml", "replay.json"))
        recorded = step(
            f"recording {' '.join(COMPILE)}",
            *("record", *ONLY, "--json", "-o", trace, "--", *COMPILE),
        )
        planned = step("planning its heap", "plan", trace, "-o", plan)
        systems = installed_systems()
        replayed = step(
            f"replaying on {systems}",
            *("replay", trace, "--on", systems, "--plan", plan, "--instructions", "rv32"),
        )
        guaranteed, pools = without_failing(trace)
        replayed["systems"].append(pools)
        (ROOT / replay).write_text(json.dumps(replayed))
        paged, on_tile = replayed_on_pages(building)
    pages = str(OUT / "pages.json")
    (ROOT / pages).write_text(json.dumps(paged))
    report = str(OUT / "report.html")
    said = step(
        "writing the report",
        *("report", trace, "--plan", plan, "--replay", replay, "--replay", pages),
        *("-o", report),
        *("--title", " ".join(COMPILE[:2] + COMPILE[3:5])),
    )
    tell(recorded, planned, replayed, said["sentences"][0])
    tell_guarantee(guaranteed, pools)
    tell_pages(paged["systems"])
    if on_tile:
        tell_tile(paged["systems"])
    print(demo_firmware.on_its_plan(step, OUT / "firmware"))
    print(f"The report: {report}")
    print("Next, your own program: .venv/bin/tau record -o program.tau -- ./program")


def without_failing(trace: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Plan a heap that cannot fail within its limits; return the plan, and it replayed."""
    plan = str(OUT / "guaranteed.toml")
    planned = step("planning a heap that cannot fail", "plan", trace, "--guarantee", "-o", plan)
    words = ("replay", trace, "--on", "pools", "--plan", plan, "--instructions", "rv32")
    return planned, step("replaying on it", *words)["systems"][0]


def replayed_on_pages(building: list[Future[str | None]]) -> tuple[dict[str, Any], bool]:
    """Record accesses and replay them on pages; also on the tile, if it can be built here."""
    accesses = str(OUT / "cc1-accesses.tau")
    step(
        f"recording which memory {SHORTER} touches",
        *("record", *ONLY, "--accesses", "--json", "-o", accesses, "--", *COMPILE_SHORTER),
    )
    paged = step(f"replaying on {PAGED_SYSTEMS}", "replay", accesses, "--on", PAGED_SYSTEMS)
    if not all(built.done() for built in building):
        print("waiting for the tile's simulators …", file=sys.stderr, flush=True)
    failed = next((why for built in building if (why := built.result())), None)
    if failed:
        print(f"demo: going on without the tile: {failed}", file=sys.stderr)
        return paged, False
    on_tile = step(
        f"replaying on {TILE_SYSTEMS}, cycle by cycle",
        *("replay", accesses, "--on", TILE_SYSTEMS),
        shows=True,
    )
    paged["systems"] += on_tile["systems"]
    return paged, True


def tell(recorded: dict, planned: dict, replayed: dict, verdict: str) -> None:
    """Print what the steps found."""
    program, events = recorded["trace"]["program"], recorded["trace"]["events"]
    print(f"{Path(program).name} made {events:,} calls of malloc and free. {verdict}")
    if planned["classes"]:
        print(
            f"The plan: {len(planned['classes'])} pools of one size each in"
            f" {planned['dedicated_bytes']:,} bytes, and {planned['shared_bytes']:,} bytes shared."
        )
    else:
        print("The plan has no pools: here they save less than runs differ.")
    budget = next(one for one in replayed["systems"] if one["name"] == "budget")
    print(f"Instructions on RV32IMC at most: {counted(budget)}.")


def tell_guarantee(planned: dict, pools: dict) -> None:
    """Print the cost of a heap in which no call fails in any order."""
    print(
        "A heap that cannot fail within its limits, in any order of calls:"
        f" {planned['heap_bytes']:,} bytes for {len(planned['pools'])} pools, each for a band of"
        f" sizes, whose limits have a margin of {planned['margin'] * 100:g} %"
        f" ({planned['measured_heap_bytes']:,} bytes without that). Instructions at most:"
        f" {counted(pools)}."
    )


def counted(system: dict) -> str:
    """Return the largest costs of malloc and free in words, with their bounds."""
    calls = {name: system["operations"][name] for name in ("malloc", "free")}
    return ", ".join(
        f"{name} {call['max_instructions']:,} (bound {call['bound_instructions']:,})"
        for name, call in calls.items()
    )


def pair_of(systems: list[dict], names: str) -> tuple[dict, dict]:
    """Return ours and the conventional one."""
    ours, theirs = (
        next(one for one in systems if one["name"] == name) for name in names.split(",")
    )
    return ours, theirs


def tell_pages(systems: list[dict]) -> None:
    """Print the gain from returning pages at once."""
    ours, theirs = pair_of(systems, PAGED_SYSTEMS)
    print(
        f"On pages, {SHORTER}: at most {ours['peak_mapped_pages']:,} mapped"
        f" instead of {theirs['peak_mapped_pages']:,}. The slowest free takes"
        f" {ours['operations']['free']['max_instructions']:,} instructions (bound"
        f" {ours['operations']['free']['bound_instructions']:,}) instead of"
        f" {theirs['operations']['free']['max_instructions']:,}, which has no bound."
    )


def tell_tile(systems: list[dict]) -> None:
    """Print what that takes on a processor with the unit, pages mapped by real faults."""
    ours, theirs = pair_of(systems, TILE_SYSTEMS)
    free, other = ours["operations"]["free"], theirs["operations"]["free"]
    loads = [system["operations"]["load"]["max_cycles"] for system in (ours, theirs)]
    load = "with either" if loads[0] == loads[1] else f"instead of {loads[1]}"
    print(
        f"On the tile, an Ibex core with the RTMMU: the slowest free takes {free['max_cycles']:,}"
        f" cycles (bound {free['bound_cycles']:,}) instead of {other['max_cycles']:,} with a page"
        f" table, which has no bound. A load that hits takes at most {loads[0]} {load}."
    )


if __name__ == "__main__":
    main()
