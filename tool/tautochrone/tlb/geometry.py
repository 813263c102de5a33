"""Geometries of TLBs: the known ones of facts/geometry.toml, and files of a user.

docs/spec/tlb_color.md, [CLR-1] ... [CLR-5], says what a geometry is. Every error names the place,
the cause and the next step.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import geometry_format
from tautochrone.files.schema import Reader
from tautochrone.files.toml_file import read_toml

DATA, DIRECTORY, CODE = "data", "directory", "code"
NEXT_STEP = "see docs/spec/tlb_color.md, or the examples in facts/geometry.toml"
Table = dict[str, Any]


@dataclass(frozen=True)
class Array:
    """Sets of ways, of which `safe_ways` can be live at a time. One set: nobody can own a part."""

    name: str
    sets: int
    ways: int
    safe_ways: int

    @property
    def is_colorable(self) -> bool:
        """Whether its sets can be shared out."""
        return self.sets > 1


@dataclass(frozen=True)
class Structure:
    """Entries of `page_bytes` each in array number `array`; rows are masks of a page number."""

    role: str
    page_bytes: int
    array: int
    rows: tuple[int, ...]
    constant: int

    def index(self, page: int) -> int:
        """The set of the entry of base page number `page`."""
        bits = ((page & row).bit_count() % 2 << bit for bit, row in enumerate(self.rows))
        return sum(bits) ^ self.constant


@dataclass(frozen=True)
class Geometry:
    """The TLBs of a processor. Who says so makes no difference."""

    name: str
    page_bytes: int
    source: str = field(compare=False)
    reference: str = field(compare=False)
    assumption: str | None = field(compare=False)
    arrays: tuple[Array, ...]
    structures: tuple[Structure, ...]

    def translating(self, page_bytes: int, role: str = DATA) -> tuple[Structure, ...]:
        """The structures that translate a page of this size, including directories."""
        return tuple(
            structure
            for structure in self.structures
            if (structure.role == role and structure.page_bytes == page_bytes)
            or (structure.role == DIRECTORY and structure.page_bytes > page_bytes)
        )

    def has_sets_of(self, other: Geometry) -> bool:
        """Whether each page goes to the same sets. Ways may differ."""

        def sets(geometry: Geometry) -> object:
            return (
                [array.sets for array in geometry.arrays],
                [
                    (each.role, each.page_bytes, each.array, each.rows, each.constant)
                    for each in geometry.structures
                ],
            )

        return sets(self) == sets(other)

    def digest(self) -> str:
        """SHA-256 of what decides sets and ways; names and sources do not."""
        facts = asdict(self)
        content = {
            "page_bytes": self.page_bytes,
            "arrays": [{**array, "name": ""} for array in facts["arrays"]],
            "structures": facts["structures"],
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def known_names() -> list[str]:
    """The names of the geometries in facts/geometry.toml."""
    return list(geometry_format.GEOMETRIES)


def known_geometry(name: str) -> Geometry:
    """Return a geometry of facts/geometry.toml. Raises TauError if the name is unknown."""
    if name not in geometry_format.GEOMETRIES:
        raise TauError(
            f"unknown geometry {name}",
            f"use one of {', '.join(known_names())}, or name a file",
            EXIT_USAGE,
        )
    reader = Reader(f"facts/geometry.toml [geometry.{name}]", NEXT_STEP)
    return geometry_of_table(name, geometry_format.GEOMETRIES[name], reader)


def geometry_of(name_or_file: str) -> Geometry:
    """Return a known geometry, or a file's if the name has a dot or a slash."""
    if "/" in name_or_file or "." in name_or_file:
        return read_geometry(Path(name_or_file))
    return known_geometry(name_or_file)


def read_geometry(path: Path) -> Geometry:
    """Read a file with one geometry. Raises TauError with the line, cause and next step."""
    _, document, reader = read_toml(path, "geometry", NEXT_STEP)
    for key in ("format", "version"):
        if key not in document:
            raise reader.fail(f"{key} is missing")
    return geometry_of_table(path.stem, document, reader)


