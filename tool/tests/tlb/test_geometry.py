"""Geometries of TLBs: the known ones, and each way in which one can be wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from model.tlb import XOR, Level
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.tlb.geometry import (
    CODE, DATA, DIRECTORY, Geometry, geometry_of, known_geometry, known_names, read_geometry
)

GOOD = """\
format = "tautochrone geometry"
version = 1
page_bytes = 4096
source = "user"
reference = "an example"

[[array]]
name = "first"
sets = 4
ways = 2
safe_ways = 1

[[structure]]
role = "data"
page_bytes = 4096
array = "first"
rows = ["0x5", "0x2"]
constant = 3

[[structure]]
role = "directory"
page_bytes = 16384
array = "first"
rows = ["0x4", "0x8"]
"""

# Old text of GOOD, new text, message.
WRONG = [
    ("version = 1\n", "", ": version is missing"),
    ('format = "tautochrone geometry"\n', "", ": format is missing"),
    ("tautochrone geometry", "tautochrone plan", ":1: format is 'tautochrone plan', expected"),
    ("version = 1", "version = 2", ":2: version is 2, expected an integer from 1 to 1"),
    ("page_bytes = 4096\ns", "page_bytes = 4097\ns", ":3: page_bytes: 4097 is not a power of two"),
    ("page_bytes = 4096\ns", "s", ": page_bytes is missing"),
    ('source = "user"', 'source = "me"', ":4: source is 'me', expected one of measured, data"),
    ("sets = 4", "sets = 0", ":9: array[0].sets is 0, expected an integer from 1"),
    ("sets = 4", "sets = 3", ":9: array[0].sets: 3 is not a power of two"),
    ("\nways = 2", "\nways = 0", ":10: array[0].ways is 0, expected an integer from 1"),
    ("safe_ways = 1", "safe_ways = 0", ":11: array[0].safe_ways is 0, expected an integer"),
    ("safe_ways = 1", "safe_ways = 3", ":11: array[0].safe_ways: 3 of 2 ways are too many"),
    ("safe_ways = 1", "safe_ways = 1\ncolor = 1", ":12: array[0].color is unknown"),
    ("safe_ways = 1\n", 'safe_ways = 1\n[[array]]\nname = "first"\nsets = 1\nways = 1\n'
     "safe_ways = 1\n", ":8: array[0].name: first names two arrays"),
    ('role = "data"', 'role = "date"', ":14: structure[0].role is 'date', expected one of"),
    ('role = "data"', 'role = "directory"', ": structure: none translates pages"),
    ('\narray = "first"\nrows = ["0x5"', '\narray = "last"\nrows = ["0x5"',
     ":16: structure[0].array: unknown array last"),
    ('page_bytes = 4096\narray', 'page_bytes = 2048\narray',
     ":15: structure[0].page_bytes: less than the base page"),
    ('"0x5", "0x2"', '"0x5"', ":17: structure[0].rows: 1 rows give 2 sets, but first has 4"),
    ('"0x5", "0x2"', '"0x5", "0x2", "0x8"', "structure[0].rows: 3 rows give 8 sets, but first"),
    ('"0x5", "0x2"', '"0x5", "0x5"', "structure[0].rows[1]: the exclusive or of rows before it"),
    ('"0x5", "0x2"', '"0x0", "0x2"', "structure[0].rows[0]: the exclusive or of rows before it"),
    ('"0x5", "0x2"', '"five", "0x2"', "structure[0].rows[0] is 'five', expected a hexadecimal"),
    ("constant = 3", "constant = 4", ":18: structure[0].constant: 4 is not one of 4 sets"),
    ("constant = 3", "constant = -1", ":18: structure[0].constant is -1, expected"),
    ('"0x4", "0x8"', '"0x6", "0x8"', "structure[1].rows[0]: 0x6 has bits inside a page of 16384"),
    ('role = "directory"\npage_bytes = 16384', 'role = "data"\npage_bytes = 4096',
     ":20: structure[1]: the same role, page size and array"),
    ("page_bytes = 16384", "page_bytes = 12288", "structure[1].page_bytes: 12288 is not a"),
    ("page_bytes = 4096\ns", "page_bytes = [\ns", ": not TOML: "),
]  # fmt: skip


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_file_is_read(tmp_path: Path) -> None:
    """Each key has its place, and an index is what the file says."""
    geometry = geometry_of(str(written(tmp_path, GOOD)))
    assert (geometry.name, geometry.source, geometry.assumption) == ("own", "user", None)
    data, directory = geometry.structures
    assert [data.index(page) for page in range(8)] == [3, 2, 1, 0, 2, 3, 0, 1]
    assert [directory.index(page) for page in range(0, 16, 4)] == [0, 1, 2, 3]
    assert geometry.translating(4096) == (data, directory)
    assert geometry.translating(16384) == ()
    assert geometry.translating(4096, CODE) == (directory,)


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Place, cause and next step."""
    assert GOOD.count(old) == 1, old
    with pytest.raises(TauError) as error:
        read_geometry(written(tmp_path, GOOD.replace(old, new)))
    assert message in error.value.message
    assert error.value.next_step


