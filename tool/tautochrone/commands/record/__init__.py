"""`tau record`: runs a program and records each allocation and each free."""

import os
import shutil
from pathlib import Path

import click

from tautochrone.commands.options import FORCE, CommandWord, ProgramName, refuse_combinations
from tautochrone.commands.record import runs as record_runs
from tautochrone.console import output
from tautochrone.files import output_file
from tautochrone.files.paths import FolderPath, OutputPath
from tautochrone.record import (
    emulation,
    launch,
    outcome,
    preloaded,
    program,
    recordings,
    running,
)


FRAMES_MAX = 32  # facts/recording.h
TOGETHER = ("--accesses", "--target", "--stacks", "--max-events")
EXCLUDED = (
    ("--accesses", "--target", "accesses are recorded for programs of this machine"),
    ("--accesses", "--stacks", "accesses are recorded with one call site"),
)
NEEDED = (("--max-events", ("--accesses",), ""),)


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit status: the program's own; 128 + n if signal n killed it; 125 if tau cannot "
    "record it; 126 if it cannot be run; 127 if it is not found.",
)
@click.option(
    "-o",
    "--output",
    "out",
    type=OutputPath(may_be_folder=True),
    help="Trace of the command to write; FOLDER/ with a slash for a trace of each process, named"
    " after its program; with --runs the folder of the runs (default: PROGRAM.PID.tau).",
)
@click.option(
    "--only",
    type=ProgramName(),
    metavar="NAME",
    multiple=True,
    help="Keep only processes of programs of this name, as they were started (argv[0] without"
    " folders); it may have *, ? and [], and be given several times (default: all).",
)
@click.option(
    "--runs",
    type=click.IntRange(1, record_runs.RUNS_MAX),
    metavar="N",
    default=1,
    show_default=True,
    help="Record the command N times, to FOLDER/1.tau … N.tau.",
)
@FORCE
@click.option(
    "--raw",
    is_flag=True,
    help="Keep the raw recordings (.tauraw) for `tau import` (default: merge them into traces).",
)
@click.option(
    "--accesses",
    type=click.Choice(["first", "full"]),
    is_flag=False,
    flag_value="first",
    help="Record under Valgrind when the program uses each 16-byte granule of an object: the first "
    "use, or with --accesses=full every use (default: record no uses).",
)
@click.option(
    "--max-events",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --accesses: write only the first N events (default: all).",
)
@click.option(
    "--stacks",
    "stack_frames",
    type=click.IntRange(2, FRAMES_MAX),
    metavar="N",
    help="Record up to N calls of each allocation's stack (default: the innermost call).",
)
@click.option(
    "--preset",
    type=click.Choice(["auto", "none"]),
    default="auto",
    show_default=True,
    help="auto: make PHP, Python and GLib allocate through malloc. none: change nothing.",
)
@click.option(
    "--children/--no-children",
    default=True,
    show_default=True,
    help="Also record child processes.",
)
@click.option(
    "--target",
    type=click.Choice(emulation.NAMES),
    help="Record a program of another machine under user-mode QEMU: arm64, armhf (32-bit Arm "
    "Linux, whose structures have the layout of Cortex-M) or riscv64. i386 and riscv32 print "
    "what to record instead (default: a program of this machine).",
)
@click.option(
    "--pid",
    type=click.IntRange(min=1),
    help="Print how to record the program or service of this running process: start it again, as"
    " tau cannot attach to it (default: run PROGRAM).",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the result as one JSON document; the program's output goes to stderr.",
)
@click.argument(
    "arguments", nargs=-1, type=CommandWord(), metavar="[--] PROGRAM [ARGUMENTS]..."
)
def command(
    out: Path | None,
    only: tuple[str, ...],
    runs: int,
    force: bool,
    raw: bool,
    accesses: str | None,
    max_events: int | None,
    stack_frames: int | None,
    preset: str,
    children: bool,
    target: str | None,
    pid: int | None,
    as_json: bool,
    arguments: tuple[str, ...],
) -> int:
    """Run PROGRAM and record each allocation and each free.

    \b
    tau record -- ./program --its arguments
    tau record --runs 5 --only cc1 -o runs -- gcc -c x.c
    tau record -o recordings/ -- make
    tau record --stacks 8 -- ./program
    tau record --accesses -o out.tau -- ./program
    tau record --target armhf -o out.tau -- ./arm-program

    Each process gets a trace. With -o, the command's own process gets that name, or with --only the
    largest that is kept; the traces of the others are written to the same folder, named after
    program and pid. -o FOLDER/ adds to what is in the folder: a name that is taken gets a number.

    With --runs, the others are in FOLDER/children, and the exit status comes from the first run
    that failed. Each run reads stdin from the start, which must not be a pipe. Ctrl-C ends all.
    """
    if pid is not None:
        raise running.refusal(pid)
    words = _words(arguments, (accesses, target, stack_frames, max_events))
    machine = None if target is None else emulation.find(target)
    programs = [program.check(words, target=target), Path(shutil.which(words[0]) or words[0])]
    is_folder = isinstance(out, FolderPath) and runs == 1
    if runs > 1:
        folder = record_runs.check(out, runs, (("--raw", raw), ("--accesses", accesses)), force)
    else:
        recordings.check_output(out, force, programs, as_json, is_folder)
    how = outcome.Options(
        preset=launch.preset_of(dict(os.environ)) if preset == "auto" else None,
        children=children, raw=raw, force=force, as_json=as_json,
        # The program's output must not mix with a result on stdout.
        output_to_stderr=as_json or (out is not None and output_file.is_stdout(out)),
        only=only,
        is_folder=is_folder,
        stack_frames=stack_frames or 0,
    )  # fmt: skip
    if accesses is not None:
        from tautochrone.record import accesses_command
        return accesses_command.record(words, out, how, accesses == "full", max_events)
    emulated = None if machine is None else emulation.prepare(machine, *programs)
    preloaded.note_start(words[0], how, emulated)
    if runs > 1:

        def one(path: Path) -> record_runs.FinishedRun:
            result, traces, ended = preloaded.record(words, path, how, emulated)
            return record_runs.FinishedRun(result, [trace.path for trace in traces], ended)

        return record_runs.record(folder, runs, one, as_json)
    result, traces, ended = preloaded.record(words, out, how, emulated)
    if as_json:
        output.emit(True, "record", result, lambda: None)
    else:
        preloaded.note_summary(traces, ended, is_folder)
    return ended.exit_status


def _words(arguments: tuple[str, ...], options: tuple[object, ...]) -> list[str]:
    """The command line to record. Raises UsageError if there is none, or for OPTIONS, which are
    the values of TOGETHER.
    """
    refuse_combinations(dict(zip(TOGETHER, options, strict=True)), EXCLUDED, NEEDED)
    words = list(arguments[1:] if arguments[:1] == ("--",) else arguments)
    if not words:
        raise click.UsageError("name the program to record: tau record -- PROGRAM [ARGUMENTS]...")
    return words
