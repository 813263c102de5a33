"""Files of tasks for tests."""

from pathlib import Path

from tautochrone.tlb.partition import HEAP, Partition
from tautochrone.tlb.tasks import TaskSet, read_tasks

PAGE = 4096
HEAD = 'format = "tautochrone tasks"\nversion = 1\n'
KERNEL = "[kernel]\ncolored = true\nstack_bytes = 4096\ndata_bytes = 8192\ncode_bytes = 0\n"
ON_TILE = HEAD + KERNEL.replace("8192", "4096")  # The kernel has a page of data there.


def task(name: str, heap: str = "heap_bytes = 8192", more: str = "", **changed: int) -> str:
    """A table [[task]] with a stack, globals and code of a page each."""
    sizes = {"stack": PAGE, "globals": PAGE, "code": PAGE} | changed
    rows = "".join(f"{part}_bytes = {size}\n" for part, size in sizes.items())
    return f'[[task]]\nname = "{name}"\nperiod_cycles = 1000\n{heap}\n{rows}{more}\n'


def task_set(folder: Path, *tables: str) -> TaskSet:
    """The tasks of a file with these tables."""
    path = folder / "tasks.toml"
    path.write_text(HEAD + "".join(tables), encoding="utf-8")
    return read_tasks(path)


def pages_of(partition: Partition, number: int, part: str = HEAP) -> list[int]:
    """The addresses of a part's pages, ascending."""
    runs = partition.principals[number].runs_of(part)
    return sorted(page for run in runs for page in partition.addresses(run))
