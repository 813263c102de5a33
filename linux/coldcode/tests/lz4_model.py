"""A naive packer and unpacker of LZ4 blocks, written from the format's description."""

from random import Random

PAGE_BYTES = 4096
MATCH_BYTES_MIN = 4
LAST_LITERALS = 5


def packed(page: bytes, random: Random) -> bytes:
    """A block of PAGE: at some places a match, if there is one, and at others literals."""
    block, begin, place = b"", 0, 1
    while place < len(page) - LAST_LITERALS - MATCH_BYTES_MIN:
        distance, length = _match(page, place, random)
        if length < MATCH_BYTES_MIN:
            place += 1
            continue
        block += sequence(page[begin:place], distance, length)
        place += length
        begin = place
    return block + sequence(page[begin:], 0, 0)


def unpacked(block: bytes) -> bytes | None:
    """The page in a block; None if it holds no whole page."""
    page, place = b"", 0
    try:
        while True:
            token = block[place]
            literals, place = _length(block, place + 1, token >> 4)
            if place + literals > len(block) or len(page) + literals > PAGE_BYTES:
                return None
            page += block[place : place + literals]
            place += literals
            if len(page) == PAGE_BYTES:
                return page
            distance = block[place] + 256 * block[place + 1]
            length, place = _length(block, place + 2, token & 15)
            length += MATCH_BYTES_MIN
            if not 0 < distance <= len(page) or len(page) + length > PAGE_BYTES:
                return None
            for _ in range(length):
                page += page[-distance : len(page) - distance + 1]
    except IndexError:
        return None


def _match(page: bytes, place: int, random: Random) -> tuple[int, int]:
    """A distance at random, and the length of the match there."""
    distance = random.randint(1, min(place, 64))
    most = len(page) - LAST_LITERALS - place
    length = 0
    while length < most and page[place + length] == page[place + length - distance]:
        length += 1
    return distance, length


def sequence(literals: bytes, distance: int, length: int) -> bytes:
    """Literals, then a match; a length of 0 is none."""
    first, first_more = _split(len(literals))
    second, second_more = _split(length - MATCH_BYTES_MIN) if length else (0, b"")
    block = bytes([first << 4 | second]) + first_more + literals
    return block + (distance.to_bytes(2, "little") + second_more if length else b"")


def _split(length: int) -> tuple[int, bytes]:
    """The half of a token that says a length, and the bytes that say the rest."""
    if length < 15:
        return length, b""
    rest = length - 15
    return 15, b"\xff" * (rest // 255) + bytes([rest % 255])


def _length(block: bytes, place: int, length: int) -> tuple[int, int]:
    """A length, and the place after it."""
    byte = 255 if length == 15 else 0
    while byte == 255:
        byte = block[place]
        length += byte
        place += 1
    return length, place
