"""`tau tlb discover`: finds this processor's TLBs by timing, and writes their geometry."""

from pathlib import Path

import click

from tautochrone.commands.options import FORCE, JSON, geometries_beginning
from tautochrone.console import output
from tautochrone.console.numbers import FiniteRange
from tautochrone.errors import EXIT_DONE, TauError
from tautochrone.files.paths import OutputPath

POLICIES = ("lru", "plru", "nru", "random")
HOST_ONLY, SIMULATED_ONLY = ("cpu", "cpu_seconds"), ("policy", "walks")
NEXT_STEP = "run it again when the machine is quieter, or with another --cpu"


@click.command()
@click.option(
    "--on",
    "processor",
    shell_complete=geometries_beginning,
    default="host",
    show_default=True,
    metavar="host|tile:SHAPE|NAME|FILE|SETSxWAYS[:xor]",
    help="host: this machine. tile:16x4 or tile:16x4+128x4: the simulated tile (takes minutes)."
    " Else a simulated TLB: a known geometry, a file, or a shape.",
)
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default="lru",
    show_default=True,
    help="Simulated processor: which entry of a full set is evicted.",
)
@click.option("--cpu", type=click.IntRange(0), help="CPU to measure on (default: the last one).")
@click.option(
    "--cpu-seconds",
    type=FiniteRange(0.1, 600),
    default=5.0,
    show_default=True,
    help="This machine: CPU-time limit; values not found by then are unknown.",
)
@click.option(
    "--walks",
    type=click.IntRange(1, 10_000_000),
    default=100_000,
    show_default=True,
    help="Simulated processor: limit of walks; values not found by then are unknown.",
)
@click.option(
    "--seed",
    type=click.IntRange(1, 65535),
    default=1,
    show_default=True,
    help="Start of the random numbers that choose pages.",
)
@click.option(
    "-o",
    "--output",
    "geometry_path",
    type=OutputPath(),
    help="Geometry file to write for `tau tlb plan`; - is stdout (default: none).",
)
@FORCE
@JSON
def command(
    processor: str,
    policy: str,
    cpu: int | None,
    cpu_seconds: float,
    walks: int,
    seed: int,
    geometry_path: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Find the TLBs of this machine by timing: sizes, sets, ways, indices, shared directories.

    \b
    tau tlb discover
    tau tlb discover -o host.toml --json
    tau tlb discover --on skylake --policy random

    It walks over lists of pages and compares times, in a process of its own that is pinned to a
    CPU. It needs 64 MiB, but no privileges and no counters. A value that it cannot find is reported
    as unknown, with the cause. docs/spec/discover.md says how each value is found and checked.

    Exit status 1 means that the geometry could not be verified. Then no file is written.
    """
    from tautochrone.files import output_file
    from tautochrone.tlb.discover import run
    from tautochrone.tlb.discover.document import show, toml_of

    if geometry_path is not None:
        output_file.check(geometry_path, force, (), as_json)
    _refuse_ignored(processor == run.HOST)
    if processor == run.HOST:
        document = run.discovered_host(cpu, seed, cpu_seconds)
    else:
        document = run.discovered_simulation(processor, policy, seed, walks)
    for text in document["notes"]:
        output.note(text)
    is_written = geometry_path is not None and document["is_verified"]
    if is_written and geometry_path is not None:
        with output_file.written(geometry_path, force) as partial:
            partial.write_text(toml_of(document["geometry"]), encoding="utf-8")
    if geometry_path is None or not output_file.is_stdout(geometry_path):
        output.emit(as_json, "tlb discover", document, lambda: show(document))
    if not document["is_verified"]:
        causes = "; ".join(dict.fromkeys(document["unknown"]))
        raise TauError(f"the geometry could not be verified: {causes}", NEXT_STEP)
    if is_written and not as_json and not output_file.is_stream(geometry_path):
        print(f"written: {geometry_path}")
    return EXIT_DONE


def _refuse_ignored(is_host: bool) -> None:
    """Raise UsageError for an option that the processor does not have."""
    context = click.get_current_context()
    names, needed = HOST_ONLY, "--on host"
    if is_host:
        names, needed = SIMULATED_ONLY, "a simulated processor (--on)"
    for name in names:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} needs {needed}")
