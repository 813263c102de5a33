"""Kernels that no user wants: the product's are measured against them, or they have faults.

Each is the kernel with some changes. In its file, the old text of a change stands exactly once.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.tile.sources import root
from tautochrone.tlb.tile.code import Builder


@dataclass(frozen=True)
class Change:
    """A text in a file of the kernel, and what stands there instead."""

    file: str
    old: str
    new: str

    def made(self, text: str) -> str:
        """The file's text with the change."""
        assert text.count(self.old) == 1, f"{self.file}: {self.old}"
        return text.replace(self.old, self.new)


# ---- The kernel of tasks -------------------------------------------------------------------------

# A switch of tasks forgets all translations, as in the kernel of slots (P2): what a task finds does
# not depend on who ran before, and it loads all of it again.
FORGETTING = Change(
    "scheduler.c",
    "        tau_tasks_entry.owner = task + 1;\n",
    "        TAU_TILE_UNIT[TAU_TILE_TLB_INVALIDATE] = 0;\n"
    "        tau_tasks_entry.owner = task + 1;\n",
)
# One heap for all tasks, as malloc has it (P4): the first task's. All may use each other's pages.
ONE_HEAP = (
    Change("memory.c", "= &memory->own_heap;", "= &tau_tasks_system.tasks[0].memory->own_heap;"),
    Change("memory.c", "owner << TAU_TILE_PAGE_WORD_OWNER", "1u << TAU_TILE_PAGE_WORD_SHARED"),
)


class ChangedBuilder(Builder):
    """Builds with a kernel of tasks in which these changes are made."""

    def __init__(self, folder: Path, *changes: Change) -> None:
        super().__init__(root(), folder)
        self.changes = changes

    def kernel_sources(self) -> list[Path]:
        """With a copy of each that is changed."""
        return [self._changed(source) for source in super().kernel_sources()]

    def _changed(self, source: Path) -> Path:
        own = [change for change in self.changes if change.file == source.name]
        if not own:
            return source
        text = source.read_text(encoding="utf-8")
        for change in own:
            text = change.made(text)
        copy = self.folder / "kernel" / source.name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text, encoding="utf-8")
        return copy


# ---- Any kernel ----------------------------------------------------------------------------------


def changed_root(base: Path, folder: Path, part: str, changes: Sequence[Change]) -> Path:
    """FOLDER with all that BASE has, and a copy of `kernel/PART` in which the changes are made."""
    (folder / "kernel").mkdir()
    for path in (*base.iterdir(), *(base / "kernel").iterdir()):
        if path not in (base / "kernel", base / "kernel" / part):
            (folder / path.relative_to(base)).symlink_to(path)
    copy = shutil.copytree(base / "kernel" / part, folder / "kernel" / part)
    for change in changes:
        path = copy / change.file
        path.write_text(change.made(path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder
