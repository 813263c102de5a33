"""What a task can send to another by TLB entries, measured: bits of a job.

A sender's job touches as many pages as the first level has entries, or none, by a random bit. The
receiver's job after it touches its own pages; what it took and missed is observed. The two never
run at one time: priorities say openly who waits for whom.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.tile.channel import Channel, measured
from tautochrone.tile.sources import root
from tautochrone.tlb.planning.planner import plan_partition, refuse_misfits
from tautochrone.tlb.run import Choice, system_of
from tautochrone.tlb.tasks import read_tasks
from tautochrone.tlb.tile.shape import Shape
from tautochrone.tlb.tile.simulation import builder, simulated
from tautochrone.tlb.tile.system import PAGE_BYTES

PERIOD_CYCLES = 8_000  # Both jobs and the kernel's entries end within half of it.
RECEIVED_PAGES, SENT_PAGES_MAX = 2, 64
CHANCE_MOST = 0.01
TEXT = """\
format = "tautochrone tasks"
version = 1
[kernel]
colored = true
stack_bytes = 4096
data_bytes = 4096
code_bytes = 0
"""
TASK = """\
[[task]]
name = "{name}"
period_cycles = {period}
phase_cycles = {phase}
program = "{program}"
arguments = [{sends}, {pages}]
heap_bytes = {heap}
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 4096
mode = "{mode}"
"""


@dataclass(frozen=True)
class Found:
    """The channel of a shape of TLBs, with a leak or without."""

    leak: str | None
    channel: Channel

    @property
    def is_open(self) -> bool:
        """Whether something is sent, beyond chance."""
        return self.channel.bits > 0 and self.channel.chance <= CHANCE_MOST

    @property
    def failure(self) -> str | None:
        """Why the check has failed although nothing was sent; None if it has not."""
        if self.leak is not None and not self.is_open:
            return f"the leak {self.leak} is built in, and nothing is sent"
        return None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "leak": self.leak,
            **asdict(self.channel),
            "is_open": self.is_open,
            "failure": self.failure,
            unseen.KEY: list(unseen.TLB_CHECK),
        }


def channel(shape: Shape, jobs: int, seed: int, leak: str | None, folder: Path) -> Found:
    """Measure so many jobs of the sender. Raises TauError for a leak that is not one of entries."""
    if leak not in (None, "uncolored"):
        raise TauError(
            f"the leak {leak} lets a task use pages, and moves no entries by itself",
            f"`tau tlb check --leak {leak}` without --channel finds it",
            EXIT_USAGE,
        )
    sets, ways = shape.levels[0]
    rows = (
        ("sender", 0, 1, min(SENT_PAGES_MAX, sets * ways), "isolated"),
        ("receiver", PERIOD_CYCLES // 2, 0, RECEIVED_PAGES, "no-miss"),
    )
    path = folder / "tasks.toml"
    path.write_text(TEXT + "".join(map(_table, rows)), "utf-8")
    tasks = read_tasks(path)
    planned = plan_partition(tasks, shape.geometry(), leak is not None)
    refuse_misfits(planned)
    made = system_of(tasks, planned.partition, Choice(PERIOD_CYCLES * (jobs + 1), seed))
    building = builder(folder)
    done = simulated(building.program(made), made, shape, building)
    bits = {job.number: job.value for job in done.of(0) if job.number > 0}
    pairs = [
        (bits[job.number], (job.own_cycles, *job.misses))
        for job in done.of(1)
        if job.number in bits
    ]
    return Found(leak, measured(pairs, seed))


def _table(row: tuple[str, int, int, int, str]) -> str:
    name, phase, sends, pages, mode = row
    program = root() / "kernel/systems/tasks/channel.c"
    return TASK.format(
        name=name, period=PERIOD_CYCLES, phase=phase, program=program, sends=sends, pages=pages,
        heap=pages * PAGE_BYTES, mode=mode,
    )  # fmt: skip


def show(found: Found) -> None:
    """Print for people."""
    one = found.channel
    print(
        f"by {one.uses:,} jobs that touch pages or none, the next task learns {one.bits:.3f} bits"
        f" per job (95 %: {one.least_bits:.3f}-{one.most_bits:.3f}; by chance {one.chance:.3f})"
    )
    print(unseen.told(unseen.TLB_CHECK))
