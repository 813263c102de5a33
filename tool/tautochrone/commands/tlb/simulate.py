"""`tau tlb simulate`: evictions by whom, for any geometry and replacement policy."""

import click

from tautochrone.commands.options import JSON, geometries_beginning
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE

POLICIES = ("lru", "plru", "nru", "random", "adversarial")


@click.command()
@click.option(
    "--geometry",
    shell_complete=geometries_beginning,
    required=True,
    metavar="NAME|FILE|SETSxWAYS[:xor]",
    help="The TLBs: a known processor, a file, or one array of this shape.",
)
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default="lru",
    show_default=True,
    help="Which entry of a full set is evicted; adversarial: another task's, if there is one.",
)
@click.option(
    "--tasks",
    type=click.IntRange(2, 65536),
    default=8,
    show_default=True,
    help="How many tasks; task 0 is hostile.",
)
@click.option(
    "--accesses",
    type=click.IntRange(1, 10_000_000),
    default=1_000_000,
    show_default=True,
    help="How many accesses, of all tasks together.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 32) - 1),
    default=1,
    show_default=True,
    help="Start of the random numbers that choose accesses and, with random replacement, entries.",
)
@click.option(
    "--uncolored",
    is_flag=True,
    help="Place the tasks' pages as allocators place arenas (default: sets of their own).",
)
@JSON
def command(
    geometry: str,
    policy: str,
    tasks: int,
    accesses: int,
    seed: int,
    uncolored: bool,
    as_json: bool,
) -> int:
    """Simulate synthetic tasks on TLBs; count evictions of their own and others' translations.

    \b
    tau tlb simulate --geometry zen4 --policy adversarial --tasks 16
    tau tlb simulate --geometry 128x4:xor --policy random --uncolored --json

    Each task owns an equal share of the sets, and has data pages in these only. The hostile task
    walks through all the pages that it can have; it runs every second turn. The others access 24
    pages at random. With --uncolored the tasks have as many pages, but the lowest of equally
    aligned windows. For tasks and programs of your own, see `tau tlb run`.
    """
    from tautochrone.tlb.simulate import geometry_or_shape, show, simulate

    facts = geometry_or_shape(geometry)
    found = simulate(facts, policy, tasks, accesses, seed, not uncolored)
    for name in found["uncolorable_arrays"]:
        output.note(
            f"{name} has one set, so it is uncolorable: its evictions are not counted",
        )
    output.emit(as_json, "tlb simulate", found, lambda: show(found))
    return EXIT_DONE
