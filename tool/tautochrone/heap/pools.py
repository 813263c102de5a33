"""Pools as a trade: memory saved, instructions and code paid."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from tautochrone.machine.core_build import TARGETS
from tautochrone.errors import TauError

if TYPE_CHECKING:
    from tautochrone.machine.core_build import Build

AUTO, ALWAYS, NEVER = WAYS = ("auto", "always", "never")
# By how much the heap that a program needs differs from run to run, where one recording cannot say.
UNKNOWN_SPREAD = 0.02


class Choice(NamedTuple):
    """Both heaps without a margin, in bytes, and whether the plan has the pools.

    `spread` is the part of the heap by which runs differ.
    """

    pooled_bytes: int
    plain_bytes: int
    spread: float
    is_taken: bool
    why: str

    @property
    def saving(self) -> float:
        """The saving of pools, as a part of the heap without them; negative if they need more."""
        return 1 - self.pooled_bytes / self.plain_bytes if self.plain_bytes else 0.0


def spread_of(heaps: tuple[int, int] | None, sizes_count: int, is_input_fixed: bool) -> float:
    """The part of the heap by which runs differ.

    `heaps` are the least and the most that a recording needs without pools; None if there is one
    recording. It is 0 if the objects of every input are known: of few sizes, or as the caller says.
    """
    from tautochrone.heap.planners.replayed import FEW_SIZES

    if is_input_fixed or sizes_count <= FEW_SIZES:
        return 0.0
    if heaps is None:
        return UNKNOWN_SPREAD
    least, most = heaps
    return (most - least) / most if most else 0.0


def choose(way: str, pooled_bytes: int, plain_bytes: int, spread: float) -> Choice:
    """Take pools if they save more than runs differ, or as `way` says; never if they save nothing.
    """
    saving = 1 - pooled_bytes / plain_bytes if plain_bytes else 0.0
    if saving <= 0:
        return Choice(pooled_bytes, plain_bytes, spread, False, "they save nothing")
    if way != AUTO:
        return Choice(pooled_bytes, plain_bytes, spread, way == ALWAYS, f"--pools {way}")
    is_more = saving > spread
    than = f"{spread * 100:.1f} %, by which runs differ" if spread else "nothing"
    why = f"they save {'more' if is_more else 'no more'} than {than}"
    return Choice(pooled_bytes, plain_bytes, spread, is_more, why)


class Cost(NamedTuple):
    """Costs of a heap on a target: bounds in instructions, code in bytes."""

    target: str
    malloc: int
    free: int
    code_bytes: int

    def told(self) -> str:
        """The cost in words."""
        return (
            f"{self.target} malloc {self.malloc:,}, free {self.free:,} instructions at most,"
            f" {self.code_bytes:,} bytes of code"
        )


@functools.lru_cache(maxsize=4)
def costs(system: str, build: Build) -> tuple[Cost, ...]:
    """The costs of a heap on each target whose tools are installed; of "pools" within limits."""
    from tautochrone.machine.images import code_bytes, core_image

    found = []
    for target in TARGETS:
        try:
            from tautochrone.machine.longest_path import UNUSED_FUNCTIONS, bound_of_image

            image = core_image(system, target, build)
        except TauError:
            continue
        unused = UNUSED_FUNCTIONS.get(system, ())
        malloc, free = (bound_of_image(image, verb, unused) for verb in ("malloc", "free"))
        if malloc is not None and free is not None:
            found.append(Cost(target, malloc, free, code_bytes(image)))
    return tuple(found)


def document(choice: Choice) -> dict[str, Any]:
    """The choice for --json."""
    return {**choice._asdict(), "saving": round(choice.saving, 6)}
