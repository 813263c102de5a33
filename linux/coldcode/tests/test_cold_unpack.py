"""The pager's unpacker restores every packed block and survives any input.

Method: random blocks, each also cut, flipped and followed by others, against a naive model, under
sanitizers.
"""

import struct
import subprocess
from pathlib import Path
from random import Random

import pytest

from linux.coldcode.tests.lz4_model import PAGE_BYTES, packed, sequence, unpacked

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "linux/coldcode/tests/programs/unpack_main.c"
UNPACKER = ROOT / "linux/coldcode/kernel/cold_unpack.c"
SEED = 13
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-fsanitize=address,undefined"]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacker, with sanitizers."""
    made = tmp_path_factory.mktemp("unpack") / "unpack"
    sources = [str(PROGRAM), str(UNPACKER)]
    command = ["gcc", *FLAGS, "-fno-sanitize-recover", f"-I{ROOT}", *sources, "-o", str(made)]
    subprocess.run(command, check=True)
    return made


def unpack_all(program: Path, blocks: list[bytes]) -> list[bytes | None]:
    """The program's result for each block."""
    data = b"".join(struct.pack("<I", len(block)) + block for block in blocks)
    done = subprocess.run([program], input=data, capture_output=True, timeout=300, check=True)
    size = 1 + PAGE_BYTES
    assert len(done.stdout) == size * len(blocks)
    rows = [done.stdout[place : place + size] for place in range(0, len(done.stdout), size)]
    return [row[1:] if row[0] else None for row in rows]


def pages(random: Random) -> list[bytes]:
    """Pages from constant to random ones."""
    made = [bytes(PAGE_BYTES), random.randbytes(PAGE_BYTES)]
    for letters in (1, 2, 3, 7, 40, 256):
        for run in (1, 5, 300):
            page = b""
            while len(page) < PAGE_BYTES:
                page += bytes([random.randrange(letters)]) * random.randint(1, run)
            made.append(page[:PAGE_BYTES])
    return made


def test_packed_pages_come_back(program: Path) -> None:
    random = Random(SEED)
    wanted = pages(random)
    blocks = [packed(page, random) for page in wanted]
    assert [unpacked(block) for block in blocks] == wanted
    assert unpack_all(program, blocks) == wanted
    assert unpack_all(program, [block + random.randbytes(7) for block in blocks]) == wanted


def test_damaged_blocks_do_no_harm(program: Path) -> None:
    random = Random(SEED)
    blocks = [b"", b"\0", b"\xff" * 100, b"\xf0" + b"\xff" * 20]
    for page in pages(random):
        block = packed(page, random)
        blocks += [block[: random.randrange(len(block))] for _ in range(5)]
        for _ in range(20):
            damaged = bytearray(block)
            damaged[random.randrange(len(block))] ^= 1 << random.randrange(8)
            blocks.append(bytes(damaged))
    assert unpack_all(program, blocks) == [unpacked(block) for block in blocks]


@pytest.mark.parametrize("done", [1, 14, 15, 16, 270, 271, PAGE_BYTES - 5])
def test_the_first_byte_outside_is_refused(program: Path, done: int) -> None:
    """Behind `done` bytes: the farthest match, the longest one, the last literal, and one more."""
    literals = b"a" * done
    blocks = []
    for more in (0, 1):
        rest = PAGE_BYTES - done
        blocks.append(sequence(literals, done + more, 4) + sequence(b"b" * (rest - 4), 0, 0))
        blocks.append(sequence(literals, 1, rest + more) + sequence(b"", 0, 0))
        blocks.append(sequence(literals, 1, 4) + sequence(b"b" * (rest - 4 + more), 0, 0))
    wanted = [unpacked(block) for block in blocks]
    assert [page is not None for page in wanted] == [True] * 3 + [False] * 3
    assert unpack_all(program, blocks) == wanted
