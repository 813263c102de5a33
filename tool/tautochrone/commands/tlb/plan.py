"""`tau tlb plan`: gives tasks TLB sets and pages, as a plan, a header and linker scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tautochrone.commands.tlb.options import FILE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE
from tautochrone.files.paths import OutputPath

if TYPE_CHECKING:
    from tautochrone.tlb.partition import Partition


@click.command()
@click.argument("tasks", type=FILE)
@click.option(
    "--geometry",
    "geometry_name",
    required=True,
    metavar="NAME|FILE",
    help="The processor's TLBs: a name of iface/geometry.toml, or a file like its tables.",
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
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write a linker script NAME.ld of each principal to (default: none).",
)
@click.option(
    "--uncolored",
    "is_uncolored",
    is_flag=True,
    help="Give nobody sets: the lowest pages of aligned windows, to compare with.",
)
@click.option("--force", is_flag=True, help="Replace existing outputs (default: refuse).")
@JSON
def command(
    tasks: Path,
    geometry_name: str,
    plan_path: Path | None,
    header_path: Path | None,
    scripts_folder: Path | None,
    is_uncolored: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Give each task of TASKS TLB sets of its own, and pages that only need these.

    \b
    tau tlb plan tasks.toml --geometry tile-16x4 -o plan.toml
    tau tlb plan tasks.toml --geometry zen4 --header plan.h --linker-scripts scripts
    tau tlb plan tasks.toml --geometry own.toml --json

    Each task gets as many sets as its stack, globals, code and heap need, and a window of addresses
    of its own. In mode no-miss no set has more live entries than its safe ways. In mode isolated a
    task may evict its own entries. The result says for each task its sets, its window, its runs of
    pages, and the largest object of its heap.

    Exit status 3 means that a task does not fit. It is named with the reason, and nothing is
    written.
    """
    from tautochrone.files import output_file
    from tautochrone.plan import tlb as section
    from tautochrone.tlb.geometry import geometry_of
    from tautochrone.tlb.planner import plan_partition, refuse_misfits
    from tautochrone.tlb.tasks import read_tasks

    inputs = [tasks, *([Path(geometry_name)] if Path(geometry_name).exists() else [])]
    outputs = [path for path in (plan_path, header_path) if path is not None]
    for number, path in enumerate(outputs):
        output_file.check(path, force, [*inputs, *outputs[:number]], as_json)
    planned = plan_partition(read_tasks(tasks), geometry_of(geometry_name), is_uncolored)
    written: list[Path] = []
    if not planned.misfits:
        made_by = f"tau tlb plan {tasks.name} --geometry {geometry_name}"
        made_by += " --uncolored" if is_uncolored else ""
        written = _scripts(planned.partition, scripts_folder, force, [*inputs, *outputs])
        _save(planned.partition, made_by, plan_path, header_path, force)

    def show() -> None:
        for line in section.told(planned.partition):
            print(line)
        for path in (*outputs, *written) if not planned.misfits else ():
            print(f"written: {path}")

    if not any(map(output_file.is_stdout, outputs)):
        found = section.document(planned.partition) | planned.document()
        output.emit(as_json, "tlb plan", {"tasks": str(tasks), **found}, show)
    refuse_misfits(planned)
    return EXIT_DONE


def _save(
    partition: Partition,
    made_by: str,
    plan_path: Path | None,
    header_path: Path | None,
    force: bool,
) -> None:
    """Write the plan and the header."""
    from tautochrone.plan.file import save_plan, validate, without_heap
    from tautochrone.plan.header import save_header
    from tautochrone.plan.sections import TLB

    plan = without_heap({TLB: partition})
    validate(plan)
    if plan_path is not None:
        save_plan(plan, plan_path, made_by, force=force)
    if header_path is not None:
        save_header(plan, header_path, made_by, force)


def _scripts(
    partition: Partition, folder: Path | None, force: bool, others: list[Path]
) -> list[Path]:
    """Write a linker script of each principal to the folder; the paths, none without a folder."""
    from tautochrone.files import output_file
    from tautochrone.tlb.linker_script import linker_script

    if folder is None:
        return []
    texts = {folder / f"{each.name}.ld": linker_script(each) for each in partition.principals}
    for path in texts:
        output_file.check(path, force, others)
    for path, text in texts.items():
        with output_file.written(path, force) as partial:
            partial.write_text(text, encoding="utf-8")
    return list(texts)
