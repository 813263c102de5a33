"""`tau compose check`: a system alone and with random neighbors, cycle by cycle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tautochrone.commands.compose.options import EPOCHS, scratch
from tautochrone.commands.options import FILE, JSON
from tautochrone.compose.leaks import LEAKS
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, EXIT_LIMIT_EXCEEDED

if TYPE_CHECKING:
    from tautochrone.compose.campaign import Campaign

EXAMPLE = ("kernel/systems/jpeg/system.toml", None)
# Examples in which these leaks show, and the application that is compared.
EXAMPLE_OF = {
    "dma": ("kernel/systems/dma/system.toml", "sender"),
    "page-mix": ("kernel/systems/metronome/fragmented.toml", "late"),
}
SLOTS_LEAST = 10


@click.command()
@click.argument("system", type=FILE, required=False)
@click.option(
    "--neighbors",
    type=click.IntRange(1, 100_000),
    default=10,
    show_default=True,
    help="Least number of random neighbors that come and go, over all runs.",
)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Start of the random numbers that choose the neighbors.",
)
@click.option(
    "--application", "only", help="Application to run alone, and to compare (default: each one)."
)
@click.option(
    "--leak",
    type=click.Choice(LEAKS),
    help="Inject this leak; the check must find it (default: none).",
)
@click.option(
    "--slots",
    "slots_least",
    type=click.IntRange(1, 1_000_000),
    default=SLOTS_LEAST,
    show_default=True,
    help="Least number of slots in which each application and each neighbor are alive together.",
)
@click.option(
    "--channel",
    "channel_frames",
    type=click.IntRange(64, 1_000_000),
    metavar="FRAMES",
    help="Measure instead what one program can send to the next, in so many major frames per act.",
)
@EPOCHS
@JSON
def command(
    system: Path | None,
    neighbors: int,
    seed: int,
    only: str | None,
    leak: str | None,
    slots_least: int,
    channel_frames: int | None,
    epochs: int,
    as_json: bool,
) -> int:
    """Run SYSTEM alone, then with random neighbors, and compare every event's absolute cycle.

    \b
    tau compose check system.toml --neighbors 30
    tau compose check --leak tlb
    tau compose check --channel 2000 --leak tlb

    Without SYSTEM, an example is used: a JPEG decoder on two tiles. For the leaks dma and page-mix
    the example has DMA or fragmented memory.

    The neighbors run in idle slots, and come and go. They divide, miss in the TLB, store across
    pages, call the kernel, sleep, and try what they were not granted. The check compares slots,
    kernel calls, TLB misses, iterations, output and memory. If an event moved, it names the first
    one, and the shared resource. It searches page tables and frames for what others may not have.

    --channel runs a sender of random bits and a receiver in slots as long as SYSTEM's, and prints
    their mutual information. The sender may touch pages, be interrupted, divide, fail, be loaded.

    Exit status 3 means that a cycle moved, that a promise was broken, or that a bit was sent.
    Status 1: nothing was found, but that shows nothing. An application and a neighbor were alive
    together in too few slots, an act was used too rarely, or the leak was not found.
    """
    if channel_frames is not None:
        return _channel(system, channel_frames, seed, leak, as_json)
    from tautochrone.compose import campaign, making
    from tautochrone.compose.description import read_description

    path = system
    if path is None:
        example, compared = EXAMPLE_OF.get(leak or "", EXAMPLE)
        path, only = making.root() / example, only or compared
    description = read_description(path)
    if description.tables.get("switch"):
        raise description.fail(
            "switch", "use cases are switched by `tau compose run`", "check them as [[command]]s"
        )
    with scratch() as folder:
        made = making.make(description, folder, leak)
        request = campaign.Request(neighbors, slots_least, seed, epochs, leak, only)
        found = campaign.campaign(made, folder, request)
        document = {
            "system": str(path),
            **making.hashes(made, description),
            "application": only,
            "leak": leak,
            **found.document(),
        }
    output.emit(as_json, "compose check", document, lambda: campaign.show(found))
    return _status(found)


def _status(found: Campaign) -> int:
    if found.failure is not None:
        output.warn(
            found.failure,
            "give more --neighbors or --epochs, or applications that live longer"
            if found.short
            else "check another system: docs/design/kernel.md says what each leak needs",
        )
        return EXIT_FAILED
    return EXIT_LIMIT_EXCEEDED if found.has_found else EXIT_DONE


def _channel(
    system: Path | None, frames: int, seed: int, leak: str | None, as_json: bool
) -> int:
    from tautochrone.compose import channel
    from tautochrone.compose.description import read_description

    times = channel.times_of(read_description(system) if system else None)
    with scratch() as folder:
        found = channel.channels(times, folder, frames, seed, leak)
    document = {"system": system and str(system), "leak": leak, "seed": seed, **found.document()}
    output.emit(as_json, "compose check", document, lambda: channel.show(found))
    if found.failure is not None:
        least = found.frames_least if frames < found.frames_least else 2 * frames
        output.warn(found.failure, f"give --channel {least} or more")
        return EXIT_FAILED
    return EXIT_LIMIT_EXCEEDED if found.open else EXIT_DONE
