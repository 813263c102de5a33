"""XXH64 and the sealing of chunks in plain Python, to forge traces whose checksums fit."""

from tautochrone.facts import trace_format as form

MASK = 2**64 - 1
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & MASK


def _absorb(lane: int, word: int) -> int:
    return _rotate((lane + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data: bytes, seed: int = 0) -> int:
    """The 64-bit XXH64 of `data`."""
    at, end = 0, len(data)
    if end >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while end - at >= 32:
            for lane in range(4):
                word = int.from_bytes(data[at + 8 * lane : at + 8 * lane + 8], "little")
                lanes[lane] = _absorb(lanes[lane], word)
            at += 32
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        value = sum(_rotate(lane, bits) for lane, bits in turns) & MASK
        for lane in lanes:
            value = ((value ^ _absorb(0, lane)) * P1 + P4) & MASK
    else:
        value = (seed + P5) & MASK
    value = (value + end) & MASK
    while end - at >= 8:
        word = int.from_bytes(data[at : at + 8], "little")
        value = (_rotate(value ^ _absorb(0, word), 27) * P1 + P4) & MASK
        at += 8
    if end - at >= 4:
        word = int.from_bytes(data[at : at + 4], "little")
        value = (_rotate(value ^ (word * P1 & MASK), 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        value = _rotate(value ^ (byte * P5 & MASK), 11) * P1 & MASK
    value = (value ^ value >> 33) * P2 & MASK
    value = (value ^ value >> 29) * P3 & MASK
    return value ^ value >> 32


def seal_chunk(data: bytearray, at: int) -> None:
    """Make the checksum of the chunk at `at` fit again."""
    payload_bytes = int.from_bytes(data[at + 12 : at + 16], "little")
    payload = at + form.CHUNK_HEADER_BYTES
    seed = xxh64(bytes(data[at : payload - 8]))
    value = xxh64(bytes(data[payload : payload + payload_bytes]), seed)
    data[payload - 8 : payload] = value.to_bytes(8, "little")


def chunks(data: bytes) -> list[tuple[int, int]]:
    """(Start, end) of each chunk, the footer last."""
    at = form.FILE_HEADER_BYTES + int.from_bytes(data[12:16], "little")
    found = []
    while data[at : at + 4] == form.CHUNK_MAGIC.to_bytes(4, "little"):
        payload_bytes = int.from_bytes(data[at + 12 : at + 16], "little")
        found.append((at, at + form.CHUNK_HEADER_BYTES + payload_bytes))
        at = found[-1][1]
    return found


def replace_first_block(data: bytes, donor: bytes) -> bytes:
    """`data` with the donor's first chunk in place of its own, index and checksums made to fit."""
    (first, first_end), *rest = chunks(data)
    start, end = chunks(donor)[0]
    moved = (end - start) - (first_end - first)
    footer, footer_end = rest[-1]
    forged = bytearray(data[:first] + donor[start:end] + data[first_end:])
    entry = footer + moved + form.CHUNK_HEADER_BYTES + 8 * 23 + 24
    payload_bytes = end - start - form.CHUNK_HEADER_BYTES
    forged[entry + 16 : entry + 20] = payload_bytes.to_bytes(4, "little")
    for number in range(1, len(rest)):
        at = entry + number * form.INDEX_ENTRY_BYTES
        offset = int.from_bytes(forged[at : at + 8], "little") + moved
        forged[at : at + 8] = offset.to_bytes(8, "little")
    seal_chunk(forged, footer + moved)
    trailer = footer_end + moved
    forged[trailer : trailer + 8] = (footer + moved).to_bytes(8, "little")
    checksum = xxh64(bytes(forged[trailer : trailer + 8]))
    forged[trailer + 8 : trailer + 16] = checksum.to_bytes(8, "little")
    return bytes(forged)


def of_earlier_version(data: bytes) -> bytes:
    """The same file as if the version before had written it; its checksum fits."""
    json_bytes = int.from_bytes(data[12:16], "little")
    head = bytearray(data[: form.FILE_HEADER_BYTES + json_bytes])
    head[8:12] = (form.VERSION - 1).to_bytes(4, "little")
    checksum = xxh64(bytes(head[form.FILE_HEADER_BYTES :]), xxh64(bytes(head[:16])))
    head[16:24] = checksum.to_bytes(8, "little")
    return bytes(head) + data[len(head) :]
