"""Each arrow that DESIGN.md's tables do not have is found, with both ends named.

Method: a tree has a file for each row, and each uses every other, as C, as Python and as a link of
a document. The findings must match a second reading of the table, written here. Then
each name is taken out of the table, and the uses that it allowed must be found.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import arrows
import pytest
from arrows import Row

DESIGN = (Path(__file__).resolve().parent.parent / "DESIGN.md").read_text()
FOLDERS = arrows.rows_of(DESIGN, arrows.FOLDERS_TABLE)
MECHANISMS = arrows.rows_of(DESIGN, arrows.MECHANISMS_TABLE)
# Beside a folder for each row: more of those that one row stands for.
MORE = ("hw/other", "hw/other/tb", "hw/socket/tb", "linux/interpose", "linux/other")
Places = dict[str, Row]


def places() -> Places:
    """A folder for each row of the table, and the row that it is in."""
    rows = {row.name.replace("*", "unit"): row for row in FOLDERS}
    for folder in MORE:
        (row,) = (row for row in FOLDERS if row.name.replace("*", folder.split("/")[1]) == folder)
        rows[folder] = row
    return rows


def allows(row: Row, folder: str) -> bool:
    """The table, read once more: by regular expressions."""
    patterns = (re.escape(name).replace(r"\*", "[^/]+") for name in row.uses)
    return any(
        re.fullmatch(f"{pattern}.*" if pattern.endswith("/") else pattern, f"{folder}/")
        or re.fullmatch(pattern, folder)
        for pattern in patterns
    )


def is_of_tests(folder: str) -> bool:
    """A folder of tests."""
    return bool({"tests", "tb"} & set(folder.split("/")))


def use(mine: Path, target: Path) -> str:
    """A line with which one file uses another."""
    if mine.suffix == ".py":
        return f"import {'.'.join(target.with_suffix('').parts)}\n"
    if mine.suffix == ".md":
        return f"[there]({'../' * len(mine.parent.parts)}{target})\n"
    return f'#include "{target}"\n'


def file_of(folder: str, ending: str) -> Path:
    """The file of a folder; no two have the same name."""
    return Path(folder, "file_" + folder.replace("/", "_") + ending)


def tree(root: Path, ending: str, uses: Callable[[str, str], bool]) -> list[Path]:
    """A tree in which one folder's file uses another's where USES says so."""
    written = []
    for folder in places():
        name = file_of(folder, ending)
        others = (other for other in places() if other != folder and uses(folder, other))
        written.append(root / name)
        written[-1].parent.mkdir(parents=True, exist_ok=True)
        written[-1].write_text("".join(use(name, file_of(other, ending)) for other in others))
    return written


def forbidden_uses(ending: str) -> Iterator[str]:
    """What must be found where each uses each."""
    for folder, row in places().items():
        for other in places():
            name, target = file_of(folder, ending), file_of(other, ending)
            if other == folder:
                continue
            if is_of_tests(other) and name.parts[0] != target.parts[0]:
                yield f"{name}: uses {target}, a test of another side"
            elif not allows(row, other) and not (is_of_tests(folder) and other == "testing"):
                yield f"{name}: {folder} may not use {other} ({target})"


def forbidden_links() -> Iterator[str]:
    """What must be found where each document links to each."""
    for folder, row in places().items():
        for other in places():
            is_below = f"{other}/".startswith(f"{folder}/")
            if not is_below and not allows(row, other):
                name, target = file_of(folder, ".md"), file_of(other, ".md")
                yield f"{name}: {folder} may not link to {other} ({target})"


@pytest.mark.parametrize("ending", [".h", ".py"])
def test_each_forbidden_use_is_found_and_no_other(tmp_path: Path, ending: str) -> None:
    """For every file, the arrows to every row that the table does not have."""
    files = tree(tmp_path, ending, lambda _mine, _other: True)
    found = list(arrows.folder_findings(tmp_path, files, FOLDERS))
    assert sorted(found) == sorted(forbidden_uses(ending)) and len(found) > len(FOLDERS)


def test_a_name_that_several_folders_share_must_name_its_folder(tmp_path: Path) -> None:
    """Else an arrow that the table forbids could hide behind it; every way to spell a use."""
    names = [Path(folder, "shared.h") for folder in ("kernel", "hw/tile", "hw/tile/sim")]
    modules = [Path(folder, "shared_words.py") for folder in ("bench/one", "bench/two")]
    for name in (*names, *modules, Path("core/a.c"), Path("model/b.py")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]

    def found(name: str, text: str) -> list[str]:
        (tmp_path / name).write_text(text)
        return list(arrows.folder_findings(tmp_path, files, FOLDERS))

    (told,) = found("core/a.c", '#include "shared.h"\n')
    listed = "hw/tile/shared.h, hw/tile/sim/shared.h, kernel/shared.h"
    assert told == f"core/a.c: `shared.h` is one of {listed}: name its folder"
    for spelled in ("kernel/shared.h", "../kernel/shared.h"):
        (told,) = found("core/a.c", f'#include "{spelled}"\n')
        assert told == "core/a.c: core may not use kernel (kernel/shared.h)"
    (told,) = found("core/a.c", '#include "sim/shared.h"\n')
    assert told == "core/a.c: core may not use hw/tile (hw/tile/sim/shared.h)"
    assert found("core/a.c", '#include "elsewhere/shared.h"\n#include <shared.h>\n') == []
    for line in ("import shared_words", "from shared_words import names"):
        (told,) = found("model/b.py", f"{line}\n")
        assert told.endswith("is one of bench/one/shared_words.py, bench/two/shared_words.py:"
                             " name its folder")  # fmt: skip


def test_each_forbidden_link_is_found_and_no_other(tmp_path: Path) -> None:
    """The same of documents."""
    files = tree(tmp_path, ".md", lambda _mine, _other: True)
    found = list(arrows.document_findings(tmp_path, files, FOLDERS))
    assert sorted(found) == sorted(forbidden_links()) and len(found) > len(FOLDERS)


def test_no_name_of_the_table_is_idle(tmp_path: Path) -> None:
    """Without any one of them, an arrow that it allowed is found."""
    rows = places()
    files = tree(tmp_path, ".h", lambda mine, other: allows(rows[mine], other))
    told = list(arrows.folder_findings(tmp_path, files, FOLDERS))
    assert all("a test of another side" in finding for finding in told)
    for row in FOLDERS:
        # A file of another row cannot lose an arrow: only those that this one uses are read again.
        near = [
            tmp_path / file_of(folder, ".h")
            for folder, of in rows.items()
            if of == row or allows(row, folder)
        ]
        for name in row.uses:
            less = replace(row, uses=row.uses - {name})
            without = [less if other == row else other for other in FOLDERS]
            found = set(arrows.folder_findings(tmp_path, near, without)) - set(told)
            pattern = name.rstrip("/").replace("*", "[^/]+")
            assert found, f"{row.name}: `{name}` says nothing that the row does not say without it"
            assert all(re.search(f"may not use {pattern}", finding) for finding in found), found


def test_each_folder_without_a_row_is_found(tmp_path: Path) -> None:
    """Take any row away that no other row covers: its file is named."""
    files = tree(tmp_path, ".h", lambda _mine, _other: False)
    for row in FOLDERS:
        rest = [other for other in FOLDERS if other != row]
        mine = [folder for folder, of in places().items() if of == row]
        alone = [folder for folder in mine if arrows.row_of(Path(folder, "file"), rest) is None]
        found = set(arrows.folder_findings(tmp_path, files, rest))
        assert found == {
            f"{file_of(folder, '.h')}: its folder has no row in DESIGN.md's table of arrows"
            for folder in alone
        }


def test_each_forbidden_include_of_the_core_is_found(tmp_path: Path) -> None:
    """Every mechanism includes every other; both are named."""
    core = tmp_path / "core"
    core.mkdir()
    files = [core / f"{row.name}.h" for row in MECHANISMS]
    for path in files:
        path.write_text("".join(f'#include "core/{other.name}"\n' for other in files))
    expected = {
        f"core/{row.name}.h: {row.name} may not include {other.name} (core/{other.name}.h)"
        for row in MECHANISMS
        for other in MECHANISMS
        if other not in (row,) and other.about != arrows.BASE and other.name not in row.uses
    }
    found = list(arrows.mechanism_findings(tmp_path, files, MECHANISMS))
    assert set(found) == expected and len(found) == len(expected) > len(MECHANISMS)
    (core / "slab.h").write_text("")
    (told,) = set(arrows.mechanism_findings(tmp_path, [*files, core / "slab.h"], MECHANISMS)) - {
        *found
    }
    assert told == "core/slab.h: slab has no row in DESIGN.md's table of mechanisms"