def _wrong(reader: Reader, place: str, cause: str, next_step: str | None = None) -> TauError:
    return reader.fail(f"{place}: {cause}", next_step, place)


def geometry_of_table(name: str, document: Table, reader: Reader) -> Geometry:
    """Return the geometry of a table. Raises TauError with the reader's path if it is wrong."""
    table = reader.table("", document, geometry_format.DOCUMENT)
    _refuse_no_power_of_two(reader, "page_bytes", table["page_bytes"])
    names = Counter(array["name"] for array in table["array"])
    for number, array in enumerate(table["array"]):
        place = f"array[{number}]"
        if names[array["name"]] > 1:
            raise _wrong(reader, f"{place}.name", f"{array['name']} names two arrays")
        _refuse_no_power_of_two(reader, f"{place}.sets", array["sets"])
        if array["safe_ways"] > array["ways"]:
            cause = f"{array['safe_ways']} of {array['ways']} ways are too many"
            raise _wrong(reader, f"{place}.safe_ways", cause)
    arrays = tuple(Array(**array) for array in table["array"])
    structures = tuple(
        _structure(reader, f"structure[{number}]", row, arrays, table["page_bytes"])
        for number, row in enumerate(table["structure"])
    )
    kinds = [(each.role, each.page_bytes, each.array) for each in structures]
    for number, kind in enumerate(kinds):
        if kind in kinds[:number]:
            cause = "the same role, page size and array as another"
            raise _wrong(reader, f"structure[{number}]", cause)
    if all(structure.role == DIRECTORY for structure in structures):
        raise _wrong(reader, "structure", "none translates pages")
    facts = {key: table.get(key) for key in ("page_bytes", "source", "reference", "assumption")}
    return Geometry(name=name, arrays=arrays, structures=structures, **facts)


def _structure(
    reader: Reader, place: str, row: Table, arrays: tuple[Array, ...], base_bytes: int
) -> Structure:
    names = [array.name for array in arrays]
    if row["array"] not in names:
        step = f"use one of {', '.join(names)}" if names else None
        raise _wrong(reader, f"{place}.array", f"unknown array {row['array']}", step)
    _refuse_no_power_of_two(reader, f"{place}.page_bytes", row["page_bytes"])
    if row["page_bytes"] < base_bytes:
        raise _wrong(reader, f"{place}.page_bytes", "less than the base page")
    number = names.index(row["array"])
    sets, constant = arrays[number].sets, row.get("constant", 0)
    rows = tuple(int(text, 16) for text in row["rows"])
    if 1 << len(rows) != sets:
        cause = f"{len(rows)} rows give {1 << len(rows)} sets, but {row['array']} has {sets}"
        raise _wrong(reader, f"{place}.rows", cause, f"give {sets.bit_length() - 1} rows")
    if constant >= sets:
        raise _wrong(reader, f"{place}.constant", f"{constant} is not one of {sets} sets")
    for bit, mask in enumerate(rows):
        if mask % (row["page_bytes"] // base_bytes):
            cause = f"{mask:#x} has bits inside a page of {row['page_bytes']} bytes"
            raise _wrong(reader, f"{place}.rows[{bit}]", cause)
    if (dependent := _dependent_row(rows)) is not None:
        cause = "the exclusive or of rows before it, so sets stay unused"
        raise _wrong(reader, f"{place}.rows[{dependent}]", cause)
    return Structure(row["role"], row["page_bytes"], number, rows, constant)


def _dependent_row(rows: tuple[int, ...]) -> int | None:
    """The first row that is the exclusive or of some before it, if there is one."""
    basis: list[int] = []  # no two have the same highest bit
    for number, row in enumerate(rows):
        for known in sorted(basis, reverse=True):
            row = min(row, row ^ known)
        if row == 0:
            return number
        basis.append(row)
    return None


def _refuse_no_power_of_two(reader: Reader, place: str, value: int) -> None:
    if value.bit_count() != 1:
        raise _wrong(reader, place, f"{value} is not a power of two")
