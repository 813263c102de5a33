"""`tau info`: what a trace holds, from its footer alone, and what files of other kinds hold."""

import datetime
import shlex
from pathlib import Path
from typing import Any

import click

from tautochrone.commands.options import JSON, PATH
from tautochrone.console import output
from tautochrone.console.terminal import in_one_line
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.files import input_file
from tautochrone.plan import bounds
from tautochrone.plan import sizes as plan_sizes
from tautochrone.plan.contract import sentence
from tautochrone.plan.file import FILE_BYTES_MAX, Plan, load_any_plan
from tautochrone.plan.sections import section_named
from tautochrone.trace import abi
from tautochrone.trace.ending import UNSEEN, Ending, see_all, unseen_frees

SIZES_SHOWN = 10


@click.command()
@click.argument("trace", type=PATH)
@JSON
def command(trace: Path, as_json: bool) -> None:
    """Print what TRACE holds: program, duration, live bytes, sizes and misuse.

    For a code recording, it prints the kernel and how much of its code was executed. For tasks, a
    geometry or a plan of TLB sets (`tau tlb`), and limits (`tau plan --limits`), it prints the
    whole content. For any other plan, it prints the heap, the recordings and the sections.

    \b
    tau info program.tau
    tau info program.tau --json
    tau info tasks.toml

    Only the footer of a trace is read, so a long one takes no longer than a short one.
    """
    from tautochrone.trace.file import open_trace

    try:
        opened = open_trace(trace)
    except TauError:
        if not _print_other(trace, as_json):
            raise
        return
    with opened as reader:
        totals, header, sizes = reader.totals, reader.header, reader.sizes()
        ending = reader.ending
    result = _result(trace, totals, header, sizes) | {"ending": ending.document()}
    output.emit(as_json, "info", result, lambda: _print(result, totals, ending))


def _print_other(path: Path, as_json: bool) -> bool:
    """Print the contents of another kind of file than a trace; return whether it is a known one."""
    from tautochrone.coldcode.recording import is_code_recording, load
    from tautochrone.commands.info import code as info_code

    if is_code_recording(path):
        code = info_code.result_of(load(path))
        output.emit(as_json, "info", code, lambda: info_code.print_result(code))
        return True
    from tautochrone.commands.info import tlb as info_tlb

    return path.is_file() and (
        info_tlb.print_described(path, as_json) or _print_sections(path, as_json)
    )


def _print_sections(path: Path, as_json: bool) -> bool:
    """Print the heap and the sections of a plan, and return whether it is one."""
    from tautochrone.trace.file import is_plan

    if not is_plan(input_file.read(path, "plan", FILE_BYTES_MAX)):
        return False
    plan = load_any_plan(path)
    sections = {name: section_named(name).document(value) for name, value in plan.sections.items()}
    heap = {"heap": _heap_document(plan)} if plan.has_heap else {}

    def show() -> None:
        if plan.has_heap:
            _print_heap(plan)
        for name, value in plan.sections.items():
            said = section_named(name).told(value)
            said = said or (bounds.listed(value) if name == bounds.NAME else [])
            print(f"[{name}]", *said, sep="\n")

    output.emit(as_json, "info", {"plan": str(path), **heap, "sections": sections}, show)
    return True


def _heap_document(plan: Plan) -> dict[str, Any]:
    promised = {"guarantee": sentence(plan)} if plan.system == "pools" else {}
    return {
        "layout": plan.layout,
        "system": plan.system,
        **promised,
        "heap_bytes": plan.heap_bytes,
        "dedicated_bytes": plan.dedicated_bytes,
        "shared_bytes": plan.shared_bytes,
        "margin": plan.margin,
        "classes": [item._asdict() for item in plan.classes],
        "traces": [trace._asdict() for trace in plan.traces],
    }


