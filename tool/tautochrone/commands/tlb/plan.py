"""`tau tlb plan`: gives tasks TLB sets and pages, as a plan, a header and linker scripts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.commands.options import FILE, FOLDER, FORCE, JSON, geometries_beginning
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE
from tautochrone.facts import geometry_format
from tautochrone.files.paths import OutputPath

if TYPE_CHECKING:
    from tautochrone.tlb.partition import Partition
    from tautochrone.tlb.planning.planner import Planned


@click.command()
@click.argument("tasks", type=FILE)
@click.option(
    "--geometry",
    "geometry_name",
    shell_complete=geometries_beginning,
    required=True,
    metavar="NAME|FILE|SHAPE",
    help="The processor's TLBs: a name that tau knows, a file (the tutorial has an example), or a"
    " shape of the tile as `tau tlb run --on` takes it: 16x4+128x4:xor."
    f" Known: {', '.join(geometry_format.GEOMETRIES)}.",
)
@click.option(
    "-o",
    "--output",
    "plan_path",
    type=OutputPath(),
    help="Plan file to write; - is stdout (default: none).",
)
@click.option(
    "--header",
    "header_path",
    type=OutputPath(),
    help="C header to write for core/tlb_color (default: none).",
)
@click.option(
    "--linker-scripts",
    "scripts_folder",
    type=FOLDER,
    help="Folder to write a linker script NAME.ld for each task and the kernel to; it is made if"
    " it is missing (default: none).",
)
@click.option(
    "--program-script",
    "program_script_path",
    type=OutputPath(),
    help="Linker script to write for the globals of a Linux program (`tau run --colors`); - is"
    " stdout (default: none).",
)
@click.option(
    "--policy",
    type=click.Choice(["lru", "plru", "random"]),
    help="For a SHAPE: which entry of a full set is evicted, as for `tau tlb run` (default: lru).",
)
@click.option(
    "--latency",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    help="Cycles of the tile's page table, for bounds of responses.",
)
@FORCE
@JSON
def command(
    tasks: Path,
    geometry_name: str,
    plan_path: Path | None,
    header_path: Path | None,
    scripts_folder: Path | None,
    program_script_path: Path | None,
    policy: str | None,
    latency: int,
    force: bool,
    as_json: bool,
) -> int:
    """Give each task of TASKS TLB sets of its own, and pages that only need these.

    \b
    tau tlb plan tasks.toml --geometry tile-16x4 -o plan.toml
    tau tlb plan tasks.toml --geometry zen4 --header plan.h --linker-scripts scripts
    tau tlb plan tasks.toml --geometry own.toml --json
    tau tlb plan tasks.toml --geometry 16x4+128x4:xor --policy plru

    Each task gets as many sets as its stack, globals, code and heap need, and a window of addresses
    of its own. Sets are given in shares: sets of all arrays that the same pages need. In mode
    no-miss no set has more live entries than its safe ways. In mode isolated a task may evict its
    own entries; it gets free shares if that helps. For each task, the result has its window, its
    heap and the heap's largest object, and its sets. It compares the colors' price and benefit with
    the same tasks without colors. The plan and --json also have the runs of pages.

    On a shape of the tile, and if TASKS has cost_cycles, the plan also bounds each task's response.

    Exit status 3 means that a task does not fit. It is named with the reason, and nothing is
    written.
    """
    from tautochrone.files import output_file
    from tautochrone.plan import bounds, responses
    from tautochrone.plan.sections import TLB
    from tautochrone.tlb.linker_scripts import program_script
    from tautochrone.tlb.planning.planner import plan_partition, refuse_misfits
    from tautochrone.tlb.tasks import read_tasks
    from tautochrone.tlb.tile.shape import geometry_or_shape

    task_set = read_tasks(tasks)
    inputs = list(filter(Path.exists, (tasks, Path(geometry_name), *task_set.paths())))
    outputs = [path for path in (plan_path, header_path, program_script_path) if path is not None]
    _refuse_outputs(outputs, inputs, force, as_json)
    geometry = geometry_or_shape(geometry_name, policy)
    planned = plan_partition(task_set, geometry, is_compared=True)
    written, sections = list[Path](), dict[str, Any]({TLB: planned.partition})
    if not planned.misfits:
        made_by = f"tau tlb plan {tasks.name} --geometry {geometry_name}"
        made_by += f" --policy {policy}" * (policy is not None)
        found = responses.make(task_set, planned.partition, latency, output.note)
        if found is not None:
            made_by += f" --latency {latency}"
            sections[bounds.NAME] = bounds.Bounds(bounds.core_sha256(), (), found)
        script = program_script(planned.partition) if program_script_path else ""
        written = _scripts(planned.partition, scripts_folder, force, [*inputs, *outputs])
        _save(sections, made_by, plan_path, header_path, force)
        _write(script, program_script_path, force)

    if not any(map(output_file.is_stdout, outputs)):
        made = () if planned.misfits else (*outputs, *written)
        lines = [*_told(planned, sections), *(f"written: {path}" for path in made)]
        facts = _document(tasks, planned, sections)
        output.emit(as_json, "tlb plan", facts, lambda: print(*lines, sep="\n"))
    refuse_misfits(planned)
    return EXIT_DONE


def _told(planned: Planned, sections: Mapping[str, Any]) -> list[str]:
    """The lines for people."""
    from tautochrone import unseen
    from tautochrone.plan.sections import section_named
    from tautochrone.tlb.planning.planner import price, told

    lines = [*chain(*(section_named(name).told(sections[name]) for name in sections))]
    lines.append(planned.left())
    if planned.uncolored is not None:
        lines += told(price(planned.partition, planned.uncolored))
    return lines if planned.misfits else [*lines, unseen.told(unseen.TLB_PLAN)]


def _document(tasks: Path, planned: Planned, sections: Mapping[str, Any]) -> dict[str, Any]:
    """The document for --json."""
    from tautochrone import unseen
    from tautochrone.plan import bounds
    from tautochrone.plan.sections import TLB, section_named

    facts = section_named(TLB).document(planned.partition)
    found = {"tasks": str(tasks), **facts, **planned.document()}
    if bounds.NAME in sections:
        found[bounds.NAME] = bounds.document(sections[bounds.NAME])
    return {**found, unseen.KEY: list(unseen.TLB_PLAN)}


def _save(
    sections: Mapping[str, Any],
    made_by: str,
    plan_path: Path | None,
    header_path: Path | None,
    force: bool,
) -> None:
    """Write the plan and the header."""
    from tautochrone.plan.file import save_plan, validate, without_heap
    from tautochrone.plan.header import save_header

    plan = without_heap(sections)
    validate(plan)
    if plan_path is not None:
        save_plan(plan, plan_path, made_by, force=force)
    if header_path is not None:
        save_header(plan, header_path, made_by, force)


def _refuse_outputs(outputs: list[Path], inputs: list[Path], force: bool, as_json: bool) -> None:
    """Raise TauError for an output that exists, is an input, or is another output."""
    from tautochrone.files import output_file

    for number, path in enumerate(outputs):
        output_file.check(path, force, [*inputs, *outputs[:number]], as_json)


def _write(text: str, path: Path | None, force: bool) -> None:
    """Write a text to a file, if there is one."""
    from tautochrone.files import output_file

    if path is not None:
        with output_file.written(path, force) as partial:
            partial.write_text(text, encoding="utf-8")


def _scripts(
    partition: Partition, folder: Path | None, force: bool, others: list[Path]
) -> list[Path]:
    """Write a linker script of each principal to the folder; the paths, none without a folder."""
    from tautochrone.files import output_file
    from tautochrone.tlb.linker_scripts import linker_script

    if folder is None:
        return []
    texts = {
        folder / f"{each.name}.ld": linker_script(each, partition)
        for each in partition.principals
        if not each.used_by
    }
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as all_of_them:
            for path, text in texts.items():
                partial = all_of_them.enter_context(output_file.written(path, force, others))
                partial.write_text(text, encoding="utf-8")
    except BaseException:
        if is_new:
            with suppress(OSError):  # it is not empty: some were written
                folder.rmdir()
        raise
    return list(texts)
