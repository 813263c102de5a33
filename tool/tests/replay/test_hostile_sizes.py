"""The work on a hostile file grows with its bytes, not with their square.

Method: the work is counted, not timed. Reads of a recording's bytes are counted by the object that
holds them; bytes that are summed, by a checksum that counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tautochrone.record import accesses as access
from tautochrone.record import merge

MIB = 1 << 20


class Counted(bytes):
    """Bytes that count how many of them are read."""

    reads = 0

    def __getitem__(self, key: Any) -> Any:
        """Read one byte or a slice."""
        found = super().__getitem__(key)
        Counted.reads += len(found) if isinstance(found, bytes) else 1
        return found


@pytest.fixture(autouse=True)
def _from_zero() -> Iterator[None]:
    Counted.reads = 0
    yield


def test_a_length_that_never_ends_is_damage() -> None:
    """A number whose every byte says that another follows."""
    endless = Counted(bytes([0x00]) + b"\xff" * MIB)
    assert list(access._facts(endless, 0)) == []
    assert Counted.reads < 100


def test_many_facts_are_read_once() -> None:
    texts = Counted(b"\x20\x03abc" * (MIB // 5))
    assert len(list(access._facts(texts, 0))) == MIB // 5
    assert Counted.reads < 4 * MIB


def test_a_fact_that_is_cut_is_left_out() -> None:
    whole = b"\x00\x02ls" + b"\x20\x05hello"
    assert list(access._facts(whole, 0)) == [(0, b"ls"), (2, b"hello")]
    assert list(access._facts(whole[:-1], 0)) == [(0, b"ls")]


def test_numbers_that_no_recorder_writes_are_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.tauaccess"
    words = b"9" * 5000 + b" 7 \xd9\xa3 x"
    length = bytes([len(words) & 127 | 128, len(words) >> 7])
    path.write_bytes(access.RAW_MAGIC + b"\x01" + b"\x30" + length + words)
    header = access.read_header(path)
    assert (header.pid, header.parent_pid) == (0, 7)


def test_a_stream_of_false_beginnings_is_summed_in_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block claims all bytes behind it; only as many as a block can hold may be summed."""
    summed = 0

    def counted(data: bytes, before: int = 0) -> int:
        nonlocal summed
        summed += len(data)
        return crc32(data, before)

    head = (merge.TARGET_MAGIC, 1, 1, 1)
    block_bytes = merge.TARGET_BLOCK.size
    count = MIB // block_bytes
    claims = (block_bytes * (count - index - 1) for index in range(count))
    path = tmp_path / "a.stream"
    path.write_bytes(
        b"".join(
            merge.TARGET_BLOCK.pack(*head, min(claim, 0xFFFF), *[0] * 8)
            for claim in claims
        )
    )
    monkeypatch.setattr(merge.zlib, "crc32", counted)
    assert not merge.is_target(path)
    payload_bytes_max = merge.TARGET_PAYLOAD_BYTES_MAX
    assert 0 < summed < (payload_bytes_max // block_bytes + 1) * (payload_bytes_max + block_bytes)
