"""`tau plan`: makes a plan file, and on request a C header, from recordings."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Generator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.commands.options import FORCE, JSON, PATH, SKIP_MISUSE, ProgramName
from tautochrone.commands.replay_options import SizeBytes
from tautochrone.console import bars, output
from tautochrone.console.signals import Interrupt
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath
from tautochrone.plan.file import BANDS, CLASSES_MAX, LAYOUTS, MARGIN_MAX, PLANNERS
from tautochrone.heap.pools import AUTO, WAYS
from tautochrone.trace.ending import note_ending
from tautochrone.trace.folder import of_one_program

if TYPE_CHECKING:
    from tautochrone.heap.plan import Made, Wanted
    from tautochrone.machine.core_build import Build
    from tautochrone.plan.file import Plan
    from tautochrone.trace.ending import Ending

MARGIN_CHARACTERS_MAX = 40


class Margin(click.ParamType):
    """A margin, as `10%` or `0.1`. A whole number without % is ambiguous, so it is refused."""

    name = "PERCENT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The margin as a fraction."""
        if isinstance(value, float):
            return value
        try:
            is_percent = value.endswith("%")
            if len(value) > MARGIN_CHARACTERS_MAX or "e" in value.lower():
                raise ValueError
            margin = Fraction(value.rstrip("%")) / (100 if is_percent else 1)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a margin; write for example 10%", param, ctx)
        if not is_percent and margin >= 1:
            self.fail(f"{value!r} is ambiguous; write {value}%", param, ctx)
        if not 0 <= margin <= MARGIN_MAX:
            self.fail(f"{value!r} is not from 0% to {MARGIN_MAX * 100:g}%", param, ctx)
        return float(margin)


class HeapLimit(SizeBytes):
    """A number of bytes. A file is refused with the option that takes one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if Path(str(value)).suffix == ".toml":
            self.fail(f"{value!r} is not a number of bytes; a file goes to --limits", param, ctx)
        return super().convert(value, param, ctx)


# The end of the help.
FILES_HELP = """
A file of --build has a line for each option of the core that is not the default:

\b
check_level = 0             (TAU_CHECK_LEVEL)
optimize = "-O2"
flags = ["-fno-inline"]
alignment_bytes = 4         (TAU_ALIGNMENT, 32-bit targets only)
statistics = false          (TAU_STATISTICS=0: shorter calls. The ports for newlib,
                            FreeRTOS, Zephyr and Rust do not compile with it.)

With --guarantee, no call fails while every band of sizes stays within its limit. Limits are
recorded numbers with the margin. Those of a file of --limits win over them, and add to what other
sizes of their band need:

