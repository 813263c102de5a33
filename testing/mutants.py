"""Small wrong changes that tests must notice.

A mutant is one replacement in one file. Tests run on a copy of some folders in which it is made; a
mutant whose text is no longer there, or is there twice, must be written again for the changed file.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns("__pycache__", "build", "*.pyc")


class StaleMutant(Exception):
    """The text that a mutant replaces is not in its file exactly once."""


@dataclass(frozen=True)
class Mutant:
    """In FILE, OLD becomes NEW; NAME says what goes wrong.

    FILE is relative to the folder SIDE of the repository, which each side's subclass names.
    """

    side: ClassVar[str] = ""
    name: str
    file: str
    old: str
    new: str

    @property
    def path(self) -> str:
        """The file's path in the repository."""
        return str(Path(self.side) / self.file)

    def text(self) -> str:
        """The file with the change. Raises StaleMutant."""
        text = (ROOT / self.path).read_text()
        if text.count(self.old) != 1:
            times = text.count(self.old)
            raise StaleMutant(f"{self.name}: {self.path} has {times} times: {self.old!r}")
        return text.replace(self.old, self.new)

    def applied(self, folder: Path, copied: Iterable[str]) -> Path:
        """FOLDER, with a copy of COPIED from the repository and the change in it.

        Raises StaleMutant.
        """
        text = self.text()
        for name in copied:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=NOT_COPIED)
            else:
                shutil.copy(ROOT / name, folder / name)
        (folder / self.path).write_text(text)
        return folder


@dataclass(frozen=True)
class Group:
    """Mutants that the same tests must notice; the first QUICK of them in `make check`.

    `slow`: these tests are marked slow, and run nevertheless.
    """

    name: str
    tests: Sequence[str]
    mutants: Sequence[Mutant]
    quick: int = 0
    slow: bool = False

    @property
    def selection(self) -> list[str]:
        """Words of a pytest line that choose the tests."""
        return [*([] if self.slow else ["-m", "not slow"]), *self.tests]


def mutants_of(folder: str, rows: Iterable[tuple[str, str, str, str]]) -> list[Mutant]:
    """Mutants of files in FOLDER: (what goes wrong, file, old text, new text)."""
    return [Mutant(name, f"{folder}/{file}", old, new) for name, file, old, new in rows]
