"""Keeps recordings and traces during and after recording; names processes without one."""

import contextlib
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.console import output, signals
from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.record import merge, processes, program
from tautochrone.record.program import EXIT_CANNOT_RECORD
from tautochrone.record.raw_header import RawHeader
from tautochrone.trace.folder import program_name

FOLDER_PREFIX = "recording-"
# A path has at most 4096 bytes, with its final 0. The folder (the prefix and eight letters) and a
# recording's name (NAME_BYTES of linux/recorder/process.c) take some of them.
PARENT_BYTES_MAX = 4096 - 64 - len(FOLDER_PREFIX) - 10

# The recorder's list of started programs: TAU_RAW_EXECS of facts/recording.h.
EXECS_NAME = "execs"
TRACE_SUFFIX = ".tau"
NOT_LOADED = (
    "its environment was cleared, or LD_PRELOAD was overwritten (set it before tau: "
    "`LD_PRELOAD=… tau record -- PROGRAM`), or it may not write the recording as another user, or "
    "another tau record took it, or it was started under a seccomp filter"
)
STARTED_BY_EMULATED = (
    "it was started by exec, and the emulator runs the program itself and its forks only"
)
NOT_STARTED_BY_EMULATED = (
    "its exec failed: this machine cannot start it, and the emulator runs the program itself and "
    "its forks only"
)
NO_EVENTS = "it made no allocation"
DETACH_S = 0.1


@dataclass(frozen=True)
class Who:
    """One recorded process; `called` is what it was started as, if that is known."""

    program: str
    pid: int
    called: str = ""

    def __str__(self) -> str:
        """Return the process for people."""
        return f"{in_one_line(self.name)} (pid {self.pid})"

    @property
    def name(self) -> str:
        """The program's name, which --only compares."""
        return program_name([self.called], self.program)

    @property
    def file_name(self) -> str:
        """The name, as a file's: letters, digits and a few signs, none of them in front."""
        safe = re.sub(r"[^\w.+@-]+", "-", self.name).lstrip(".-")
        return safe[: output_file.NAME_CHARACTERS_MAX] or "program"


def check_output(
    out: Path | None, force: bool, programs: list[Path], as_json: bool, is_folder: bool
) -> None:
    """Refuse an output as output_file.check does, with the recorded programs as inputs.

    A folder is made if it is missing. Its files are no obstacle: a taken name gets a number.
    """
    with _exits_with(EXIT_CANNOT_RECORD):
        if out is not None and is_folder:
            try:
                out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                cause = f"{out}/: {error.strerror}"
                raise TauError(cause, "name another folder with -o") from error
            output_file.check(out / TRACE_SUFFIX, True)
        elif out is not None and out.is_dir():
            step = f"for a recording of each process in it: -o {out}/"
            raise TauError(f"{out} is a directory, not a file to write to", step)
        elif out is not None:
            output_file.check(out, force, programs, as_json)


@contextlib.contextmanager
def _exits_with(status: int) -> Iterator[None]:
    """Make failures exit with this status."""
    try:
        yield
    except TauError as error:
        error.exit_code = status
        raise


@dataclass(frozen=True)
class NotRecorded:
    """A process that left no trace, and the reason."""

    who: Who
    reason: str

    def __str__(self) -> str:
        """Return it as text."""
        return f"{self.who}: {self.reason}"

    def document(self) -> dict[str, Any]:
        """Return what --json says of it."""
        return {"program": self.who.program, "pid": self.who.pid, "reason": self.reason}


def state_folder() -> Path:
    """Return the folder of recordings until they are traces: the user's state (XDG_STATE_HOME).

    It is not the working directory, because the program may work on all files there (`tar`, `git
    add`).
    """
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base).absolute() / "tautochrone"


@contextlib.contextmanager
def raw_folder(suffix: str) -> Iterator[Path]:
    """Make the folder for raw recordings, in the user's state folder.

    It is removed at the end, also after SIGTERM, SIGHUP and Ctrl-C, once the program has ended. It
    is kept if something failed while it held a recording (a file with this suffix) or a trace.
    """
    parent = state_folder()
    path_bytes = len(os.fsencode(parent))
    if path_bytes > PARENT_BYTES_MAX:
        raise TauError(
            f"the path of the folder for recordings has {path_bytes} bytes; the recorder allows "
            f"at most {PARENT_BYTES_MAX}",
            "name a folder for recordings with XDG_STATE_HOME",
            EXIT_CANNOT_RECORD,
        )
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent))
    except OSError as error:
        raise TauError(
            f"cannot write in {parent}: {error.strerror}",
            "name a folder for recordings with XDG_STATE_HOME",
            EXIT_CANNOT_RECORD,
        ) from error
    try:
        with signals.ended_by_exceptions():
            yield folder
    except BaseException:
        raws = any(raw.stat().st_size for raw in raws_in(folder, suffix))
        traces = any(folder.glob(f"*{TRACE_SUFFIX}"))
        if raws:
            output.warn(f"tau: the raw recordings are kept: {import_step(folder, suffix)}")
        if traces:
            output.warn(f"tau: the traces are kept: {folder}/*{TRACE_SUFFIX}")
        if not raws and not traces:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def import_step(folder: Path, suffix: str) -> str:
    """The command that makes traces of all raw recordings in a folder."""
    return f'for each in {shlex.quote(str(folder))}/*{suffix}; do tau import "$each"; done'


