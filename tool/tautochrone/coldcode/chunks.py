"""The chunks of a code recording: written one by one, read all at once."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tautochrone.facts import code_format as form

FILE_HEADER = struct.Struct("<8sII")
HEADER = struct.Struct("<IIIIII")
CHECKED_BYTES = HEADER.size - 4
VARINT_BYTES_MAX = 10
RECORD_AGAIN = "record it again, with free space, until QEMU ends by itself or by SIGTERM"
KIND_NAMES = {
    form.CHUNK_SETTINGS: "settings",
    form.CHUNK_FUNCTIONS: "functions",
    form.CHUNK_TOUCHES: "touches",
    form.CHUNK_BLOCKS: "blocks",
    form.CHUNK_END: "end",
}


class DamagedError(Exception):
    """A broken rule of the format, its place, and the next step."""

    def __init__(self, place: str, cause: str, next_step: str = "record it again") -> None:
        super().__init__(f"{place}: {cause}")
        self.place = place
        self.cause = cause
        self.next_step = next_step


@dataclass(frozen=True)
class Chunk:
    """One chunk; `place` names it in messages."""

    kind: int
    count: int
    payload: memoryview
    place: str


def file_header() -> bytes:
    """The first bytes of a recording."""
    start = struct.pack("<8sI", form.MAGIC.encode(), form.VERSION)
    return start + struct.pack("<I", zlib.crc32(start))


def chunk(kind: int, number: int, count: int, payload: bytes) -> bytes:
    """A chunk as it is in the file."""
    fields = (form.CHUNK_MAGIC, kind, number, count, len(payload))
    checked = struct.pack("<IIIII", *fields)
    return checked + struct.pack("<I", zlib.crc32(payload, zlib.crc32(checked))) + payload


def read_chunks(data: bytes) -> Iterator[Chunk]:
    """Yield every chunk of a file. Raises DamagedError at the first one that is not sound."""
    _check_file_header(data)
    view, place, number = memoryview(data), form.FILE_HEADER_BYTES, 0
    while place < len(data):
        where = f"chunk {number}, at byte {place:,}"
        if len(data) - place < HEADER.size:
            raise DamagedError(where, "the file ends within the chunk's header", RECORD_AGAIN)
        magic, kind, said, count, size, checksum = HEADER.unpack_from(data, place)
        if magic != form.CHUNK_MAGIC or kind not in KIND_NAMES or said != number:
            raise DamagedError(where, "no chunk begins here")
        first = place + HEADER.size
        if len(data) - first < size:
            raise DamagedError(where, "the file ends within the chunk", RECORD_AGAIN)
        payload = view[first : first + size]
        if zlib.crc32(payload, zlib.crc32(view[place : place + CHECKED_BYTES])) != checksum:
            raise DamagedError(where, "the checksum does not match")
        yield Chunk(kind, count, payload, f"{KIND_NAMES[kind]}, {where}")
        place, number = first + size, number + 1


def _check_file_header(data: bytes) -> None:
    if data[:8] != form.MAGIC.encode():
        raise DamagedError("byte 0", "this is not a code recording", "check the path")
    if len(data) < FILE_HEADER.size:
        raise DamagedError("header", "the file ends within the header", RECORD_AGAIN)
    _, version, checksum = FILE_HEADER.unpack_from(data)
    if zlib.crc32(data[: FILE_HEADER.size - 4]) != checksum:
        raise DamagedError("header", "the checksum does not match")
    if version > form.VERSION:
        cause = f"version {version} is newer than {form.VERSION}, the latest that is known"
        raise DamagedError("header", cause, "upgrade tautochrone, then try again")


def varints(data: memoryview, place: str) -> np.ndarray:
    """Every varint in a payload. Raises DamagedError if one is cut, or exceeds 64 bits."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if len(raw) and (not len(ends) or ends[-1] != len(raw) - 1):
        raise DamagedError(place, "the last number is cut")
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    lengths = ends - starts + 1
    values = np.zeros(len(ends), np.uint64)
    for index in range(int(lengths.max(initial=0))):
        has = lengths > index
        byte = raw[starts[has] + index].astype(np.uint64)
        if index >= VARINT_BYTES_MAX or (index == VARINT_BYTES_MAX - 1 and (byte > 1).any()):
            raise DamagedError(place, "a number exceeds 64 bits")
        values[has] |= (byte & np.uint64(0x7F)) << np.uint64(7 * index)
    return values
