"""Linked code is kept with a note of its files, and made again if one of them changes.

Method: a small tree is linked for a target; then each kind of input changes once.
"""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tautochrone import native
from tautochrone.targets import build, notes

TARGET = "rv32"
Link = Callable[..., Path]


def age(*paths: Path) -> None:
    """Files that were written a second ago."""
    for path in paths:
        os.utime(path, (time.time() - 1, time.time() - 1))


def write(path: Path, text: str) -> Path:
    """A file that is a second old."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    age(path)
    return path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree in a folder with a blank and signs that make knows."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "a # tree$"
    shutil.copytree(native.sources() / "targets", made / "targets")
    age(*(path for path in made.rglob("*") if path.is_file()))
    write(made / "core/a.h", "#define A 1\n")
    write(made / "core/a.c", '#include "core/a.h"\nint a(void);\nint a(void) { return A; }\n')
    return made


@pytest.fixture
def link(root: Path, monkeypatch: pytest.MonkeyPatch) -> Link:
    """Link; the commands that ran are in `link.commands`."""
    commands: list[str] = []
    proper = build._run

    def watched(command: list[str], *more: object) -> str:
        commands.append(" ".join(map(str, command)))
        return proper(command, *more)

    def linked(*flags: str, at: Path = root) -> Path:
        commands.clear()
        return build.kept(TARGET, "a", at, ["core/a.c"], flags, keep=["a"])

    monkeypatch.setattr(build, "_run", watched)
    build._version(build.compiler_of(TARGET))
    linked.commands = commands  # type: ignore[attr-defined]
    return linked


def test_nothing_runs_while_nothing_changes(link: Link, tmp_path: Path) -> None:
    first = link()
    assert any("-E" in command for command in link.commands)
    assert link() == first and link.commands == []
    os.chdir(tmp_path)
    assert link() == first and link.commands == []


def test_a_change_is_seen(link: Link, root: Path) -> None:
    """In a source, a header, a flag, linker script, start-up code. Old text has old code."""
    seen = {first := link()}
    script = root / "targets" / build.TARGETS[TARGET].script
    start = root / "targets" / build.TARGETS[TARGET].start[0]
    old = script.read_text()
    for path, text in (
        (root / "core/a.h", "#define A 2\n"),
        (root / "core/a.c", "int a(void);\nint a(void) { return 3; }\n"),
        (script, f"{old}\n/* changed */\n"),
        (start, f"{start.read_text()}\n.section .text.more\n.word 1\n"),
    ):
        write(path, text)
        made = link()
        assert made not in seen and link.commands, path
        seen.add(made)
        assert link() == made and link.commands == []
    assert link("-DB=1") not in seen
    write(script, old)
    shutil.copytree(native.sources() / "targets", root / "targets", dirs_exist_ok=True)
    age(*(path for path in root.rglob("*") if path.is_file()))
    write(root / "core/a.h", "#define A 1\n")
    write(root / "core/a.c", '#include "core/a.h"\nint a(void);\nint a(void) { return A; }\n')
    assert link() == first


def test_a_header_of_the_environment_is_seen(
    link: Link, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root / "core/a.c", "#include <a.h>\nint a(void);\nint a(void) { return A; }\n")
    made = []
    for number in (1, 2):
        write(tmp_path / str(number) / "a.h", f"#define A {number}\n")
        monkeypatch.setenv("CPATH", str(tmp_path / str(number)))
        made.append(link())
    assert made[0] != made[1]


def test_another_folder_has_the_same_code(link: Link, root: Path, tmp_path: Path) -> None:
    first = link()
    os.rename(root, tmp_path / "moved")
    assert link(at=tmp_path / "moved") == first
    assert not any(" -o " in command for command in link.commands), "it is not linked again"


def test_a_damaged_note_is_not_read(link: Link, tmp_path: Path) -> None:
    first = link()
    (note,) = (tmp_path / "cache").rglob("*.note")
    note.write_bytes(note.read_bytes()[:-9])
    assert link() == first and link.commands
    assert link() == first and link.commands == []


def test_a_file_that_is_just_written_has_no_note(link: Link, root: Path, tmp_path: Path) -> None:
    """It could change again before it is read for the note, in the same moment."""
    (root / "core/a.h").write_text("#define A 1\n")
    link()
    assert not list((tmp_path / "cache").rglob("*.note"))


@pytest.mark.parametrize("name", ["plain", "a b", "a#b", "a$b", "a  b"])
def test_names_in_a_rule(name: str) -> None:
    escaped = name.replace("$", "$$").replace("#", r"\#").replace(" ", r"\ ")
    rule = f"made.o: /x/first.c \\\n /x/{escaped}.h \\\n  /x/last.h\n"
    expected = [Path(f"/x/{each}") for each in ("first.c", f"{name}.h", "last.h")]
    assert notes.files_in(rule) == expected
