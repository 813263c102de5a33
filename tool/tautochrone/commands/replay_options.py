"""The options of a replay, which `tau replay` and `tau report` share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tautochrone.errors import TauError

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.replay.system import Options

Command = TypeVar("Command", bound=Callable[..., Any])
OPTIONS = (
    click.option(
        "--heap",
        "heap_bytes",
        type=click.IntRange(min=1),
        help="Heap size in bytes (default: search for the smallest).",
    ),
    click.option(
        "--layout",
        type=click.Choice(("32", "host")),
        help="Word size whose headers and alignments replay uses: a 32-bit target's, or the host's"
        " (default: the plan's, else 32).",
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
        default=0,
        show_default=True,
        help="Check level of the core while counting.",
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
    click.option(
        "--skip-misuse",
        is_flag=True,
        help="Leave out frees that name no live object (default: refuse such a trace).",
    ),
)


def replay_options(command: Command) -> Command:
    """Add the options of OPTIONS to a command, in their order."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def options_of(plan: Plan | None, **given: Any) -> Options:
    """Return the options of a replay from those of the command line."""
    from tautochrone.plan.pages import refuse_fewer_frames
    from tautochrone.replay.system import Options

    pages = plan.sections.get("pages") if plan else None
    if pages is not None and given["frames"] is not None:
        refuse_fewer_frames(pages, given["frames"])
    layout = given["layout"] or (plan.layout if plan else "32")
    return Options(
        plan=plan,
        heap_bytes=given["heap_bytes"],
        layout=layout,
        isa=given["isa"],
        check_level=given["check_level"],
        skip_misuse=given["skip_misuse"],
        frames=given["frames"],
        touch_all=given["touch"] == "all",
        cycles_max=given["cycles_max"],
        pages=pages,
    )


@contextmanager
def beginning_of(trace: Path, events: int | None) -> Iterator[Path]:
    """Yield the trace, or a temporary trace of its first `events`."""
    if events is None:
        yield trace
        return
    from tautochrone.trace.prefix import first_events

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{trace.stem}-first-{events}.tau"
        first_events(trace, events, path)
        try:
            yield path
        except TauError as error:
            message = error.message.replace(str(path), f"{trace}, first {events} events,")
            raise TauError(message, error.next_step, error.exit_code) from error
