"""The header of a raw recording (facts/recording.h): which program, and how its recording ended."""

import errno
import os
from dataclasses import dataclass
from typing import Any

from tautochrone.declarations import Struct
from tautochrone.trace import abi

# enum tau_raw_stop; smaller values are errno values.
STOP_CONFINED, STOP_DETACHED = 0x10001, 0x10002
STOP_REASONS = {
    STOP_CONFINED: "its seccomp filter lets the recorder map no more memory",
    STOP_DETACHED: "it still ran when recording ended",
}
CLOCKS = {0: "monotonic", 1: "time-stamp counter"}
# Over a shorter time, two readings of both clocks give the rate less exactly than the tool's hint.
RATE_SPAN_NS_MIN = 50_000_000


@dataclass(frozen=True)
class RawHeader:
    """`page` has the recorder's numbers; texts, and what follows from the numbers, are here."""

    page: Struct

    @property
    def pid(self) -> int:
        """The recorded process."""
        return self.page.pid

    @property
    def name(self) -> str:
        """The unique name of this recording. A pid alone is reused, after exec immediately."""
        return _recording_name(self.page.pid, self.page.started_ticks)

    @property
    def program(self) -> str:
        """The path of the executable."""
        return os.fsdecode(self._text("program"))

    @property
    def arguments(self) -> list[str]:
        """The command line, as far as it fits."""
        return [os.fsdecode(word) for word in self._text("arguments").split(b"\0")[:-1]]

    @property
    def called(self) -> str:
        """What the process was started as: argv[0], else the executable."""
        return next(iter(self.arguments), "") or self.program

    @property
    def began(self) -> int:
        """When it began, to sort by."""
        return int(self.page.started_ticks)

    @property
    def abi(self) -> str:
        """The ABI of the recorder, and so of the program; empty if it has no name."""
        return abi.NAME_OF_NUMBER.get(self.page.abi, "")

    @property
    def build_id(self) -> str:
        """The program's GNU build id in hexadecimal; empty if it has none."""
        return self._text("build_id").hex()

    @property
    def emulator(self) -> str:
        """Name and version of the emulator that ran the program; empty if it ran alone."""
        return self.page.emulator.decode("ascii", "replace")

    @property
    def emulator_name(self) -> str:
        """The emulator's name; empty if the program ran alone."""
        return self.emulator.partition(" ")[0]

    @property
    def forked_from(self) -> str | None:
        """The name of the recording that this process was forked from; None if it was not."""
        page = self.page
        is_forked = page.forked_from_pid != 0
        return _recording_name(page.forked_from_pid, page.forked_from_ticks) if is_forked else None

    @property
    def forked_at_ns(self) -> int:
        """The time of the fork in that recording."""
        ticks = max(0, self.page.forked_at_ticks - self.page.forked_from_ticks)
        return ticks * 1_000_000_000 // self.ticks_per_second if self.ticks_per_second > 0 else 0

    @property
    def ticks_per_second(self) -> int:
        """The rate of its clock; 0 if it is not known."""
        page = self.page
        if page.clock == 0:
            return 1_000_000_000
        span_ns = page.latest_ns - page.started_ns
        if span_ns < RATE_SPAN_NS_MIN:
            return page.ticks_per_second_hint
        return (page.latest_ticks - page.started_ticks) * 1_000_000_000 // span_ns

    @property
    def stop_reason(self) -> str | None:
        """Why recording stopped early; None if it did not."""
        code = self.page.stop_reason
        if code == 0:
            return None
        known = os.strerror(code) if code in errno.errorcode else f"error {code}"
        return STOP_REASONS.get(code, known)

    @property
    def still_running(self) -> bool:
        """Whether the process still ran when its recording was taken."""
        return self.page.stop_reason == STOP_DETACHED

    def trace_header(self) -> dict[str, Any]:
        """Return the trace's header for the recording."""
        page = self.page
        ended = "exit" if page.ended == 1 else "killed, _exit or exec"
        header: dict[str, Any] = {
            "recorder": "preload",
            "recording": self.name,
            "program": self.program,
            "command": self.arguments,
            "command_cut": bool(page.arguments_cut),
            "directory": os.fsdecode(self._text("directory")),
            "pid": page.pid,
            "parent_pid": page.parent_pid,
            "started_unix_ns": page.started_unix_ns,
            "clock": CLOCKS.get(page.clock, "unknown"),
            "host": os.uname().nodename,
            "kernel": os.uname().release,
            "machine": os.uname().machine,
            "abi": self.abi,
            "malloc_alignment": page.malloc_alignment,
            "build_id": self.build_id,
            "ended": "still running" if self.still_running else ended,
            "truncated": page.stop_reason != 0,
            "truncated_reason": self.stop_reason,
            "children_not_recorded": page.children_lost,
            "deep_binds_dropped": page.deep_binds,
            "parent": None,
        }
        if page.stack_frames:
            header["stacks"] = {"frames": page.stack_frames, "cut": page.stacks_cut}
        if self.emulator:
            header["emulator"] = self.emulator
        lost = {"events": page.events_lost, "calls": page.calls_abandoned}
        if any(lost.values()):
            header["lost"] = lost
        if self.forked_from is not None:
            header["parent"] = {"recording": self.forked_from, "position_ns": self.forked_at_ns}
        return header

    def _text(self, name: str) -> bytes:
        """The bytes of a text, of which the page has the number."""
        field = getattr(type(self.page), name)
        used = min(field.size, getattr(self.page, f"{name}_bytes"))
        return bytes(self.page)[field.offset : field.offset + used]


def _recording_name(pid: int, started_ticks: int) -> str:
    """The name of a recording, as in its file's name and a forked child's header."""
    return f"{pid}-{started_ticks:x}"
