"""Each name in DESIGN.md's table of names leads to its files, on every side.

Method: the table is read; a name without its file, and a test or a unit without its name in the
table, are found.
"""

import re
from pathlib import Path

import pytest

from tautochrone.tile.units import units
from tautochrone.replay.systems import system_named, systems

ROOT = Path(__file__).resolve().parent.parent
HEAD = "| mechanism | core | model | hw | `tau` system | paper |"
KERNEL_HEAD = "| mechanism | kernel | tests | paper |"
CORE_FOLDERS = ("core", "peers/conventional")
# Units that translate nothing, and systems that are not ours.
NO_MECHANISM = {"bare", "probe"}


def rows(document: str = "DESIGN.md", head: str = HEAD) -> list[dict[str, list[str]]]:
    """The names of each row of a table, by the column."""
    text = (ROOT / document).read_text()
    lines = text[text.index(head) :].splitlines()
    heads = [cell.strip(" `").removesuffix("` system") for cell in lines[0].strip("|").split("|")]
    found = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        cells = [re.findall("`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        found.append(dict(zip(heads, cells, strict=True)))
    return found


def names(column: str) -> list[str]:
    """All names of a column, in order."""
    return list(dict.fromkeys(name for row in rows() for name in row[column]))


@pytest.mark.parametrize("name", names("core"))
def test_a_mechanism_of_the_core_has_its_files_and_a_test(name: str) -> None:
    (folder,) = (each for each in CORE_FOLDERS if (ROOT / each / f"{name}.c").is_file())
    assert (ROOT / folder / f"{name}.h").is_file()
    places = [*(ROOT / "core/tests").rglob("*"), *(ROOT / "linux").rglob("tests/*")]
    tests = [path for path in places if Path(name).name in path.stem]
    assert any(path.suffix in (".c", ".py") for path in tests), "no test is named after it"


def test_every_mechanism_of_the_core_is_in_the_table() -> None:
    """A file of the core without a row would be found by nobody."""
    folders = [*CORE_FOLDERS, "core/ports"]
    sources = {
        path.relative_to(ROOT / "core").with_suffix("").as_posix()
        if folder == "core/ports"
        else path.stem
        for folder in folders
        for path in (ROOT / folder).glob("*.c")
    }
    # The file of all, parts of `ports/sv39` and `ports/record`, and a peer that only replay has.
    parts = {"tau", "ports/sv39_linear", "ports/sv39_code_ages", "ports/record_wrap", "first_fit"}
    assert sources - parts == set(names("core"))


def test_a_models_name_is_its_file_or_folder() -> None:
    for name in names("model"):
        place = ROOT / "model" / name
        assert place.with_suffix(".py").is_file() or place.is_dir(), name


def test_a_units_name_is_its_folder_and_every_unit_has_a_row() -> None:
    described = {unit.rtl.parent.name for unit in units().values()}
    assert described - NO_MECHANISM == set(names("hw"))
    for name in names("hw"):
        assert (ROOT / "hw" / name / "doc" / f"{name}.md").is_file()


def test_a_systems_name_is_one_of_tau_and_ours_have_a_row() -> None:
    in_table = names("tau")
    assert all(system_named(name) for name in in_table)
    ours = {name for name, system in systems().items() if system.role != "peer"}
    assert ours <= set(in_table), ours - set(in_table)


def test_a_part_of_the_kernel_has_its_files_and_a_test() -> None:
    found = set()
    for row in rows("docs/design/kernel.md", KERNEL_HEAD):
        (name,) = row["kernel"]
        found.add(name)
        assert (ROOT / "kernel" / name).is_dir() or any(ROOT.glob(f"kernel/{name}.[ch]")), name
        for test in row["tests"]:
            assert (ROOT / "kernel/tests" / test).is_file(), test
    sources = {f"slots/{path.stem}" for path in (ROOT / "kernel/slots").glob("*.c")}
    assert sources - {"slots/main"} <= found
