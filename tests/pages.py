"""Runs a page: writes its files, runs its commands in order, compares or rewrites the outputs."""

import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from testing import command

ROOT = Path(__file__).resolve().parent.parent
REWRITE = bool(os.environ.get("TAU_REWRITE"))
SECONDS_MAX = 3600
BLOCK = re.compile(
    r"(?:`(?P<name>[\w.]+)`:\n\n)?^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.M | re.S
)
STEP = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.M)
SHELL_CHARACTERS = re.compile(r"[$|<>&;()*…]")
VARYING = re.compile(r"\S*/\S*|\b[0-9a-f]{16}\b|[\d,.]*\d")


def words_of(text: str) -> list[str]:
    """The words of each line, without numbers, hashes and paths, which depend on the machine."""
    lines = (" ".join(VARYING.sub("#", line).split()) for line in text.splitlines())
    return [re.sub(r"#( #)+", "#", line) for line in lines if line]


def peaks_of(text: str) -> list[int]:
    """The numbers of README's example that a change of core/ moves, and runs hardly do.

    Not the margin, nor the heap that includes it: five runs of equal peaks get more than others.
    """
    lines = re.findall(
        r"^(?:\d+ recordings:.*|with(?:out)? pools .*|instructions .*|tau: cc1: [\d,]+ calls)",
        text,
        re.M,
    )
    numbers = (int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", "".join(lines)))
    return [each for each in numbers if each >= 200]


def is_same(said: str, expected: str) -> bool:
    """Whether two outputs differ in nothing but figures of this machine and this run."""
    if words_of(said) != words_of(expected):
        return False
    version = subprocess.check_output(["gcc", "--version"], text=True)
    is_measured = "gcc (Debian 12.2.0" in version
    return not is_measured or peaks_of(said) == pytest.approx(peaks_of(expected), rel=0.02)


def is_alike(said: str, expected: str) -> bool:
    """Whether an output has each line without a number, as of a shorter run."""
    words = {line for line in expected.splitlines() if not re.search(r"\d", line)}
    return words <= set(said.splitlines())


def is_equal(said: str, expected: str) -> bool:
    """Whether two outputs are equal."""
    return said == expected


def shown(page: str, name: str) -> str:
    """The file that a page shows under its name."""
    blocks = BLOCK.finditer((ROOT / page).read_text())
    (body,) = (block["body"] for block in blocks if block["name"] == name)
    return body


@dataclass(frozen=True)
class Page:
    """A page, and how it is run."""

    path: str
    same: Callable[[str, str], bool] = is_same
    languages: tuple[str, ...] = ("sh", "console")
    # Parts of commands, and what stands there in a test.
    instead: dict[str, str] = field(default_factory=dict)
    # Commands whose result depends on the machine: they may fail.
    may_fail: tuple[str, ...] = ()


class Reader:
    """A reader of a page, in a folder of their own."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.text = (ROOT / page.path).read_text()
        (folder / "bin").mkdir()
        tau = f'#!/bin/sh\nexec "{sys.executable}" -m tautochrone "$@"\n'
        (folder / "bin" / "tau").write_text(tau)
        (folder / "bin" / "tau").chmod(0o755)
        (folder / "program").write_text("#!/bin/sh\nexec date\n")
        (folder / "program").chmod(0o755)
        (folder / "core").symlink_to(ROOT / "core")
        (folder / "tau").symlink_to(ROOT)
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}

    def read(self) -> str:
        """Do all that the page says; return it with the outputs as they are now."""
        blocks = list(BLOCK.finditer(self.text))
        parts: dict[str, str] = defaultdict(str)
        for block in blocks:
            parts[block["language"]] += "" if block["name"] else block["body"]
        files = {"program.c": parts["c"]}
        files |= {block["name"]: block["body"] for block in blocks if block["name"]}
        for name, text in files.items():
            (self.folder / name).write_text(text)
        now = BLOCK.sub(self.block, self.text)
        if parts["python"]:
            self.run(shlex.join([sys.executable, "-c", parts["python"]]))
        return now

    def block(self, block: re.Match[str]) -> str:
        """Run a block's commands; return the block as it is now."""
        if block["language"] not in self.page.languages:
            return block[0]
        if block["language"] == "sh":
            self.run(block["body"])
            return block[0]
        body = STEP.sub(lambda step: f"$ {step[1]}{self.run(step[1], step[2])}", block["body"])
        return f"```console\n{body}```"

    def run(self, script: str, expected: str | None = None) -> str:
        """Run commands; return their output, which must be as EXPECTED if that is given."""
        said = self.said(script)
        if expected is not None and not REWRITE:
            assert self.page.same(said, expected), f"{script}\n{said}\ninstead of\n{expected}"
        return said

    def said(self, script: str) -> str:
        """Run commands, which must succeed; return their stdout."""
        for part, other in self.page.instead.items():
            script = script.replace(part, other)
        lines = script.replace("\\\n", " ").splitlines()
        if not all(line.startswith("tau ") and not SHELL_CHARACTERS.search(line) for line in lines):
            words = ["bash", "-e", "-o", "pipefail", "-c", script]
            done = subprocess.run(
                words,
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=SECONDS_MAX,
            )
            assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
            return done.stdout
        printed = ""
        for line in lines:
            words = shlex.split(line)[1:]
            done = command.tau(*words, cwd=self.folder, env=self.environment, timeout=SECONDS_MAX)
            assert done.returncode == 0 or line in self.page.may_fail, f"{line}\n{done.stderr}"
            printed += done.stdout
        return printed


def read(page: Page, folder: Path) -> None:
    """Do all that a page says, and rewrite it if that is asked for."""
    now = Reader(page, folder).read()
    if REWRITE and page.same is not is_alike:
        (ROOT / page.path).write_text(now)
