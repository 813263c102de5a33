"""`tau import`: makes a trace of another program's records."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tautochrone.commands.options import FORCE, JSON, PATH
from tautochrone.console import bars, output
from tautochrone.files import output_file, paths
from tautochrone.trace.abi import NAMES

if TYPE_CHECKING:
    from tautochrone.convert.importing import Imported


@click.command(name="import")
@click.argument("file", type=PATH)
@click.option(
    "-o",
    "--output",
    "out",
    type=paths.OutputPath(),
    help="Trace to write (default: FILE's name up to its first dot, plus .tau).",
)
@click.option(
    "--abi",
    type=click.Choice(NAMES),
    help="ABI of the program whose sizes are in FILE; only for CSV and heaptrack's files, which do"
    " not state it (default: not stated).",
)
@FORCE
@JSON
def command(file: Path, out: Path | None, abi: str | None, force: bool, as_json: bool) -> None:
    """Convert FILE to a trace.

    \b
    tau import events.csv -o program.tau
    tau import heaptrack.program.1234.raw.zst -o program.tau

    FILE is one of these:

    \b
    - CSV with the header op,id,size[,align][,time]
    - a raw file of heaptrack (heaptrack --raw), compressed or not
    - a raw recording of `tau record --raw`
    - the stream that a target sent (core/ports/record_wrap.c)

    In CSV, op is malloc, calloc, realloc, aligned_alloc or free. The id is any text that names an
    object; it can be used again after the object's free. Size and align are in bytes, time is in
    nanoseconds. A row with op touch records a use of an object's memory: size is the offset of the
    first 16-byte granule, align the number of granules (1 to 255).
    """
    from tautochrone.convert.importing import import_file
    from tautochrone.trace.ending import note_ending

    out = out or Path(file.name.split(".")[0] + ".tau")
    output_file.check(out, force, [file], as_json)
    with bars.Bar(f"reading {file.name}") as bar:
        imported = import_file(file, out, bar.told, force, abi or "")
    result = {"trace": str(out), **asdict(imported), "ending": imported.ending.document()}

    def human() -> None:
        tell = output.note if output_file.is_stdout(out) else print
        tell(
            f"{out}: {imported.events:,} events, at most {imported.peak_live_bytes:,} bytes"
            f" in {imported.peak_live_objects:,} objects alive"
        )
        tell(f"next: tau info {shlex.quote(str(out))}")

    output.emit(as_json, "import", result, human)
    note_ending(out, imported.ending)
    if imported.form == "target" and not output_file.is_stream(out):
        _tell_refusals(out)
    for note in imported.notes:
        output.note(f"tau: {note}")
    _tell_misuse(out, imported)


def _tell_refusals(trace: Path) -> None:
    """Name the first request that a firmware's heap refused."""
    from tautochrone.trace.file import open_trace
    from tautochrone.who.calls import refusals_told
    from tautochrone.who.places import Places

    with open_trace(trace) as reader:
        if told := refusals_told(reader, Places(reader.header)):
            step = f"tau who {trace} --elf FIRMWARE.elf names its line"
            output.warn(f"tau: the heap {told}", step)


def _tell_misuse(trace: Path, imported: Imported) -> None:
    """Say on stderr where frees of no live object are, and how `plan` and `replay` treat them."""
    from tautochrone.trace.ending import LOST, SEE_ALL, SEE_ALL_ON_TARGET, UNSEEN

    skip = "plan and replay need --skip-misuse to go on"
    kinds = {remark.kind for remark in imported.ending.remarks}
    is_target = imported.form == "target"
    doubles = imported.double_free_count
    if UNSEEN in kinds:
        line = imported.unknown_first_line
        place = f"the first of these frees is in line {line}" if line else f"tau check {trace}"
        output.note(f"tau: {place}; {SEE_ALL_ON_TARGET if is_target else SEE_ALL}; else {skip}")
        doubles = 0 if is_target else doubles
    elif LOST in kinds and is_target and imported.unknown_count + doubles:
        frees = output.count(imported.unknown_count + doubles, "free")
        output.note(f"tau: {frees} of lost objects, see tau check {trace}; {skip}")
        doubles = 0
    if doubles:
        line = imported.double_free_first_line
        place = f", the first in line {line}" if line else ""
        output.note(f"tau: {doubles:,} double frees{place}; {skip}")
