"""Starts a program with the recorder preloaded; waits for it and its descendants."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone import native
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.record import processes, session
from tautochrone.record.program import EXIT_CANNOT_RECORD, EXIT_CANNOT_RUN, EXIT_NOT_FOUND

if TYPE_CHECKING:
    from tautochrone.record.emulation import Emulated

# Variables that disable a program's own heap above malloc.
PRESET = {"USE_ZEND_ALLOC": "0", "PYTHONMALLOC": "malloc", "G_SLICE": "always-malloc"}
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
# Each of these signals ends the wait for the program's descendants.
ENOUGH = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Most orphans outlive their parent only for a moment; these are not reported.
GRACE_S = 0.5
POLL_S = 0.01
PR_SET_CHILD_SUBREAPER = 36
RECORDER = session.RECORDER


@dataclass(frozen=True)
class Ended:
    """How the program ended: its exit status as in a shell, and the signal that killed it.

    `running` are the descendants for which the user did not wait.
    """

    pid: int
    exit_status: int
    signal_name: str | None
    running: tuple[processes.Process, ...] = ()


def ended_key(ended: Ended, pid: int) -> dict[str, Any]:
    """Return the trace header's `ended` of a process: what its recording cannot know.

    Empty unless it is the program itself and a signal killed it.
    """
    if pid != ended.pid or ended.signal_name is None:
        return {}
    return {"ended": f"killed by {ended.signal_name}"}


def preset_of(environment: dict[str, str]) -> dict[str, str]:
    """Return the preset's variables, except those that the user has set."""
    return {name: value for name, value in PRESET.items() if name not in environment}


@contextlib.contextmanager
def preloaded_library(name: str = RECORDER) -> Iterator[str]:
    """Yield the path of a library of ours for LD_PRELOAD, as in preloadable."""
    library = native.DIRECTORY / name
    if not library.exists():
        raise TauError(
            f"{name} is missing from this installation",
            "reinstall with `pipx install .`, or `make native`",
            EXIT_CANNOT_RECORD,
        )
    with preloadable(library) as path:
        yield path


@contextlib.contextmanager
def preloadable(library: Path) -> Iterator[str]:
    """Yield a path of `library` without blanks, colons and commas: QEMU splits at them."""
    if not any(letter in str(library) for letter in " :,\t"):
        yield session.library_path(library)
        return
    import tempfile

    # The program may change or remove it.
    with tempfile.TemporaryDirectory(prefix="tau-", ignore_cleanup_errors=True) as folder:
        link = Path(folder) / library.name
        link.symlink_to(library)
        yield session.library_path(link)


def run(
    command: list[str],
    directory: Path,
    preset: dict[str, str] | None,
    follow_children: bool,
    output_to_stderr: bool,
    emulated: Emulated | None = None,
    frames: int = 0,
) -> Ended:
    """Run `command` to its end; each of its processes leaves a raw recording in `directory`.

    With `emulated` it is a program of another machine. Stacks have up to `frames`.

    `preset` None changes nothing in the program. Libraries opened with RTLD_DEEPBIND are then not
    recorded.

    Raises TauError with exit code 126 or 127 if it cannot be started. A terminal sends Ctrl-C to
    the program as well, so it is not passed on; the other usual signals are. With `follow_children`
    it then waits for all descendants, until Ctrl-C or one of these signals.
    """
    from tautochrone.record import merge

    environment = dict(os.environ) | (preset or {})
    flags = session.KEEP_DEEP_BIND if preset is None else 0
    here = (merge.ticks_per_second(), processes.seccomp_filters(), flags, frames)

    def value_of(pid: int) -> str:
        return session.recorder_value(directory.resolve(), 0 if follow_children else pid, *here)

    library = preloaded_library() if emulated is None else preloadable(emulated.library)
    with library as path:
        before = environment.pop("LD_PRELOAD", "")
        preloaded = f"{path}:{before}" if before else path
        if emulated is None:
            environment["LD_PRELOAD"] = preloaded
        else:
            # The emulator is a program of this machine: it must not load what its program loads.
            environment["TAU_RECORD_EMULATOR"] = emulated.emulation.version
            command = emulated.emulation.words(command, emulated.program, preloaded)
        return run_in(command, environment, output_to_stderr, follow_children, value_of)