def detach_running(found: list[tuple[Path, RawHeader]]) -> list[tuple[Path, RawHeader]]:
    """End the recordings of processes that still run; return all with their headers read again."""
    ordered = sorted(found, key=lambda item: item[1].began)
    latest = {header.pid: header.began for _, header in ordered}
    running = [
        path
        for path, header in found
        if latest[header.pid] == header.began
        and processes.runs(
            header.pid, header.program, header.page.started_unix_ns / 1e9, header.emulator_name
        )
    ]
    for path in running:
        merge.detach(path)
    if not running:
        return found
    # By then, rows with an earlier time are written.
    time.sleep(DETACH_S)
    return [(path, merge.read_raw_header(path)) for path, _ in found]


def raws_in(folder: Path, suffix: str) -> list[Path]:
    """The raw recordings in a folder, by name. Anything else that a program puts there is left out:
    a pipe or a device would never end.
    """
    return sorted(path for path in folder.glob(f"*{suffix}") if path.is_file())


def not_recorded(folder: Path, headers: list[RawHeader]) -> list[NotRecorded]:
    """Return the programs that recorded processes started and that left no recording."""
    started: dict[int, list[tuple[int, str]]] = {}
    failed: list[tuple[int, str]] = []
    noted = folder / EXECS_NAME
    for entry in noted.read_bytes().split(b"\0")[:-1] if noted.is_file() else ():
        pid, ticks, path = os.fsdecode(entry).split(" ", 2)
        of_pid = started.setdefault(int(pid), [])
        if path:
            of_pid.append((int(ticks, 16), path))
        elif of_pid:
            failed.append((int(pid), of_pid.pop()[1]))
    latest: dict[int, int] = {}
    for header in headers:
        latest[header.pid] = max(latest.get(header.pid, 0), header.page.started_ticks)
    is_emulated = any(header.emulator for header in headers)
    foreign = [one for one in failed if is_emulated and program.is_of_another_machine(one[1])]
    return (
        [NotRecorded(Who(path, pid), NOT_STARTED_BY_EMULATED) for pid, path in foreign]
        + [
            NotRecorded(
                Who(path, pid), STARTED_BY_EMULATED if is_emulated else _reason(path, NOT_LOADED)
            )
            for pid, entries in started.items()
            for ticks, path in entries
            if latest.get(pid, 0) <= ticks
        ]
        + [
            NotRecorded(
                Who(header.program, header.pid, header.called), _unnoted(header.page.execs_unnoted)
            )
            for header in headers
            if header.page.execs_unnoted
        ]
    )


def _unnoted(count: int) -> str:
    """Return the entry of a process that executed programs unseen."""
    return (
        f"it, or a child, executed {count} programs that could not write to the recordings' folder "
        "(another user or root folder, or a full disk)"
    )


def _reason(path: str, otherwise: str, target: str | None = None) -> str:
    """Return why a started program has no event: it cannot be recorded, or `otherwise`."""
    try:
        program.check([path], target=target)
    except TauError as error:
        return error.message.removeprefix(f"{path} ")
    return otherwise


def without_events(who: Who, target: str | None = None) -> NotRecorded:
    """Return the entry of a process whose recording has no event; `target` as in program.check."""
    return NotRecorded(who, _reason(who.program, NO_EVENTS, target))


def say_missing(missing: list[NotRecorded], running: tuple[processes.Process, ...]) -> None:
    """Print on stderr the processes without a trace, and those that still run."""
    idle = [str(one.who) for one in missing if one.reason == NO_EVENTS]
    if idle:
        output.note(f"tau: no trace of {processes.names_text(idle)}: no allocation to record")
    lost = [str(one) for one in missing if one.reason != NO_EVENTS]
    if lost:
        output.warn(f"tau: not recorded: {processes.names_text(lost)}")
    if running:
        names = processes.names_text([str(process) for process in running])
        output.warn(f"tau: still running, so recorded only up to now: {names}")


def place(
    files: list[tuple[Path, Who]],
    out: Path | None,
    force: bool,
    exit_status: int = 0,
    is_folder: bool = False,
) -> list[Path]:
    """Move files to their final places, over existing ones only with `force`; return the places.

    Fails (TauError) if and only if one cannot be moved there. The command's exit status is then the
    program's, `exit_status`, if that tells of a failure, and else EXIT_CANNOT_RECORD.

    With `is_folder`, all get their program's name in the folder `out`. Else the first gets the name
    `out`. The others get their program's name and pid, in the same folder, or in the current
    directory if `out` is a stream. If a name is taken, also since check_output, a number is added.
    """
    places: list[Path] = []
    numbers: dict[Path, int] = {}
    is_file = out is not None and not is_folder and not output_file.is_stream(out)
    for path, who in files:
        if out is not None and is_folder:
            wanted = out / f"{who.file_name}{path.suffix}"
        elif out is not None and not places:
            wanted = out
        elif out is not None and is_file:
            wanted = out.with_name(f"{out.stem}.{who.file_name}.{who.pid}{out.suffix}")
        else:
            wanted = Path(f"{who.file_name}.{who.pid}{path.suffix}")
        with _exits_with(exit_status or EXIT_CANNOT_RECORD):
            final = _move_to_free_name(path, wanted, force, numbers)
        if wanted == out != final:
            output.note(f"tau: {out} appeared while the program ran; {final} is the trace")
        places.append(final)
    return places


def _move_to_free_name(path: Path, wanted: Path, force: bool, numbers: dict[Path, int]) -> Path:
    """Move a file to `wanted` or, if that is taken, add the first free number.

    `numbers` has the places of this command, each with the last number that was added to it.
    """
    number = numbers.get(wanted, 0)
    while True:
        number += 1
        final = wanted
        if number > 1:
            final = wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
        if final in numbers:
            continue
        with contextlib.suppress(output_file.OutputExists):
            output_file.move(path, final, force)
            numbers[final] = 1
            numbers[wanted] = number
            return final


def bytes_text(count: int) -> str:
    """Return a number of bytes as text."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
