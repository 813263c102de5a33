"""Whether every load of a system finds its pages: the kernel's allocator, command by command.

The loader takes pages by the order of commands and of page lists, and nobody else takes any. So
core/buddy itself, run here, gives the same frames as on the tile.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

from tautochrone import native
from tautochrone.compose.pages import UNIT, Page
from tautochrone.compose.system import Application, System, pages_of
from tautochrone.facts import compose_format as facts

STATE_BYTES = 1 << 20
BASE_ORDER = 2
ORDERS, LINK_BYTES = 8, 4
OK = 0


def state_bytes(frames: int) -> int:
    """Bytes of the allocator's state for FRAMES frames: TAU_BUDDY_SIZE_BYTES of core/buddy.h."""
    groups = sum(-(-frames // (1 << 2 * (order + 1))) for order in range(ORDERS))
    return LINK_BYTES * ORDERS + (LINK_BYTES + 1) * groups


class Memory:
    """The frames of a tile, as the kernel hands them out."""

    def __init__(self, frame_first: int, frame_count: int) -> None:
        self._core = native.library("libtau_core64.so")
        self._buddy = self._core.struct("tau_buddy")()
        self._state = (ctypes.c_uint64 * (STATE_BYTES // 8))()
        end = frame_first + frame_count
        made = self._core.tau_buddy_init(self._buddy, self._state, STATE_BYTES, end)
        assert made == OK, made
        first = self._core.struct("tau_frame")(frame_first)
        added = self._core.tau_buddy_add(self._buddy, first, frame_count)
        assert added == OK, added
        self._taken: dict[str, list[tuple[int, int]]] = {}
        self.has_base = self._take(BASE_ORDER) is not None
        self.free_least = self.free_frames  # Free frames at the fullest moment.

    @property
    def free_frames(self) -> int:
        """Frames that nobody has."""
        return int(self._core.tau_buddy_free_frames_count(self._buddy))

    @property
    def largest_free_bytes(self) -> int:
        """The largest page that could be taken now; 0 if there is none."""
        order = ctypes.c_uint32(0)
        is_found = self._core.tau_buddy_largest(self._buddy, order)
        return UNIT << 2 * order.value if is_found else 0

    def load(self, name: str, pages: list[Page], pool_frames: int) -> int | None:
        """Take the pages of an application; the order of the one that is missing, or None."""
        orders = [page.order for page in pages if page.kind == facts.PAGE_KIND_OWN]
        taken: list[tuple[int, int]] = []
        for order in (*orders, *[0] * pool_frames):
            frame = self._take(order)
            if frame is None:
                self._give(taken)
                return order
            taken.append((frame, order))
        self._taken[name] = taken
        self.free_least = min(self.free_least, self.free_frames)
        return None

    def unload(self, name: str) -> None:
        """Return an application's frames."""
        self._give(self._taken.pop(name, []))

    def _take(self, order: int) -> int | None:
        frame = self._core.struct("tau_frame")()
        done = self._core.tau_buddy_take(self._buddy, order, frame)
        return frame.number if done == OK else None

    def _give(self, taken: list[tuple[int, int]]) -> None:
        for frame, order in taken:
            given = self._core.tau_buddy_give(
                self._buddy, self._core.struct("tau_frame")(frame), order
            )
            assert given == OK, given


@dataclass(frozen=True)
class Load:
    """A load as the allocator answers it: the order of the page that is missing, or None."""

    command: int
    application: Application
    missing: int | None
    memory: Memory


def loads_of(system: System, place: int) -> Iterator[Load]:
    """Carry out the commands of a tile, one load after the other. The base code must fit."""
    memory = Memory(system.frame_first, system.frame_count)
    for index, command in enumerate(system.commands):
        application = system.applications[system.number(command.application)]
        if not system.runs_on(application, place):
            continue
        if command.operation == "unload":
            memory.unload(application.name)
            continue
        pages = pages_of(system, application, place)
        missing = memory.load(application.name, pages, application.pool_frames)
        yield Load(index, application, missing, memory)
