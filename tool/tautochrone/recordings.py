"""Where recordings and their traces lie while and after a program is recorded."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tautochrone import output
from tautochrone.errors import TauError
from tautochrone.program import EXIT_CANNOT_RECORD


@dataclass(frozen=True)
class Who:
    """One recorded process."""

    program: str
    pid: int

    def __str__(self) -> str:
        """Return the process for people."""
        return f"{Path(self.program).name} (pid {self.pid})"

    @property
    def file_name(self) -> str:
        """What its trace is called unless the user said."""
        return f"{Path(self.program).name or 'program'}.{self.pid}"


def check_output(out: Path | None, force: bool) -> None:
    """Refuse an output that cannot be written; raises TauError."""
    folder = Path(".") if out is None else out.parent
    if out is not None and out.is_dir():
        raise TauError(
            f"{out} is a directory", f"name a file in it: -o {out}/program.tau", EXIT_CANNOT_RECORD
        )
    if out is not None and out.exists() and not force:
        raise TauError(
            f"{out} exists",
            "name another with -o, or overwrite it with --force",
            EXIT_CANNOT_RECORD,
        )
    if not folder.is_dir():
        raise TauError(
            f"{folder} is no directory", f"make it: mkdir -p {folder}", EXIT_CANNOT_RECORD
        )


@contextlib.contextmanager
def beside(out: Path | None, suffix: str) -> Iterator[Path]:
    """Make the folder for raw recordings on the disk where the trace will be.

    It is removed at the end, unless something failed while a recording, a file with this suffix,
    was in it.
    """
    parent = Path(".") if out is None else out.parent
    try:
        folder = Path(tempfile.mkdtemp(prefix=".tau-recording-", dir=parent))
    except OSError as error:
        raise TauError(
            f"cannot write in {parent.resolve()}: {error.strerror}",
            "name a file elsewhere with -o",
            EXIT_CANNOT_RECORD,
        ) from error
    try:
        yield folder
    except BaseException:
        if any(raw.stat().st_size for raw in folder.glob(f"*{suffix}")):
            output.note(f"tau: the raw recordings are kept: tau import {folder}/*{suffix}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def place(files: list[tuple[Path, Who]], out: Path | None, force: bool) -> list[Path]:
    """Move files to where they stay, over existing ones only with `force`; return the places.

    The first gets the name `out`, the others stand beside it under their program's name and pid.
    """
    places: list[Path] = []
    for path, who in files:
        if out is None:
            wanted = Path(f"{who.file_name}{path.suffix}")
        elif not places:
            wanted = out
        else:
            wanted = out.with_name(f"{out.stem}.{who.file_name}{out.suffix}")
        final, number = wanted, 1
        while final in places or (final.exists() and not (force or final == out)):
            number += 1
            final = wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
        shutil.move(path, final)
        places.append(final)
    return places


def bytes_text(count: int) -> str:
    """Return a number of bytes for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
