"""`tau coldcode run`: boots a kernel with cold code in QEMU."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from tautochrone import unseen
from tautochrone.commands.coldcode.options import (
    FRAMES,
    FRAMES_COUNT,
    POLICY,
    POLICY_NAME,
    THRESHOLD,
    build_options,
    Memory,
)
from tautochrone.commands.options import FILE, FORCE
from tautochrone.console import output
from tautochrone.console.numbers import FiniteRange
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath

STORES = ("flash", "compressed", "ram")


@click.command()
@build_options
@click.option(
    "--plan",
    "plan_path",
    type=FILE,
    help="Which code is cold, with frames and policy: a plan with [code], and its fragment NAME.lds"
    " next to it (default: none).",
)
@click.option(
    "--frames",
    type=FRAMES,
    help="Pages of cold code that are in RAM at the same time (default: the plan's, or"
    f" {FRAMES_COUNT}).",
)
@click.option(
    "--threshold",
    type=FiniteRange(0, 1),
    help="Without a plan: T, the share of all instructions that hot code has (default:"
    f" {THRESHOLD}).",
)
@click.option(
    "--policy",
    type=POLICY,
    help=f"Page replacement policy (default: the plan's, or {POLICY_NAME}).",
)
@click.option(
    "--store",
    type=click.Choice(STORES),
    default=STORES[0],
    show_default=True,
    help="Where cold code lies: in flash, or in RAM, compressed or as it is.",
)
@click.option(
    "--delay",
    "delay_us",
    type=click.IntRange(min=0, max=1_000_000),
    default=0,
    help="Least time to read a page, in microseconds (default: the time to copy it).",
)
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="The programs: a folder or cpio archive that the kernel unpacks and whose init it starts,"
    " or an ext4 image that is put into memory (default: a program that calls the kernel in many"
    " ways).",
)
@click.option(
    "--append",
    default="",
    metavar="TEXT",
    help="Words to append to the kernel's command line, for example init=/work.sh (default: none).",
)
@click.option(
    "--memory",
    "memory_bytes",
    type=Memory(),
    default="64M",
    show_default=True,
    help="RAM of the machine, without an ext4 image.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="Seed for everything random in the guest, including addresses. Equal seeds give equal"
    " runs.",
)
@click.option(
    "--compare",
    "is_compared",
    is_flag=True,
    help="Also boot the same kernel with all code in RAM, and compare results, time and loads.",
)
@click.option(
    "--recording",
    type=OutputPath(),
    help="File for a recording of the kernel with all code in RAM, to plan from (default: none).",
)
@FORCE
def command(
    configuration: str,
    placement: Path | None,
    archive: Path | None,
    seconds: float,
    as_json: bool,
    plan_path: Path | None,
    frames: int | None,
    threshold: float | None,
    policy: str | None,
    store: str,
    delay_us: int,
    root: Path | None,
    append: str,
    memory_bytes: int,
    seed: int,
    is_compared: bool,
    recording: Path | None,
    force: bool,
) -> None:
    """Boot a kernel with cold code.

    \b
    tau coldcode run --compare --recording boot.taucode
    tau coldcode run --plan plan.toml --policy nru --delay 442
    tau coldcode run --root root.img --append init=/work.sh --memory 128M

    Missing kernels are built first; that takes minutes, once. Without a plan or placement, one is
    planned as by `tau coldcode plan`, from a recording of the kernel with all code in RAM. QEMU's
    clock counts instructions, so that a run repeats exactly. With --compare, the command fails if
    the results of both kernels differ.

    Your first program prints these lines: `tau: hash` and a result to compare, as often as it
    likes; /proc/meminfo and coldcode/counters of debugfs, with `tau: ` before each line; `tau:
    end`. Then it powers off.
    """
    from tautochrone.coldcode.linux.build import Wish
    from tautochrone.coldcode.linux.run import How, run
    from tautochrone.coldcode.linux.source import ARCHIVE

    if recording is not None:
        output_file.check(recording, force, [], as_json)
    chosen = _chosen(placement, plan_path, threshold, frames, policy)
    how = How(
        chosen.threshold,
        Wish(configuration, chosen.placement, archive or ARCHIVE, seconds),
        code_sha256=chosen.code_sha256,
        root=root,
        append=append,
        frames=chosen.frames,
        policy=chosen.policy,
        interrupt_pages=chosen.interrupt_pages,
        store=store,
        delay_us=delay_us,
        memory_bytes=memory_bytes,
        seed=seed,
        seconds_max=seconds,
        is_compared=is_compared,
        recording=recording,
        force=force,
    )
    result = run(how)
    result |= _bounds(Path(result["kernel"]), chosen.policy)
    result[unseen.KEY] = list(unseen.KERNEL_RUN)
    output.emit(as_json, "coldcode run", result, lambda: _print(result))
    if not result.get("outputs_equal", True):
        cause = "the kernel with cold code gave results different from the kernel without"
        raise TauError(cause, f"compare the runs of {result['kernel']}")


class Chosen(NamedTuple):
    """The placement and cache to run. The threshold is None if the placement's is unknown."""

    placement: Path | None
    code_sha256: str | None
    threshold: float | None
    frames: int
    policy: str
    interrupt_pages: int = 0


