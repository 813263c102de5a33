"""`tau coldcode run`: a kernel with cold code in QEMU, beside the same kernel without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tautochrone.commands.coldcode.build_options import build_options
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath

POLICIES = ("round-robin", "random", "nru", "aging")
STORES = ("flash", "compressed", "ram")
THRESHOLD = 0.999


@click.command()
@build_options
@click.option(
    "--frames",
    type=click.IntRange(min=4, max=64),
    default=16,
    show_default=True,
    help="Pages of cold code that are in RAM at the same time.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=THRESHOLD,
    show_default=True,
    help="Without a placement: T, the part of all instructions that hot code has.",
)
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default=POLICIES[0],
    show_default=True,
    help="Which page leaves.",
)
@click.option(
    "--store",
    type=click.Choice(STORES),
    default=STORES[0],
    show_default=True,
    help="Where cold code lies.",
)
@click.option(
    "--delay",
    "delay_us",
    type=click.IntRange(min=0, max=1_000_000),
    default=0,
    help="Microseconds that reading a page takes at least (default: what copying takes).",
)
@click.option(
    "--recording",
    type=OutputPath(),
    help="Also keep the recording of the kernel with all code in RAM, to plan from.",
)
@click.option("--force", is_flag=True, help="Replace an existing recording (default: refuse).")
def command(
    configuration: str,
    placement: Path | None,
    archive: Path | None,
    seconds: float,
    as_json: bool,
    frames: int,
    threshold: float,
    policy: str,
    store: str,
    delay_us: int,
    recording: Path | None,
    force: bool,
) -> None:
    """Boot a kernel with cold code, and the same kernel with all code in RAM; compare them.

    \b
    tau coldcode run --recording boot.taucode
    tau coldcode run --placement plan.lds --frames 32 --policy nru --delay 442

    What is missing is built first; that takes minutes, once. Without a placement, one is planned
    as by `tau coldcode plan`, from a recording of the second kernel. QEMU's clock counts
    instructions, so that a run repeats exactly. The command fails if the kernels' results differ.
    """
    from tautochrone.coldcode.linux.build import Wish
    from tautochrone.coldcode.linux.run import How, run
    from tautochrone.coldcode.linux.source import ARCHIVE
    from tautochrone.plan.code.placer import placer

    wish = Wish(configuration, placement, archive or ARCHIVE, seconds)
    if recording is not None:
        output_file.check(recording, force, [], as_json)
    how = How(
        placer(threshold, frames, policy),
        threshold,
        wish,
        frames=frames,
        policy=policy,
        store=store,
        delay_us=delay_us,
        seconds_max=seconds,
        recording=recording,
        force=force,
    )
    result = run(how)
    output.emit(as_json, "coldcode run", result, lambda: _print(result))
    if not result["outputs_equal"]:
        cause = "the kernel with cold code gave other results than the one without"
        raise TauError(cause, f"compare the runs of {result['kernel']}")


def _print(result: dict[str, Any]) -> None:
    gone = result["text_bytes"] - result["resident_text_bytes"] - result["cache_bytes"]
    gone -= result["pager_bytes"]
    share = output.percent(gone / result["text_bytes"])
    click.echo(f"code of the kernel:   {result['text_bytes']:>11,} bytes")
    click.echo(f"stays in RAM:         {result['resident_text_bytes']:>11,} bytes")
    click.echo(f"frames, page tables:  {result['cache_bytes'] + result['pager_bytes']:>11,} bytes")
    click.echo(f"out of RAM:           {gone:>11,} bytes ({share})")
    loads = output.count(result["loads"], "load")
    click.echo(f"{output.count(result['faults'], 'fault')}, {loads}")
    for line in result["pager"]:
        click.echo(f"kernel: {line}")
