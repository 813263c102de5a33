"""Patterns find what `glob` finds, and a search of a whole disk is refused.

Method: a small tree with hidden files is searched by both; links to itself make it endless.
"""

import glob
import os
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.files import search

PATTERNS = ("*.c", "a.c", "**/*.c", "deep/**/*.[cS]", "./deep/?.c", ".h*/*", "**/inner/*", "none/*")
PATTERNS += ("deep/*/*.c", "../*/a.c", "a.c/*", "x" * 300, "*/.hidden.c")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with sources at several depths."""
    top = tmp_path / "top"
    for name in ("a.c", "deep/b.c", "deep/inner/c.S", "deep/inner/d.c", ".hid/e.c", "x/.hidden.c"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    return top


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_what_glob_finds(tree: Path, pattern: str) -> None:
    for given in (pattern, str(tree / pattern)):
        names = glob.glob(given, root_dir=tree, recursive=True)
        assert search.files_of(given, tree) == sorted(
            path for path in {tree / name for name in names} if path.is_file()
        )


@pytest.mark.parametrize("pattern", ["**/*.c", "*/" * 12 + "*.c"])
def test_a_search_without_end_is_refused(
    tree: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two links to the top doubles what there is to search at each depth."""
    monkeypatch.setattr(search, "ENTRIES_MAX", 5000)
    for name in ("one", "two"):
        os.symlink(tree, tree / name)
    with pytest.raises(TauError, match="more than 5,000 files and folders to search"):
        search.files_of(pattern, tree)
