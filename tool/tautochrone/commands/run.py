"""`tau run`: runs a program on its planned heap.

A program on one heap starts without the modules that read plans and write results.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.commands.options import FORCE, PATH, CommandWord, refuse_combinations
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath
from tautochrone.record import launch as record_launch
from tautochrone.record import program
from tautochrone.record.program import EXIT_CANNOT_RECORD as EXIT_CANNOT_RUN_SO
from tautochrone.run import cgroup, launch
from tautochrone.run.launch import How, Ran
from tautochrone.run.report import (
    KILLED,
    POOLS,
    THRESHOLD_PERCENT,
    Report,
    limits_document,
    read_report,
    refuse_unrun,
    say,
    say_death,
)

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.run.colors import Colors

HOST = "host"
LOCKED_STEP = "raise it (`ulimit -l`, or memlock in /etc/security/limits.conf)"
CGROUP_STEP = "raise it (MemoryMax of systemd, --memory of a container), or leave --lock out"
SIZED = "only planned heaps have a size"
EXCLUDED = (
    ("--colors", "--lock", ""),
    ("--colors", "--spill", ""),
    ("--colors", "--plan", "a task has its own heap"),
    ("--geometry", "--unverified", ""),
    ("--strict", "--spill", "without a spill heap it has no size"),
)
NEEDED = (
    ("--lock", ("--plan",), SIZED),
    ("--spill", ("--plan",), SIZED),
    ("--strict", ("--plan", "--colors"), SIZED),
    ("--guarantee", ("--plan",), "only plans have limits"),
    ("--threshold", ("--plan",), "only plans have limits"),
    ("--geometry", ("--colors",), ""),
    ("--unverified", ("--colors",), ""),
    ("--thread", ("--colors",), ""),
    (
        "--colors",
        ("--geometry", "--unverified"),
        "the geometry is this machine's TLBs, which `tau tlb discover -o FILE` finds",
    ),
)
WITHOUT_STRICT = "run it without --strict: the result says what does not fit the plan"


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit status: the program's own; 128 + n if signal n killed it; 125 if tau cannot "
    "run it with this plan; 126 if it cannot be run; 127 if it is not found.",
)
@click.option(
    "--plan",
    "plan_path",
    type=PATH,
    help="Plan of `tau plan` for this machine (default: one heap without a plan).",
)
@click.option(
    "--guarantee",
    "is_guaranteed",
    is_flag=True,
    help="Refuse a plan without limits, which `tau plan --guarantee` makes (default: run any"
    " plan).",
)
@click.option(
    "--threshold",
    type=click.IntRange(min=1, max=100),
    metavar="PERCENT",
    help="Warn of each band of a plan with limits that came to PERCENT of its limit (default:"
    f" {THRESHOLD_PERCENT}, of bands that also exceeded their recorded number).",
)
@click.option(
    "--colors",
    "colors_path",
    type=PATH,
    metavar="PLAN",
    help="Plan of `tau tlb plan`: heaps and stacks of its tasks lie in TLB sets of their own"
    " (default: none).",
)
@click.option(
    "--geometry",
    "geometry_path",
    type=PATH,
    metavar="FILE",
    help="This machine's TLBs, as `tau tlb discover -o FILE` found them, to compare with --colors.",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="Take the geometry of --colors as this machine's, without --geometry.",
)
@click.option(
    "--thread",
    "threads",
    multiple=True,
    metavar="N=TASK",
    help="The Nth thread that the program creates runs TASK from the start (default: its"
    " creator's task).",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse requests that do not fit the plan (default: a spill heap serves and counts them).",
)
@click.option(
    "--spill",
    "spill_bytes",
    type=click.IntRange(min=launch.SPILL_MIN_BYTES, max=launch.RESERVED_BYTES),
    metavar="BYTES",
    help="Largest size of the spill heap, 1048576 or more (default: as much as the system gives;"
    " with --lock an eighth of the plan's heap, but at least 1048576).",
)
@click.option(
    "--lock",
    is_flag=True,
    help="Map and lock all memory before the program starts, so that malloc and free make no page "
    "fault and no system call; needs --plan (default: map a page when it is used).",
)
@click.option(
    "--children",
    is_flag=True,
    help="Give the plan to child processes too (default: to the program only).",
)
@click.option(
    "--preset",
    type=click.Choice(["auto", "none"]),
    default="auto",
    show_default=True,
    help="auto: with --plan or --colors, make PHP, Python and GLib allocate through malloc, as `tau"
    " record` does. none: change nothing.",
)
@click.option(
    "--json",
    "json_path",
    type=OutputPath(),
    metavar="FILE",
    help="Write the result to FILE as one JSON document (default: none).",
)
@FORCE
@click.argument(
    "arguments", nargs=-1, type=CommandWord(), metavar="[--] PROGRAM [ARGUMENTS]..."
)
def command(
    plan_path: Path | None,
    is_guaranteed: bool,
    threshold: int | None,
    colors_path: Path | None,
    geometry_path: Path | None,
    unverified: bool,
    threads: tuple[str, ...],
    strict: bool,
    spill_bytes: int | None,
    lock: bool,
    children: bool,
    preset: str,
    json_path: Path | None,
    force: bool,
    arguments: tuple[str, ...],
) -> int:
    """Run PROGRAM with its heap in exactly the memory of its plan, or on our heap without one.

    \b
    tau run --plan plan.toml -- ./program --its arguments
    tau run --plan plan.toml --lock --json run.json -- ./program
    tau run --plan limits.toml --guarantee --threshold 90 -- ./program
    tau run --colors plan.toml --geometry host.toml -- ./program
    tau run -- ./program

    Requests that do not fit the plan are served from a spill heap, counted, and reported. With a
    plan of `tau plan --guarantee`, the report says how near each band came to its limit. Without a
    plan, the heap grows with the program, and large free memory goes back to the system.
    """
    words = _words(arguments)
    given = {
        "--plan": plan_path,
        "--guarantee": is_guaranteed,
        "--threshold": threshold,
        "--colors": colors_path,
        "--geometry": geometry_path,
        "--unverified": unverified,
        "--thread": threads,
        "--strict": strict,
        "--spill": spill_bytes,
        "--lock": lock,
    }
    refuse_combinations(given, EXCLUDED, NEEDED)
    with _own_status():
        plan, plan_hash = _plan_of(plan_path, is_guaranteed or threshold is not None)
        colors = _colors_of(colors_path, geometry_path, threads)
        if colors is not None:
            plan_hash = colors.plan_sha256
        inputs = [program.check(words, "run"), Path(shutil.which(words[0]) or words[0])]
        inputs += [path for path in (plan_path, colors_path, geometry_path) if path is not None]
        if json_path is not None:
            output_file.check(json_path, force, inputs, False)
    use_preset = preset == "auto" and (plan is not None or colors is not None)
    variables = record_launch.preset_of(dict(os.environ)) if use_preset else None
    how = How(plan, spill_bytes, strict, lock, children, variables, colors, threshold)
    _refuse_locking(how)
    if colors is not None:
        _note_tasks(colors)
    ran = launch.run(words, how)
    report = read_report(ran.report)
    refuse_unrun(report, ran.ended.exit_status, EXIT_CANNOT_RUN_SO)
    _say(report, ran, Path(words[0]).name, how, inputs[0])
    if json_path is not None:
        document = _document(report, ran, words[0], how, plan_hash)
        with _own_status(ran.ended.exit_status):
            _write(document, json_path, force, inputs)
    return ran.ended.exit_status


def _words(arguments: tuple[str, ...]) -> list[str]:
    """The program and its arguments."""
    words = list(arguments[1:] if arguments[:1] == ("--",) else arguments)
    if not words:
        raise click.UsageError("name the program to run: tau run -- PROGRAM [ARGUMENTS]...")
    return words


@contextlib.contextmanager
def _own_status(exit_status: int = 0) -> Iterator[None]:
    """Errors inside have the program's exit status, or one that is not taken for its success."""
    try:
        yield
    except TauError as error:
        error.exit_code = exit_status or max(error.exit_code, EXIT_CANNOT_RUN_SO)
        raise