def _print_heap(plan: Plan) -> None:
    is_guaranteed = plan.system == "pools"
    pools = output.count(len(plan.classes), "band" if is_guaranteed else "pool")
    rest = "for tables" if is_guaranteed else "shared"
    print("[heap]")
    print(
        f"{plan.heap_bytes:,} bytes, layout {plan.layout}, margin {plan.margin * 100:g} %:"
        f" {plan.dedicated_bytes:,} in {pools}, {plan.shared_bytes:,} {rest}"
    )
    if is_guaranteed:
        print(sentence(plan))
    if remark := plan_sizes.remark(plan):
        print(in_one_line(remark))
    for trace in plan.traces:
        program = f" of {in_one_line(trace.program)}" if trace.program else ""
        print(
            f"from {in_one_line(trace.name)}{program}: {trace.events:,} events,"
            f" {trace.peak_live_bytes:,} bytes live at the peak"
        )


def _result(
    trace: Path, totals: Struct, header: dict[str, Any], sizes: list[tuple[int, int, int]]
) -> dict[str, Any]:
    """Return the JSON document. Sizes are in bytes; `peak_live` is the most live objects."""
    from tautochrone.trace.file import OPS

    return {
        "trace": str(trace),
        "file_bytes": trace.stat().st_size,
        "header": header,
        "abi": abi.of_header(header) or None,
        "events": totals.events,
        "operations": dict(zip(OPS, totals.events_of_op, strict=True)),
        "touched_granules": totals.touched_granules,
        "clock": header.get("clock", "ns"),
        "accesses": header.get("accesses"),
        "peak_live_bytes": totals.peak_live_bytes,
        "peak_live_objects": totals.peak_live_objects,
        "end_live_bytes": totals.end_live_bytes,
        "end_live_objects": totals.end_live_objects,
        "duration_ns": totals.duration_ns,
        "threads": totals.threads,
        "sites": totals.sites,
        "blocks": totals.blocks,
        "misuse": {
            "unknown_frees": totals.unknown_count,
            "unknown_first_event": totals.unknown_first_event if totals.unknown_count else None,
            "double_frees": totals.double_free_count,
            "double_free_first_event": totals.double_free_first_event
            if totals.double_free_count
            else None,
            "inherited_frees": totals.inherited_count,
        },
        "recovered": bool(totals.recovered),
        "dropped_bytes": totals.dropped_bytes,
        "sizes_rounded_count": totals.sizes_rounded_count,
        "sizes": [
            {"size_bytes": size, "allocations": allocations, "peak_live": peak}
            for size, allocations, peak in sizes
        ],
    }


def _print(result: dict[str, Any], totals: Struct, ending: Ending) -> None:
    """Print the document for people."""
    header = result["header"]
    recorded = header.get("command") or header.get("program") or header.get("imported_from")
    if recorded:
        text = shlex.join(map(str, recorded)) if isinstance(recorded, list) else str(recorded)
        print(f"program      {in_one_line(text)}")
    started = _started(header)
    if started:
        recorder = header.get("recorder", "an unnamed writer")
        print(f"recorded     {in_one_line(f'{started} by {recorder}')}")
    seconds = _duration(totals.duration_ns, result["clock"])
    _print_translated(header)
    threads = output.count(totals.threads, "thread")
    print(f"sizes of     {_abi(header)}")
    print(f"events       {totals.events:,}{seconds}, {threads}")
    operations = ", ".join(f"{count:,} {op}" for op, count in result["operations"].items() if count)
    print(f"             {operations or 'none'}")
    _print_accesses(result)
    objects = output.count(totals.peak_live_objects, "object")
    print(f"peak         {totals.peak_live_bytes:,} bytes; at most {objects} at once")
    objects = output.count(totals.end_live_objects, "object")
    print(f"never freed  {totals.end_live_bytes:,} bytes, {objects}{_who(result)}")
    _print_sizes(result["sizes"], totals)
    for remark in ending.remarks:
        print(f"{'incomplete' if remark.kind == UNSEEN else 'ended':<12} {remark.cause}")
    _print_misuse(totals, header, ending)
    if totals.unknown_count + totals.double_free_count:
        print(f"next: tau check {shlex.quote(result['trace'])}")
    else:
        print(f"next: tau plan {shlex.quote(result['trace'])} -o plan.toml")


def _who(result: dict[str, Any]) -> str:
    """Which command names who left objects, if there are any and call sites were recorded."""
    is_told = result["end_live_objects"] and result["sites"]
    return f": tau who --left {shlex.quote(result['trace'])}" if is_told else ""


