"""[verified]: the certificate of `tau verify`. It names the code that ran, so that anyone can
run it again.

Only runs without a refused request and within all bounds are written down.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone import native
from tautochrone.machine.images import Image, build_image, core_files
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.plan.build import build_of
from tautochrone.plan.sections import record_of, record_type

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan

NAME = "verified"


Run = record_type("verified.runs")
Verified = record_type("verified")


class Call(record_type("verified.calls")):  # type: ignore[misc]
    """A row of verified.calls."""

    __slots__ = ()

    @property
    def over(self) -> int:
        """The instructions above the bound; at most 0 if it has no bound or the bound held."""
        return 0 if self.bound is None else self.instructions_max - self.bound


def image_of(plan: Plan, target: str) -> Image:
    """The heap of a plan, compiled for a target as the firmware will be.

    Its header and the code that starts its heap are one C file.
    """
    from tautochrone.plan.header import header_text

    build, system = build_of(plan), plan.system
    start = (native.sources() / "targets" / "programs" / "planned.c").read_text("utf-8")
    files = core_files(system)
    with tempfile.TemporaryDirectory(prefix="tau-") as folder:
        source = Path(folder) / "planned.c"
        source.write_text(header_text(plan, "tau verify") + start, "utf-8")
        return build_image(
            f"planned-{system}-{build.name}",
            target,
            [*files, source],
            build.cflags,
            prefix=f"tau_{system}",
            optimize=build.optimize,
            alignment=plan.alignment_unit,
        )


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def from_table(table: dict[str, Any]) -> Verified:
    """As Section."""
    found = record_of(NAME, table)
    return found._replace(calls=tuple(Call(*call) for call in found.calls))


def rule_broken(value: Verified) -> str:
    """As Section: [PLAN-22]."""
    if not value.runs:
        return "verified.runs is empty"
    over = next((call for call in value.calls if call.over > 0), None)
    return f"verified.calls has {over.operation} above its bound" if over else ""


def told(value: Verified) -> list[str]:
    """As Section: a line for each target or firmware."""
    lines = []
    for where in dict.fromkeys((run.target, run.firmware) for run in value.runs):
        runs = [run for run in value.runs if (run.target, run.firmware) == where]
        calls = sum(run.calls for run in runs)
        of = f"{where[1]}, " if where[1] else ""
        lines.append(
            f"verified on {of}{where[0]}: {output.count(len(runs), 'recording')}, {calls:,} calls,"
            " none refused, none over its bound;"
            f" stack {max(run.stack_bytes for run in runs):,} bytes"
        )
    return lines


def problems(value: Verified, plan: Plan) -> list[str]:
    """As Section: [PLAN-22] with the installed core and compilers."""
    planned = {trace.name: trace.sha256 for trace in plan.traces}
    found = []
    for run in value.runs:
        if run.heap_bytes != plan.heap_bytes:
            found.append(f"{run.trace} was verified in {run.heap_bytes:,} bytes, not in the plan's")
        if planned.get(run.trace, run.trace_sha256) != run.trace_sha256:
            found.append(f"{run.trace} was verified with other content than it was planned with")
    for target in dict.fromkeys(run.target for run in value.runs if not run.firmware):
        try:
            now = sha256_of(image_of(plan, target).elf)
        except TauError as error:
            output.note(
                f"tau: code verified on {target} was not compared: {error.message}",
                error.next_step,
            )
            continue
        of_target = (run for run in value.runs if not run.firmware and run.target == target)
        if any(run.elf_sha256 != now for run in of_target):
            found.append(f"the machine code for {target} differs from the verified code")
    return found
