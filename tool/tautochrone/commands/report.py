"""`tau report`: writes one HTML file that shows recordings, their plan and their replays."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tautochrone import __version__, unseen
from tautochrone.commands.replay_options import (
    beginning_name,
    beginning_of,
    options_of,
    replay_options,
)
from tautochrone.console import output
from tautochrone.console.numbers import FiniteRange
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.files import input_file, json_text, output_file
from tautochrone.files.paths import OutputPath
from tautochrone.trace import abi

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.replay.entry import Entry
    from tautochrone.replay.system import Options
    from tautochrone.report.page import Part
    from tautochrone.trace.file import TraceReader

Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(dir_okay=False, path_type=Path)
FACT_CHARACTERS_MAX = 200
REPLAY_BYTES_MAX = 1 << 26
ISA_NAMES = {"rv32": "RV32IMC", "m4": "Cortex-M4"}
PAGE_US = 442.0  # 4 KiB of the paper's NOR flash [P3-21]
CODE_OPTIONS = (
    click.option(
        "--kernel",
        type=PATH,
        help="Code recordings: the recorded kernel's ELF file, from which other placements are"
        " planned (default: the path that the recording names, if it is still that kernel).",
    ),
    click.option(
        "--map",
        "link_map",
        type=PATH,
        help="Code recordings: the map of its link (default: the kernel's path with .map).",
    ),
    click.option(
        "--threshold",
        "thresholds",
        type=FiniteRange(0, 1),
        multiple=True,
        help="Code recordings: a threshold T to plan for; may be repeated (default: seven from 1"
        " to 0.98).",
    ),
    click.option(
        "--delay",
        "page_us",
        type=FiniteRange(min=0, max=1e6),
        default=PAGE_US,
        show_default=True,
        help="Code recordings: microseconds that loading a page takes.",
    ),
)


@dataclass(frozen=True)
class Replays:
    """What was replayed: one entry per system, and the target that instructions were counted on.

    `remarks` says which replays used an incomplete trace.
    """

    entries: list[Entry]
    isa: str
    remarks: tuple[str, ...] = ()


def code_options(command: Command) -> Command:
    """Add the options of CODE_OPTIONS to a command, in their order."""
    for option in reversed(CODE_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=PATH)
@click.option(
    "--plan",
    "plan_path",
    type=PATH,
    help="Plan of `tau plan` or `tau coldcode plan`; of code, with NAME.lds beside it (default:"
    " none).",
)
@click.option(
    "--replay",
    "replay_paths",
    multiple=True,
    type=PATH,
    help="Output of `tau replay --json` to show; may be repeated (default: none).",
)
@click.option(
    "--on",
    "on",
    help="Systems to replay on now, as in tlsf,budget,glibc; they replace those of --replay"
    " (default: none).",
)
@replay_options
@code_options
@click.option(
    "-o",
    "--output",
    "path",
    type=OutputPath(),
    default="report.html",
    show_default=True,
    help="HTML file to write; - is stdout.",
)
@click.option(
    "--picture",
    type=OutputPath(),
    help="PNG file for a picture of the report's top (default: none).",
)
@click.option("--title", help="Heading of the report (default: the recorded command or kernel).")
@click.option("--force", is_flag=True, help="Replace existing outputs (default: refuse).")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the report's content as one JSON document.",
)
def command(
    recordings: tuple[Path, ...],
    plan_path: Path | None,
    path: Path,
    picture: Path | None,
    title: str | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Write a report: one HTML file that needs no network.

    \b
    tau report program.tau --plan plan.toml --on tlsf,budget,glibc -o report.html
    tau report program.tau --plan plan.toml --replay replay.json -o report.html
    tau report boot.taucode --plan plan.toml -o report.html

    RECORDINGS are a trace of a program, recordings of a kernel's code (`tau coldcode profile`), or
    both; the plan then has both parts. With --on, the options of `tau replay` say how to replay.
    With --events, the report is about the first N events of the trace.

    Recordings of code are shown with the placements of all planners: RAM against faults, and both
    by threshold, number of frames and policy. Planning them takes a minute or more.
    """
    from tautochrone.plan.code.section import fragment_path

    named = (plan_path, given["build_path"], given["kernel"], given["link_map"])
    read = [*recordings, *given["replay_paths"], *(one for one in named if one is not None)]
    if plan_path is not None:
        read.append(fragment_path(plan_path))
    _check_outputs(path, picture, force, read, as_json)
    parts = _parts(recordings, plan_path, given)
    read += [one for part in parts for one in part.inputs]
    _check_outputs(path, picture, force, read, as_json)
    result, html = _page(parts, plan_path, title)
    with output_file.written(path, force, read) as partial:
        partial.write_text(html, encoding="utf-8")
    result["report"] = str(path)
    if picture is not None:
        from tautochrone.report.picture import take

        with output_file.written(picture, force, [*read, path]) as partial:
            take(path, partial)
        result["picture"] = str(picture)

    def human() -> None:
        print(result["verdict"])
        output.note(f"{path}: {len(html) / 1e6:.1f} MB; open it in a browser, it needs no network")

    if not any(map(output_file.is_stdout, filter(None, (path, picture)))):
        output.emit(as_json, "report", result, human)
    for remark in result["remarks"]:
        output.note(f"tau: {remark}")


