"""The kernel's time: its instructions, and the pages that it loads."""

from __future__ import annotations

from dataclasses import dataclass

NANOSECONDS_PER_INSTRUCTION = 8
SECONDS = "0,0.[0000]"  # of an axis
ESTIMATED = "The effect of placement on the instruction cache is not in it."


@dataclass(frozen=True)
class Clock:
    """`instructions` are the kernel's in steady state, `page_us` what loading a page takes."""

    instructions: int
    page_us: float

    def seconds(self, faults: int) -> float:
        """System time with so many loads."""
        return self.instructions * NANOSECONDS_PER_INSTRUCTION / 1e9 + self.page_seconds(faults)

    def page_seconds(self, faults: int) -> float:
        """The part of it for loads."""
        return faults * self.page_us / 1e6

    def told(self) -> str:
        """How it is estimated."""
        return (
            f"Estimated: {self.instructions:,} recorded instructions of the kernel at"
            f" {NANOSECONDS_PER_INSTRUCTION} ns, and {self.page_us:g} µs per load."
        )
