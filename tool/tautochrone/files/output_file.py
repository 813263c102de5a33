"""Writes every output of a command as a whole or not at all, and replaces a file only if allowed.

with output_file.written(path, force, inputs) as partial:
    ...write to the file `partial`, from Python or from native code...

The kind of path decides how it is written:
- A regular file, or nothing yet: the new file is written to the same folder and renamed. The target
  of a symbolic link, also of a dangling one, is replaced; the link stays. A replaced file keeps its
  mode. Its owner is the user who ran the command. Other hard links keep the old content.
- A stream (`-`, /dev/stdout, /dev/fd/3, a character device as /dev/null) is never replaced. The
  result is written to it once it is complete.
- Anything else is refused: a folder, a block device, a socket; a FIFO, because opening it waits for
  a reader that may never come.
"""

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tautochrone.console import output, signals
from tautochrone.errors import EXIT_USAGE, TauError

STDOUT = 1
LINKS_MAX = 40  # the kernel's limit
# With token and suffix, a name stays below 255 bytes, at four bytes per character.
NAME_CHARACTERS_MAX = 50
OTHER_KINDS = {stat.S_IFDIR: "directory", stat.S_IFBLK: "block device", stat.S_IFSOCK: "socket"}
OTHER_KINDS[stat.S_IFIFO] = "FIFO"


class OutputExists(TauError):
    """The output exists, and --force was not given."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists", "name another file, or give --force", EXIT_USAGE)


@dataclass(frozen=True)
class _Target:
    """The target of a path: `file` after following links, or None for a stream.

    `descriptor` is set if this process has the stream open.
    """

    path: Path
    file: Path | None
    descriptor: int | None

    def send(self, source: IO[bytes]) -> None:
        """Copy all of `source` to the stream; never create a file."""
        if self.descriptor == STDOUT:
            output.copy_data(source)
            return
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY
        known = self.descriptor
        opened = os.open(self.path, flags) if known is None else os.dup(known)
        with os.fdopen(opened, "wb") as stream:
            shutil.copyfileobj(source, stream)


def is_stdout(path: Path) -> bool:
    """Whether an output is this process's stdout, under any name."""
    return _descriptor_of(path) == STDOUT


def is_stream(path: Path) -> bool:
    """Whether an output is written as a stream. Raises TauError as `check` does."""
    return _target_of(path).file is None


def check(
    path: Path, force: bool = False, others: Iterable[Path] = (), as_json: bool = False
) -> None:
    """Refuse an output before any work is done.

    Fails (TauError) if and only if
    - it exists and is neither a stream nor a regular file,
    - it is a file and one of `others`, the inputs and other outputs,
    - it is an existing file and `force` is not set (OutputExists),
    - its folder is missing or cannot be written,
    - it is stdout, and `as_json` is set or one of `others` is stdout too.
    """
    if is_stdout(path) and (as_json or any(map(is_stdout, others := list(others)))):
        cause = f"{'--json' if as_json else 'another output'} and {path} both write to stdout"
        raise TauError(cause, "name a file", EXIT_USAGE)
    file = _target_of(path).file
    if file is None:
        return
    for other in others:
        if _is_same(file, other):
            raise TauError(
                f"{path} and {other} are the same file", "name another output", EXIT_USAGE
            )
    if os.path.lexists(file) and not force:
        raise OutputExists(path)
    if not os.access(file.parent, os.W_OK | os.X_OK):
        is_missing = not file.parent.exists()
        cause = "is missing" if is_missing else "cannot be written"
        step = f"create it: mkdir -p {file.parent}" if is_missing else "name another folder"
        raise TauError(f"{path}: the folder {file.parent} {cause}", step)


@contextlib.contextmanager
def written(path: Path, force: bool = False, others: Iterable[Path] = ()) -> Iterator[Path]:
    """Yield the path of an empty file, which becomes `path` if the block succeeds.

    Checks as `check` does, and again at the end: without `force`, a file that appeared meanwhile is
    kept (OutputExists). A failure of the block or of the disk leaves `path` unchanged. SIGTERM,
    SIGHUP and Ctrl-C, however many, remove the file; SIGKILL leaves it as NAME.TOKEN.partial.
    """
    check(path, force, others)
    target = _target_of(path)
    import tempfile

    folder = Path(tempfile.gettempdir()) if target.file is None else target.file.parent
    name = (target.file or Path("tau")).name[:NAME_CHARACTERS_MAX]
    partial = folder / f"{name}.{os.urandom(8).hex()}.partial"
    with signals.ended_by_exceptions():
        try:
            mode = 0o600 if target.file is None else 0o666
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
            yield partial
            _finish(partial, target, force)
        except TauError as error:
            error.message = error.message.replace(str(partial), str(path))
            raise
        except OSError as error:
            if error.filename not in (None, str(partial), str(path)):
                raise
            raise _unwritable(path, error) from error
        finally:
            try:
                partial.unlink(missing_ok=True)
            finally:  # a signal may arrive here; a second one is ignored
                partial.unlink(missing_ok=True)


