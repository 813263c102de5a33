"""Geometries and partitions of the tool, in the golden model of TLB coloring."""

from model.tlb_color import ownership as model
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import UNCOLORED, Partition


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
    names = [each.name for each in partition.principals]
    shared = {each.leader for each in partition.principals if each.shares_sets_with}
    principals = []
    for each in partition.principals:
        windows = [model.Window(each.window_start, each.window_bytes, page)]
        if each.heap_window_bytes and each.mode != UNCOLORED:
            start, size = each.window_start, each.heap_window_bytes
            rest = model.Window(start + size, each.window_bytes - size, page)
            windows = [model.Window(start, size, page), rest]
        group = 1 + names.index(each.leader) if each.leader in shared else 0
        principals.append(model.Principal(each.sets, windows, each.taken, group))
    return model.Partition(model_geometry(partition.geometry), principals)
