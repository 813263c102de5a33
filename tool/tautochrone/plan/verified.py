"""[verified]: the certificate of `tau verify`. It names what was run, so that it can be run again.

Only runs without a refused request and within all bounds are written down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.plan.sections import Basis

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan

NAME = "verified"


class Run(NamedTuple):
    """A row of verified.runs."""

    target: str
    firmware: str
    elf_sha256: str
    compiler: str
    trace: str
    trace_sha256: str
    heap_bytes: int
    calls: int
    stack_bytes: int


class Call(NamedTuple):
    """A row of verified.calls; `bound` is None if the header has none."""

    target: str
    firmware: str
    operation: str
    instructions_max: int
    bound: int | None

    @property
    def over(self) -> int:
        """The instructions above the bound; at most 0 if there is no bound or it held."""
        return 0 if self.bound is None else self.instructions_max - self.bound


class Verified(NamedTuple):
    """The table [verified]."""

    runs: tuple[Run, ...]
    calls: tuple[Call, ...]


def make(_: Basis) -> None:
    """As Section: a new plan has not been verified."""


def from_table(table: dict[str, Any]) -> Verified:
    """As Section."""
    calls = tuple(Call(**{"bound": None, **row}) for row in table["calls"])
    return Verified(tuple(Run(**row) for row in table["runs"]), calls)


def to_table(value: Verified) -> dict[str, Any]:
    """As Section."""
    rows = [call._asdict() for call in value.calls]
    return {
        "runs": [run._asdict() for run in value.runs],
        "calls": [{key: each for key, each in row.items() if each is not None} for row in rows],
    }


def rule_broken(value: Verified) -> str:
    """As Section: [PLAN-22]."""
    if not value.runs:
        return "verified.runs is empty"
    over = next((call for call in value.calls if call.over > 0), None)
    return f"verified.calls has {over.operation} above its bound" if over else ""


def document(value: Verified) -> dict[str, Any]:
    """As Section."""
    return {"verified": to_table(value)}


def told(value: Verified) -> list[str]:
    """As Section: a line for each target or firmware."""
    lines = []
    for where in dict.fromkeys((run.target, run.firmware) for run in value.runs):
        runs = [run for run in value.runs if (run.target, run.firmware) == where]
        calls = sum(run.calls for run in runs)
        of = f"{where[1]}, " if where[1] else ""
        lines.append(
            f"verified on {of}{where[0]}: {output.count(len(runs), 'recording')}, {calls:,} calls, none"
            f" refused, none over its bound; stack {max(run.stack_bytes for run in runs):,} bytes"
        )
    return lines


def header(value: Verified) -> list[str]:
    """As Section: a header is made before anything is verified with it."""
    return []


def problems(value: Verified, plan: Plan) -> list[str]:
    """As Section: [PLAN-22] with the installed core and compilers."""
    from tautochrone.plan.verify import image_of, sha256_of

    planned = {trace.name: trace.sha256 for trace in plan.traces}
    found = []
    for run in value.runs:
        if run.heap_bytes != plan.heap_bytes:
            found.append(f"{run.trace} was verified in {run.heap_bytes:,} bytes, not in the plan's")
        if planned.get(run.trace, run.trace_sha256) != run.trace_sha256:
            found.append(f"{run.trace} was verified with another content than it was planned with")
    for target in dict.fromkeys(run.target for run in value.runs if not run.firmware):
        try:
            now = sha256_of(image_of(plan, target).elf)
        except TauError as error:
            output.note(
                f"tau: what was verified on {target} was not compared: {error.message}",
                error.next_step,
            )
            continue
        of_target = (run for run in value.runs if not run.firmware and run.target == target)
        if any(run.elf_sha256 != now for run in of_target):
            found.append(f"the machine code for {target} is another one than was verified")
    return found
