"""The work on a hostile file grows with its bytes, not with their square.

Method: the work is counted, not timed. Reads of a recording's bytes are counted by the object that
holds them; bytes that are summed, by a checksum that counts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tautochrone.record import accesses as access
from tautochrone.record import merge

from tool.tests.commands.command_samples import TARGET_BLOCK, target_stream

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


@pytest.mark.parametrize(("place", "is_found"), [(MIB - 200, True), (MIB, False)])
def test_a_block_is_found_behind_false_beginnings_in_the_first_mib(
    tmp_path: Path, place: int, is_found: bool
) -> None:
    """Each false block claims all bytes after it, or as many as a block can hold."""
    count = place // TARGET_BLOCK.size
    claims = (TARGET_BLOCK.size * (count - index - 1) for index in range(count))
    head = (b"TauT", 3, 1, 1)
    data = b"".join(TARGET_BLOCK.pack(*head, min(one, 0xFFFF), *[0] * 8) for one in claims)
    path = tmp_path / "a.stream"
    path.write_bytes(data.ljust(place, b"T") + target_stream(random.Random(1), 1))
    assert merge.is_target(path) == is_found
