"""The limits of plans, checks and reports. Each prints them next to its result.

    print(unseen.told(unseen.VERIFICATION))   # not looked at: orders of calls that …; interrupts …
"""

from __future__ import annotations

from collections.abc import Sequence

KEY = "not_looked_at"  # in JSON: a list of these texts

HEAP_PLAN = (
    "sizes and orders of calls that no recording has",
    "interrupts and the port's lock",
    "stacks, static data and all memory outside the heap",
)
GUARANTEE = (
    "runs with more live objects than a limit, which the heap refuses and counts",
    "interrupts and the port's lock",
    "stacks, static data and all memory outside the heap",
)
LIMITS = ("other runs than these recordings",)
VERIFICATION_OF_LIMITS = (
    "runs with more live objects than a limit, which the heap refuses and counts",
    "interrupts and the port's lock",
    "cycles: caches, buses and wait states",
)
VERIFICATION = (
    "orders of calls that no recording has",
    "interrupts and the port's lock",
    "cycles: caches, buses and wait states",
)
REPLAY = (
    "other runs than the recorded one",
    "stacks, static data and all memory outside the heap",
)
CODE_PLAN = (
    "code that no recording executes: it counts as cold",
    "other orders of tasks and interrupts than recorded",
    "data: only code leaves RAM",
)
KERNEL_BUILD = (
    "whether the kernel boots and gives the same results: `tau coldcode run` compares them",
    "what faults cost: `tau coldcode replay` says it",
)
KERNEL_RUN = (
    "other programs, inputs and seeds than these",
    "cycles: QEMU counts instructions",
)
TLB_PLAN = (
    "stack_bytes and cost_cycles, which `tau tlb run` compares with each job",
    "deadlines of tasks without cost_cycles, which `tau tlb run` compares with each response",
    "whether a processor has this geometry, which `tau tlb discover` measures",
    "pages that a processor translates ahead of their use",
    "constants among the code of a task without reads_code",
)
TLB_SIMULATION = (
    "tasks and programs of your own, which `tau tlb run` runs",
    "whether a processor has this geometry, which `tau tlb discover` measures",
    "what the misses cost",
)
TLB_RUN = (
    "other inputs and seeds than these",
    "shared data: rights do not tell its tasks from others",
)
TLB_DISCOVERY = ("TLBs of instructions", "pages of other sizes", "other CPUs of this machine")
COMPOSE_LINK = (
    "whether it fits in a system: `tau compose build` says it",
    "how deep stacks become",
    "how it behaves when it runs: `tau compose run` shows it",
)
COMPOSE_PLAN = ("how deep stacks become", "what TLB misses cost the program's time")
COMPOSE_BUILD = (
    "whether each load ends in time (estimated; `tau compose run` measures it)",
    "how deep stacks become",
    "whether tasks meet their deadlines",
)
COMPOSE_SWITCHES = ("memory of use cases, whose loads are admitted by what is free then",)
TLB_CHECK = (
    "what this neighbor does not do, and pages that it did not try",
    "responses and deadlines: a neighbor takes its time",
    "shared data, which is open to all tasks; other replacement than LRU, slower page tables",
    "processors other than the simulated one",
)
COMPOSE_RUN = ("inputs other than this run's", "the longest time that a task may take")
COMPOSE_CHECK = (
    "paths that the programs did not take in these runs",
    "how long loading takes",
    "slots of the loader",
    "processors other than the simulated one",
)
COMPOSE_CHANNEL = (
    "what this sender does not do, and this receiver does not measure",
    "channels between tiles, and through memory or rights: `tau compose check` without --channel",
    "processors other than the simulated one",
)
# By what `tau check` calls a file.
CHECKED = {
    "trace": ("what recorders do not see: stacks, static data, the program's own mmap",),
    "code recording": ("the kernel: `tau coldcode plan` compares it",),
    "tasks": ("whether they fit: `tau tlb plan` says it",),
    "geometry": ("the processor: `tau tlb discover` measures it",),
    "limits": ("whether recordings have their call sites: `tau plan --limits` says it",),
    "system": ("whether it builds and fits: `tau compose build` says it",),
    "plan": ("whether a run fits the heap (`tau verify`) and its limits (`tau check PLAN TRACE`)",),
    "plan of TLB sets": ("whether the TLB sets hold: `tau tlb run` says it",),
    "plan of cold code": ("what faults cost: `tau coldcode replay` says it",),
    "unknown": (),
}


def checked(kind: str) -> tuple[str, ...]:
    """What `tau check` does not look at in a file of this kind, or in any part of such a plan."""
    if kind in CHECKED:
        return CHECKED[kind]
    parts = kind.removeprefix("plan of ").split(" and of ")
    return tuple(
        text for part in parts for text in CHECKED.get(f"plan of {part}", CHECKED["plan"])
    )


def told(items: Sequence[str]) -> str:
    """Return them as one line of a result."""
    return f"not looked at: {'; '.join(items)}"


def sentence(items: Sequence[str]) -> str:
    """Return them as a sentence of a file."""
    return f"Not looked at: {'; '.join(items)}."
