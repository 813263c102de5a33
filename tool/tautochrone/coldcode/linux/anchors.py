"""Inserts text of ours into the kernel's files, at anchors that must stand exactly once.

Line numbers change with every release, the text around a place seldom does. An anchor that is
missing or doubled is named, because code at a wrong place would be worse than no kernel.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TauError

NEXT_STEP = "use a kernel source that tau knows (linux-source-6.12), or adapt anchors.toml to it"


@dataclass(frozen=True)
class Insertion:
    """Text before and after an anchor in a file of the kernel."""

    file: str
    anchor: str
    before: str
    after: str


def read_insertions(path: Path) -> tuple[Insertion, ...]:
    """The insertions in a table of this package."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["insertion"]
    return tuple(
        Insertion(row["file"], row["anchor"], row.get("before", ""), row.get("after", ""))
        for row in rows
    )


def files_of(insertions: Iterable[Insertion]) -> tuple[str, ...]:
    """The files that get insertions, each once."""
    return tuple(dict.fromkeys(insertion.file for insertion in insertions))


def apply(insertions: Iterable[Insertion], source: Path) -> None:
    """Insert into the files under SOURCE.

    Raises TauError, and changes nothing, if an anchor does not stand exactly once in its file.
    """
    by_file: dict[str, list[Insertion]] = defaultdict(list)
    for insertion in insertions:
        by_file[insertion.file].append(insertion)
    texts = {name: inserted(_read(source, name), rows) for name, rows in by_file.items()}
    for name, text in texts.items():
        (source / name).write_text(text, encoding="utf-8")


def inserted(text: str, insertions: Iterable[Insertion]) -> str:
    """TEXT with the insertions of its file. Anchors are looked for in TEXT as it was."""
    additions = []
    for insertion in insertions:
        count = text.count(insertion.anchor)
        if count != 1:
            where = "is missing" if count == 0 else f"stands {count} times"
            cause = f"{insertion.file}: the anchor {insertion.anchor.strip()!r} {where}"
            raise TauError(cause, NEXT_STEP)
        begin = text.index(insertion.anchor)
        additions += [(begin, insertion.before), (begin + len(insertion.anchor), insertion.after)]
    for place, addition in sorted(additions, key=lambda row: row[0], reverse=True):
        text = text[:place] + addition + text[place:]
    return text


def _read(source: Path, name: str) -> str:
    try:
        return (source / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TauError(f"the kernel source has no file {name}", NEXT_STEP) from error
