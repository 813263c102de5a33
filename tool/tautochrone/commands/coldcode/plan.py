"""`tau coldcode plan`: decides which code of a kernel leaves RAM, and on which pages it lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tautochrone import unseen
from tautochrone.commands.coldcode.options import (
    FRAMES,
    FRAMES_COUNT,
    FRAMES_LEAST,
    FRAMES_MAX,
    POLICY,
    POLICY_NAME,
    THRESHOLD,
    Memory,
)
from tautochrone.commands.options import FILE, FORCE, JSON
from tautochrone.console import output
from tautochrone.console.numbers import FiniteRange
from tautochrone.errors import EXIT_DONE
from tautochrone.files.paths import OutputPath

if TYPE_CHECKING:
    from tautochrone.coldcode.link_map import Piece
    from tautochrone.coldcode.pieces import Code
    from tautochrone.coldcode.planning import Planned
    from tautochrone.plan.code import CodePlan
    from tautochrone.plan.file import Plan

PLANNER = "replayed"


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=FILE)
@click.option(
    "--kernel",
    "elf",
    type=FILE,
    required=True,
    help="The recorded kernel's ELF file with its symbols, for Linux vmlinux.",
)
@click.option(
    "--map",
    "map_path",
    type=FILE,
    required=True,
    help="The map of its link, for Linux vmlinux.map (CONFIG_VMLINUX_MAP=y).",
)
@click.option(
    "--sizes",
    "other_maps",
    type=FILE,
    multiple=True,
    help="Map of another link of the same kernel; each function is planned with its largest size."
    " May be repeated (default: none; a kernel of `tau coldcode build` is linked here).",
)
@click.option(
    "--keep",
    type=FILE,
    help="A file with the names of functions that must stay in RAM, one per line (default: none).",
)
@click.option(
    "--threshold",
    type=FiniteRange(0, 1),
    help=f"T, the share of all instructions that hot code has (default: {THRESHOLD}).",
)
@click.option("--frames", type=FRAMES, help=f"Frames of the cache (default: {FRAMES_COUNT}).")
@click.option(
    "--ram",
    "ram_bytes",
    type=Memory(),
    help="Find the T and frames with the fewest faults whose resident code and frames take at most"
    " this many bytes, for example 300K (default: use --threshold and --frames).",
)
@click.option(
    "--faults",
    "faults_max",
    type=click.IntRange(min=0),
    help="Find the T and frames with the least RAM that have at most this many faults in the"
    " recordings (default: use --threshold and --frames).",
)
@click.option(
    "--policy",
    type=POLICY,
    default=POLICY_NAME,
    show_default=True,
    help="Page replacement policy.",
)
@click.option(
    "--interrupt-pages",
    type=click.IntRange(0, FRAMES_MAX - FRAMES_LEAST),
    default=0,
    help="Cold pages that the handlers of all interrupts need together, if these may come at any"
    " rate; each needs one more frame (default: interrupts leave time for a retry).",
)
@click.option(
    "-o",
    "--output",
    "plan_path",
    type=OutputPath(),
    help="Plan file to write; the linker fragment with the pages is written next to it, as NAME.lds"
    " (default: none).",
)
@click.option(
    "--with",
    "heap_path",
    type=FILE,
    help="Plan of `tau plan` whose heap is copied into the new plan (default: none).",
)
@FORCE
@JSON
def command(
    recordings: tuple[Path, ...],
    elf: Path,
    map_path: Path,
    other_maps: tuple[Path, ...],
    keep: Path | None,
    threshold: float | None,
    frames: int | None,
    ram_bytes: int | None,
    faults_max: int | None,
    policy: str,
    interrupt_pages: int,
    plan_path: Path | None,
    heap_path: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Plan which code of a kernel leaves RAM.

    \b
    tau coldcode plan boot.taucode --kernel vmlinux --map vmlinux.map --ram 300K -o plan.toml
    tau coldcode plan boot.taucode --kernel vmlinux --map vmlinux.map --threshold 0.999 --frames 16

    RECORDINGS are of one kernel. Hot code, and code that must stay, are resident. The rest is on
    pages, and a page is loaded into one of a few frames when its code is executed. RAM is the
    resident code and the frames, without memory freed after boot. The result says how many faults
    the recordings have, and how many no placement and no policy can avoid. A kernel of `tau
    coldcode build` is linked as planned, and planned again until every function is on its page.

    Exit status 3 means that no plan keeps to --ram or --faults.
    """
    from tautochrone.coldcode import planning
    from tautochrone.coldcode.replay import Cache
    from tautochrone.files import output_file
    from tautochrone.plan.code import document, told
    from tautochrone.plan.file import load_plan

    _refuse_both(threshold, frames, ram_bytes, faults_max)
    others = [path for path in (keep, heap_path) if path is not None]
    inputs = [*recordings, elf, map_path, *other_maps, *others]
    outputs = [] if plan_path is None else _outputs(plan_path)
    for number, path in enumerate(outputs):
        output_file.check(path, force, [*inputs, *outputs[:number]], as_json)
    heap_plan = load_plan(heap_path) if heap_path else None
    code_with = _code_with(recordings, elf, map_path, other_maps, keep)
    cache = Cache(frames or FRAMES_COUNT, policy, interrupt_pages=interrupt_pages)

    def plan(linked: Sequence[Piece]) -> Planned:
        code = code_with(linked)
        if ram_bytes is not None:
            return planning.for_ram(code, ram_bytes, cache)
        if faults_max is not None:
            return planning.for_faults(code, faults_max, cache)
        return planning.for_part(code, THRESHOLD if threshold is None else threshold, cache)

    value = _section(planned := _settled(elf, plan))
    if plan_path is not None:
        _save(planned, value, plan_path, heap_plan, force)
    result = document(value) | {"ram_bytes": value.ram_bytes, unseen.KEY: list(unseen.CODE_PLAN)}

    def show() -> None:
        unlooked = unseen.told(unseen.CODE_PLAN)
        print(*told(value), unlooked, *(f"written: {path}" for path in outputs), sep="\n")
        if plan_path is not None:
            print(f"next: tau coldcode replay {recordings[0]} --plan {plan_path}")

    output.emit(as_json, "coldcode plan", result, show)
    _warn_of_more_ram(value)
    return EXIT_DONE