def _chosen(
    placement: Path | None,
    plan_path: Path | None,
    threshold: float | None,
    frames: int | None,
    policy: str | None,
) -> Chosen:
    """From the options, then from the plan. Raises UsageError for two sources of one choice."""
    from tautochrone.coldcode.replay import Cache, refuse_frames
    from tautochrone.plan.code import opened

    if placement is not None and plan_path is not None:
        raise click.UsageError("give --plan or --placement, not both")
    if threshold is not None and (placement, plan_path) != (None, None):
        raise click.UsageError("a plan or placement has its threshold: leave --threshold out")
    if plan_path is not None:
        plan = opened(plan_path)
        said = plan.value
        placed = plan.fragment_path, said.code_sha256, said.threshold
        cache = Cache(frames or said.frames, policy or said.policy, 1, said.interrupt_pages)
        refuse_frames(cache)
        return Chosen(*placed, cache.frames, cache.policy, cache.interrupt_pages)
    if placement is None and threshold is None:
        threshold = THRESHOLD
    return Chosen(placement, None, threshold, frames or FRAMES_COUNT, policy or POLICY_NAME)


def _bounds(built: Path, policy: str) -> dict[str, int | None]:
    """The longest paths of the pager in the kernel that is kept there."""
    from tautochrone.coldcode.fault_bound import fault_bound
    from tautochrone.coldcode.kernel import read_kernel

    bound = fault_bound(read_kernel(built / "vmlinux"), policy)
    return {
        "fault_instructions_max": None if bound is None else bound.without_reading,
        "load_instructions_max": None if bound is None else bound.with_reading,
    }


def _print(result: dict[str, Any]) -> None:
    pager = result["cache_bytes"] + result["pager_bytes"]
    gone = result["text_bytes"] - result["resident_text_bytes"] - pager
    where = "more in RAM:  " if gone < 0 else "out of RAM:   "
    share = output.percent(abs(gone) / result["text_bytes"])
    click.echo(f"code of the kernel:   {result['text_bytes']:>11,} bytes")
    click.echo(f"stays in RAM:         {result['resident_text_bytes']:>11,} bytes")
    click.echo(f"frames, page tables:  {pager:>11,} bytes")
    click.echo(f"{where}        {abs(gone):>11,} bytes ({share})")
    loads = output.count(result["loads"], "load")
    click.echo(f"{output.count(result['faults'], 'fault')}, {loads}")
    if "outputs_equal" in result:
        _print_comparison(result)
    for line in result["pager"]:
        click.echo(f"kernel: {line}")
    click.echo(unseen.told(unseen.KERNEL_RUN))


def _print_comparison(result: dict[str, Any]) -> None:
    if result["replayed_loads"] is not None:
        click.echo(f"replay of the kernel without cold code: {result['replayed_loads']:,} loads")
        for name in result["marks_missing"]:
            click.echo(f"replay: the recordings have no {name}, so more is replayed than counted")
    instructions = result["system_instructions"], result["baseline_system_instructions"]
    change = output.change(*instructions, less="fewer")
    click.echo(f"system instructions, without reading pages: {change}")
