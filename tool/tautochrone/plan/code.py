"""[code] of a plan, which `tau coldcode plan` makes: the numbers. The pages are in the fragment,
a file next to the plan.

plan = opened(Path("plan.toml"))                                    # with its fragment
problems, missing = problems_of(Path("plan.toml"), plan.value)      # with recordings and kernel
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tautochrone.coldcode.fragment import (
    PAGE_BYTES,
    PLAN_AGAIN,
    Fragment,
    misplaced,
    read_fragment,
)
from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.coldcode.link_map import read_link_map
from tautochrone.coldcode.linux import flash
from tautochrone.coldcode.linux.build_cache import file_hash
from tautochrone.coldcode.recording import kernel_path, load
from tautochrone.coldcode.replay import FRAMES_LEAST
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.files import input_file
from tautochrone.plan.file import load_any_plan
from tautochrone.plan.sections import CODE

KERNEL = "vmlinux"
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
    """The file with the pages of a plan, next to it."""
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


# ---- The files next to a plan


class Opened(NamedTuple):
    """The section [code] of a plan, and its fragment."""

    value: CodePlan
    fragment: Fragment
    fragment_path: Path


def opened(path: Path) -> Opened:
    """Read a plan. Raises TauError if it has no cold code, or its fragment is another plan's."""
    value = load_any_plan(path).sections.get(CODE)
    if value is None:
        raise TauError(f"{path} has no [code]", "make a plan with `tau coldcode plan -o`")
    there = fragment_path(path)
    input_file.check(there, "placement", f"put it next to the plan, or {PLAN_AGAIN}")
    fragment = read_fragment(there)
    problem = _fragment_problem(value, fragment)
    if problem:
        raise TauError(f"{there} is not the fragment of {path}: {problem}", PLAN_AGAIN)
    return Opened(value, fragment, there)


def problems_of(path: Path, value: CodePlan) -> tuple[list[str], list[str]]:
    """How the files next to a plan differ from it, and which of them are missing.

    The fragment must be there. Recordings are found by their names, the kernel as vmlinux. Without
    vmlinux, the kernel that a recording names is taken, unless it was built again since. Each
    problem names its file and the next step.
    """
    problems = list(_problems_of_fragment(path, value))
    missing = []
    for name, sha256 in value.recordings:
        recording = path.parent / name
        if recording.is_file():
            problems += _problems_of_recording(recording, sha256, value.code_sha256)
        else:
            missing.append(name)
    kernel = path.parent / KERNEL
    if kernel.is_file():
        problems += _problems_of_kernel(kernel, path, value)
    elif not _is_recorded_kernel_there(path, value):
        missing.append(KERNEL)
    return problems, missing


def _fragment_problem(value: CodePlan, fragment: Fragment) -> str:
    """How a fragment differs from the plan's; empty if it does not."""
    if fragment.sha256 != value.fragment_sha256:
        return f"its hash is {fragment.sha256[:16]}, the plan's {value.fragment_sha256[:16]}"
    if len(fragment.pages) != value.pages:
        return f"it has {len(fragment.pages):,} pages, the plan {value.pages:,}"
    return ""


def _problems_of_fragment(path: Path, value: CodePlan) -> Iterator[str]:
    fragment = fragment_path(path)
    if not fragment.is_file():
        yield f"{fragment} is missing: put it next to the plan, or {PLAN_AGAIN}"
        return
    try:
        problem = _fragment_problem(value, read_fragment(fragment))
    except TauError as error:
        yield f"{error.message}: {error.next_step}"
        return
    if problem:
        yield f"{fragment} is not the plan's: {problem}; put the plan's there, or {PLAN_AGAIN}"


def _problems_of_recording(path: Path, sha256: str, code_sha256: str) -> Iterator[str]:
    found = file_hash(path)
    if found != sha256:
        yield (
            f"{path} is not the recording that was planned from: its hash is {found[:16]}, not"
            f" {sha256[:16]}; put that one there, or {PLAN_AGAIN} from this one"
        )
        return
    try:
        said = load(path).settings.said("code_sha256")
    except TauError as error:
        yield f"{error.message}: {error.next_step}"
        return
    if said != code_sha256:
        yield (
            f"{path} was recorded on another kernel than the plan's: code {said[:16]}, not"
            f" {code_sha256[:16]}; {PLAN_AGAIN}"
        )


def _is_recorded_kernel_there(path: Path, value: CodePlan) -> bool:
    """Whether a recording names the path of the plan's kernel."""
    for name, _ in value.recordings:
        try:
            elf = kernel_path(load(path.parent / name))
            if read_kernel(elf).code_sha256 == value.code_sha256:
                return True
        except TauError:
            continue  # _problems_of_recording reports an unsound recording
    return False


def _problems_of_kernel(path: Path, plan: Path, value: CodePlan) -> Iterator[str]:
    """Of the planned kernel, or of one that was linked as the plan says."""
    try:
        kernel = read_kernel(path)
    except TauError as error:
        yield f"{error.message}: {error.next_step}"
        return
    if kernel.code_sha256 == value.code_sha256:
        return
    said = _misplaced(kernel, plan)
    if said is None:
        yield (
            f"{path} is not the plan's kernel: code {kernel.code_sha256[:16]}, not"
            f" {value.code_sha256[:16]}; put that one there, or record this one and {PLAN_AGAIN}"
        )
    elif said:
        yield (
            f"{path} was not linked as the plan says: {said[0]}; link it with"
            f" {fragment_path(plan)}, or plan again with --sizes {path}.map"
        )


def _misplaced(kernel: Kernel, plan: Path) -> list[str] | None:
    """The pieces of a kernel with cold code that are elsewhere; None if it has no cold code."""
    link_map = Path(f"{kernel.path}.map")
    if flash.START not in kernel.places or not link_map.is_file():
        return None
    cold = flash.cold_range(kernel)
    if not cold:
        return None
    try:
        pages = read_fragment(fragment_path(plan)).pages
        return misplaced(pages, read_link_map(link_map), cold.start)
    except TauError:
        return []  # the fragment or the map is reported as unsound where it is read