def _settled(elf: Path, plan: Callable[[Sequence[Piece]], Planned]) -> Planned:
    """The plan; of a kernel that was built here, the one that fits as it is linked."""
    from tautochrone.coldcode.linux.build import relink_of
    from tautochrone.coldcode.linux.settle import settled

    relink = relink_of(elf)
    return plan([]) if relink is None else settled(plan, relink)


def _warn_of_more_ram(value: CodePlan) -> None:
    """Warn if the frames take more than the code that leaves."""
    if value.ram_bytes > value.code_bytes:
        cause = "this plan takes more RAM than the kernel without it"
        output.warn(cause, "give fewer --frames, a lower --threshold, or --ram")


def _outputs(plan_path: Path) -> list[Path]:
    """The plan and its fragment. Raises UsageError if the plan is written to a stream."""
    from tautochrone.files import output_file
    from tautochrone.plan.code import fragment_path

    if output_file.is_stream(plan_path):
        cause = f"-o {plan_path} is not a file: the fragment is written next to the plan"
        raise click.UsageError(cause)
    return [plan_path, fragment_path(plan_path)]


def _refuse_both(
    threshold: float | None, frames: int | None, ram_bytes: int | None, faults_max: int | None
) -> None:
    """Raise UsageError for two ways to ask at once."""
    if ram_bytes is not None and faults_max is not None:
        raise click.UsageError("give --ram or --faults, not both")
    if (ram_bytes, faults_max) != (None, None) and (threshold, frames) != (None, None):
        raise click.UsageError("--ram and --faults find T and frames: leave these out")


def _code_with(
    recordings: tuple[Path, ...],
    elf: Path,
    map_path: Path,
    other_maps: tuple[Path, ...],
    keep: Path | None,
) -> Callable[[Sequence[Piece]], Code]:
    """Read all inputs. The answer joins them with the sizes of more links."""
    from tautochrone.coldcode.kernel import read_kernel
    from tautochrone.coldcode.link_map import read_link_map
    from tautochrone.coldcode.linux.must_stay import patched_while_booting
    from tautochrone.coldcode.pieces import code_of
    from tautochrone.coldcode.recording import load
    from tautochrone.files import input_file

    kernel, pieces = read_kernel(elf), read_link_map(map_path)
    others = [piece for path in other_maps for piece in read_link_map(path)]
    text = b"" if keep is None else input_file.read(keep, "list of functions", 1 << 24)
    kept = text.decode("utf-8", "replace").split()
    kept += patched_while_booting(kernel)
    recorded = [load(path) for path in recordings]
    return lambda linked: code_of(kernel, pieces, recorded, kept, [*others, *linked])


def _section(planned: Planned) -> CodePlan:
    """The section of the plan file."""
    from tautochrone.coldcode.fault_bound import fault_bound
    from tautochrone.coldcode.fragment import sha256_of
    from tautochrone.coldcode.linux.build_cache import file_hash
    from tautochrone.plan.code import CodePlan, Recorded

    bound = fault_bound(planned.code.kernel, planned.cache.policy)
    return CodePlan(
        threshold=planned.split.part,
        planner=PLANNER,
        policy=planned.cache.policy,
        frames=planned.cache.frames,
        frames_least=planned.cache.frames_least,
        core_bytes=planned.core_bytes,
        base_bytes=planned.base_bytes,
        swappable_bytes=planned.swappable_bytes,
        pages=len(planned.pages),
        expected_faults=planned.faults,
        lower_bound_faults=planned.bound,
        fault_instructions_max=None if bound is None else bound.with_reading,
        code_sha256=planned.code.kernel.code_sha256,
        fragment_sha256=sha256_of(planned.page_pieces),
        recordings=tuple(
            Recorded(one.path.name, file_hash(one.path)) for one in planned.code.recordings
        ),
    )


def _save(
    planned: Planned, value: CodePlan, path: Path, heap_plan: Plan | None, force: bool
) -> None:
    """Write the fragment, then the plan that names its hash, with the sections of another plan."""
    from tautochrone.coldcode.fragment import fragment_text
    from tautochrone.files import output_file
    from tautochrone.plan.code import fragment_path
    from tautochrone.plan.file import save_plan, without_heap
    from tautochrone.plan.sections import CODE

    with output_file.written(fragment_path(path), force) as partial:
        partial.write_text(fragment_text(planned.page_pieces), encoding="utf-8")
    names = " ".join(one.name for one in value.recordings)
    made_by = f"tau coldcode plan {names}"
    plan = without_heap({}) if heap_plan is None else heap_plan
    plan = replace(plan, sections={**plan.sections, CODE: value})
    notes = (unseen.sentence(unseen.CODE_PLAN),)
    save_plan(plan, path, made_by, notes, force)