\b
format = "tautochrone limits"
version = 1
[[limit]]
name = "messages"    (as you like)
size_bytes = 96      (or type_name = "struct message", with --elf, or site = "+0x45f")
count = 32
[[exclusive]]        (limits whose objects are never alive together)
limits = ["messages", "replies"]
"""


@click.command(epilog=FILES_HELP)
@click.argument("traces", type=PATH, nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "plan_path",
    type=OutputPath(),
    help="Plan file to write; - is stdout (default: none).",
)
@click.option(
    "--only",
    type=ProgramName(),
    metavar="NAME",
    multiple=True,
    help="Use only recordings of programs of this name, as `tau record --only` does (default: all,"
    " which in a folder must be of one program).",
)
@click.option(
    "--planner",
    type=click.Choice([each for each in PLANNERS if each != BANDS]),
    default="replayed",
    show_default=True,
    help="How to choose the pools; the planners are described above.",
)
@click.option(
    "--guarantee",
    "is_guaranteed",
    is_flag=True,
    help="Plan pools for bands of sizes that cannot fail within their limits, in any order of calls"
    " (core/pools.h); --margin is added to the limits (default: 15%).",
)
@click.option(
    "--limits",
    "limits_path",
    type=PATH,
    help="With --guarantee: TOML file with limits of your own, which win over recorded ones"
    " (default: none).",
)
@click.option(
    "--elf",
    "elf_path",
    type=PATH,
    help="With --limits: recorded program, compiled with -g, that has the types of the limits"
    " (default: none).",
)
@click.option(
    "--compare",
    "is_compared",
    is_flag=True,
    help="With --guarantee: also search for the plan without it, which takes longer (default: only"
    " state the memory that other allocators need).",
)
@click.option(
    "--classes-max",
    type=click.IntRange(0, CLASSES_MAX),
    default=CLASSES_MAX,
    show_default=True,
    help="Largest number of sizes that get a pool.",
)
@click.option(
    "--margin",
    type=Margin(),
    default=None,
    help="Percentage of the measured heap to add to it, as in 10% (default: derived from the"
    " spread of the recordings; 0% with --fixed-input).",
)
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    help="Word size whose headers and alignments the plan uses: a 32-bit target's, or the host's"
    " (default: the layout of the recordings' ABI; 32 if they name none).",
)
@click.option(
    "--build",
    "build_path",
    type=PATH,
    help="TOML file with check_level, optimize, flags, alignment_bytes and statistics of the core"
    " in your firmware (default: check level 1, -Os, the layout's alignment, statistics).",
)
@click.option(
    "--alignment",
    type=click.Choice([4]),
    help="Alignment of objects in bytes, for a 32-bit target whose core is built with"
    " TAU_ALIGNMENT=4. An object then takes up to 4 bytes less; one that needs 8, such as a double,"
    " must be requested with its alignment (default: 8, or the file of --build).",
)
@click.option(
    "--pools",
    type=click.Choice(WAYS),
    default=AUTO,
    show_default=True,
    help="Whether the plan has pools; auto: if they save more memory than runs differ by.",
)
@click.option(
    "--sizes-as-recorded",
    "is_as_recorded",
    is_flag=True,
    help="Take sizes that were recorded on another ABI as they are, without pools (default: such a"
    " plan is an estimate, and no header is written from it).",
)
@click.option(
    "--header",
    "header_path",
    type=OutputPath(),
    help="C header to write the plan to as well (default: none).",
)
@FORCE
@click.option(
    "--limit",
    "limit_bytes",
    type=HeapLimit(),
    help="Largest heap in bytes; exit with 3 if the plan needs more (default: no limit).",
)
@SKIP_MISUSE
@click.option(
    "--fixed-input",
    "is_input_fixed",
    is_flag=True,
    help="Judge plans by these recordings alone, as the program has no other inputs (default: also"
    " judge them by shorter runs). Not with --guarantee, whose limits are for other inputs.",
)
@JSON
def command(
    traces: tuple[Path, ...],
    plan_path: Path | None,
    only: tuple[str, ...],
    is_guaranteed: bool,
    limits_path: Path | None,
    elf_path: Path | None,
    is_compared: bool,
    build_path: Path | None,
    alignment: int | None,
    header_path: Path | None,
    force: bool,
    limit_bytes: int | None,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Find pools and a heap size that hold all of TRACES.

    \b
    tau plan runs -o plan.toml
    tau plan small.tau large.tau --margin 10% -o plan.toml --header plan.h
    tau plan program.tau --limit 65536 --json
    tau plan runs --guarantee -o plan.toml --header plan.h
    tau plan runs --guarantee --limits limits.toml -o plan.toml

    The planner `replayed` chooses by replay; on these recordings its plan never needs more than
    plain TLSF. The planners `greedy`, `exact` and `exhaustive` maximize the paper's formula for
    dedicated bytes. The heap of every plan is measured by replay. The recordings fit in
    every larger heap, too (with large alignments, in those up to a quarter larger).

    A structure with pointers has another size on another machine. A plan for a target is exact only
    if its recordings have the target's sizes: from the firmware (core/ports/record_wrap.c), from a
    build for 32-bit Arm Linux (tau record --target armhf), or translated (tau translate). A 64-bit
    program's recording is planned for its machine; with --layout 32 the plan is an estimate.

    A folder stands for all *.tau in it. These must be of one program, or --only names it; files
    that you name may differ. The margin follows from how much several recordings differ. One
    recording says nothing about other runs, so its margin is larger.

    With recordings of accesses, the plan also states the frames that a heap on pages reserves.
    Ctrl-C ends a long search, and the best plan so far is written; a second one writes nothing.
    """
    traces = of_one_program(traces, only)
    outputs = [path for path in (plan_path, header_path) if path is not None]
    files = {"--limits": limits_path, "--elf": elf_path, "--build": build_path}
    inputs = [*traces, *filter(None, files.values())]
    for index, path in enumerate(outputs):
        output_file.check(path, force, [*inputs, *outputs[:index]], as_json)
    from tautochrone.heap.plan import Wanted

    files["--header"] = header_path
    how = Wanted(**wanted, build=_build_of(build_path, alignment))
    is_shown = not any(map(output_file.is_stdout, outputs))
    if is_guaranteed:
        from tautochrone.commands.plan import guarantee

        planned = guarantee.made_and_saved(traces, how, files, plan_path, force)
        if is_shown:
            how = replace(how, layout=planned.plan.layout)
            order = guarantee.recorded_order(planned, how, is_compared)
            result = guarantee.result_of(planned, order, limit_bytes)
            show = functools.partial(guarantee.show, planned, order)
            output.emit(as_json, "plan", result, lambda: show(traces, plan_path, header_path))
        return _ended(traces, planned.endings, planned.plan, limit_bytes)
    _refuse_alone({"--limits": limits_path, "--elf": elf_path, "--compare": is_compared})
    made = _made_and_saved(traces, how, files, plan_path, force)
    if is_shown:
        _show(made, limit_bytes, as_json, (traces, plan_path, header_path))
    return _ended(traces, made.endings, made.plan, limit_bytes)