def _parts(
    recordings: Sequence[Path], plan_path: Path | None, given: Mapping[str, Any]
) -> list[Part]:
    """Return what each kind of recording contributes: a trace first, then the kernel's code."""
    from tautochrone.coldcode.recording import is_code_recording

    parts, of_code = [], []
    with ExitStack() as opened:
        traces = []
        for recording in recordings:
            try:
                reader = opened.enter_context(beginning_of(recording, given["events"]))
                traces.append((recording, reader))
            except TauError:
                if not is_code_recording(recording):
                    raise
                of_code.append(recording)
        _refuse_useless(len(traces), len(of_code), given)
        for trace, reader in traces:
            parts.append(_program(trace, reader, plan_path, given))
    if of_code:
        from tautochrone.commands.coldcode.report import Asked, part_of

        named = (given["kernel"], given["link_map"], given["thresholds"], given["page_us"])
        parts.append(part_of(of_code, plan_path, Asked(*named)))
    return parts


def _refuse_useless(traces: int, of_code: int, given: Mapping[str, Any]) -> None:
    """Raise UsageError for two traces, or for options of a kind of recording that is not given."""
    if traces > 1:
        raise click.UsageError(
            "a report is about one run: name one trace; --plan shows the plan of all of them"
        )
    if not traces and (given["on"] or given["replay_paths"] or given["events"]):
        raise click.UsageError("--on, --replay and --events need a trace")
    if not of_code and (given["kernel"] or given["link_map"] or given["thresholds"]):
        raise click.UsageError("--kernel, --map and --threshold need a recording of code")


def _program(
    trace: Path, reader: TraceReader, plan_path: Path | None, given: Mapping[str, Any]
) -> Part:
    """Return what a program's trace contributes, with its replays."""
    from tautochrone.plan.file import load_plan

    plan = load_plan(plan_path) if plan_path else None
    options = options_of(plan, **given)
    replays = _read_replays(given["replay_paths"], reader)
    if given["on"]:
        now = _replay_now(reader, given["on"], options)
        isa = options.isa or replays.isa
        entries = {entry.name: entry for entry in (*replays.entries, *now)}
        replays = replace(replays, entries=list(entries.values()), isa=isa)
    part = build(reader, plan_path, replays)
    return replace(part, document={**part.document, "trace": str(trace)})


def _page(
    parts: Sequence[Part], plan_path: Path | None, title: str | None
) -> tuple[dict[str, Any], str]:
    """Return the report's content as a JSON document, and the report itself as HTML."""
    from tautochrone.report import page

    sentences = [sentence for part in parts for sentence in part.sentences]
    remarks = [remark for part in parts for remark in part.remarks]
    panels = [panel for part in parts for panel in part.panels]
    facts = {name: _short(text) for part in parts for name, text in part.facts.items() if text}
    provenance = {name: text for part in parts for name, text in part.provenance.items()}
    result: dict[str, Any] = {}
    for part in parts:
        result |= part.document
    result |= {
        "verdict": " ".join(sentences),
        "sentences": sentences,
        "remarks": remarks,
        "panels": [panel.name for panel in panels],
    }
    html = page.page(
        title or parts[0].title,
        " ".join(sentences),
        facts,
        panels,
        plan_path.read_text("utf-8") if plan_path else None,
        _made() | provenance,
        remarks,
    )
    return result, html


