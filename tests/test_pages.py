"""What README and the tutorials show works: their files, their commands in order, and the outputs.

Method: a page's fenced blocks are read in order.

- A block after "`name`:" is a file. Blocks of C or Python without a name are parts of one program.
- `sh` has commands that must succeed; `console` has commands after `$`, each with its stdout.
- An output's words must be equal, on a page of fixed figures also its numbers.

TAU_REWRITE=1 writes the outputs as they are now into the pages, instead of comparing them.
"""

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
    measured, stated = peaks_of(said), peaks_of(expected)
    return words_of(said) == words_of(expected) and measured == pytest.approx(stated, rel=0.02)


def is_alike(said: str, expected: str) -> bool:
    """Whether an output has each line without a number, as of a shorter run."""
    words = {line for line in expected.splitlines() if not re.search(r"\d", line)}
    return words <= set(said.splitlines())


def is_equal(said: str, expected: str) -> bool:
    """Whether two outputs are equal."""
    return said == expected


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


README = Page("README.md", languages=("console",))
TRIES = 4  # of README's example, whose recordings differ


def test_the_readmes_example_prints_what_is_printed_there(tmp_path: Path) -> None:
    """In one of a few tries: gcc's peak differs from run to run, and sometimes no pool pays."""
    assert "gcc (Debian 12.2.0" in subprocess.check_output(["gcc", "--version"], text=True)
    for last in range(TRIES):
        folder = tmp_path / str(last)
        folder.mkdir()
        try:
            read(README, folder)
            return
        except AssertionError:
            if last == TRIES - 1:
                raise


def read(page: Page, folder: Path) -> None:
    """Do all that a page says, and rewrite it if that is asked for."""
    now = Reader(page, folder).read()
    if REWRITE:
        (ROOT / page.path).write_text(now)


TUTORIALS = "docs/tutorials"
# A replay of a short program then takes half the cycles: most are the heap's, to be ready.
SMALL_HEAP = {"tau replay program.tau ": "tau replay program.tau --heap 1048576 "}
ONE_NEIGHBOR = {"--major-frames 300": "--major-frames 70 --neighbors 1"}
CYCLES = Page(f"{TUTORIALS}/cycles-on-the-tile.md")
COMPOSED = Page(f"{TUTORIALS}/composable-system.md", is_equal)
DISCOVER = "tau tlb discover -o host.toml"


@pytest.mark.parametrize(
    "page",
    [
        Page(f"{TUTORIALS}/real-time-virtual-memory.md"),
        Page(f"{TUTORIALS}/tlb-sets.md", is_equal, may_fail=(DISCOVER,)),
        Page(CYCLES.path, instead=SMALL_HEAP),
        Page(COMPOSED.path, is_alike, instead=ONE_NEIGHBOR),
        pytest.param(CYCLES, marks=pytest.mark.slow),
        pytest.param(COMPOSED, marks=pytest.mark.slow),
        # It builds a kernel.
        pytest.param(Page(f"{TUTORIALS}/cold-code.md"), marks=pytest.mark.slow),
    ],
    ids=lambda page: f"{Path(page.path).stem}{'-short' if page.instead else ''}",
)
def test_a_tutorial_does_what_it_says(page: Page, tmp_path: Path) -> None:
    read(page, tmp_path)


def test_a_wrong_output_is_found_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers count only on a page of fixed figures; a command that fails always counts."""
    printed = "`a.txt`:\n\n```\n3 pools\n```\n\n```console\n$ cat \\\n    a.txt\n{}\n$ true\n```\n"
    (tmp_path / "core").mkdir()
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)

    def try_to_read(name: str, page: Page) -> None:
        (tmp_path / name).mkdir()
        read(page, tmp_path / name)

    page = tmp_path / "a.md"
    page.write_text(printed.format("4 pools"))
    try_to_read("words", Page("a.md"))
    with pytest.raises(AssertionError, match="instead of"):
        try_to_read("figures", Page("a.md", is_equal))
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "REWRITE", True)
        try_to_read("rewritten", Page("a.md", is_equal))
    assert page.read_text() == printed.format("3 pools")
    try_to_read("again", Page("a.md", is_equal))
    page.write_text(printed.format("3 heaps"))
    with pytest.raises(AssertionError, match="instead of"):
        try_to_read("other words", Page("a.md"))
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(AssertionError, match="false"):
        try_to_read("failing", Page("a.md"))
