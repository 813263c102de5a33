"""Folders that are made once and kept, each under a hash of all that it depends on.

folder = build_cache.folder(parent, "source", hash_of(...), make)

A folder counts as made if its last file says so. One that was left half-done is removed and made
again, or gone on with. Two processes that want the same folder make it once: the second one waits
for the lock, which programs that the first one started hold, too.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tautochrone.console import output, signals
from tautochrone.errors import TauError
from tautochrone.targets import limited

COMPLETE = ".tau-complete"
HASH_CHARACTERS = 16
TERMINATE_SECONDS_MAX = 10.0
TELL_SECONDS = 20.0
NO_SPACE = os.strerror(errno.ENOSPC)
SPACE_STEP = "free space: a kernel takes 2 GB; or name another folder with XDG_CACHE_HOME"
_held: set[int] = set()


def cache_folder() -> Path:
    """The folder of Linux kernels in the user's cache (XDG_CACHE_HOME)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "tautochrone" / "linux"


def hash_of(parts: Iterable[bytes | str]) -> str:
    """A hash over all parts, in this order."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:HASH_CHARACTERS]


def file_hash(path: Path) -> str:
    """The hash of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_made(folder: Path, sealed: Sequence[str] = ()) -> bool:
    """Whether the folder is complete and its SEALED files are unchanged since it was made."""
    try:
        return (folder / COMPLETE).read_text("ascii") == _seal_of(folder, sealed)
    except (OSError, UnicodeDecodeError):
        return False


def _seal_of(folder: Path, sealed: Sequence[str]) -> str:
    return "".join(f"{file_hash(folder / name)} {name}\n" for name in sealed)


def folder(
    parent: Path,
    name: str,
    mark: str,
    make: Callable[[Path], None],
    *,
    sealed: Sequence[str] = (),
    goes_on: bool = False,
) -> Path:
    """The folder NAME-MARK in PARENT. If it is not there, or one of its SEALED files was damaged,
    MAKE is called with an empty folder; or, if MAKE GOES ON where it was stopped, with what a try
    before has left there."""
    wanted = parent / f"{name}-{mark}"
    if is_made(wanted, sealed):
        return wanted
    try:
        with signals.ended_by_exceptions(), locked(parent / f"{name}-{mark}.lock"):
            if not is_made(wanted, sealed):
                if wanted.exists() and not goes_on:
                    shutil.rmtree(wanted)
                wanted.mkdir(exist_ok=goes_on)
                make(wanted)
                (wanted / COMPLETE).write_text(_seal_of(wanted, sealed), "ascii")
    except OSError as error:
        raise _unusable(parent, error) from error
    return wanted


def file(parent: Path, suffix: str, text: str) -> Path:
    """The file with this text in PARENT, named by its hash. Nobody sees a part of it."""
    wanted = parent / f"{hash_of([text])}{suffix}"
    if not wanted.is_file() or wanted.read_bytes() != text.encode():
        partial = parent / f"{wanted.name}.{os.getpid()}.partial"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(text, encoding="utf-8")
            partial.replace(wanted)
        except OSError as error:
            raise _unusable(parent, error) from error
        finally:
            with contextlib.suppress(OSError):
                partial.unlink()
    return wanted


def _unusable(parent: Path, error: OSError) -> TauError:
    cause = f"cannot build in {parent}: {error.strerror or error}"
    is_full = error.errno == errno.ENOSPC
    return TauError(cause, SPACE_STEP if is_full else "name another folder with XDG_CACHE_HOME")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that no other process holds. It ends with this process, whatever happens, and
    with the programs that `run` started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            output.note(f"tau: another process makes {path.with_suffix('')}: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        _held.add(file.fileno())
        try:
            yield
        finally:
            _held.remove(file.fileno())


def run(
    command: Sequence[str],
    seconds_max: float,
    tell: Callable[[], None] | None = None,
    **settings: Any,
) -> int:
    """Run a program that writes into a folder; return its exit status. TELL is called again and
    again meanwhile, each TELL_SECONDS.

    If this process is killed, the program keeps the locks: nobody else writes there. Otherwise it
    ends with the call. Raises as subprocess.run does.
    """
    with subprocess.Popen(command, pass_fds=_held, **settings) as program:
        try:
            return _waited(program, seconds_max, tell)
        except BaseException:
            # make passes SIGTERM on to its jobs. SIGKILL would leave them.
            program.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(TERMINATE_SECONDS_MAX)
            program.kill()
            raise


def compiled(command: Sequence[str], seconds_max: float) -> subprocess.CompletedProcess[str]:
    """Run a compiler and return its output. Raises TauError if it does not end in time."""
    try:
        return limited.run(command, seconds_max)
    except subprocess.TimeoutExpired as error:
        step = f"see where it hangs: {command[0]} --version"
        raise TauError(f"{command[0]} took over {seconds_max:g} s", step) from error


def _waited(
    program: subprocess.Popen[Any], seconds_max: float, tell: Callable[[], None] | None
) -> int:
    """The exit status. Raises subprocess.TimeoutExpired if it takes longer."""
    end = time.monotonic() + seconds_max
    while tell is not None and (left := end - time.monotonic()) > TELL_SECONDS:
        try:
            return program.wait(min(left, TELL_SECONDS))
        except subprocess.TimeoutExpired:
            tell()
    return program.wait(max(end - time.monotonic(), 0))