def _write(document: dict[str, Any], path: Path, force: bool, inputs: list[Path]) -> None:
    with output_file.written(path, force, inputs) as partial:
        partial.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _thread_of(text: str) -> tuple[int, str]:
    """The number and the task of a --thread."""
    number, _, name = text.partition("=")
    if not (number.isascii() and number.isdigit() and int(number) > 0 and name):
        raise click.UsageError(f"--thread {text}: say N=TASK, as in --thread 1=control")
    return int(number), name


def _plan_of(path: Path | None, needs_limits: bool) -> tuple[Plan, str] | tuple[None, None]:
    """The plan and its file's hash; None without a path.

    Raises TauError if it is not for this machine, or has no limits though they are needed.
    """
    if path is None:
        return None, None
    import hashlib

    from tautochrone.plan.file import load_plan

    plan = load_plan(path)
    if needs_limits and plan.system != POOLS:
        raise TauError(
            f"{path} has no limits: it is not a plan of `tau plan --guarantee`",
            "plan with --guarantee, or leave --guarantee and --threshold out",
            EXIT_USAGE,
        )
    if plan.layout != HOST:
        raise TauError(
            f"{path} is a plan for a {plan.layout}-bit target, not for programs of this machine",
            "plan the recording again with `tau plan --layout host`",
            EXIT_USAGE,
        )
    if plan.system == POOLS:
        from tautochrone.heap.guarantee import arena_problem

        if cause := arena_problem(plan):
            raise TauError(f"{path}: {cause}", "make the plan again with `tau plan`", EXIT_USAGE)
    if plan.heap_bytes > launch.RESERVED_BYTES:
        raise TauError(
            f"{path}: a heap of {plan.heap_bytes:,} bytes; at most {launch.RESERVED_BYTES:,}",
            "plan fewer recordings at once",
            EXIT_USAGE,
        )
    return plan, hashlib.sha256(path.read_bytes()).hexdigest()