def _abi(header: dict[str, Any]) -> str:
    """Return the ABI that asked for the sizes, in words."""
    name, source = abi.of_header(header), abi.translated_from(header)
    if not name:
        return "no stated ABI: `tau import --abi` states it"
    return f"{name}, translated from {source}" if source else name


def _print_translated(header: dict[str, Any]) -> None:
    """Print that the sizes were computed from another ABI's [TRACE-48]."""
    said = header.get("translated")
    if not isinstance(said, dict):
        return
    sizes, kept = (said.get(name) for name in ("sizes", "kept"))
    counts = f": {sizes:,} sizes translated, {kept:,} kept" if _are_counts(sizes, kept) else ""
    before, after = said.get("from") or "an unknown ABI", abi.of_header(header) or "an unknown ABI"
    print(f"translated   {in_one_line(f'from {before} to {after}')}{counts}")


def _are_counts(*values: object) -> bool:
    return all(type(value) is int and value >= 0 for value in values)


def _duration(last_time: int, clock: str) -> str:
    """Return the time of the last event in the trace's clock; "" if that counts events."""
    if not last_time or clock == trace_format.CLOCK_EVENTS:
        return ""
    if clock == trace_format.CLOCK_ACCESSES:
        return f" in {last_time:,} heap accesses"
    return f" in {output.duration(last_time)}"


def _print_accesses(result: dict[str, Any]) -> None:
    """Print the facts that only a recording of accesses has."""
    said = result["accesses"]
    if isinstance(said, dict) and all(isinstance(count, int) for count in said.values()):
        heap = said.get("heap_loads", 0) + said.get("heap_stores", 0)
        others = said.get("other_loads", 0) + said.get("other_stores", 0)
        print(f"accesses     {heap:,} of the heap, {others:,} of other memory")
    if result["touched_granules"]:
        touched_bytes = result["touched_granules"] * trace_format.GRANULE_BYTES
        print(f"touched      {touched_bytes:,} bytes in granules of {trace_format.GRANULE_BYTES}")


def _started(header: dict[str, Any]) -> str | None:
    """Return the start of the recording in local time, from either form in the header."""
    if header.get("started"):
        return str(header["started"])
    nanoseconds = header.get("started_unix_ns")
    if not isinstance(nanoseconds, int) or not 0 < nanoseconds < 2**62:
        return None
    return datetime.datetime.fromtimestamp(nanoseconds / 1e9).isoformat(" ", "seconds")


def _print_sizes(sizes: list[dict[str, int]], totals: Struct) -> None:
    """Print the sizes that hold the most bytes, each at its own peak."""
    by_bytes = sorted(sizes, key=lambda size: -size["size_bytes"] * size["peak_live"])
    top, others = by_bytes[:SIZES_SHOWN], len(by_bytes) - SIZES_SHOWN
    if not top:
        return
    rounded = (
        f"; {totals.sizes_rounded_count:,} allocations are counted under a rounded size"
        if totals.sizes_rounded_count
        else ""
    )
    print(f"sizes        {len(sizes):,} different{rounded}; those that held the most bytes:")
    print(f"             {'bytes':>20} {'allocations':>14} {'peak live':>12}")
    for size in top:
        print(
            f"             {size['size_bytes']:>20,} {size['allocations']:>14,}"
            f" {size['peak_live']:>12,}"
        )
    if others > 0:
        print(f"             … {others:,} more; --json has all")


def _print_misuse(totals: Struct, header: dict[str, Any], ending: Ending) -> None:
    """Print frees of objects that are not alive, and of the parent process's objects."""
    unseen, first = unseen_frees(header, totals)
    if unseen:
        if not any(remark.kind == UNSEEN for remark in ending.remarks):
            print(f"incomplete   {output.count(unseen, 'free')} of objects that were lost")
        print(f"             the first is event {first:,}")
        print(f"             {see_all(header)}")
    if totals.double_free_count and unseen < totals.unknown_count + totals.double_free_count:
        frees = output.count(totals.double_free_count, "double free")
        print(f"misuse       {frees}, the first is event {totals.double_free_first_event:,}")
    if totals.inherited_count:
        frees = output.count(totals.inherited_count, "free")
        print(f"inherited    {frees} of the parent process's objects")
