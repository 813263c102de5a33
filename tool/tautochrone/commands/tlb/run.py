"""`tau tlb run`: tasks on the simulated tile; misses, cycles and response of each job."""

from __future__ import annotations

from pathlib import Path

import click

from tautochrone.commands.compose.options import scratch
from tautochrone.commands.tlb.options import FILE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, TauError

SEEDS = click.IntRange(1, 65535)


@click.command()
@click.argument("tasks", type=FILE)
@click.option(
    "--on",
    "shape_name",
    required=True,
    metavar="SHAPE",
    help="The TLBs: 16x4, 16x4+128x4, or with a hashed index 16x4:xor, 16x4+128x4:xor.",
)
@click.option("--plan", "plan_path", type=FILE, help="Use the places of a plan (default: plan).")
@click.option(
    "--uncolored", "is_uncolored", is_flag=True, help="Plan without sets, to compare with."
)
@click.option("--shared-heap", is_flag=True, help="One heap for all tasks, as malloc has.")
@click.option(
    "--switch",
    type=click.Choice(["color", "forget"]),
    default="color",
    show_default=True,
    help="What a switch of tasks does: nothing but tell who runs, or forget all translations.",
)
@click.option(
    "--policy",
    type=click.Choice(["lru", "plru", "random"]),
    default="lru",
    show_default=True,
    help="Which entry of a full set goes.",
)
@click.option(
    "--latency",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    help="Cycles of the page table.",
)
@click.option(
    "--cycles",
    type=click.IntRange(1, 4_000_000_000),
    help="How long jobs are released (default: two hyperperiods, at most 20,000,000).",
)
@click.option(
    "--seed",
    type=SEEDS,
    default=1,
    show_default=True,
    help="Of random replacement, and of programs that ask for it.",
)
@JSON
def command(
    tasks: Path,
    shape_name: str,
    plan_path: Path | None,
    is_uncolored: bool,
    shared_heap: bool,
    switch: str,
    policy: str,
    latency: int,
    cycles: int | None,
    seed: int,
    as_json: bool,
) -> int:
    """Run the programs of TASKS on the simulated tile; count TLB misses and cycles of each job.

    \b
    tau tlb run tasks.toml --on 16x4
    tau tlb run tasks.toml --on 16x4+128x4 --plan plan.toml --json
    tau tlb run tasks.toml --on 16x4 --uncolored --shared-heap

    The tile is an Ibex processor with a TLB of that shape. Tasks are released by their periods and
    preempt each other, the shortest period first. Before the first release each runs until it
    waits: its warm-up, job 0. A program defines tau_task_main (kernel/tasks/task.h).

    Exit status 1 means that a task did something wrong and was stopped.
    """
    from tautochrone.plan.file import load_any_plan
    from tautochrone.plan.sections import TLB
    from tautochrone.tlb.planner import plan_partition, refuse_misfits
    from tautochrone.tlb.refusals import check_plan, check_window
    from tautochrone.tlb.run import Choice, run, show
    from tautochrone.tlb.tasks import read_tasks
    from tautochrone.tlb.tile.shape import parsed

    shape = parsed(shape_name, policy, latency)
    task_set = read_tasks(tasks)
    check_window(task_set)
    if plan_path is not None:
        partition = load_any_plan(plan_path).sections.get(TLB)
        if partition is None:
            raise TauError(
                f"{plan_path}: a plan without [tlb]", "make one with `tau tlb plan`", EXIT_USAGE
            )
        check_plan(task_set, partition, shape)
    else:
        is_uncolored = is_uncolored or shared_heap
        planned = plan_partition(task_set, shape.geometry(), is_uncolored)
        refuse_misfits(planned)
        partition = planned.partition
    choice = Choice(cycles, seed, switch, shared_heap)
    with scratch() as folder:
        found = run(task_set, partition, shape, choice, folder)
    output.emit(as_json, "tlb run", found, lambda: show(found))
    return EXIT_FAILED if found["stopped"] else EXIT_DONE
