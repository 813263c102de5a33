"""Records programs with `tau record`, as a user would."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.commands import TAU
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.trace.file import TraceWriter

SECONDS_MAX = 600


@dataclass(frozen=True)
class Run:
    """One program with one input: its command, files to write first, standard input, environment,
    the statuses with which it may end, and its package of Debian."""

    command: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    statuses: tuple[int, ...] = (0,)
    package: str = ""


def write_trace(path: Path, source: str, rows: Iterable[tuple[int, ...]]) -> Path:
    """Write a trace of rows of op, slot, size in bytes, and the logarithm of an alignment if there
    is one. SOURCE made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = (np.array(column) for column in zip(*rows, strict=True))
    partial = path.with_suffix(f".{os.getpid()}")  # another process may be making the same
    with TraceWriter(partial, {"command": [source, path.stem]}) as writer:
        writer.append(**dict(zip(("op", "slot", "size_bytes", "align_log2"), columns)))
    partial.replace(path)
    return path


def record(name: str, run: Run, trace: Path, options: Sequence[str] = ()) -> Path:
    """Record a run into TRACE, with OPTIONS of `tau record`, and return it. The program runs in
    the folder of its files, NAME.input next to the trace.

    Raises TauError if the program is missing or fails; no trace is left then.
    """
    if "/" not in run.command[0] and shutil.which(run.command[0]) is None:
        raise TauError(f"{name} is not installed", f"apt install {run.package or name}")
    folder = trace.with_suffix(".input")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in run.files.items():
        (folder / file).write_text(text, encoding="utf-8")
    note(f"recording {trace.stem}")
    done = subprocess.run(
        [*TAU, "record", "--force", *options, "-o", str(trace), "--", *run.command],
        cwd=folder,
        env={**os.environ, **run.environment},
        input=run.stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS_MAX,
    )
    if done.returncode not in run.statuses:
        trace.unlink(missing_ok=True)
        raise TauError(f"recording {name} failed ({done.returncode}): {done.stderr.strip()[-300:]}")
    return trace
