"""Golden model of a process with tasks in TLB sets of their own: which page belongs to whom.

Written from docs/spec/run_colors.md. It looks at every page of every mapping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from model.tlb_color.ownership import CODE, DATA, Geometry

STACK, GLOBALS, HEAP = "stack", "globals", "heap"


@dataclass(frozen=True)
class Task:
    """Its name, its sets per array, its window, and its pages: the part of each address."""

    name: str
    sets: tuple[frozenset[int], ...]
    window: range
    parts: dict[int, str]


@dataclass(frozen=True)
class Mapping:
    """Addresses with rights, as a line of /proc/self/maps has them."""

    start: int
    end: int
    rights: str


def mapping_of(line: str) -> Mapping:
    """The mapping of a line of /proc/self/maps."""
    span, rights = line.split()[:2]
    start, end = (int(word, 16) for word in span.split("-"))
    return Mapping(start, end, rights)


def is_in_sets(geometry: Geometry, task: Task, address: int, role: str) -> bool:
    """Whether each entry that the page at an address needs goes to the task's sets."""
    return all(
        structure.index(address // geometry.page_bytes) in task.sets[structure.array]
        for structure in geometry.translating(geometry.page_bytes, role)
        if geometry.arrays[structure.array].sets > 1
    )


def owner_of(tasks: list[Task], address: int) -> tuple[str, str] | None:
    """The task and the part that an address belongs to; None outside of all tasks' pages."""
    for task in tasks:
        for page, part in task.parts.items():
            if address in range(page, page + 4096):
                return task.name, part
    return None


def complaints(geometry: Geometry, tasks: list[Task], mappings: list[Mapping]) -> list[str]:
    """What breaks [RCL-2] or [RCL-4]; empty if nothing does."""
    return [text for task in tasks for text in _complaints_of(geometry, task, mappings)]


def _complaints_of(geometry: Geometry, task: Task, mappings: list[Mapping]) -> Iterator[str]:
    rights: dict[int, str] = {}
    for each in mappings:
        first, end = max(each.start, task.window.start), min(each.end, task.window.stop)
        rights |= dict.fromkeys(range(first, end, geometry.page_bytes), each.rights)
    for address in range(task.window.start, task.window.stop, geometry.page_bytes):
        part = task.parts.get(address)
        found = rights.get(address, "")
        place = f"{task.name} {part} {address:#x}"
        if not found:
            yield f"{place}: not mapped"
        elif part is None and found[:3] != "---":
            yield f"{place}: no page of the plan, but {found}"
        elif part in (HEAP, STACK) and found != "rw-p":
            yield f"{place}: {found}"
        if part is not None and not is_in_sets(geometry, task, address, DATA):
            yield f"{place}: sets of others"
        if part not in (None, HEAP) and not is_in_sets(geometry, task, address, CODE):
            yield f"{place}: sets of others, as code"