def _colors_of(
    path: Path | None, geometry_path: Path | None, threads: tuple[str, ...]
) -> Colors | None:
    """The plan of --colors; None without a path. Raises TauError as colors_of does."""
    if path is None:
        return None
    from tautochrone.run.colors import colors_of

    return colors_of(path, geometry_path, list(map(_thread_of, threads)))


def _refuse_locking(how: How) -> None:
    """Raise TauError if a limit on locked memory, or the cgroup's on memory, is below the heap."""
    if not how.is_locked or how.plan is None:
        return
    spill_bytes = launch.spill_bytes(how) or 0
    wanted_bytes = how.plan.heap_bytes + spill_bytes
    locked, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    is_limited = locked != resource.RLIM_INFINITY and os.geteuid() != 0
    for limit, name, step in (
        (locked if is_limited else None, "the limit", LOCKED_STEP),
        (cgroup.memory_limit_bytes(), "the limit of its cgroup", CGROUP_STEP),
    ):
        if limit is not None and wanted_bytes > limit:
            raise TauError(
                f"--lock needs {wanted_bytes:,} bytes of locked memory, {spill_bytes:,} of them for"
                f" the spill heap (--spill), and more for code and stacks; {name} is {limit:,}",
                step,
                EXIT_CANNOT_RUN_SO,
            )


def _note_tasks(colors: Colors) -> None:
    """Print which tasks' threads get less than the plan has, before the program starts."""
    from tautochrone.run.colors import NAME_CHARACTERS_MAX, STACK_MIN_BYTES

    if names := colors.without_stack():
        output.note(
            f"tau: ordinary stacks for threads of {', '.join(names)}: the plan's stacks are below"
            f" {STACK_MIN_BYTES:,} bytes"
        )
    if names := colors.without_thread_name():
        output.note(
            f"tau: no thread can have the name {', '.join(names)}: Linux has"
            f" {NAME_CHARACTERS_MAX} characters; use tau_task or --thread, or a shorter name"
        )


def _say(report: Report | None, ran: Ran, name: str, how: How, executable: Path) -> None:
    if report is not None and report.end == KILLED:
        signal_name = ran.ended.signal_name
        end = f"was killed by {signal_name}" if signal_name else "ended without its exit handlers"
        step = WITHOUT_STRICT if how.is_strict else "plan with a larger --margin"
        say_death(report, name, end, step)
        return
    if report is not None:
        step = WITHOUT_STRICT if how.is_strict else None
        say(report, how.plan, name, how.threshold_percent, step)
        return
    if (sanitizer := program.sanitizer(executable)) is not None:
        output.warn(f"tau: {name} left no counts: it {sanitizer[0]}", sanitizer[1])
        return
    if ran.ended.signal_name is not None:
        output.warn(
            f"tau: {name} was killed by {ran.ended.signal_name} before its end, so it left no "
            "counts",
            _step_after_signal(ran.ended.signal_name, how),
        )
    else:
        output.warn(
            f"tau: {name} left no counts: it ended without its exit handlers, or could not write "
            "them",
            "make sure that it keeps LD_PRELOAD and TAU_PRELOAD, and ends by exit",
        )


def _step_after_signal(signal_name: str, how: How) -> str:
    if how.is_strict:
        return WITHOUT_STRICT
    stacks = how.colors.with_stack() if how.colors is not None else {}
    if signal_name == "SIGSEGV" and stacks:
        sizes = ", ".join(f"{name} {size_bytes:,}" for name, size_bytes in stacks.items())
        return f"if a stack was too small (bytes: {sizes}), give the task a larger stack_bytes"
    return "let it end by itself, or by a signal that it handles"


def _document(
    report: Report | None, ran: Ran, name: str, how: How, plan_hash: str | None
) -> dict[str, Any]:
    found = report or Report()
    plan, colors = how.plan, how.colors
    of_run, limits = {}, None
    if plan is not None:
        from tautochrone.plan import bounds

        of_run = bounds.of_run(plan.sections.get(bounds.NAME))
        if plan.system == POOLS:
            limits = limits_document(report, plan, how.threshold_percent)
    return {
        "version": output.JSON_VERSION,
        "command": "run",
        "program": found.program or name,
        "plan_sha256": plan_hash,
        "is_complete": report is not None and report.end != KILLED,
        **found.document(),
        "bounds": of_run,
        "guarantee": limits,
        "colors": None if colors is None else _colors_document(colors, found),
        "exit_status": ran.ended.exit_status,
        "signal": ran.ended.signal_name,
    }


def _colors_document(colors: Colors, report: Report) -> dict[str, Any]:
    by_name = {task.name: task for task in report.tasks}
    names = [task.name for task in colors.tasks]
    geometry = colors.partition.geometry
    return {
        "geometry": geometry.name,
        "geometry_sha256": geometry.digest(),
        "is_verified": colors.is_verified,
        "pages_checked": report.pages_checked,
        "unknown_threads": report.unknown_threads,
        "tasks": [by_name[name]._asdict() for name in names if name in by_name],
    }