def _check_outputs(
    path: Path, picture: Path | None, force: bool, read: list[Path], as_json: bool
) -> None:
    """Refuse outputs as output_file.check does; create the report's folder if it is missing."""
    if picture is not None:
        if output_file.is_stream(path):
            raise TauError(
                f"--picture draws the report from its file, but {path} is not a file",
                "write the report to a file with -o",
                EXIT_USAGE,
            )
        output_file.check(picture, force, [*read, path], as_json)
    if not output_file.is_stream(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    output_file.check(path, force, read, as_json)


def build(reader: TraceReader, plan_path: Path | None, replays: Replays) -> Part:
    """Return what a trace and its replays contribute to a report."""
    from tautochrone.plan.file import ALIGNMENT_BYTES, bucket_bytes, load_plan
    from tautochrone.plan.remarks import plan_remarks
    from tautochrone.report import classes, footprints, instructions, live_bytes, pages, sizes
    from tautochrone.report.comparison import heaps
    from tautochrone.report.curves import COLUMNS, curves_of
    from tautochrone.report.page import Part

    plan = load_plan(plan_path) if plan_path else None
    layout = plan.layout if plan else "32"
    granule = ALIGNMENT_BYTES[layout]
    entries = plan.classes if plan else ()
    planned = [(bucket_bytes(entry.size_bytes, layout), entry.count) for entry in entries]
    trace, totals, header = reader.path, reader.totals, reader.header
    curves = curves_of(
        output.progress(reader.columns(COLUMNS), "reading the trace", totals.blocks),
        events=totals.events,
        duration_ns=totals.duration_ns if reader.is_timed else 0,
        slots_count_max=totals.slots_count_max,
        class_sizes=[size for size, _ in planned],
        granule_bytes=granule,
    )
    panels = [live_bytes.draw(curves)]
    plain = heaps(replays.entries)
    paged = [entry for entry in replays.entries if entry.pages is not None]
    if plain:
        panels.append(footprints.draw(plain, curves.peak_bytes))
    panels += pages.draw(paged, trace.name)
    if replays.entries:
        counted = instructions.draw(replays.entries, ISA_NAMES.get(replays.isa, replays.isa))
        panels += [counted] if counted else []
    if planned:
        panels.append(classes.draw(curves, planned))
    panels.append(sizes.draw(reader.sizes(), {size for size, _ in planned}, granule))
    sentences = _said(curves.peak_bytes, replays.entries, plan, trace.name)
    remarks = [f"{trace}: {sentence}" for sentence in reader.ending.sentences]
    remarks += [f"{plan_path}: {text}" for text in plan_remarks(plan, header)]
    remarks += replays.remarks
    document = {
        "trace": str(trace),
        "events": totals.events,
        "peak_live_bytes": curves.peak_bytes,
        "systems": [_listed(entry) for entry in replays.entries],
        unseen.KEY: list(unseen.REPLAY),
        "ending": reader.ending.document(),
    }
    return Part(
        Path(str(header.get("program") or trace.name)).name,
        sentences,
        _facts(header, totals, reader.is_timed),
        panels,
        _provenance(reader, plan),
        remarks,
        document,
    )


def _listed(entry: Entry) -> dict[str, Any]:
    """Return an entry for --json; it names its recording if that is not the report's."""
    return entry.document() | ({"recording": entry.recording} if entry.recording else {})


def _said(
    peak_live_bytes: int, entries: Sequence[Entry], plan: Plan | None, recording: str
) -> list[str]:
    """Return the verdict: one sentence each on heaps, heaps on pages, and the tile.

    `recording` names the report's trace; sentences on pages name another one.
    """
    from tautochrone.report.comparison import (
        by_recording,
        cycles_sentence,
        heaps,
        on_pages,
        pages_sentence,
        simulated,
    )
    from tautochrone.report.verdict import verdict

    sentences = []
    if (plain := heaps(entries)) or not entries:
        heap = (plan.heap_bytes, plan.margin) if plan else (None, 0.0)
        peaks = [trace.peak_live_bytes for trace in plan.traces] if plan else []
        sentences.append(verdict(peak_live_bytes, plain, *heap, peaks))
    if in_software := on_pages(entries):
        sentences += by_recording(in_software, recording, pages_sentence)
    if on_tile := simulated(entries):
        sentences += by_recording(on_tile, recording, cycles_sentence)
    return sentences


def _facts(header: Mapping[str, Any], totals: Any, is_timed: bool) -> dict[str, str]:
    """Return what was recorded, for people. `header` is the recorder's; any key may be missing."""
    recorded, started_ns = header.get("command"), header.get("started_unix_ns")
    where = [str(header[name]) for name in ("host", "machine") if header.get(name)]
    facts = {
        "command": shlex.join(map(str, recorded)) if isinstance(recorded, list) else "",
        "recorded": _date(started_ns) if isinstance(started_ns, int) else "",
        "on": ", ".join(where),
        "ABI of the sizes": abi.of_header(header) or "not stated",
        "events": f"{totals.events:,}",
        "duration": output.duration(totals.duration_ns) if is_timed and totals.duration_ns else "",
        "threads": f"{totals.threads:,}",
        "most objects at once": f"{totals.peak_live_objects:,}",
    }
    misuse = totals.unknown_count + totals.double_free_count
    if misuse:
        facts["events of misuse"] = f"{misuse:,} (left out)"
    return facts | {"not looked at": "; ".join(unseen.REPLAY)}


def _date(unix_ns: int) -> str:
    """Return an instant as UTC, to the second; "" if it is outside the calendar."""
    try:
        instant = datetime.fromtimestamp(unix_ns // 10**9, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return instant.strftime("%Y-%m-%d %H:%M:%S UTC")


def _short(text: str) -> str:
    """Return the text, without its middle if it is long."""
    half = FACT_CHARACTERS_MAX // 2
    return text if len(text) <= FACT_CHARACTERS_MAX else f"{text[:half]} … {text[-half:]}"


def _made() -> dict[str, str]:
    """Return how the report was made: command line and versions."""
    import bokeh

    return {
        "command line": shlex.join(["tau", *sys.argv[1:]]),
        "versions": f"tautochrone {__version__}, Bokeh {bokeh.__version__},"
        f" Python {platform.python_version()}",
    }


def _provenance(reader: TraceReader, plan: Plan | None) -> dict[str, str]:
    """Return what the report was made from: the trace's hash, and how the plan was made."""
    from tautochrone.plan.remarks import provenance

    made = {"trace": reader.path.name, "SHA-256 of the trace": reader.sha256()}
    if plan is not None:
        made["planner"] = f"{plan.planner}{_distance(plan)}"
        made |= provenance(plan)
    return made


def _distance(plan: Plan) -> str:
    """Return how far a plan's heap can be above the optimum, as a part of the optimum.

    The verdict's percentages have the same base. A formula planner proves nothing about the heap.
    """
    if plan.planner != "replayed" or plan.optimal_within >= 1:
        return ""
    above = plan.optimal_within / (1 - plan.optimal_within)
    subject = "the heap without its margin" if plan.margin else "the heap"
    return f"; {subject} is at most {output.percent(above)} above the smallest possible"


def _read_replays(paths: tuple[Path, ...], reader: TraceReader) -> Replays:
    """Read what `tau replay --json` printed. A later file's system replaces an earlier one's.

    A replay on pages may be of another recording, which its figures name. A replay of a heap must
    be of the report's trace, because its size is compared with the peak of that trace.
    """
    from tautochrone.replay.document import document_of
    from tautochrone.report.comparison import heaps

    entries: dict[str, Entry] = {}
    remarks: list[str] = []
    isa = "rv32"
    for path in paths:
        try:
            data = input_file.read(path, "replay", REPLAY_BYTES_MAX)
            if len(data) > REPLAY_BYTES_MAX:
                raise ValueError(f"it is larger than {REPLAY_BYTES_MAX:,} bytes")
            document = document_of(json_text.parse(data))
        except ValueError as error:
            raise TauError(
                f"{path} is not what `tau replay --json` prints: {error}",
                "make it with `tau replay T --on tlsf,budget --plan plan.toml --json`",
            ) from None
        remarks += [f"{path}: {cause}" for cause in document.incomplete]
        recording = beginning_name(Path(document.trace), document.first_events)
        if heaps(document.entries) and document.first_events is None:
            if document.events not in (None, reader.totals.events):
                raise TauError(
                    f"{path} is a replay of the trace {recording}, not of {reader.path}",
                    f"make it with `tau replay {reader.path} --on tlsf,budget --plan plan.toml"
                    " --json`",
                )
        for entry in document.entries:
            entries[entry.name] = replace(entry, recording=recording)
        isa = document.isa or isa
    return Replays(list(entries.values()), isa, tuple(remarks))


def _replay_now(reader: TraceReader, on: str, options: Options) -> list[Entry]:
    """Replay the report's trace on the named systems."""
    from tautochrone.replay.opened import OpenTrace
    from tautochrone.replay.run import entries_of

    return entries_of(OpenTrace(reader), on.split(","), options)