def _show(made: Made, limit_bytes: int | None, as_json: bool, files: tuple[Any, ...]) -> None:
    """Print the plan."""
    from tautochrone.commands.plan import printing

    result = printing.result_of(made, limit_bytes)
    output.emit(as_json, "plan", result, lambda: printing.show(made, *files))


def _build_of(path: Path | None, alignment: int | None) -> Build:
    """The build of the file at `path`, with the alignment of the command line, if there is one."""
    from tautochrone.machine.core_build import Build, load

    build = load(path) if path else Build()
    return replace(build, alignment_bytes=alignment or build.alignment_bytes)


def _refuse_alone(options: dict[str, Path | bool | None]) -> None:
    """Raise TauError for options of a guarantee without one."""
    for option, is_given in options.items():
        if is_given:
            raise TauError(f"{option} needs --guarantee", "add --guarantee", EXIT_USAGE)


def _ended(
    traces: tuple[Path, ...], endings: tuple[Ending, ...], plan: Plan, limit_bytes: int | None
) -> int:
    """Say how the recordings ended, and compare the heap with the limit."""
    for path, ending in zip(traces, endings, strict=True):
        note_ending(path, ending)
    if limit_bytes is not None and plan.heap_bytes > limit_bytes:
        raise TauError(
            f"the heap needs {plan.heap_bytes:,} bytes, the limit is {limit_bytes:,}:"
            f" {plan.heap_bytes - limit_bytes:,} bytes are missing",
            "raise the limit, or see in `tau report` which sizes are live at the peak",
            EXIT_LIMIT_EXCEEDED,
        )
    return EXIT_DONE


def _tick(bar: Generator[int], interrupt: Interrupt) -> None:
    """A replay of the search is done: move the bar. After Ctrl-C, close it and end the search."""
    from tautochrone.heap.recordings import SearchEnded

    is_open = next(bar, None) is not None
    if interrupt.is_asked:
        bar.close()
        if is_open:
            output.note("interrupted: measuring the best plan so far; Ctrl-C again writes nothing")
        raise SearchEnded


def _made_and_saved(
    traces: tuple[Path, ...],
    wanted: Wanted,
    files: Mapping[str, Path | None],
    plan_path: Path | None,
    force: bool,
) -> Made:
    """Make the plan, and write its file and its header."""
    from tautochrone.commands.plan import printing
    from tautochrone.plan.file import save_plan
    from tautochrone.plan.header import save_header
    from tautochrone.heap.plan import make_plan, replays_at_most, with_sections
    from tautochrone.plan.sizes import refuse_header
    from tautochrone.trace.file import open_trace

    header_path = files["--header"]
    readers = [open_trace(trace) for trace in traces]
    most = replays_at_most([reader.totals.events for reader in readers], wanted)
    bar = bars.progress(itertools.count(), "replaying plans", most)
    with Interrupt() as interrupt:
        tick = functools.partial(_tick, bar, interrupt)
        made = make_plan(readers, wanted, tick)
    bar.close()
    if header_path is not None:
        refuse_header(made.plan)
    if interrupt.is_asked:
        output.note(printing.INTERRUPTED)
    printing.note_search(made)
    made = with_sections(made, wanted.skip_misuse, output.note)
    made_by = printing.made_by(traces, wanted, made.plan, files)
    if plan_path is not None:
        remarks = (printing.INTERRUPTED,) * interrupt.is_asked
        save_plan(made.plan, plan_path, made_by, (*remarks, *printing.notes(made)), force)
    if header_path is not None:
        save_header(made.plan, header_path, made_by, force)
    return made
