"""A heap's description that is wrong is refused by name."""

import shutil
from pathlib import Path

import pytest

from tautochrone.targets.heaps import FOLDER, HeapError, heaps

ROOT = Path(__file__).resolve().parent.parent
PAGE_HEAP, BREAK_HEAP = "page_heap.toml", "break_heap.toml"
# Changes: file, old text, new text, and a part of the message.
MISTAKES = {
    "no TOML": (PAGE_HEAP, "files =", "files", "Expected"),
    "no space": (PAGE_HEAP, 'space = "vspace"\n', "", "`space` is missing"),
    "an unknown key": (PAGE_HEAP, "files =", "color = 1\nfiles =", "`color` is unknown"),
    "a name that is taken": (PAGE_HEAP, "rtvm = []", "conventional = []", "as break_heap.toml"),
    "a unit that is taken": (PAGE_HEAP, "rtmmu = ", "pagetable = ", "names pagetable"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_named(tmp_path: Path, case: str) -> None:
    """The file, and the mistake."""
    file, old, new, said = MISTAKES[case]
    folder = shutil.copytree(FOLDER, tmp_path / "heaps")
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(HeapError, match=r"page_heap\.toml: ") as caught:
        heaps(folder)
    assert said in str(caught.value)


@pytest.mark.parametrize("heap", heaps().values(), ids=lambda heap: heap.name)
def test_what_a_description_names_is_there(heap) -> None:
    """Source files, and a header for each machine that runs it."""
    wanted = [*heap.files, f"targets/programs/paged/heap_{heap.name}.h"]
    wanted += [f"targets/programs/replay/system_{heap.name}.h"]
    assert [name for name in wanted if not (ROOT / name).is_file()] == []
    assert heap.emulated and heap.tile
    assert heap.differs.keys() <= heap.emulated.keys() | heap.tile.keys()