def run_in(
    command: list[str],
    environment: dict[str, str],
    output_to_stderr: bool,
    follow_children: bool = True,
    value_of: Callable[[int], str] | None = None,
) -> Ended:
    """Run `command` to its end in an environment; errors, signals and waiting are as in run.

    `value_of` has the value of session.VARIABLE for the pid of the program.
    """
    # A signal that is ignored (nohup) stays ignored.
    minded = [number for number in ENOUGH if signal.getsignal(number) != signal.SIG_IGN]
    if follow_children:
        import ctypes

        # Orphans become our children, so that we know when they end.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pid, failure = _start(command, environment, value_of, output_to_stderr)
    if failure:
        os.waitpid(pid, 0)
        code = EXIT_NOT_FOUND if failure == 2 else EXIT_CANNOT_RUN
        raise TauError(f"cannot start {command[0]}: {os.strerror(failure)}", None, code)
    ended = _wait(pid)
    return replace(ended, running=_wait_for_rest(command[0], minded)) if follow_children else ended


def _start(
    command: list[str],
    environment: dict[str, str],
    value_of: Callable[[int], str] | None,
    to_stderr: bool,
) -> tuple[int, int]:
    """Fork and exec; return the child's pid and the errno of its exec, or 0."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid != 0:
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            told = pipe.read()
        return pid, int(told or b"0")
    try:
        # Python ignores these two signals, and exec keeps a signal ignored.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if to_stderr:
            os.dup2(2, 1)
        if value_of is not None:
            environment[session.VARIABLE] = value_of(os.getpid())
        os.execvpe(command[0], command, environment)
    except OSError as error:
        os.write(write_end, str(error.errno).encode())
    finally:
        os._exit(EXIT_CANNOT_RUN)


def _wait(pid: int) -> Ended:
    """Wait for the program; a signal that was passed on to it is ignored from then on.

    `timeout` sends its signal twice, to us and to our group. The second one must not end this
    process while it writes the trace.
    """
    passed: set[int] = set()

    def pass_on(number: int, _: object) -> None:
        passed.add(number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    before = {number: signal.signal(number, pass_on) for number in FORWARDED}
    before |= {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)
    }
    try:
        _, status = os.waitpid(pid, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if number in passed else handler)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ended(pid, 128 + number, _signal_name(number))
    return Ended(pid, os.WEXITSTATUS(status), None)


def _signal_name(number: int) -> str:
    """Return a signal's name. Of real-time signals only the first and the last have a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


class _Enough(Exception):
    """The user stops waiting."""


def _wait_for_rest(name: str, minded: list[signal.Signals]) -> tuple[processes.Process, ...]:
    """Wait for all descendants; return those that still live when a signal of `minded` arrives.

    That signal is ignored from then on, as in _wait, except Ctrl-C.
    """
    before = {number: signal.getsignal(number) for number in minded}

    def enough(number: int, __: object) -> None:
        for each in minded:
            signal.signal(each, signal.SIG_IGN)
        if number != signal.SIGINT:
            before[signal.Signals(number)] = signal.SIG_IGN
        raise _Enough

    try:
        for number in minded:
            signal.signal(number, enough)
        started = time.monotonic()
        while time.monotonic() - started < GRACE_S:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(POLL_S)
        _say_waiting(name)
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return ()
    except _Enough:
        return tuple(processes.descendants(os.getpid()))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_waiting(name: str) -> None:
    """Print whom the command waits for, also with -q: else it would seem to hang."""
    names = [str(process) for process in processes.descendants(os.getpid())]
    text = processes.names_text(names)
    output.warn(
        f"tau: {name} ended, but these still run: {text}",
        "wait for them, or press Ctrl-C to keep the recording so far",
    )
