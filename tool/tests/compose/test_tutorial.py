"""The tutorial on composable systems, from its text: files as it shows them, commands in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testing.command import tau

ROOT = Path(__file__).resolve().parents[3]
TUTORIAL = ROOT / "docs/tutorials/composable-system.md"
FILE = re.compile(r"`([\w.]+)`:\n\n```(?:c|toml)\n(.*?)```", re.DOTALL)
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(
    "more",
    [" --neighbors 1 --major-frames 70", pytest.param("", marks=pytest.mark.slow)],
    ids=["short", "whole"],
)
def test_the_tutorial_does_what_it_says(tmp_path: Path, more: str) -> None:
    """Every command; where neighbors are tried, one short run of them or as many as it says."""
    text = TUTORIAL.read_text(encoding="utf-8")
    files = dict(FILE.findall(text))
    assert sorted(files) == ["controller.c", "logger.c", "system.toml"]
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    lines = [line for block in SHELL.findall(text) for line in block.splitlines()]
    assert len(lines) == 7
    for line in lines:
        program, *words = (line + more if " check " in line else line).split()
        assert program == "tau"
        done = tau(*words, cwd=tmp_path)
        assert done.returncode == (3 if "--leak" in line else 0), f"{line}\n{done.stderr}"
        if " build " in line:
            assert "everything fits" in done.stdout
        if " run " in line:
            assert re.search(r"controller\.control +0 +50 ", done.stdout), done.stdout
        if " check " in line:
            said = "shared: TLB" if "--leak" in line else "no event moved by one cycle"
            assert said in done.stdout, done.stdout
