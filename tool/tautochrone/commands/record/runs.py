"""`tau record --runs N`: several recordings of one command, in one folder.

FOLDER/1.tau to FOLDER/N.tau are of the command's own process, one of each run (with --only of the
largest that is kept). The traces of other processes are in FOLDER/children. Runs that did not end
by themselves leave no trace.
"""

import contextlib
import os
import shlex
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.record import launch, outcome
from tautochrone.record.program import EXIT_CANNOT_RECORD
from tautochrone.trace.folder import SUFFIX

RUNS_MAX = 1000
CHILDREN = "children"
ASIDE = ".earlier"
# A run that one of these ended is the last: somebody wants the command to stop.
STOPPED_BY = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


@dataclass(frozen=True)
class FinishedRun:
    """Results of a run: its JSON, its traces with the main one first, how the program ended."""

    document: dict[str, Any]
    paths: list[Path]
    ended: launch.Ended

    @property
    def first(self) -> dict[str, Any]:
        """The JSON of the main trace."""
        return dict(self.document["trace"])

    @property
    def program(self) -> str:
        """The name of its program."""
        return str(self.first["name"])


def check(
    folder: Path | None, runs: int, others: Sequence[tuple[str, object]], force: bool
) -> Path:
    """The folder of the runs. Raises UsageError or TauError if N runs cannot be recorded.

    `others` are the names of options that need one run, and whether they are given.
    """
    if folder is None or output_file.is_stdout(folder):
        raise click.UsageError(f"--runs {runs} needs a folder for its traces: -o FOLDER")
    for name, is_given in others:
        if is_given:
            raise click.UsageError(f"--runs and {name} exclude each other: record each run alone")
    if folder.exists() and not folder.is_dir():
        raise TauError(
            f"{folder} is a file; {runs} runs need a folder",
            "name another folder with -o",
            EXIT_CANNOT_RECORD,
        )
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise TauError(
            f"{folder} is not empty",
            "name another folder with -o, or replace its numbered traces with --force",
            EXIT_CANNOT_RECORD,
        )
    if stat.S_ISFIFO(os.fstat(0).st_mode) or stat.S_ISSOCK(os.fstat(0).st_mode):
        raise TauError(
            f"stdin is a pipe, which only the first of {runs} runs could read",
            "give each run the same input from a file, < FILE, or none, < /dev/null",
            EXIT_CANNOT_RECORD,
        )
    return folder


def record(folder: Path, runs: int, once: Callable[[Path], FinishedRun], as_json: bool) -> int:
    """Record a command some times; returns the status of the first run that failed, else 0.

    `once` records it to a path.
    """
    start = os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(os.fstat(0).st_mode) else None
    folder.mkdir(parents=True, exist_ok=True)
    done: dict[int, FinishedRun] = {}
    lost: dict[int, launch.Ended] = {}
    with _set_aside(folder, done):
        for number in range(1, runs + 1):
            if start is not None:
                os.lseek(0, start, os.SEEK_SET)
            run = once(folder / f"{number:0{len(str(runs))}}{SUFFIX}")
            if run.ended.signal_name is None:
                done[number] = _with_children_apart(run, folder / CHILDREN)
                continue
            lost[number] = run.ended
            for path in run.paths:
                path.unlink()
            if run.ended.signal_name in STOPPED_BY:
                break
    _report(folder, runs, done, lost)
    status = next((end.exit_status for end in _ends(done, lost) if end.exit_status), 0)
    if as_json:
        document = {
            "exit_status": status,
            "folder": str(folder),
            "runs": [{"number": number, **one.document} for number, one in done.items()],
            "incomplete": [
                {"number": number, "exit_status": end.exit_status, "signal": end.signal_name}
                for number, end in lost.items()
            ],
        }
        output.emit(True, "record", document, lambda: None)
    return status


def _ends(done: dict[int, FinishedRun], lost: dict[int, launch.Ended]) -> list[launch.Ended]:
    """How the runs ended, in their order."""
    found = {number: one.ended for number, one in done.items()} | lost
    return [found[number] for number in sorted(found)]


@contextlib.contextmanager
def _set_aside(folder: Path, done: dict[int, FinishedRun]) -> Iterator[None]:
    """Set the traces of an earlier command aside: those with the names of runs. They come back
    unless a run is done.
    """
    earlier = [path for path in folder.glob(f"*{SUFFIX}") if path.stem.isdecimal()]
    earlier += [folder / CHILDREN] if (folder / CHILDREN).is_dir() else []
    aside = folder / ASIDE
    if earlier:
        aside.mkdir()
    for path in earlier:
        path.rename(aside / path.name)
    try:
        yield
    finally:
        for path in earlier if not done else ():
            (aside / path.name).rename(path)
        shutil.rmtree(aside, ignore_errors=True)


def _with_children_apart(run: FinishedRun, children: Path) -> FinishedRun:
    """Move all traces of a run but the main one into the folder `children`."""
    final = run.paths[:1]
    for path in run.paths[1:]:
        children.mkdir(exist_ok=True)
        final.append(path.rename(children / path.name))
    documents = [run.document["trace"], *run.document["others"]]
    moved = [one | {"path": str(path)} for one, path in zip(documents, final, strict=True)]
    return FinishedRun(run.document | {"trace": moved[0], "others": moved[1:]}, final, run.ended)


def _report(
    folder: Path, runs: int, done: dict[int, FinishedRun], lost: dict[int, launch.Ended]
) -> None:
    for number, end in lost.items():
        why = "was stopped" if end.signal_name in STOPPED_BY else "was killed"
        output.warn(f"tau: run {number} {why} by {end.signal_name}: no trace is kept of it")
    missing = runs - len(done) - len(lost)
    if missing:
        output.warn(f"tau: {output.count(missing, 'run')} of {runs} did not start")
    if not done:
        if not any(folder.iterdir()):
            folder.rmdir()
        return
    _report_different(done, "exited with", lambda one: str(one.ended.exit_status))
    _report_different(done, "recorded", lambda one: one.program)
    events = [one.first["events"] for one in done.values()]
    peaks = [one.first["peak_live_bytes"] for one in done.values()]
    name = next(iter(done.values())).program
    output.note(
        f"tau: {output.count(len(done), 'run')} of {name}: {output.span(events)} events,"
        f" peak {output.span(peaks)} bytes"
    )
    children = sum(len(one.paths) - 1 for one in done.values())
    others = f"; {output.count(children, 'trace')} of other processes in {CHILDREN}/"
    output.note(f"tau: {folder}: {_names(done)}{others if children else ''}")
    output.note(f"  next: tau plan {shlex.quote(str(folder))} -o plan.toml")
    some = next(iter(done.values())).document
    outcome.note_larger([some["trace"], *some["others"]])


def _names(done: dict[int, FinishedRun]) -> str:
    names = [one.paths[0].name for one in done.values()]
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def _report_different(
    done: dict[int, FinishedRun], verb: str, fact: Callable[[FinishedRun], str]
) -> None:
    """Name the runs in which a fact differs from most runs."""
    facts = {number: fact(one) for number, one in done.items()}
    usual, count = Counter(facts.values()).most_common(1)[0]
    for number, found in facts.items():
        if found != usual:
            output.warn(
                f"tau: run {number} {verb} {found}, {count} of {len(done)} {verb} {usual}",
                f"leave it out of the plan: rm {done[number].paths[0]}",
            )
    if verb == "exited with" and usual != "0":
        output.warn(f"tau: {count} of {len(done)} runs {verb} {usual}")
