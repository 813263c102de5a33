"""The file in memory that `tau run` and the program share; docs/spec/runtime.md specifies it.

The program inherits its descriptor. No path leads to it that a program could change, and seals keep
its size.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass

from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.record import session
from tautochrone.record.program import EXIT_CANNOT_RECORD as EXIT_CANNOT_RUN_SO

REPORT_BYTES = 1 << 19  # More than 65 sites with the longest paths take.
# Programs get the lowest free numbers, and scripts choose small ones themselves.
DESCRIPTOR = 1023
STEP = "raise the limit (ulimit -f), or free memory"


@dataclass(frozen=True)
class Exchange:
    """The file, by our descriptor and the program's; `report_bytes` are 0 without room for it.

    A program that closed its descriptor finds it in `folder` by the same number.
    """

    file: int
    inherited: int
    report_bytes: int
    folder: str

    def value(self, pid: int | str) -> str:
        """The value of session.VARIABLE for the process `pid`."""
        inode = os.fstat(self.file).st_ino
        return session.run_value(pid, (self.inherited, inode, self.report_bytes), self.folder)

    def report(self) -> str:
        """The lines that the program wrote; empty if it wrote none."""
        return os.fsdecode(os.pread(self.file, self.report_bytes, 0).partition(b"\0")[0])


@contextlib.contextmanager
def opened(settings: str) -> Iterator[Exchange]:
    """Yield the file with its settings. Without room for the report there is a note, and none.

    Raises TauError if not even the settings have room.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = os.memfd_create("tau-run", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            stack.callback(os.close, file)
            report_bytes = _make_room(file)
            os.pwrite(file, settings.encode("ascii"), report_bytes)
            seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
            inherited = _inheritable(file)
        except OSError as error:
            raise TauError(
                f"cannot hand the heap's settings over: {error.strerror}", STEP, EXIT_CANNOT_RUN_SO
            ) from error
        stack.callback(os.close, inherited)
        yield Exchange(file, inherited, report_bytes, f"/proc/{os.getpid()}/fd")


def _make_room(file: int) -> int:
    """Allocate all of the report, since who writes to a page that does not exist may be killed for
    it; return its bytes, or 0 with a note.
    """
    try:
        os.posix_fallocate(file, 0, REPORT_BYTES)
    except OSError as error:
        os.ftruncate(file, 0)
        output.warn(
            "tau: the program runs without counts: no file of"
            f" {REPORT_BYTES:,} bytes in memory: {error.strerror}",
            STEP,
        )
        return 0
    return REPORT_BYTES


def _inheritable(file: int) -> int:
    """A second descriptor that the program inherits, with a number that it hardly chooses."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTOR if limit == resource.RLIM_INFINITY else min(DESCRIPTOR, limit - 1)
    try:
        return fcntl.fcntl(file, fcntl.F_DUPFD, most)
    except OSError:
        return fcntl.fcntl(file, fcntl.F_DUPFD, 0)  # That number is taken, and the limit is near.
