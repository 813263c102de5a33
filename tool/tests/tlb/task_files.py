"""Files of tasks for tests, and a partition as the golden model has it."""

from pathlib import Path

from model.tlb_color import ownership as model
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import HEAP, UNCOLORED, Partition
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


def model_geometry(geometry: Geometry) -> model.Geometry:
    """A geometry in the golden model."""
    return model.Geometry(
        geometry.page_bytes,
        tuple(model.Array(each.sets, each.ways, each.safe_ways) for each in geometry.arrays),
        tuple(
            model.Structure(each.role, each.page_bytes, each.array, each.rows, each.constant)
            for each in geometry.structures
        ),
    )


def model_partition(partition: Partition) -> model.Partition:
    """A partition in the golden model; the first window of a principal is its heap's, if any."""
    page = partition.geometry.page_bytes
    principals = []
    for each in partition.principals:
        windows = [model.Window(each.window_start, each.window_bytes, page)]
        if each.heap_window_bytes and each.mode != UNCOLORED:
            start, size = each.window_start, each.heap_window_bytes
            rest = model.Window(start + size, each.window_bytes - size, page)
            windows = [model.Window(start, size, page), rest]
        principals.append(model.Principal(each.sets, windows, each.taken))
    return model.Partition(model_geometry(partition.geometry), principals)


def pages_of(partition: Partition, number: int, part: str = HEAP) -> list[int]:
    """The addresses of a part's pages, ascending."""
    runs = partition.principals[number].runs_of(part)
    return sorted(page for run in runs for page in partition.addresses(run))
