"""Starts a program with the recorder preloaded, waits for it, and passes its end on."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tautochrone import merge, native
from tautochrone.errors import TauError
from tautochrone.program import EXIT_CANNOT_RECORD, EXIT_CANNOT_RUN, EXIT_NOT_FOUND

# Programs that keep a heap of their own above malloc, and the switch that turns it off.
PRESET = {"USE_ZEND_ALLOC": "0", "PYTHONMALLOC": "malloc", "G_SLICE": "always-malloc"}
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Ended:
    """How the program ended: exit status as a shell tells it, and the signal that killed it."""

    pid: int
    exit_status: int
    signal_name: str | None


def preset_of(environment: dict[str, str]) -> dict[str, str]:
    """Return the preset's variables that the user has not set to something else."""
    return {name: value for name, value in PRESET.items() if name not in environment}


@contextlib.contextmanager
def preloaded_library() -> Iterator[str]:
    """Yield the recorder's path as LD_PRELOAD can name it: without blanks and colons."""
    library = native.DIRECTORY / "libtau_record.so"
    if not library.exists():
        raise TauError(
            "libtau_record.so is missing from this installation",
            "reinstall with `pipx install .`, or `make native`",
            EXIT_CANNOT_RECORD,
        )
    if not any(letter in str(library) for letter in " :\t"):
        yield str(library)
        return
    with tempfile.TemporaryDirectory(prefix="tau-") as folder:
        link = Path(folder) / library.name
        link.symlink_to(library)
        yield str(link)


def run(
    command: list[str],
    directory: Path,
    preset: dict[str, str] | None,
    follow_children: bool,
    output_to_stderr: bool,
) -> Ended:
    """Run `command` to its end; each of its processes leaves a raw recording in `directory`.

    `preset` None changes nothing in the program: RTLD_DEEPBIND then keeps libraries out of sight.

    Raises TauError with exit code 126 or 127 if it cannot be started. Ctrl-C is the program's, as a
    terminal sends it to both; the other usual signals are passed on.
    """
    with preloaded_library() as library:
        environment = dict(os.environ) | (
            {"TAU_RECORD_DEEPBIND": "keep"} if preset is None else preset
        )
        before = environment.get("LD_PRELOAD", "")
        environment["LD_PRELOAD"] = f"{library}:{before}" if before else library
        environment["TAU_RECORD_DIRECTORY"] = str(directory.resolve())
        environment["TAU_RECORD_TICKS_PER_SECOND"] = str(merge.ticks_per_second())
        return run_in(command, environment, output_to_stderr, follow_children)


def run_in(
    command: list[str],
    environment: dict[str, str],
    output_to_stderr: bool,
    follow_children: bool = True,
) -> Ended:
    """Run `command` to its end in an environment; errors and signals as with run."""
    pid, failure = _start(command, environment, follow_children, output_to_stderr)
    if failure:
        os.waitpid(pid, 0)
        code = EXIT_NOT_FOUND if failure == 2 else EXIT_CANNOT_RUN
        raise TauError(f"cannot start {command[0]}: {os.strerror(failure)}", None, code)
    return _wait(pid)


def _start(
    command: list[str], environment: dict[str, str], follow_children: bool, output_to_stderr: bool
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
        # Python ignores these two, and an ignored signal stays ignored after exec.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if output_to_stderr:
            os.dup2(2, 1)
        if not follow_children:
            environment["TAU_RECORD_ONLY_PID"] = str(os.getpid())
        os.execvpe(command[0], command, environment)
    except OSError as error:
        os.write(write_end, str(error.errno).encode())
    finally:
        os._exit(EXIT_CANNOT_RUN)


def _wait(pid: int) -> Ended:
    def pass_on(number: int, _: object) -> None:
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
            signal.signal(number, handler)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ended(pid, 128 + number, signal.Signals(number).name)
    return Ended(pid, os.WEXITSTATUS(status), None)
