"""The benchmarks of the paper's task sets [P4-20 … P4-24], rewritten as tasks of the tile.

The paper takes them from the collections of Mälardalen and MiBench, and changes them so that their
data are on the heap. Each is the same algorithm here, in integers, on numbers that lie in as many
pages as the task set says.
"""

from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
WALKER = PROGRAMS.parents[2] / "kernel/systems/tasks/walker.c"
NAMES = (
    "bubble_sort", "insertion_sort", "nth_largest", "statistics", "count", "fft", "adpcm", "fir"
)


def program(name: str) -> Path:
    """The source of a benchmark, or of the walker, which takes the same arguments."""
    return WALKER if name == WALKER.stem else PROGRAMS / f"{name}.c"


def arguments(
    objects: int, object_bytes: int, used: int, seed: int, repeats: int, numbers_log2: int
) -> tuple[int, ...]:
    """Of a program: USED of OBJECTS hold 2^NUMBERS_LOG2 numbers each (programs/paged_array.h)."""
    return objects, object_bytes, used, seed, repeats, numbers_log2
