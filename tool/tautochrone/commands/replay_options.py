"""The options of a replay, which `tau replay` and `tau report` share."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tautochrone.commands.options import SKIP_MISUSE
from tautochrone.errors import TauError

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.replay.system import Options
    from tautochrone.trace.file import TraceReader

Command = TypeVar("Command", bound=Callable[..., Any])


class SizeBytes(click.IntRange):
    """A number of bytes. A multiple, such as 64K, is refused with what to write instead."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        found = re.fullmatch(r"(\d{1,9})([KMG])(?:i?B)?", str(value), re.IGNORECASE | re.ASCII)
        if found:
            size_bytes = int(found[1]) << {"K": 10, "M": 20, "G": 30}[found[2].upper()]
            self.fail(f"{value!r} is not a number of bytes; write {size_bytes}", param, ctx)
        return int(super().convert(value, param, ctx))


def systems_beginning(_ctx: click.Context, _param: click.Parameter, words: str) -> list[str]:
    """Complete the last of `words`, which are systems with commas between them."""
    from tautochrone.replay.systems import systems

    before, comma, word = words.rpartition(",")
    return [f"{before}{comma}{name}" for name in systems() if name.startswith(word)]


OPTIONS = (
    click.option(
        "--heap",
        "heap_bytes",
        type=SizeBytes(),
        help="Heap size in bytes (default: search for the safe heap).",
    ),
    click.option(
        "--layout",
        type=click.Choice(("32", "host")),
        help="Word size whose headers and alignments replay uses: a 32-bit target's, or the host's"
        " (default: the plan's, else 32 with --instructions, else the recording's own).",
    ),
    click.option(
        "--instructions",
        "isa",
        type=click.Choice(("rv32", "m4", "rv32zbb")),
        help="Count the instructions of each call on this target (default: do not count; systems on"
        " pages always count, on rv32).",
    ),
    click.option(
        "--check-level",
        type=click.IntRange(0, 2),
        help="Check level of the core (default: the plan's, else 1; 0 on pages).",
    ),
    click.option(
        "--build",
        "build_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="TOML file with check_level, optimize, flags, alignment_bytes and statistics of the"
        " core (default: the plan's build, else check level 1 and -Os).",
    ),
    click.option(
        "--frames",
        type=click.IntRange(min=1),
        help="Systems on pages: number of physical frames (default: the plan's, else one per heap"
        " page).",
    ),
    click.option(
        "--touch",
        type=click.Choice(("recorded", "all")),
        default="recorded",
        show_default=True,
        help="Systems on pages: touch the recorded granules, or every object as a whole.",
    ),
    click.option(
        "--cycles-max",
        type=click.IntRange(min=1),
        help="Tile: stop a simulation after this number of cycles (default: 2 * 10^10).",
    ),
    click.option(
        "--events",
        type=click.IntRange(min=1),
        metavar="N",
        help="Replay only the first N events (default: all).",
    ),
    SKIP_MISUSE,
)


def replay_options(command: Command) -> Command:
    """Add the options of OPTIONS to a command, in their order."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def words_of(**given: Any) -> dict[str, str]:
    """Return the words of each option that was given, by the option's name on the command line."""
    said: dict[str, str] = {}
    for option in reversed(replay_options(click.Command("any")).params):
        value = given[str(option.name)]
        if value in (None, False) or value == option.default:
            continue
        name = option.opts[0]
        said[name] = name if value is True else f"{name} {value}"
    return said


def options_of(plan: Plan | None, **given: Any) -> Options:
    """Return the options of a replay from the command line's."""
    from tautochrone.machine.core_build import load
    from tautochrone.plan.build import build_of
    from tautochrone.plan.pages import refuse_fewer_frames
    from tautochrone.replay.system import Options

    pages = plan.sections.get("pages") if plan else None
    if pages is not None and given["frames"] is not None:
        refuse_fewer_frames(pages, given["frames"])
    layout = given["layout"] or (plan.layout if plan else None)
    build = load(given["build_path"]) if given["build_path"] else build_of(plan)
    return Options(
        plan=plan,
        heap_bytes=given["heap_bytes"],
        layout=layout,
        isa=given["isa"],
        build=build,
        check_level=given["check_level"],
        skip_misuse=given["skip_misuse"],
        frames=given["frames"],
        touch_all=given["touch"] == "all",
        cycles_max=given["cycles_max"],
        pages=pages,
    )


def beginning_name(trace: Path, events: int | None) -> str:
    """Return the name of the trace, or of the trace of its first `events`."""
    return trace.name if events is None else f"{trace.stem}-first-{events}.tau"


@contextmanager
def beginning_of(trace: Path, events: int | None) -> Iterator[TraceReader]:
    """Yield the trace, opened, or a temporary trace of its first `events`."""
    from tautochrone.trace.file import open_trace

    if events is None:
        with open_trace(trace) as reader:
            yield reader
        return
    from tautochrone.trace.prefix import first_events

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / beginning_name(trace, events)
        first_events(trace, events, path)
        try:
            with open_trace(path) as reader:
                yield reader
        except TauError as error:
            message = error.message.replace(str(path), f"{trace}, first {events} events,")
            raise TauError(message, error.next_step, error.exit_code) from error