def move(source: Path, path: Path, force: bool = False) -> None:
    """Move or copy a complete file to the output `path`, which may be a stream or on another disk.

    Raises TauError as `written` does; `source` then still exists. On success it is removed.
    """
    check(path, force)
    file = _target_of(path).file
    if file is not None:
        try:
            _publish(source, path, file, force)
            return
        except OSError as error:
            # Equal device numbers prove nothing: a file system may be mounted twice.
            if error.errno != errno.EXDEV:
                raise _unwritable(path, error) from error
    # shutil.copyfile would name the source in a failure to write.
    with written(path, force) as partial, open(source, "rb") as whole, open(partial, "wb") as copy:
        shutil.copyfileobj(whole, copy)
    source.unlink()


def _unwritable(path: Path, error: OSError) -> TauError:
    if error.errno == errno.EPIPE:
        cause = f"{path}: its reader closed it early"
        return TauError(cause, "let it read to the end, or name a file")
    cause = error.strerror or str(error)
    return TauError(f"{path}: {cause}", "free some space, or name a file on another disk")


def _is_same(file: Path, other: Path) -> bool:
    """Whether two paths are the same file, or will be once they are written."""
    if os.path.realpath(file) == os.path.realpath(other):
        return True
    return file.exists() and other.exists() and os.path.samefile(file, other)


# ---- the target of a path ----


def _target_of(path: Path) -> _Target:
    """Return the target of an output. Raises TauError if it cannot be written."""
    descriptor = _descriptor_of(path)
    try:
        mode = os.stat(path).st_mode if descriptor is None else os.fstat(descriptor).st_mode
    except FileNotFoundError:
        return _Target(path, Path(os.path.realpath(path)), None)
    except OSError as error:
        raise TauError(f"{path}: {error.strerror}", "name another output", EXIT_USAGE) from error
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFREG and descriptor is None:
        return _Target(path, Path(os.path.realpath(path)), None)
    if kind == stat.S_IFCHR or (descriptor is not None and kind != stat.S_IFDIR):
        return _Target(path, None, descriptor)
    what = OTHER_KINDS.get(kind, "special file")
    step = f"name a file in it: -o {path}/NAME" if kind == stat.S_IFDIR else "name a regular file"
    raise TauError(f"{path} is a {what}, not a file to write to", step, EXIT_USAGE)


def _descriptor_of(path: Path) -> int | None:
    """Return the descriptor of this process that `-`, /dev/stdout, /dev/fd/3, … stand for.

    These are never renamed over: that would replace the file behind a descriptor that is open.
    """
    if str(path) == "-":
        return STDOUT
    ours = re.compile(rf"/proc/{os.getpid()}(/task/[0-9]+)?/fd")
    for _ in range(LINKS_MAX):
        if re.fullmatch("[0-9]+", path.name) and ours.fullmatch(os.path.realpath(path.parent)):
            return int(path.name)
        if not os.path.islink(path):
            return None
        path = path.parent / os.readlink(path)
    return None


# ---- publishing ----


def _finish(partial: Path, target: _Target, force: bool) -> None:
    if target.file is not None:
        _publish(partial, target.path, target.file, force)
        return
    with open(partial, "rb") as source:
        target.send(source)


def _publish(whole: Path, path: Path, file: Path, force: bool) -> None:
    """Flush `whole` to the disk and rename it to `file` on the same disk.

    Without `force`, an empty file that only one process can create claims the name first. Unlike a
    hard link or RENAME_NOREPLACE of renameat2, that works on every file system.
    """
    descriptor = os.open(whole, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if force:
        with contextlib.suppress(FileNotFoundError):
            whole.chmod(stat.S_IMODE(file.stat().st_mode) & 0o777)
        whole.replace(file)
        return
    with signals.delayed():  # nobody is to find the claim without the rename
        try:
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            raise OutputExists(path) from None
        try:
            whole.replace(file)
        except OSError:
            file.unlink()
            raise
