"""What README and the tutorials show works: their files, their commands in order, and the outputs.

Method: a page's fenced blocks are read in order.

- A block after "`name`:" is a file. Blocks of C or Python without a name are parts of one program.
- `sh` has commands that must succeed; `console` has commands after `$`, each with its stdout.
- An output's words must be equal, on a page of fixed figures also its numbers.

TAU_REWRITE=1 writes the outputs as they are now into the pages, instead of comparing them.
"""

from pathlib import Path

import pytest
from tests import pages
from tests.pages import Page, is_alike, is_equal, read

README = Page("README.md", languages=("console",))
TRIES = 4  # for README's example, whose recordings differ


def test_the_readmes_example_prints_what_is_printed_there(tmp_path: Path) -> None:
    """In one of a few tries: gcc's peak differs from run to run, and sometimes no pool pays."""
    for last in range(TRIES):
        folder = tmp_path / str(last)
        folder.mkdir()
        try:
            read(README, folder)
            return
        except AssertionError:
            if last == TRIES - 1:
                raise


TUTORIALS = "docs/tutorials"
# A replay of a short program then takes half the cycles: most are the heap's, to be ready.
SMALL_HEAP = {"tau replay program.tau ": "tau replay program.tau --heap 1048576 "}
ONE_NEIGHBOR = {"--epochs 300": "--epochs 70 --neighbors 1"}
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
    monkeypatch.setattr(pages, "ROOT", tmp_path)

    def try_to_read(name: str, page: Page) -> None:
        (tmp_path / name).mkdir()
        read(page, tmp_path / name)

    page = tmp_path / "a.md"
    page.write_text(printed.format("4 pools"))
    try_to_read("words", Page("a.md"))
    with pytest.raises(AssertionError, match="instead of"):
        try_to_read("figures", Page("a.md", is_equal))
    with monkeypatch.context() as patch:
        patch.setattr(pages, "REWRITE", True)
        try_to_read("rewritten", Page("a.md", is_equal))
    assert page.read_text() == printed.format("3 pools")
    try_to_read("again", Page("a.md", is_equal))
    page.write_text(printed.format("3 heaps"))
    with pytest.raises(AssertionError, match="instead of"):
        try_to_read("other words", Page("a.md"))
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(AssertionError, match="false"):
        try_to_read("failing", Page("a.md"))
