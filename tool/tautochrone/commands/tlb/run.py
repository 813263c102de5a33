"""`tau tlb run`: tasks on the simulated tile; misses, cycles and response of each job."""

from pathlib import Path

import click

from tautochrone.commands.compose.options import scratch
from tautochrone.commands.options import FILE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, TauError

SEEDS = click.IntRange(1, 65535)
# The kernel's clock has 32 bits, and it adds a period, of at most a run, to the end.
RUN_CYCLES = click.IntRange(1, 2_000_000_000)


@click.command()
@click.argument("tasks", type=FILE)
@click.option(
    "--on",
    "shape_name",
    required=True,
    metavar="SHAPE",
    help="Sets x ways of the TLBs, powers of two: 16x4, or 16x4+128x4 with a second level; 16x4:xor"
    " with a hashed index.",
)
@click.option(
    "--plan",
    "plan_path",
    type=FILE,
    help="Plan of `tau tlb plan` whose sets and pages are used (default: make one).",
)
@click.option(
    "--uncolored",
    "is_uncolored",
    is_flag=True,
    help="Give no task sets of its own, for comparison.",
)
@click.option(
    "--policy",
    type=click.Choice(["lru", "plru", "random"]),
    default="lru",
    show_default=True,
    help="Which entry of a full set is evicted.",
)
@click.option(
    "--latency",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    help="Cycles that one access to the page table takes.",
)
@click.option(
    "--cycles",
    type=RUN_CYCLES,
    help="For how many cycles jobs are released (default: two hyperperiods, at most 20,000,000).",
)
@click.option(
    "--warm-up-cycles",
    type=click.IntRange(1, 1_000_000_000),
    default=4_000_000,
    show_default=True,
    help="Cycles that the warm-ups of all tasks may take together.",
)
@click.option(
    "--seed",
    type=SEEDS,
    default=1,
    show_default=True,
    help="Start of the random numbers of replacement, and of programs that ask for them.",
)
@JSON
def command(
    tasks: Path,
    shape_name: str,
    plan_path: Path | None,
    is_uncolored: bool,
    policy: str,
    latency: int,
    cycles: int | None,
    warm_up_cycles: int,
    seed: int,
    as_json: bool,
) -> int:
    """Run the programs of TASKS on the simulated tile; count TLB misses and cycles of each job.

    \b
    tau tlb run tasks.toml --on 16x4
    tau tlb run tasks.toml --on 16x4+128x4 --plan plan.toml --json
    tau tlb run tasks.toml --on 16x4 --uncolored

    The tile is an Ibex processor with a TLB of that shape. Tasks are released by their periods and
    preempt each other, the shortest period first. Before the first release each runs until it
    waits: its warm-up, job 0. A program defines tau_task_main (kernel/tasks/task.h). Compiler
    warnings are printed; they are not errors.

    For each task, the result has the misses of the first and of later jobs, the longest response
    with its bound, or why it has none, and how many jobs were not finished at the end.

    Exit status 3: a task missed more often than its pages and sets promise, or was evicted by a
    task that they exclude; or a job, finished or not, took more than its cost_cycles or than its
    code can take, or longer than its bound or its period, which is its deadline. Otherwise exit
    status 1 means that a task did something wrong and was stopped.
    """
    from tautochrone.plan.file import load_any_plan
    from tautochrone.plan.sections import TLB
    from tautochrone.tlb.compared import refuse
    from tautochrone.tlb.planning.planner import plan_partition, refuse_misfits
    from tautochrone.tlb.refusals import check_plan, check_window
    from tautochrone.tlb.run import Choice, run, show
    from tautochrone.tlb.tasks import read_tasks
    from tautochrone.tlb.tile.shape import parsed
    from tautochrone.tlb.tile.simulation import builder

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
        planned = plan_partition(task_set, shape.geometry(), is_uncolored)
        refuse_misfits(planned)
        partition = planned.partition
    choice = Choice(cycles, seed, warm_up_cycles)
    with scratch() as folder:
        found = run(task_set, partition, shape, choice, builder(folder))
    output.emit(as_json, "tlb run", found, lambda: show(found))
    refuse(found["exceeded"])
    return EXIT_FAILED if found["stopped"] else EXIT_DONE