def test_three_dependent_rows_are_refused(tmp_path: Path) -> None:
    """No two of the three are equal."""
    text = GOOD.replace("sets = 4", "sets = 8").replace('"0x5", "0x2"', '"0x3", "0x5", "0x6"')
    with pytest.raises(TauError, match=r"structure\[0\].rows\[2\]: the exclusive or"):
        read_geometry(written(tmp_path, text))


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    """With the names that there are; a file that is missing, with its path."""
    with pytest.raises(TauError, match="unknown geometry zen9") as error:
        geometry_of("zen9")
    assert error.value.exit_code == EXIT_USAGE
    assert "zen4" in (error.value.next_step or "")
    with pytest.raises(TauError, match="no such file"):
        geometry_of(str(tmp_path / "zen4.toml"))


@pytest.mark.parametrize("name", known_names())
def test_every_known_geometry_is_right(name: str) -> None:
    """It says who says so, has pages of 4 KiB, and each set of each structure is reached."""
    geometry = known_geometry(name)
    assert geometry.source != "user"
    assert any(geometry.arrays[each.array].is_colorable for each in geometry.translating(4096))
    for structure in geometry.structures:
        step = structure.page_bytes // geometry.page_bytes
        reached = {structure.index(page * step) for page in range(1 << 11)}
        assert len(reached) == geometry.arrays[structure.array].sets


def test_there_are_ten() -> None:
    """As many as the simulator is to compare."""
    assert len(known_names()) == 10


@pytest.mark.parametrize("name", [name for name in known_names() if name.startswith("tile")])
def test_the_tiles_geometries_are_its_models(name: str) -> None:
    """Each array has the same index as in model/tlb.py, over pages of 18 bits."""
    geometry = known_geometry(name)
    for structure in geometry.structures:
        array = geometry.arrays[structure.array]
        level = Level(array.sets, array.ways, XOR if "xor" in name else 0, 0)
        for page in [*range(1 << 12), *range(0, 1 << 18, 1021)]:
            assert structure.index(page) == level.set_of(page)


def test_zen4_is_what_was_measured() -> None:
    """Data {VA[18:12], VA[21]}, directory {VA[29:23], not VA[21]}."""
    geometry = known_geometry("zen4")
    _, data, directory = geometry.translating(4096)
    assert (data.role, directory.role) == (DATA, DIRECTORY)
    for page in range(0, 1 << 20, 97):
        address = page << 12
        assert data.index(page) == (address >> 12 & 127) << 1 | address >> 21 & 1
        assert directory.index(page) == (address >> 23 & 127) << 1 | 1 ^ address >> 21 & 1


def test_the_digest_is_of_what_matters() -> None:
    """Names and sources do not count; a row, a way and a page size do."""
    geometry = known_geometry("skylake")

    def changed(**facts: object) -> Geometry:
        return replace(geometry, **facts)  # type: ignore[arg-type]

    first, *rest = geometry.structures
    same = changed(name="other", source="user", reference="", assumption="none")
    assert same.digest() == geometry.digest()
    others = [
        changed(page_bytes=8192),
        changed(structures=tuple(rest)),
        changed(structures=(replace(first, constant=1), *rest)),
        changed(arrays=(replace(geometry.arrays[0], safe_ways=2), geometry.arrays[1])),
    ]
    assert len({geometry.digest(), *(other.digest() for other in others)}) == 5
