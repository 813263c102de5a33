"""`tau tlb check`: tasks alone, and beside a hostile neighbor, job by job."""

from pathlib import Path

import click

from tautochrone.commands.compose.options import scratch
from tautochrone.commands.options import FILE, JSON
from tautochrone.commands.tlb.run import RUN_CYCLES, SEEDS
from tautochrone.console import output
from tautochrone.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_LIMIT_EXCEEDED,
    EXIT_USAGE,
    TauError,
)


@click.command()
@click.argument("tasks", type=FILE, required=False)
@click.option(
    "--on",
    "shape_name",
    required=True,
    metavar="SHAPE",
    help="Sets x ways of the TLBs, as for `tau tlb run`.",
)
@click.option(
    "--cycles",
    type=RUN_CYCLES,
    help="For how many cycles jobs are released (default: two hyperperiods, at most 20,000,000).",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Neighbors of each priority; each tries other pages.",
)
@click.option(
    "--seed",
    type=SEEDS,
    default=1,
    show_default=True,
    help="Seed of the first neighbor, and of the tasks.",
)
@click.option(
    "--leak",
    type=click.Choice(["uncolored", "owner"]),
    help="Inject this leak; the check must find it (default: none).",
)
@click.option(
    "--channel",
    "channel_jobs",
    type=click.IntRange(64, 100_000),
    metavar="JOBS",
    help="Measure instead what a task can send to another by TLB entries, in so many jobs.",
)
@JSON
def command(
    tasks: Path | None,
    shape_name: str,
    cycles: int | None,
    seeds: int,
    seed: int,
    leak: str | None,
    channel_jobs: int | None,
    as_json: bool,
) -> int:
    """Run TASKS alone, and beside a hostile neighbor; compare each job.

    \b
    tau tlb check tasks.toml --on 16x4
    tau tlb check tasks.toml --on 16x4 --leak uncolored
    tau tlb check --on 16x4 --channel 1000

    The neighbor gets sets and pages like any task. It walks all its pages, and tries pages of the
    other tasks, of the kernel and of nobody by loads, stores and jumps. It has the highest
    priority, one in the middle, or the lowest. Each job's value, data misses and own cycles are
    compared, each task's faults, and what its sets promise.

    --channel needs no TASKS: a sender touches pages or none, by a random bit, and a receiver's
    next job is measured. Their mutual information is printed, with its confidence.

    Exit status 3: something of a task changed, or a bit was sent. Status 1: nothing changed, but
    that shows nothing, since no job ended or an injected leak was not found.
    """
    if channel_jobs is not None or tasks is None:
        return _channel(shape_name, channel_jobs, seed, leak, as_json)
    from tautochrone.tlb.check import checked, refuse_alone, show
    from tautochrone.tlb.refusals import check_window
    from tautochrone.tlb.run import Choice
    from tautochrone.tlb.tasks import read_tasks
    from tautochrone.tlb.tile.shape import parsed

    shape = parsed(shape_name)
    task_set = read_tasks(tasks)
    check_window(task_set)
    refuse_alone(task_set)
    with scratch() as folder:
        found = checked(task_set, shape, Choice(cycles, seed), seeds, leak, folder)
    document = {"tasks": str(tasks), "shape": shape.document(), "seed": seed, **found.document()}
    output.emit(as_json, "tlb check", document, lambda: show(found))
    if found.failure is not None:
        output.warn(found.failure, "give more --seeds or --cycles")
        return EXIT_FAILED
    return EXIT_LIMIT_EXCEEDED if found.differences else EXIT_DONE


def _channel(
    shape_name: str, jobs: int | None, seed: int, leak: str | None, as_json: bool
) -> int:
    from tautochrone.tlb.channel import channel, show
    from tautochrone.tlb.tile.shape import parsed

    if jobs is None:
        raise TauError("no file of tasks is given", "give one, or --channel", EXIT_USAGE)
    shape = parsed(shape_name)
    with scratch() as folder:
        found = channel(shape, jobs, seed, leak, folder)
    document = {"shape": shape.document(), "seed": seed, **found.document()}
    output.emit(as_json, "tlb check", document, lambda: show(found))
    if found.failure is not None:
        output.warn(found.failure, "measure more jobs")
        return EXIT_FAILED
    return EXIT_LIMIT_EXCEEDED if found.is_open else EXIT_DONE
