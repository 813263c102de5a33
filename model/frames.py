"""Golden model of the frame pools: two lists in a row, their heads first.

Written from the contract alone. Every operation returns the C function's result: a status name,
or a frame's number. A frame's content is the name of the space that wrote it last, or None: zeroes.
Cost: proportional to the frames.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Machine:
    """Common to all pools: the number of frames, those that were handed in, and their content."""

    frames_count: int
    handed_in: set[int] = field(default_factory=set)
    content: dict[int, str | None] = field(default_factory=dict)


@dataclass
class Frames:
    """A pool. Frames that a space gives up become ready if it is reserved, else dirty."""

    machine: Machine
    is_reserved: bool = False
    ready: list[int] = field(default_factory=list)
    dirty: list[int] = field(default_factory=list)

    @property
    def free_count(self) -> int:
        """Frames that can be taken now."""
        return len(self.ready) + len(self.dirty)

    def add(self, first: int, count: int) -> str:
        """As tau_frames_add: the lowest frame will be taken first."""
        if count == 0:
            return "BAD_ARGUMENT"
        if first + count > self.machine.frames_count:
            return "FRAME_OUTSIDE"
        frames = list(range(first, first + count))
        if self.machine.handed_in & set(frames):
            return "FRAME_TWICE"
        self.machine.handed_in |= set(frames)
        for frame in frames:
            self.machine.content[frame] = "power-up"
        self.dirty = frames + self.dirty
        return "OK"

    def clean_one(self) -> bool:
        """As tau_frames_clean_one: the dirty head is zeroed and becomes the ready head."""
        if not self.dirty:
            return False
        frame = self.dirty.pop(0)
        self.machine.content[frame] = None
        self.ready.insert(0, frame)
        return True

    def take(self) -> int | None:
        """The frame that a fault gets, None if there is none."""
        if not self.ready:
            self.clean_one()
        return self.ready.pop(0) if self.ready else None

    def release(self, newest_first: list[int]) -> None:
        """Takes a chain back, its newest frame as the new head."""
        if self.is_reserved:
            self.ready = newest_first + self.ready
        else:
            self.dirty = newest_first + self.dirty

    def reserve(self, count: int) -> Frames | None:
        """As tau_frames_reserve; None for TAU_NO_FRAME."""
        if count > self.free_count:
            return None
        reserved = Frames(self.machine, is_reserved=True)
        for _ in range(count):
            if not self.ready:
                self.clean_one()
            reserved.ready.insert(0, self.ready.pop(0))
        return reserved

    def take_back(self, reserved: Frames) -> None:
        """As tau_frames_return: frame by frame, so that the pool's order turns round."""
        while reserved.ready:
            self.dirty.insert(0, reserved.ready.pop(0))
