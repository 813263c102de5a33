"""[code] of a plan, which `tau coldcode plan` makes: the numbers. The pages are in the fragment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tautochrone.coldcode.fragment import PAGE_BYTES, Fragment
from tautochrone.coldcode.replay import FRAMES_LEAST
from tautochrone.console import output

Table = dict[str, Any]


class Recorded(NamedTuple):
    """A recording that a plan was made from."""

    name: str
    sha256: str


class CodePlan(NamedTuple):
    """The keys of [code]; facts/plan.toml says what each means."""

    threshold: float
    planner: str
    policy: str
    frames: int
    frames_least: int
    core_bytes: int
    base_bytes: int
    swappable_bytes: int
    pages: int
    expected_faults: int
    lower_bound_faults: int
    fault_instructions_max: int | None
    code_sha256: str
    fragment_sha256: str
    recordings: tuple[Recorded, ...]

    @property
    def interrupt_pages(self) -> int:
        """Cold pages that interrupts at any rate need together."""
        return self.frames_least - FRAMES_LEAST

    @property
    def ram_bytes(self) -> int:
        """Code that stays in RAM after boot, and the frames."""
        return self.core_bytes + self.base_bytes + self.frames * PAGE_BYTES

    @property
    def code_bytes(self) -> int:
        """Code that is in RAM after boot without the plan."""
        return self.core_bytes + self.base_bytes + self.swappable_bytes


def fragment_path(plan_path: Path) -> Path:
    """Where the pages of a plan are: beside it."""
    return plan_path.with_suffix(".lds")


def from_table(table: Table) -> CodePlan:
    """As Section."""
    recordings = tuple(Recorded(**row) for row in table["recordings"])
    return CodePlan(**({"fault_instructions_max": None} | table | {"recordings": recordings}))


def rule_broken(value: CodePlan) -> str:
    """As Section: the rules of docs/spec/code_plan.md."""
    if value.frames < value.frames_least:
        return f"[code]: {value.frames} frames, but {value.frames_least} are the least"
    if value.swappable_bytes > value.pages * PAGE_BYTES:
        return f"[code]: {value.swappable_bytes:,} bytes do not fit {value.pages:,} pages"
    if value.expected_faults < value.lower_bound_faults:
        bound = value.lower_bound_faults
        return f"[code]: expected_faults is {value.expected_faults:,}, below its bound {bound:,}"
    return "" if value.recordings else "[code]: recordings is empty"


def document(value: CodePlan) -> Table:
    """As Section."""
    return value._asdict() | {"recordings": [each._asdict() for each in value.recordings]}


def told(value: CodePlan) -> list[str]:
    """As Section."""
    all_bytes = value.code_bytes
    change = f", {output.change(value.ram_bytes, all_bytes)}" if all_bytes else ""
    return [
        f"core       {value.core_bytes:>12,} bytes must stay in RAM",
        f"base       {value.base_bytes:>12,} bytes stay because they are needed often (T ="
        f" {100 * value.threshold:.6g} %)",
        f"swappable  {value.swappable_bytes:>12,} bytes on {value.pages:,} pages, placed by"
        f" {value.planner}",
        f"RAM        {value.ram_bytes:>12,} bytes with {value.frames} frames, instead of"
        f" {all_bytes:,}{change}",
        f"faults     {value.expected_faults:>12,} with {value.policy}; no placement and no policy"
        f" has less than {value.lower_bound_faults:,}",
    ]


def header(value: CodePlan) -> list[str]:
    """As Section."""
    policy = value.policy.upper().replace("-", "_")
    return [
        "// Cold code: the settings of core/code_cache.",
        f"#define TAU_PLAN_CODE_FRAMES {value.frames}u",
        f"#define TAU_PLAN_CODE_FRAMES_LEAST {value.frames_least}u",
        f"#define TAU_PLAN_CODE_PAGES {value.pages}u",
        f"#define TAU_PLAN_CODE_POLICY TAU_CODE_CACHE_{policy}",
        f'#define TAU_PLAN_CODE_FRAGMENT_SHA256 "{value.fragment_sha256}"',
    ]


def fragment_problem(value: CodePlan, fragment: Fragment) -> str:
    """How a fragment is not the plan's, in words; empty if it is."""
    if fragment.sha256 != value.fragment_sha256:
        return f"its hash is {fragment.sha256[:16]}, the plan's {value.fragment_sha256[:16]}"
    if len(fragment.pages) != value.pages:
        return f"it has {len(fragment.pages):,} pages, the plan {value.pages:,}"
    return ""
