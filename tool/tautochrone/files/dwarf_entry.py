"""Reads entries (DIEs) of DWARF one by one, in the order of the file.

pyelftools' own iterators follow DW_AT_sibling, with which a damaged file can make a circle, and
keep every entry in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any


def entry_at(unit: Any, held: Any, at: int) -> Any:
    """The entry at an offset of the section `held`."""
    from elftools.dwarf.die import DIE

    return DIE(unit, held.stream, at)


def end_of(unit: Any, held: Any) -> int:
    """The offset behind the last entry of a unit."""
    end = unit.cu_offset + unit["unit_length"] + unit.structs.initial_length_field_size()
    return int(min(end, held.size))


def entries(unit: Any, held: Any) -> Iterator[Any]:
    """Yield the entries of a unit in the order of the file, null entries included."""
    at, end = unit.cu_die_offset, end_of(unit, held)
    while at < end:
        die = entry_at(unit, held, at)
        yield die
        at += die.size


def behind(die: Any) -> int:
    """The offset behind an entry and, as far as it tells, its children. Never before its own end.
    """
    end = int(die.offset + die.size)
    found = die.attributes.get("DW_AT_sibling")
    is_number = found is not None and isinstance(found.raw_value, int)
    return max(end, die.cu.cu_offset + found.raw_value) if is_number else end


def text_of(die: Any, name: str) -> str:
    """An attribute that is a text; empty if there is none."""
    found = die.attributes.get(name)
    value = found.value if found is not None else b""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def number_of(die: Any, name: str) -> int | None:
    """An attribute that is a number; None if it is missing or computed at run time."""
    found = die.attributes.get(name)
    is_computed = found is None or found.form.startswith(("DW_FORM_expr", "DW_FORM_ref"))
    value = None if is_computed else found.value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def files_of(program: Any) -> list[str]:
    """The source files of a unit's line program, by the numbers that its entries use.

    A path is relative to the folder in which the compiler ran, if the compiler's was.
    """
    folders, entry_rows = list(program["include_directory"]), list(program["file_entry"])
    is_old = program["version"] < 5
    if is_old:
        folders.insert(0, b"")
    paths = [b""] if is_old else []
    for row in entry_rows:
        is_in_folder = isinstance(row.dir_index, int) and 0 < row.dir_index < len(folders)
        folder = folders[row.dir_index] if is_in_folder else b""
        is_text = isinstance(row.name, bytes) and isinstance(folder, bytes)
        paths.append(folder + b"/" + row.name if is_text and folder else row.name)
    texts = [path.decode("utf-8", "replace") if isinstance(path, bytes) else "" for path in paths]
    return [str(PurePosixPath(text)) if text else "" for text in texts]
