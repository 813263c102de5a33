"""A partition as core/tlb_color.h has it: for libraries, as C, and as an image for `tau run`.

A row has the values of a structure in the header's order. A pointer is a list of what it points to,
or a text.
"""

from __future__ import annotations

import ctypes
import sys
import textwrap
from typing import Any

from tautochrone import native
from tautochrone.declarations import NUMBERS
from tautochrone.tlb import geometry as geometries
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import (
    CODE,
    GLOBALS,
    HEAP,
    ISOLATED,
    NO_MISS,
    STACK,
    UNCOLORED,
    Partition,
    Principal,
)

ROLES = (geometries.DATA, geometries.DIRECTORY, geometries.CODE)  # enum tau_tlb_color_role
MODES = (ISOLATED, NO_MISS)  # enum tau_tlb_color_mode
USES = (STACK, GLOBALS, CODE)  # enum tau_tlb_color_use
PARTITION = "tau_tlb_color_partition"
C_NAMES = {"u32": "uint32_t", "u64": "uintptr_t"}
LINE_CHARACTERS = 100
Row = tuple[Any, ...]


def log2(value: int) -> int:
    """The logarithm of a power of two."""
    return value.bit_length() - 1


def geometry_row(value: Geometry) -> Row:
    """struct tau_tlb_color_geometry."""
    arrays = [(each.sets, each.ways, each.safe_ways) for each in value.arrays]
    structures = [
        ([*each.rows], each.constant, ROLES.index(each.role), log2(each.page_bytes), each.array)
        for each in value.structures
    ]
    return arrays, structures, len(arrays), len(structures), log2(value.page_bytes)


def partition_row(value: Partition) -> Row:
    """struct tau_tlb_color_partition."""
    names = [each.name for each in value.principals]
    shared = {each.leader for each in value.principals if each.shares_sets_with}
    principals = [
        (
            *_principal(value.geometry, each),
            1 + names.index(each.leader) if each.leader in shared else 0,
        )
        for each in value.principals
    ]
    return [geometry_row(value.geometry)], principals, len(principals)


def _principal(geometry: Geometry, value: Principal) -> Row:
    sets = [
        (_bit_words(own, array.sets) if own else [], taken)
        for array, own, taken in zip(geometry.arrays, value.sets, value.taken, strict=True)
    ]
    parts = [
        (run.start, run.size_bytes, USES.index(run.part)) for run in value.runs if run.part != HEAP
    ]
    windows = _windows(geometry, value)
    return sets, windows, parts, len(windows), len(parts), value.name


def _bit_words(owned: tuple[int, ...], sets: int) -> list[int]:
    bits = sum(1 << index for index in owned)
    return [bits >> 32 * word & 0xFFFFFFFF for word in range(-(-sets // 32))]


def _windows(geometry: Geometry, value: Principal) -> list[Row]:
    """The heap's, and the rest of the principal's; one of all if it has no heap, or no sets."""
    heap_bytes = 0 if value.mode == UNCOLORED else value.heap_window_bytes
    size_bytes, page_log2 = heap_bytes or value.window_bytes, log2(geometry.page_bytes)
    mode = MODES.index(value.mode) if heap_bytes else 0
    pages = value.bytes_of(HEAP) >> page_log2 if heap_bytes else 0
    rows: list[Row] = [(value.window_start, log2(size_bytes), page_log2, mode, pages)]
    while size_bytes < value.window_bytes:
        rows.append((value.window_start + size_bytes, log2(size_bytes), page_log2, 0, 0))
        size_bytes *= 2
    return rows


def _structs() -> dict[str, Any]:
    """The structures of core/tlb_color.h."""
    structs: dict[str, Any] = native.library("libtau_core64.so").declared["structs"]
    return structs


# ---- as C ----------------------------------------------------------------------------------------


def c_lines(prefix: str, value: Partition) -> list[str]:
    """The arrays PREFIXgeometry, of one, and PREFIXprincipals, with all that they point to."""
    lines: list[str] = []
    for (name, _, kind), rows in zip(_structs()[PARTITION][1:], partition_row(value), strict=True):
        _c_text(kind, rows, f"{prefix}{name}", lines)
    return lines


def _c_text(kind: str, value: Any, name: str, lines: list[str]) -> str:
    """The text of a value. What it points to goes to the lines, as an array of this name."""
    match value:
        case str():
            return f'"{value}"'
        case tuple():
            fields = zip(_structs()[kind][1:], value, strict=True)
            texts = (_c_text(of, each, f"{name}_{key}", lines) for (key, _, of), each in fields)
            return f"{{{', '.join(texts)}}}"
        case []:
            return "NULL"
        case list():
            of = kind[1:]
            rows = [_c_text(of, each, f"{name}_{at}", lines) for at, each in enumerate(value)]
            own = [f"{', '.join(rows)},"] if of in NUMBERS else [f"{row}," for row in rows]
            lines.append(f"static const {C_NAMES.get(of, f'struct {of}')} {name}[] = {{")
            for row in own:
                lines += textwrap.wrap(
                    row, LINE_CHARACTERS, initial_indent="    ", subsequent_indent="     "
                )
            lines.append("};")
            return name
    return f"{value}u" if value < 1 << 16 else f"{value:#x}u"


# ---- as an image ---------------------------------------------------------------------------------


def image(value: Partition) -> list[int]:
    """The partition and all that it points to, in words of 64 bits; pointers are offsets in it.

    Before it is how many pointers it has, and the offset of each.
    """
    found, pointers = bytearray(_structs()[PARTITION][0]), list[int]()
    _write(found, pointers, 0, PARTITION, partition_row(value))
    return [len(pointers), *pointers, *memoryview(found).cast("Q")]


def _write(found: bytearray, pointers: list[int], at: int, kind: str, value: Any) -> None:
    """Write a value at an offset, and what it points to at the end."""
    match value:
        case str():
            _write(found, pointers, at, kind, [*value.encode(), 0])
        case tuple():
            for (_, offset, of), each in zip(_structs()[kind][1:], value, strict=True):
                _write(found, pointers, at + offset, of, each)
        case []:
            pass
        case list():
            start, of = len(found), kind[1:]
            size = ctypes.sizeof(NUMBERS[of]) if of in NUMBERS else _structs()[of][0]
            found += bytes(-(-size * len(value) // 8) * 8)
            for number, each in enumerate(value):
                _write(found, pointers, start + number * size, of, each)
            _write(found, pointers, at, "u64", start)
            pointers.append(at)
        case _:
            size = ctypes.sizeof(NUMBERS[kind])
            found[at : at + size] = value.to_bytes(size, sys.byteorder)
