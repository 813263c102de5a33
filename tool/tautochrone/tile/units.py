"""The units of the MMU socket, as described by the unit.toml of their folders.

A description repeats parameters and registers of its module, so both are compared.
"""

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tautochrone.errors import TauError
from tautochrone.tile.sources import root

DESCRIPTION = "unit.toml"
STATUS_PACKAGE = "socket/rtl/tau_status_pkg.sv"
PARAMETERS = ("PageBits", "FrameBits")  # every unit has these
PARAMETER = re.compile(r"^ *parameter [^=\n]*\b(\w+) *=", re.M)
REGISTER = re.compile(r"localparam logic \[7:0\] (\w+)Word = 8'd(\d+);")
NUMBER_MAX = 255  # it is a byte of the device register `config`
GRANULES_BYTES = (1024, 4096)
NEEDED: dict[str, type] = {"number": int, "module": str}
TYPES = NEEDED | {"granule_bytes": int, "space": str, "shapes": list, "registers": dict}


@dataclass(frozen=True)
class Unit:
    """What fills the MMU socket.

    `number`: its number in the device register `config`. `rtl`: the folder of its module.
    `granule_bytes`: its smallest page.
    `space`: the core's tables that it reads, "" if no heap is replayed on it. `shapes`: other
    parameters with which the module must work. `registers`: their words.
    """

    name: str
    rtl: Path
    number: int
    module: str
    granule_bytes: int = 4096
    space: str = ""
    shapes: tuple[str, ...] = ()
    registers: Mapping[str, int] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        """The file of its module."""
        return self.rtl / f"{self.module}.sv"

    @property
    def takes_latencies(self) -> bool:
        """Whether it can be told the cycles of its tables, with the same results in each cycle."""
        return "Latency0" in PARAMETER.findall(self.source.read_text(encoding="utf-8"))


def units(hardware: Path | None = None) -> dict[str, Unit]:
    """Every unit of a folder hw/ by its name, in the order of their numbers.

    Raises TauError if a description is wrong, or contradicts its module.
    """
    return _units(hardware or root() / "hw")


@functools.cache
def _units(hardware: Path) -> dict[str, Unit]:
    found: list[tuple[Unit, Path]] = []
    for path in sorted(hardware.glob(f"*/{DESCRIPTION}")):
        for unit in _described(path):
            _compare(unit, path)
            for other, place in found:
                if unit.name == other.name or unit.number == other.number:
                    same = f"[{other.name}] of {place} has its name or its number"
                    raise _wrong(f"{path}: [{unit.name}]: {same}, {other.number}")
            found.append((unit, path))
    found.sort(key=lambda entry: entry[0].number)
    return {unit.name: unit for unit, _ in found}


def described(name: str) -> Unit:
    """The unit of this name. Raises TauError if it is unknown."""
    if name not in units():
        raise TauError(f"unknown unit `{name}`: use one of {', '.join(units())}")
    return units()[name]


def unit_sources(unit: Unit) -> list[Path]:
    """The RTL of a unit, packages first: all of its folder except the modules of other units.

    The first is the package of the causes that every unit answers with.
    """
    others = [other.source for other in units().values() if other != unit]
    files = [path for path in unit.rtl.glob("*.sv") if path not in others]
    files.sort(key=lambda path: (not path.stem.endswith("_pkg"), path))
    return [root() / "hw" / STATUS_PACKAGE, *files]


def _wrong(text: str) -> TauError:
    return TauError(text, "repair it, or install tautochrone again")


def _described(path: Path) -> Iterator[Unit]:
    """The units of a description. Raises TauError for anything else."""
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(f"{path}: {error}") from error
    for name, table in tables.items():
        where = f"{path}: [{name}]"
        if not isinstance(table, dict):
            raise _wrong(f"{where} is not a table")
        for key in NEEDED.keys() - table.keys():
            raise _wrong(f"{where}: `{key}` is missing")
        for key, value in table.items():
            if key not in TYPES:
                raise _wrong(f"{where}: unknown key `{key}`; known are {', '.join(TYPES)}")
            if not isinstance(value, TYPES[key]) or isinstance(value, bool):
                raise _wrong(f"{where}: `{key}` is not of type {TYPES[key].__name__}")
        if not 0 <= table["number"] <= NUMBER_MAX:
            raise _wrong(f"{where}: number {table['number']} is not from 0 to {NUMBER_MAX}")
        if table.get("granule_bytes", GRANULES_BYTES[0]) not in GRANULES_BYTES:
            raise _wrong(f"{where}: `granule_bytes` is one of {GRANULES_BYTES}")
        shapes = tuple(map(str, table.get("shapes", ())))
        yield Unit(name, path.parent / "rtl", **{**table, "shapes": shapes})


def _compare(unit: Unit, path: Path) -> None:
    """Raise TauError if a unit's description contradicts its module."""
    where, source = f"{path}: [{unit.name}]", unit.source
    if not source.is_file():
        raise _wrong(f"{where}: module {unit.module}: {source} does not exist")
    text = source.read_text(encoding="utf-8")
    if re.findall(r"^module (\w+)", text, re.M) != [unit.module]:
        raise _wrong(f"{where}: module {unit.module} is not the module of {source}")
    known = PARAMETER.findall(text)
    needed = [(name, "every unit") for name in PARAMETERS]
    needed += [
        (each.partition("=")[0], f"shape `{shape}`")
        for shape in unit.shapes
        for each in shape.split()
    ]
    for name, by in needed:
        if name not in known:
            raise _wrong(f"{where}: {by} has a parameter {name}, {source} has none")
    said = {_plain(name): int(number) for name, number in REGISTER.findall(text)}
    for name in sorted(said.keys() | unit.registers.keys()):
        here, there = unit.registers.get(name, "missing"), said.get(name, "missing")
        if here != there:
            raise _wrong(f"{where}: register {name} is {here}, in {source} it is {there}")


def _plain(name: str) -> str:
    """A name of SystemVerilog as a description spells it: InvalidatePage is invalidate_page."""
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
