"""What the verbs of `tau tlb` do not look at: each result says it."""

from __future__ import annotations

PLAN = (
    "stack_bytes and cost_cycles, which `tau tlb run` compares with each job",
    "whether a processor has this geometry, which `tau tlb discover` measures",
    "pages that a processor translates ahead of their use",
)
RUN = (
    "other inputs and seeds than these",
    "rights: a task can write to the memory of others, and of the kernel",
)
DISCOVER = ("TLBs of instructions", "pages of other sizes", "other CPUs of this machine")


def told(rows: tuple[str, ...]) -> str:
    """For people, as the last lines of a result."""
    return "\n".join(("not looked at:", *(f"  {each}" for each in rows)))
