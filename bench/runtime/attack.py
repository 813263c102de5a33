"""Cost of an attacker for a victim on one core: in other TLB sets, and in the victim's own.

`tau run --colors` runs attack.c on a plan of three tasks. The victim's pass over 16 pages is timed
after 192 pages of `other`, which has many sets and so overflows none, after as many of `attacker`,
which has few, and after as many of the victim's own heap. All kinds take turns. Of several tries
the first counts that reaches both limits, else the last: a neighbor can only make them fail.
"""

import subprocess
from pathlib import Path
from typing import Any

from bench.commands import TAU
from bench.runtime.programs import HERE, built
from bench.runtime.tasks import plan_of
from tautochrone.tlb.geometry import Array

VICTIMS, OTHERS = 16, 192  # as in attack.c
TRIES = 8
HEAP_PAGES = 256
ELSEWHERE_WALKS_MAX, SAME_RATIO_MIN = 0.5, 1.8
MANY = 4  # other gets this part of all sets: a quarter


def judged(alone: float, elsewhere: float, same: float, tries: int = 1) -> dict[str, Any]:
    """Ticks of the victim's pass: undisturbed, with an attacker in other sets, in the same ones.

    `elsewhere_walks` is how many walks of the pass an attacker in other sets causes. A walk takes
    at least what each of the victim's pages loses in its own sets.
    """
    walks, ratio = (elsewhere - alone) * VICTIMS / max(same - alone, 1.0), same / alone
    is_passed = walks < ELSEWHERE_WALKS_MAX and ratio >= SAME_RATIO_MIN
    found = {"alone": alone, "elsewhere": elsewhere, "same": same, "tries": tries}
    return found | {"elsewhere_walks": walks, "same_ratio": ratio, "is_passed": is_passed}


def planned(folder: Path, geometry: Path, array: Array) -> Path:
    """A plan of the three tasks; 192 pages are as many as the ways of the attacker's sets."""
    few = 1 << (OTHERS // array.ways).bit_length() - 1
    sets = {"victim": few, "attacker": few, "other": array.sets // MANY}
    tasks = {name: (HEAP_PAGES, count) for name, count in sets.items()}
    return plan_of(folder, geometry, array.name, tasks, "attack-")


def attacked(folder: Path, plan: Path, cpu: int) -> dict[str, Any]:
    """The earliest try that passes, else the last one."""
    program = built(folder, HERE / "attack.c", "attack")
    command = [*TAU, "run", "--colors", str(plan), "--unverified"]
    command += ["--", str(program), str(cpu)]
    for tries in range(1, TRIES + 1):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        alone, elsewhere, same = map(float, done.stdout.split())
        found = judged(alone, elsewhere, same, tries)
        if found["is_passed"]:
            break
    return found
