"""The main job on a real program: the C compiler compiling core/tlsf.c.

Records it, plans its heap, replays the plan beside other allocators; records its accesses too and
replays those on heaps over pages, ours and the conventional one; writes out/demo/report.html;
prints what it found and the next command to try. What the steps say on the way goes to stderr.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("out/demo")
TAU = str(Path(sys.executable).parent / "tau")
COMPILE = ["gcc", "-O2", "-I.", "-c", "core/tlsf.c", "-o", str(OUT / "tlsf.o")]
SYSTEMS = "tlsf,budget,kingsley,static,glibc"
PAGED_SYSTEMS = "rtvm,conventional"
# Replayed too where the library is installed.
OPTIONAL_SYSTEMS = ("mimalloc", "jemalloc")


def step(text: str, *words: str) -> dict[str, Any]:
    """Run `tau WORDS… --json`, saying TEXT and the seconds on stderr; return the document."""
    started = time.monotonic()
    print(f"{text} …", end=" ", file=sys.stderr, flush=True)
    options = ["--json"] if "--" not in words else []
    done = subprocess.run(
        [TAU, "-q", *words, *options], stdout=subprocess.PIPE, cwd=ROOT, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"\ndemo: `tau {' '.join(words)}` failed with {done.returncode}")
    print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)
    return json.loads(done.stdout)


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
    trace, plan, replay = (str(OUT / name) for name in ("cc1.tau", "plan.toml", "replay.json"))
    report = str(OUT / "report.html")
    recorded = step(
        f"recording {' '.join(COMPILE)}", "record", "--json", "-o", trace, "--", *COMPILE
    )
    planned = step("planning its heap", "plan", trace, "-o", plan)
    systems = installed_systems()
    replayed = step(
        f"replaying on {systems}",
        *("replay", trace, "--on", systems, "--plan", plan, "--instructions", "rv32"),
    )
    (ROOT / replay).write_text(json.dumps(replayed))
    accesses, pages = str(OUT / "cc1-accesses.tau"), str(OUT / "pages.json")
    step(
        "recording which memory it touches",
        *("record", "--accesses", "--json", "-o", accesses, "--", *COMPILE),
    )
    paged = step(f"replaying on {PAGED_SYSTEMS}", "replay", accesses, "--on", PAGED_SYSTEMS)
    (ROOT / pages).write_text(json.dumps(paged))
    said = step(
        "writing the report",
        *("report", trace, "--plan", plan, "--replay", replay, "--replay", pages),
        *("-o", report),
        *("--title", " ".join(COMPILE[:2] + COMPILE[3:5])),
    )
    tell(recorded, planned, replayed, said["verdict"])
    tell_pages(paged)
    print(f"The report: {report}")
    print("Next, your own program: .venv/bin/tau record -o program.tau -- ./program")


def tell(recorded: dict, planned: dict, replayed: dict, verdict: str) -> None:
    """Print what the steps found."""
    program, events = recorded["trace"]["program"], recorded["trace"]["events"]
    print(f"{Path(program).name} made {events:,} calls of malloc and free. {verdict}")
    print(
        f"The plan: {len(planned['classes'])} pools of one size each in"
        f" {planned['dedicated_bytes']:,} bytes, and {planned['shared_bytes']:,} bytes shared."
    )
    budget = next(one for one in replayed["systems"] if one["name"] == "budget")["operations"]
    counted = (
        f"{name} {budget[name]['max_instructions']} (bound {budget[name]['bound_instructions']})"
        for name in ("malloc", "free")
    )
    print(f"Instructions on RV32IMC at most: {', '.join(counted)}.")


def tell_pages(paged: dict) -> None:
    """Print what giving pages back at once is worth."""
    ours, theirs = (
        next(one for one in paged["systems"] if one["name"] == name)
        for name in PAGED_SYSTEMS.split(",")
    )
    print(
        f"On pages: at most {ours['peak_mapped_pages']} mapped instead of"
        f" {theirs['peak_mapped_pages']}; the slowest free takes"
        f" {ours['operations']['free']['max_instructions']} instructions (bound"
        f" {ours['operations']['free']['bound_instructions']}) instead of"
        f" {theirs['operations']['free']['max_instructions']}, which has no bound."
    )


if __name__ == "__main__":
    main()
