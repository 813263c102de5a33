"""The FIFO against a queue, with a link between the tiles that takes its time.

Each side's `other` page holds garbage whenever the side runs, as if a load from it gave nothing;
the stores into it arrive later, in their order.
"""

from __future__ import annotations

import ctypes
import os
import random
from collections import deque

import pytest
from tautochrone.declarations import Library

from kernel.tests.host.host_build import FIFO_FILES, build_library

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
PAGE_BYTES = 1024
STEPS = 2000
WRAP = 2**32


Page = ctypes.c_uint32 * (PAGE_BYTES // 4)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The compiled FIFO."""
    return Library(build_library(tmp_path_factory.mktemp("fifo") / "fifo.so", FIFO_FILES))


class Side:
    """One side: its own page, the page that stands for the link, and stores on their way."""

    def __init__(self, library: Library, token_bytes: int, count: int, draw: random.Random):
        self.library, self.draw = library, draw
        self.own, self.other, self.end = Page(), Page(), library.struct("tau_fifo")()
        self.sent: deque[tuple[int, int]] = deque()
        library.tau_fifo_init(self.end, self.own, self.other, token_bytes, count)

    def call(self, name: str) -> int:
        """Call tau_fifo_NAME on this end."""
        return getattr(self.library, f"tau_fifo_{name}")(self.end)

    def spoil(self) -> list[int]:
        """Fill the other page with garbage and return it."""
        garbage = [self.draw.randrange(WRAP) for _ in range(len(self.other))]
        self.other[:] = garbage
        return garbage

    def send(self, garbage: list[int]) -> None:
        """Put every store on its way: tokens first, the counter last."""
        stored = [i for i, word in enumerate(self.other) if word != garbage[i]]
        self.sent += [(i, self.other[i]) for i in sorted(stored, reverse=True)]

    def write(self, words: list[int]) -> None:
        """Write a token."""
        garbage = self.spoil()
        place = self.call("write_begin")
        (ctypes.c_uint32 * len(words)).from_address(place)[:] = words
        self.call("write_end")
        self.send(garbage)

    def read(self, words: int) -> list[int]:
        """Read a token."""
        garbage = self.spoil()
        token = list((ctypes.c_uint32 * words).from_address(self.call("read_begin")))
        self.call("read_end")
        self.send(garbage)
        return token

    def arrive(self, target: Side, count: int) -> None:
        """Let COUNT stores arrive."""
        for _ in range(min(count, len(self.sent))):
            index, word = self.sent.popleft()
            target.own[index] = word


def begin_near_wrap(writer: Side, reader: Side, count: int) -> None:
    """Both sides as after 2^32 - 5 tokens, at whatever place of the ring."""
    for side in (writer, reader):
        side.own[0] = side.own[1] = WRAP - 5
        side.end.place = (count - 1) * side.end.token_bytes


@pytest.mark.parametrize("is_near_wrap", [False, True])
@pytest.mark.parametrize(("words", "count"), [(1, 1), (3, 4), (16, 15), (60, 2), (240, 1)])
def test_a_fifo_is_a_queue(
    library: Library, words: int, count: int, is_near_wrap: bool
) -> None:
    """Tokens come out as they went in; neither side goes on before it may."""
    print("seed", SEED)
    draw = random.Random(SEED)
    writer, reader = (Side(library, 4 * words, count, draw) for _ in range(2))
    if is_near_wrap:
        begin_near_wrap(writer, reader, count)
    queue: deque[list[int]] = deque()
    passed = 0
    for _ in range(STEPS):
        kind = draw.randrange(4)
        if kind == 0 and writer.call("can_write"):
            token = [draw.randrange(WRAP) for _ in range(words)]
            queue.append(token)
            assert len(queue) <= count
            writer.write(token)
        elif kind == 1 and reader.call("can_read"):
            assert reader.read(words) == queue.popleft()
            passed += 1
        elif kind == 2:
            writer.arrive(reader, draw.randint(1, 2 * words))
        elif kind == 3:
            reader.arrive(writer, 1)
    assert passed > STEPS / 50
    writer.arrive(reader, len(writer.sent))
    while queue:
        assert reader.call("can_read")
        assert reader.read(words) == queue.popleft()
    assert not reader.call("can_read")
    reader.arrive(writer, len(reader.sent))
    for _ in range(count):
        assert writer.call("can_write")
        writer.write([0] * words)
    assert not writer.call("can_write")
