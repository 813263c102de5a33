"""Writes code recordings without QEMU: a sound one of three functions, and any change of it."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tautochrone.coldcode.chunks import chunk, file_header
from tautochrone.coldcode.functions import Functions
from tautochrone.coldcode.recording import BLOCK, END, Settings
from tautochrone.facts import code_format as form

FUNCTIONS = Functions(
    np.array([0x1000, 0x1020, 0x2000], np.uint64),
    np.array([0x20, 0x10, 0x40], np.uint64),
    ("start", "work", ""),
)
SETTINGS = Settings(0x1020, 2, {"kernel": "vmlinux", "code_sha256": "ab" * 32, "marker": "work"})
# start, boot, steady, bytes, instructions, checksum: 4 + 6 instructions before the marker's time.
BLOCKS = [
    (0x1000, 2, 0, 8, 2, 11),
    (0x1008, 0, 1, 4, 1, 12),
    (0x1020, 0, 2, 16, 4, 13),
    (0x2000, 3, 1, 4, 2, 14),
]
TOUCHES = [(1, 10), (0, 14), (1, 15), (2, 19)]
MARKER_TIME, END_TIME = 10, 21


def varint(value: int) -> bytes:
    """A number in groups of seven bits, lowest first."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def touches_payload(rows: Sequence[tuple[int, int]]) -> bytes:
    """The rows of a chunk of touches."""
    function, time, payload = 0, 0, b""
    for number, moment in rows:
        step = number - function
        payload += varint(-2 * step - 1 if step < 0 else 2 * step)
        payload += varint((moment - time) % (1 << 64))
        function, time = number, moment
    return payload


def blocks_payload(rows: Sequence[tuple[int, ...]]) -> bytes:
    """The rows of a chunk of blocks."""
    return np.array(list(rows), BLOCK).tobytes()


def chunks(
    settings: bytes | None = None,
    functions: bytes | None = None,
    touches: Sequence[tuple[int, int]] = TOUCHES,
    blocks: Sequence[tuple[int, ...]] = BLOCKS,
    end: tuple[int, ...] | None = None,
) -> list[tuple[int, int, bytes]]:
    """(kind, count, payload) of every chunk of the sound recording, or of a change of it."""
    end = end or (MARKER_TIME, END_TIME, len(touches), len(blocks))
    half = len(touches) // 2  # in two chunks
    found = [
        (form.CHUNK_SETTINGS, 0, SETTINGS.payload() if settings is None else settings),
        (form.CHUNK_FUNCTIONS, 3, FUNCTIONS.payload() if functions is None else functions),
    ]
    for rows in (touches[:half], touches[half:]):
        if rows:
            found.append((form.CHUNK_TOUCHES, len(rows), touches_payload(rows)))
    if blocks:
        found.append((form.CHUNK_BLOCKS, len(blocks), blocks_payload(blocks)))
    return [*found, (form.CHUNK_END, 0, END.pack(*end))]


def content(rows: Sequence[tuple[int, int, bytes]]) -> bytes:
    """A file of these chunks, with sound headers."""
    made = [chunk(kind, number, *rest) for number, (kind, *rest) in enumerate(rows)]
    return file_header() + b"".join(made)


def write(path: Path, **change: object) -> Path:
    """Write the sound recording, or a change of it."""
    path.write_bytes(content(chunks(**change)))
    return path


def function_rows(*rows: tuple[int, int, int], names: bytes = b"") -> bytes:
    """A payload of functions from (start, bytes, bytes of the name)."""
    return b"".join(struct.pack("<QII", *row) for row in rows) + names
