"""The cases in which `tau run` costs most CPU time, beside the C library's own heap.

`python -m bench.runtime.cases [--quick]` writes out/bench/runtime_cases.json. Runs with both heaps
alternate; of each the one with the least CPU time counts, since the machine is shared.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from bench.runtime.programs import HERE, ROOT, allocators, built

OUT = ROOT / "out" / "bench"
ROUNDS = 7
THREADS = """
import json, threading
def work():
    for turn in range(6):
        rows = [{"n": n, "s": str(n * 7)} for n in range(9000)]
        json.loads(json.dumps(rows))
threads = [threading.Thread(target=work) for _ in range(5)]
for each in threads: each.start()
for each in threads: each.join()
"""


def commands(folder: Path, scale: int) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Each case's command, and the variables that it needs."""
    program = str(built(folder, HERE / "cases.c", "cases"))
    (folder / "threads.py").write_text(THREADS)
    pairs = str(scale * 1_000_000)
    python = ["/usr/bin/python3", "-S", str(folder / "threads.py")]
    return {
        "lone pairs of 64 bytes": ([program, "64", "1", "1", pairs], {}),
        "lone pairs of 16 to 1,039 bytes": ([program, "16", "1024", "1", pairs], {}),
        "eight threads, pairs of 64 bytes": ([program, "64", "1", "8", str(scale * 100_000)], {}),
        "python, five threads, PYTHONMALLOC=malloc": (python, {"PYTHONMALLOC": "malloc"}),
    }


def cpu_seconds(words: list[str], variables: dict[str, str]) -> float:
    """User and system time of one run."""
    pid = os.posix_spawnp(
        words[0],
        words,
        dict(os.environ) | variables,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{words[0]} failed")
    return usage.ru_utime + usage.ru_stime


def main(arguments: list[str]) -> int:
    """Measure, print a row for each case, write the JSON."""
    rounds, scale = (1, 1) if "--quick" in arguments else (ROUNDS, 5)
    OUT.mkdir(parents=True, exist_ok=True)
    compared = allocators()[:2]
    found = {}
    with tempfile.TemporaryDirectory(prefix="cases-") as name:
        for case, (words, variables) in commands(Path(name), scale).items():
            best = {one.name: float("inf") for one in compared}
            for _ in range(rounds):
                for one in compared:
                    seconds = cpu_seconds(words, variables | one.variables)
                    best[one.name] = min(best[one.name], seconds)
            found[case] = best | {"ratio": best["ours"] / best["glibc"]}
            print(f"{case:45}{found[case]['ratio']:6.2f} × glibc", flush=True)
    (OUT / "runtime_cases.json").write_text(json.dumps({"version": 1, "cases": found}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
