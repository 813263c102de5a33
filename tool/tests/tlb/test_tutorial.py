"""The tutorial on TLB sets, from its text: files as it shows them, commands in order, what they
print."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tautochrone.commands.tlb import command
from testing.command import tau

ROOT = Path(__file__).resolve().parents[3]
TUTORIAL = ROOT / "docs/tutorials/tlb-sets.md"
FILE = re.compile(r"`([\w.]+)`:\n\n```(?:c|toml)\n(.*?)```", re.DOTALL)
SHELL = re.compile(r"```sh\n(.*?)```(?:[^`]*\n\n```(?:console)?\n(.*?)```)?", re.DOTALL)
SECONDS_MAX = 300


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *words = line.split()
    assert program == "tau"
    return tau(*words, cwd=folder)


def misses(text: str) -> list[str]:
    """Tasks, jobs and misses, and the evictions."""
    return re.findall(r"^(?:control|logger) +\d+ +\d+ +[\d-]+|^evictions.*", text, re.MULTILINE)


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    files = dict(FILE.findall(text))
    programs = ["control.c", "logger.c", "program.c"]
    assert sorted(files) == sorted([*programs, "linux.toml", "own.toml", "tasks.toml"])
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    blocks = SHELL.findall(text)
    assert len(blocks) == 9
    (compiler,) = re.findall(r"^gcc .*", text, re.MULTILINE)
    subprocess.run(compiler.split(), cwd=tmp_path, check=True, timeout=SECONDS_MAX)
    for line, printed in blocks:
        verb = line.split()[2]
        if line.startswith("tau tlb") and verb not in command.commands:
            continue
        done = run(line, tmp_path)
        if verb == "discover" and "could not be verified" in done.stderr:
            continue  # on a machine that is too loud, or has no such TLB
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        if line.startswith("tau run"):  # its stdout is the program's
            assert printed and printed in done.stderr
            continue
        if verb == "run":  # cycles change with the kernel, misses and evictions do not
            assert misses(done.stdout) == misses(printed)
        else:
            assert not printed or done.stdout == printed
    tasks = files["tasks.toml"].replace(
        'program = "control.c"', 'program = "control.c"\nsets = [{ array = "data", count = 15 }]'
    )
    (tmp_path / "tasks.toml").write_text(tasks, encoding="utf-8")
    done = run("tau tlb plan tasks.toml --geometry tile-16x4", tmp_path)
    (said,) = re.findall(r"tau: kernel does not fit.*\n", text)
    assert done.returncode == 3 and said in done.stderr
