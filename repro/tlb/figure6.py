"""Fig. 6: how many pages of two tasks lie in each set, with the C library's malloc and with
colors [P4-13]. Addresses of this machine only, with the sets of the paper's processor."""

import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from repro.tlb.benchmarks import PROGRAMS
from repro.engine.results import REPOSITORY

SETS = 16
RUNS = 5
# A page, a little less, a little more, and eight pages: objects follow each other as closely.
OBJECT_BYTES = (4096, 4000, 4200, 32768)
CORE = ("peers/conventional/tlb_malloc.c", "core/tlsf.c")


def built(folder: Path) -> Path:
    """The program, for this machine."""
    made = folder / "pages_per_set"
    sources = [PROGRAMS / "pages_per_set.c", *(REPOSITORY / name for name in CORE)]
    command = ["cc", "-O2", "-pthread", f"-I{REPOSITORY}", "-DTAU_WORD_BITS=64"]
    subprocess.run([*command, *map(str, sources), "-o", str(made)], check=True)
    return made


def pages_per_set(program: Path, *arguments: str) -> list[int]:
    """Of one run."""
    said = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    counts = Counter(int(line) % SETS for line in said.stdout.split())
    return [counts[index] for index in range(SETS)]


def summary(runs: list[list[int]]) -> dict[str, Any]:
    """The most and the mean of each set."""
    columns = list(zip(*runs, strict=True))
    means = [sum(column) / len(column) for column in columns]
    return {
        "max": [max(column) for column in columns],
        "mean": means,
        "largest": max(map(max, runs)),
        "least": min(map(min, runs)),
        "least_mean": min(means),
        "largest_mean": max(means),
    }


def measure() -> dict[str, Any]:
    """Both allocators, several runs."""
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        malloc = {
            str(size): summary([pages_per_set(program, str(size)) for _ in range(RUNS)])
            for size in OBJECT_BYTES
        }
        colors = summary([pages_per_set(program) for _ in range(RUNS)])
    return {"runs": RUNS, "malloc": malloc, "colors": colors}
