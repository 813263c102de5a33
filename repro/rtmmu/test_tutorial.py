"""docs/tutorials/real-time-virtual-memory.md does what it says: its C is one program that is built
by its own command and run, and its commands run on a recording."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.commands import PACKAGE_FOLDER
from repro.engine.results import REPOSITORY

TUTORIAL = REPOSITORY / "docs" / "tutorials" / "real-time-virtual-memory.md"
SECONDS_MAX = 300


def blocks(language: str) -> list[str]:
    """The tutorial's code in a language."""
    text = TUTORIAL.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def shell_lines(program: str) -> list[list[str]]:
    """The commands of the tutorial that start with a program, in words."""
    return [
        line.split()
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith(program)
    ]


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_the_program(compiler: str, tmp_path: Path) -> None:
    """Every piece of C together, compiled as the tutorial says, returns 0."""
    (tmp_path / "program.c").write_text("\n".join(blocks("c")), encoding="utf-8")
    (command,) = shell_lines("gcc")
    at_root = {part: str(REPOSITORY / part) for part in command if part.startswith("core/")}
    words = [at_root.get(word, word).replace("-I.", f"-I{REPOSITORY}") for word in command]
    words[0] = compiler
    words += ["-Wall", "-Wextra", "-Werror", "-o", "program"]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=SECONDS_MAX)
    assert subprocess.run([tmp_path / "program"], timeout=SECONDS_MAX).returncode == 0


def test_the_commands(tmp_path: Path) -> None:
    """Recording and replay as printed, for a program that is there."""
    program = tmp_path / "program"
    shutil.copy(shutil.which("true") or "/bin/true", program)
    environment = {**os.environ, "PYTHONPATH": PACKAGE_FOLDER}
    commands = shell_lines("tau")
    assert [command[1] for command in commands] == ["record", "replay"]
    for command in commands:
        words = [sys.executable, "-m", "tautochrone", *command[1:]]
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert done.returncode == 0, done.stderr
    assert "conventional" in done.stdout


def test_files_that_it_names_exist() -> None:
    """Paths in the text lead somewhere."""
    named = re.findall(r"`((?:core|docs|repro)/[\w./-]+)`", TUTORIAL.read_text(encoding="utf-8"))
    assert named
    for path in named:
        assert (REPOSITORY / path).exists(), path
