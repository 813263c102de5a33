"""Notes of what a compiler made from which files, in the user's cache.

To ask the compiler for the text that it sees takes a process for each file. A note says what came
of it, with the hash of each file that the compiler read. It holds as long as these are the same. As
with other caches of compilers, a new file that would be found before one of them is not seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from . import kept_files

# Of the environment: where gcc looks for headers and for its own parts.
SEARCH = ("CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH")
SETTLED_NS = 100_000_000  # a file that is younger may have changed while it was read


def name_of(*asked: object) -> str:
    """A name for a note about all that was ASKED of the compiler in this environment."""
    told = json.dumps([asked, [os.environ.get(name) for name in SEARCH]], default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def found(note: Path) -> str | None:
    """What a note says, or None if it is missing or damaged or a file is not as it was.

    O(bytes of the files).
    """
    if not kept_files.is_whole(note):
        return None
    said, files = json.loads(note.read_text("utf-8"))
    is_same = all(_digest_of(Path(name)) == digest for name, digest in files.items())
    return str(said) if is_same else None


def keep(note: Path, said: str, files: Iterable[Path], begun_ns: int, scratch: Path) -> None:
    """Write a note that FILES, which were read since BEGUN_NS, lead to the result SAID.

    Nothing is written if one of them is missing, as young as that, or named from the current
    folder. SCRATCH is a folder on the same disk.
    """
    digests = {}
    for path in files:
        digest = _digest_of(path)
        is_settled = digest is not None and path.stat().st_mtime_ns < begun_ns - SETTLED_NS
        if not is_settled or not path.is_absolute():
            return
        digests[str(path)] = digest
    made = scratch / "note.json"
    made.write_text(json.dumps([said, digests]), "utf-8")
    kept_files.keep(made, note)


def files_in(rule: str) -> list[Path]:
    """The files that a rule for make depends on, as gcc writes it."""
    _, _, names = rule.replace("\\\n", " ").partition(": ")
    unescaped = (re.sub(r"\\([ #])", r"\1", name) for name in re.findall(r"(?:\\ |\S)+", names))
    return [Path(name.replace("$$", "$")) for name in unescaped]


def _digest_of(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
