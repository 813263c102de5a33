"""Compares a plan of cold code with the files beside it: its fragment, recordings and kernel.

problems, missing = problems_of(Path("plan.toml"), value)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tautochrone.coldcode.fragment import PLAN_AGAIN, misplaced, read_fragment
from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.coldcode.link_map import read_link_map
from tautochrone.coldcode.linux import flash
from tautochrone.coldcode.recording import CodeRecording, kernel_path, load
from tautochrone.errors import TauError
from tautochrone.plan.code.pieces import sha256_of_file
from tautochrone.plan.code.section import CodePlan, fragment_path, fragment_problem

KERNEL = "vmlinux"


def problems_of(path: Path, value: CodePlan) -> tuple[list[str], list[str]]:
    """How the files beside a plan differ from it, and which are not there to be compared.

    The fragment must be there. Recordings are looked for by their names, the kernel as vmlinux. If
    it is not there, that of the recordings is taken, unless it was built anew since. Each problem
    names its file and what to do.
    """
    problems = list(_of_fragment(path, value))
    missing = []
    for name, sha256 in value.recordings:
        recording = path.parent / name
        if not recording.is_file():
            missing.append(name)
            continue
        problems += _of_recording(recording, sha256, value.code_sha256)
    kernel = path.parent / KERNEL
    if kernel.is_file():
        problems += _of_kernel(kernel, path, value)
    elif not _is_recorded_kernel_there(path, value):
        missing.append(KERNEL)
    return problems, missing


def _is_recorded_kernel_there(path: Path, value: CodePlan) -> bool:
    """Whether the kernel of the plan is where one of its recordings says that it is."""
    for name, _ in value.recordings:
        try:
            elf = kernel_path(load(path.parent / name))
            if read_kernel(elf).code_sha256 == value.code_sha256:
                return True
        except TauError:
            continue  # the recording is said to be unsound where it is compared
    return False


def _of_fragment(path: Path, value: CodePlan) -> Iterator[str]:
    fragment = fragment_path(path)
    if not fragment.is_file():
        yield f"{fragment} is missing: put it beside the plan, or {PLAN_AGAIN}"
        return
    try:
        problem = fragment_problem(value, read_fragment(fragment))
    except TauError as error:
        yield f"{error.message}: {error.next_step}"
        return
    if problem:
        yield f"{fragment} is not the plan's: {problem}; put the plan's there, or {PLAN_AGAIN}"


def _of_recording(path: Path, sha256: str, code_sha256: str) -> Iterator[str]:
    found = sha256_of_file(path)
    if found != sha256:
        yield (
            f"{path} is not the recording that was planned from: its hash is {found[:16]}, not"
            f" {sha256[:16]}; put that one there, or {PLAN_AGAIN} from this one"
        )
        return
    try:
        recorded: CodeRecording = load(path)
    except TauError as error:
        yield f"{error.message}: {error.next_step}"
        return
    said = recorded.settings.said("code_sha256")
    if said != code_sha256:
        yield (
            f"{path} is a recording of another kernel than the plan's: code {said[:16]}, not"
            f" {code_sha256[:16]}; {PLAN_AGAIN}"
        )


def _of_kernel(path: Path, plan: Path, value: CodePlan) -> Iterator[str]:
    """The planned kernel, or one that was linked as the plan says."""
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
            f"{path} is another kernel than the plan's: code {kernel.code_sha256[:16]}, not"
            f" {value.code_sha256[:16]}; put that one there, or record this one and {PLAN_AGAIN}"
        )
    elif said:
        yield (
            f"{path} was not linked as the plan says: {said[0]}; link it with"
            f" {fragment_path(plan)}, or plan again with --sizes {path}.map"
        )


def _misplaced(kernel: Kernel, plan: Path) -> list[str] | None:
    """What lies elsewhere in a kernel with cold code; None if it has no place for any."""
    link_map = Path(f"{kernel.path}.map")
    symbols = flash.symbols_of(kernel.path)
    if flash.START not in symbols or not link_map.is_file():
        return None
    if symbols[flash.START] == symbols[flash.END]:
        return None
    try:
        pages = read_fragment(fragment_path(plan)).pages
        return misplaced(pages, read_link_map(link_map), symbols[flash.START].address)
    except TauError:
        return []  # the fragment or the map is said to be unsound where it is read
