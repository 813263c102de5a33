"""The standard streams of the command; the content of a file cannot control the terminal.

All output passes through Screen.write, which escapes control characters, as in \\x1b. Only style()
and progress bars send control sequences to the terminal.
"""

import errno
import io
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from tautochrone.errors import TauError

STDIN, STDOUT, STDERR = 0, 1, 2
# Control characters (except line ends and tabs), marks that reorder or end a line, and low
# surrogates, as which Python keeps the bytes of a name that is not UTF-8.
_STEERING = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff]"
)
_BYTE_SURROGATES = 0xDC00


class ReaderGone(Exception):
    """The reader of stdout has closed the pipe, as `| head` does."""


def escaped(text: str) -> str:
    """Return `text` with each character that controls a terminal escaped, as \\x1b or \\u202e."""
    return _STEERING.sub(_shown, text)


def in_one_line(text: str) -> str:
    """Return `text` escaped, including line ends and tabs, for a name within a line."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def _shown(found: re.Match[str]) -> str:
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:
        code -= _BYTE_SURROGATES
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Screen(io.TextIOWrapper):
    """A standard stream for people. Characters that its encoding lacks are escaped.

    Writing to stdout raises ReaderGone if the reader has closed it, and TauError if it cannot be
    written. Writing to stderr never fails, because a failure could not be reported.
    """

    def __init__(self, descriptor: int, before: IO[str] | None) -> None:
        self._descriptor = descriptor
        super().__init__(
            open(descriptor, "wb", closefd=False),
            encoding=before.encoding if before is not None else "utf-8",
            errors="backslashreplace",
            line_buffering=descriptor == STDERR or os.isatty(descriptor),
        )

    def write(self, text: str) -> int:
        """Write `text` escaped; returns its length."""
        self._put(escaped(text))
        return len(text)

    def steer(self, sequence: str) -> None:
        """Write a control sequence for the terminal, unescaped."""
        self._put(sequence)

    def write_data(self, text: str) -> None:
        """Write text that is for a file or a program: unescaped, in UTF-8."""
        self.flush()
        try:
            self.buffer.write(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._refused(error)
        self.flush()

    def copy_data(self, source: IO[bytes]) -> None:
        """Write a whole file, byte for byte."""
        self.flush()
        try:
            shutil.copyfileobj(source, self.buffer)
        except OSError as error:
            self._refused(error)
        self.flush()

    def flush(self) -> None:
        """Flush the buffer."""
        try:
            super().flush()
        except OSError as error:
            self._refused(error)

    def _put(self, text: str) -> None:
        try:
            super().write(text)
        except OSError as error:
            self._refused(error)

    def _refused(self, error: OSError) -> None:
        """Discard the buffer and all later output; return the cause."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._descriptor, inheritable=self._descriptor == STDERR)
        os.close(nowhere)
        if self._descriptor == STDERR:
            return
        if error.errno == errno.EPIPE:
            raise ReaderGone from error
        raise stdout_error(error.errno)


def stdout_error(number: int | None) -> TauError:
    """Return the error of a stdout that cannot be written, with the text of an errno."""
    cause = "it is closed" if number == errno.EBADF else os.strerror(number or errno.EIO)
    return TauError(f"cannot write to stdout: {cause}", "redirect it to a file that can be written")


def open_streams() -> None:
    """Make sys.stdout and sys.stderr Screens, and open missing standard descriptors.

    A closed standard descriptor would be reused for the next file that is opened. So it becomes
    /dev/null, in this process only: programs that it starts find it closed as before. Writing to a
    closed stdout fails.
    """
    for descriptor, mode in ((STDIN, os.O_RDONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free descriptor, which is this one
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    sys.stdout, sys.stderr = Screen(STDOUT, sys.stdout), Screen(STDERR, sys.stderr)


@contextmanager
def style(stream: IO[str], **how: Any) -> Iterator[None]:
    """Write to `stream` in click's style `how` (fg="red", bold=True) inside this context."""
    begin, end = click.style("\0", **how).split("\0")
    steer = stream.steer if isinstance(stream, Screen) else stream.write
    steer(begin)
    try:
        yield
    finally:
        steer(end)
