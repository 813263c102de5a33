"""`tau report`: writes one HTML file that shows recordings, their plan and their replays."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tautochrone import __version__
from tautochrone.commands.options import FILE, FORCE
from tautochrone.commands.replay_options import (
    beginning_name,
    beginning_of,
    options_of,
    replay_options,
    systems_beginning,
)
from tautochrone.console import output
from tautochrone.console.numbers import FiniteRange
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.files import input_file, json_text, output_file
from tautochrone.files.paths import OutputPath

if TYPE_CHECKING:
    from tautochrone.replay.entry import Entry
    from tautochrone.replay.system import Options
    from tautochrone.report.page import Part
    from tautochrone.report.program import Replays
    from tautochrone.trace.file import TraceReader

Command = TypeVar("Command", bound=Callable[..., Any])
FACT_CHARACTERS_MAX = 200
REPLAY_BYTES_MAX = 1 << 26
PAGE_US = 442.0  # 4 KiB of the paper's NOR flash [P3-21].
CODE_OPTIONS = (
    click.option(
        "--kernel",
        type=FILE,
        help="Code recordings: the recorded kernel's ELF file, from which other placements are"
        " planned (default: the path that the recording names, if it is still that kernel).",
    ),
    click.option(
        "--map",
        "link_map",
        type=FILE,
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


def code_options(command: Command) -> Command:
    """Add the options of CODE_OPTIONS to a command, in their order."""
    for option in reversed(CODE_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=FILE)
@click.option(
    "--plan",
    "plan_path",
    type=FILE,
    help="Plan of `tau plan` or `tau coldcode plan`; of code, with NAME.lds next to it (default:"
    " none).",
)
@click.option(
    "--replay",
    "replay_paths",
    multiple=True,
    type=FILE,
    help="Output of `tau replay --json` to show; may be repeated (default: none).",
)
@click.option(
    "--on",
    "on",
    shell_complete=systems_beginning,
    help="Systems to replay on now, as in tlsf,budget,glibc, in place of --replay"
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
@FORCE
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

    Recordings of code are shown with the plan's placement and others: RAM against faults, and both
    by threshold, number of frames and policy. Planning them takes a minute or more.
    """
    from tautochrone.plan.code import fragment_path

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
        from tautochrone.report.figure import of_bytes

        print(result["verdict"])
        output.note(f"{path}: {of_bytes(len(html))}; open it in a browser, it needs no network")

    if not any(map(output_file.is_stdout, filter(None, (path, picture)))):
        output.emit(as_json, "report", result, human)
    for remark in result["remarks"]:
        output.note(f"tau: {remark}")


def _parts(
    recordings: Sequence[Path], plan_path: Path | None, given: Mapping[str, Any]
) -> list[Part]:
    """Return the parts of each kind of recording: a trace first, then the kernel's code."""
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
        from tautochrone.coldcode.report import Asked, part_of

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
    """Return the part of a program's trace, with its replays."""
    from tautochrone.plan.file import load_plan
    from tautochrone.report import program

    plan = load_plan(plan_path) if plan_path else None
    options = options_of(plan, **given)
    replays = _read_replays(given["replay_paths"], reader)
    if given["on"]:
        now = _replay_now(reader, given["on"], options)
        isa = options.isa or replays.isa
        entries = {entry.name: entry for entry in (*replays.entries, *now)}
        replays = replace(replays, entries=list(entries.values()), isa=isa)
    part = program.part_of(reader, plan_path, replays)
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
        sentences,
        facts,
        panels,
        plan_path.read_text("utf-8") if plan_path else None,
        _made() | provenance,
        remarks,
        [step for part in parts for step in part.steps],
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


def _short(text: str) -> str:
    """Return the text, without its middle if it is long."""
    half = FACT_CHARACTERS_MAX // 2
    return text if len(text) <= FACT_CHARACTERS_MAX else f"{text[:half]} … {text[-half:]}"


def _made() -> dict[str, str]:
    """Return how the report was made: command line and versions."""
    return {
        "command line": shlex.join(["tau", *sys.argv[1:]]),
        "versions": f"tautochrone {__version__}, Python {platform.python_version()}",
    }


def _read_replays(paths: tuple[Path, ...], reader: TraceReader) -> Replays:
    """Read what `tau replay --json` printed. A later file's system replaces an earlier one's.

    A replay on pages may be of another recording, which its figures name. A replay of a heap must
    be of the report's trace, because its size is compared with the peak of that trace.
    """
    from tautochrone.replay.document import document_of
    from tautochrone.report.comparison import heaps
    from tautochrone.report.program import Replays

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
                f"{path} is not output of `tau replay --json`: {error}",
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
    from tautochrone.replay.open_trace import OpenTrace
    from tautochrone.replay.run import entries_of

    return entries_of(OpenTrace(reader), on.split(","), options)
