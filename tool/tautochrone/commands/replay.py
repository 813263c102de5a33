"""`tau replay`: replays a recording on systems; reports their memory, cost and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone import unseen
from tautochrone.commands.options import FILE, JSON
from tautochrone.commands.replay_options import (
    beginning_of,
    options_of,
    replay_options,
    systems_beginning,
    words_of,
)
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED
from tautochrone.trace.ending import note_ending

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.replay.entry import Entry


def _planned(plan: Plan | None) -> str:
    """The system that a plan is for; a plan without pools runs as a budget without classes."""
    return "pools" if plan and plan.system == "pools" else "budget"


class _WithSystems(click.Command):
    """A command whose help ends with a list of all systems."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from tautochrone.replay.systems import systems

        with formatter.section("Systems"):
            formatter.write_dl([(name, system.about) for name, system in systems().items()])


def _note_blindness(trace: Path, entries: Sequence[Entry]) -> None:
    """Say that a replay on pages knows no accesses."""
    if any(entry.pages is not None and entry.pages.is_blind for entry in entries):
        cause = f"{trace} holds no accesses, so pages are mapped for headers and calloc only"
        output.note(f"{cause}; record with `tau record --accesses`, or give --touch all")


@click.command(cls=_WithSystems)
@click.argument("trace", type=FILE)
@click.option(
    "--on",
    "on",
    shell_complete=systems_beginning,
    help="Systems to replay on, as in tlsf,budget,glibc (default: tlsf; with --plan also"
    " the plan's). library:FILE is an object, an archive or a shared library with the functions of"
    " core/ports/library.h, for this machine, RV32 or Cortex-M.",
)
@click.option(
    "--plan",
    "plan_path",
    type=FILE,
    help="Plan that `tau plan` wrote; systems budget and pools need one (default: none).",
)
@replay_options
@JSON
def command(
    trace: Path,
    on: str | None,
    plan_path: Path | None,
    events: int | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Replay TRACE on one or more systems; report memory, cost and bounds.

    \b
    tau replay program.tau --on tlsf,budget,glibc --plan plan.toml
    tau replay program.tau --plan plan.toml --heap 65536
    tau replay program.tau --plan plan.toml --instructions rv32
    tau replay program.tau --on tlsf,library:my_allocator.o --instructions m4
    tau replay program.tau --on rtvm,conventional
    tau replay program.tau --on tile:rtmmu,tile:pagetable --events 100000

    Without --heap, replay finds the safe heap. Every larger heap of tlsf and budget holds the
    trace, too (up to a quarter larger if alignments are large); of others, 16 to 480 sizes up to a
    quarter larger do. Exit status 3: the trace did not complete on a system in --heap. Instructions
    of our heaps, first-fit and target libraries are counted, without payload copies.

    rtvm and conventional are heaps on pages. Their replay reports peak mapped pages and the cost of
    malloc, free and page faults. `tau record --accesses` records which pages a program touches.

    tile:rtmmu and tile:pagetable run the same heaps on a simulated processor with a memory
    management unit, and count exact cycles. A suffix selects the processor: :small-b, :fast or
    :fast-b (default: small). Suffix :pipelined selects tables that are as slow as the page table.
    The simulator runs about three million cycles per second; --events shortens a long trace.
    """
    from tautochrone.plan.file import load_plan
    from tautochrone.plan.remarks import note_plan
    from tautochrone.replay.open_trace import OpenTrace
    from tautochrone.replay.run import entries_of
    from tautochrone.report.text import Replayed, show
    from tautochrone.who.calls import calls_at

    plan = load_plan(plan_path) if plan_path else None
    names = on.split(",") if on else ["tlsf", _planned(plan)][: 2 if plan else 1]
    options = options_of(plan, **given)
    with beginning_of(trace, events) as reader:
        entries = entries_of(opened := OpenTrace(reader), names, options)
        refused = calls_at(reader, [one.failed_at_event for one in entries])
    _note_blindness(trace, entries)
    result = {
        "trace": str(trace),
        "plan": str(plan_path) if plan_path else None,
        "layout": options.layout_of(opened.header),
        "heap_bytes": options.heap_bytes,
        "instructions": options.isa,
        "check_level": options.core_build.check_level,
        "optimize": options.core_build.optimize if options.isa else None,
        "first_events": events,
        "touch": given["touch"],
        "ending": opened.ending.document(),
        **opened.document(),
        "systems": [entry.document() for entry in entries],
        "refused": [call.document() for call in refused.values()],
        unseen.KEY: list(unseen.REPLAY),
    }
    replayed = Replayed(
        *(str(trace), result["plan"], options.heap_bytes, options.isa, options.core_build.told()),
        *(entries, words_of(**given, events=events), _planned(plan)),
        {event: call.told() for event, call in refused.items()},
    )
    output.emit(as_json, "replay", result, lambda: show(replayed))
    note_ending(trace, opened.ending)
    note_plan(plan_path, plan, opened.header)
    return EXIT_DONE if all(entry.held for entry in entries) else EXIT_LIMIT_EXCEEDED
