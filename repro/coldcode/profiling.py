"""What recording costs: CPU time of QEMU with the plugin and without, in alternating pairs
[P3-13]."""

import resource
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from repro.coldcode import kernels, workload
from tautochrone.coldcode.linux import build_cache
from tautochrone.coldcode.linux.qemu import boot, boot_recorded

PAIRS = 5
WORK = replace(kernels.PROGRAMS, rounds=1)


def cpu_seconds() -> float:
    """CPU time of all ended processes that this one has started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure() -> dict[str, Any]:
    """Each pair, and whether all recordings are equal."""
    built = kernels.baseline()
    words = tuple(workload.append(WORK.parts, WORK.inputs, WORK.rounds).split())
    how = kernels.boot_of(built, WORK, words, None)
    pairs, recorded, consoles = [], set(), set()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(PAIRS):
            began = cpu_seconds()
            consoles.add(boot(built, how).console)
            without = cpu_seconds()
            path = Path(folder) / f"{number}.taucode"
            found, recording = boot_recorded(built, how, path)
            pairs.append({"without": without - began, "with": cpu_seconds() - without})
            # Not of the file, which names a folder that is another one each time.
            columns = (recording.touches, recording.times, recording.blocks)
            recorded.add(build_cache.hash_of([column.tobytes() for column in columns]))
            consoles.add(found.console)
    ratios = [pair["with"] / pair["without"] for pair in pairs]
    return {
        "rounds": WORK.rounds,
        "pairs": pairs,
        "ratio_median": statistics.median(ratios),
        "ratio_of_sums": sum(p["with"] for p in pairs) / sum(p["without"] for p in pairs),
        "recordings_differing": len(recorded) - 1,
        "consoles_differing": len(consoles) - 1,
    }
