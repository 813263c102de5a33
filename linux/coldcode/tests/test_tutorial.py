"""The tutorial on cold code, from its text: files as it shows them, commands in order, on a kernel
that is built for it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# One line decides whether `make check` runs this: it builds a kernel, which takes minutes.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TUTORIAL = ROOT / "docs/tutorials/cold-code.md"
FILE = re.compile(r"`([\w.]+)`:\n\n```(?:c|kconfig)\n(.*?)```", re.DOTALL)
SHELL = re.compile(r"```sh\n(.*?)```(?:[^`]*\n\n```\n(.*?)```)?", re.DOTALL)
SECONDS_MAX = 3600
BLOCKS = 10


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a shell answers to a block of the tutorial; `tau` is on its PATH."""
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX
    )


def words_of(text: str) -> list[str]:
    """The words of each line, without numbers, hashes and paths, which depend on compiler and
    machine."""
    numbers = r"\S*/\S*|\b[0-9a-f]{16}\b|[\d,.]*\d"
    lines = (re.sub(numbers, "#", line) for line in text.splitlines())
    return [" ".join(line.split()) for line in lines]


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    files = dict(FILE.findall(text))
    assert sorted(files) == ["init.c", "own.config"]
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    tau = tmp_path / "bin" / "tau"
    tau.parent.mkdir()
    tau.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tautochrone "$@"\n')
    tau.chmod(0o755)
    blocks = SHELL.findall(text)
    assert len(blocks) == BLOCKS
    for script, printed in blocks:
        done = run(script, tmp_path)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        assert not printed or words_of(done.stdout) == words_of(printed), done.stdout
    assert (tmp_path / "report.html").stat().st_size > 1_000_000
