"""Our text goes into Linux where it belongs, or nowhere: every anchor stands exactly once in the
kernel's source, and one that is missing or doubled is named.

Method: the files with anchors are unpacked from Debian's package; each anchor is then removed, and
doubled, in a copy.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from linux.coldcode.tests.cold_kernels import ROOT
from tautochrone.coldcode.linux import anchors, source
from tautochrone.errors import TauError

TABLE = source.pager_folder() / "anchors.toml"
INSERTIONS = anchors.read_insertions(TABLE)
ROWS = pytest.mark.parametrize("row", range(len(INSERTIONS)))


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files with anchors, as Debian has them."""
    assert source.ARCHIVE.exists(), source.PACKAGE
    folder = tmp_path_factory.mktemp("linux")
    source.unpack(source.ARCHIVE, folder, anchors.files_of(INSERTIONS))
    return folder


@pytest.fixture
def tree(original: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(original, tmp_path / "tree"))


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file under a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_insertion_is_next_to_its_anchor(tree: Path) -> None:
    source.put(tree)
    for row in INSERTIONS:
        text = (tree / row.file).read_text()
        assert text.count(row.before + row.anchor + row.after) == 1, row
    for name, path in source.pager_files().items():
        assert (tree / source.TARGET / name).read_bytes() == path.read_bytes()


def test_nothing_but_the_insertions_is_changed(original: Path, tree: Path) -> None:
    source.put(tree)
    for name in anchors.files_of(INSERTIONS):
        text = (tree / name).read_text()
        for row in INSERTIONS:
            if row.file == name:
                text = text.replace(row.before + row.anchor + row.after, row.anchor)
        assert text == (original / name).read_text()


@ROWS
def test_a_missing_anchor_is_named(tree: Path, row: int) -> None:
    insertion = INSERTIONS[row]
    path = tree / insertion.file
    path.write_text(path.read_text().replace(insertion.anchor, "\n"))
    refuse(tree, insertion, "is missing")


@ROWS
def test_a_doubled_anchor_is_named(tree: Path, row: int) -> None:
    insertion = INSERTIONS[row]
    path = tree / insertion.file
    path.write_text(path.read_text() + insertion.anchor)
    refuse(tree, insertion, "stands 2 times")


def refuse(tree: Path, insertion: anchors.Insertion, cause: str) -> None:
    """The error names file, anchor and cause, and no file is changed."""
    before = contents(tree)
    with pytest.raises(TauError) as raised:
        source.put(tree)
    message = raised.value.message
    assert insertion.file in message and cause in message
    assert repr(insertion.anchor.strip()) in message
    assert raised.value.next_step
    assert contents(tree) == before


def test_a_file_that_is_gone_is_named(tree: Path) -> None:
    (tree / INSERTIONS[0].file).unlink()
    with pytest.raises(TauError, match=f"no file {INSERTIONS[0].file}"):
        source.put(tree)


def test_a_folder_without_a_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="no such file"):
        source.prepared(tmp_path / "none.tar.xz")
    (tmp_path / "text.tar.xz").write_text("no archive")
    with pytest.raises(TauError, match="cannot be unpacked"):
        source.unpack(tmp_path / "text.tar.xz", tmp_path)


@pytest.mark.slow
def test_every_file_that_looks_at_the_addresses_of_code_is_judged(tmp_path: Path) -> None:
    """By name in the design, which gives the reason. The whole source is unpacked and searched, but
    for drivers and other processors."""
    source.unpack(source.ARCHIVE, tmp_path)
    words = r"\b(_stext|_etext|(__)?kernel_text_address|core_kernel_text|is_kernel_text)\b"
    folders = "arch/riscv block fs include init io_uring ipc kernel lib mm net security".split()
    command = ["grep", "-rlE", words, "--include=*.[chS]", *folders]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    design = (ROOT / "docs/design/code_pager.md").read_text(encoding="utf-8")
    missing = [name for name in found.stdout.split() if f"`{name}`" not in design]
    assert not missing
