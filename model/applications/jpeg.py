"""Golden model of kernel/systems/jpeg: baseline JPEG (ITU-T T.81), written as the standard says it.

    image = decode(data)         # image.coefficients: for each MCU an array of blocks, 8 × 8
    samples = image.samples()    # exact cosines, rounded
    pixels = image.pixels()      # height × width × 3

Codes are words of 0 and 1 in a dictionary, the transform is the sum of the standard, chroma is
replicated. It is lenient with headers and strict with data. Cost: a step per bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

ZIGZAG = sorted(
    ((row, column) for row in range(8) for column in range(8)),
    key=lambda at: (sum(at), at[0] if sum(at) % 2 else at[1]),
)
# By frequency, then place.
COSINES = np.array([np.cos(np.arange(1, 16, 2) * k * np.pi / 16) / 2 for k in range(8)])
COSINES[0] /= np.sqrt(2)
SOF0, DHT, RST0, SOI, EOI, SOS, DQT, DRI = 0xC0, 0xC4, 0xD0, 0xD8, 0xD9, 0xDA, 0xDB, 0xDD


class JpegError(Exception):
    """The data are not an image that the model knows."""


@dataclass
class Image:
    """Content of the data. `across`, `down`: Y blocks of an MCU."""

    width: int = 0
    height: int = 0
    across: int = 1
    down: int = 1
    components: list[tuple[int, int]] = field(default_factory=list)  # id, quantization table
    coefficients: list[np.ndarray] = field(default_factory=list)

    def samples(self) -> list[np.ndarray]:
        """The samples of each MCU."""
        return [samples_of(blocks) for blocks in self.coefficients]

    def pixels(self, samples: list[np.ndarray] | None = None) -> np.ndarray:
        """The pixels of SAMPLES, or of the image's own."""
        return pixels_of(self, self.samples() if samples is None else samples)


def samples_of(blocks: np.ndarray) -> np.ndarray:
    """The inverse transform of an array of blocks, A.3.3."""
    exact = np.einsum("ky,bkl,lx->byx", COSINES, blocks.astype(float), COSINES)
    return np.clip(np.rint(exact) + 128, 0, 255).astype(np.uint8)


def pixels_of(image: Image, samples: list[np.ndarray]) -> np.ndarray:
    """The pixels of all MCUs, each chroma sample repeated for every pixel that it covers."""
    wide, high = 8 * image.across, 8 * image.down
    per_row = -(-image.width // wide)
    rows = -(-len(samples) // per_row)
    planes = np.full((rows * high, per_row * wide, 3), 128.0)
    for index, blocks in enumerate(samples):
        top, left = index // per_row * high, index % per_row * wide
        mcu = planes[top : top + high, left : left + wide]
        for place in range(image.across * image.down):
            y, x = place // image.across * 8, place % image.across * 8
            mcu[y : y + 8, x : x + 8, 0] = blocks[place]
        for channel in range(1, len(image.components)):
            chroma = blocks[image.across * image.down + channel - 1]
            mcu[:, :, channel] = chroma.repeat(image.down, 0).repeat(image.across, 1)
    y, cb, cr = np.moveaxis(planes[: image.height, : image.width], -1, 0)
    cb, cr = cb - 128, cr - 128
    rgb = np.stack([y + 1.402 * cr, y - 0.34414 * cb - 0.71414 * cr, y + 1.772 * cb], axis=-1)
    return np.clip(np.rint(rgb), 0, 255).astype(np.uint8)


class Bits:
    """The bits between two markers."""

    def __init__(self, data: bytes) -> None:
        self.bits = "".join(f"{byte:08b}" for byte in data)
        self.next = 0

    def take(self, count: int) -> str:
        """The next COUNT bits."""
        if self.next + count > len(self.bits):
            raise JpegError("the data end early")
        self.next += count
        return self.bits[self.next - count : self.next]

    def symbol(self, codes: dict[str, int]) -> int:
        """The next symbol."""
        code = ""
        while code not in codes:
            if len(code) == 16:
                raise JpegError("no code")
            code += self.take(1)
        return codes[code]

    def number(self, size: int) -> int:
        """The next number of SIZE bits: EXTEND of F.2.2.1."""
        if size == 0:
            return 0
        value = int(self.take(size), 2)
        return value if value >> (size - 1) else value - 2**size + 1

    def end(self) -> None:
        """Nothing but padding may be left."""
        if len(self.bits) - self.next > 7:
            raise JpegError("more data than blocks")


def codes_of(counts: bytes, symbols: bytes) -> dict[str, int]:
    """The codes of a table, Annex C."""
    codes, code, used = {}, 0, 0
    for length, count in enumerate(counts, 1):
        for _ in range(count):
            codes[f"{code:0{length}b}"] = symbols[used]
            code, used = code + 1, used + 1
        code *= 2
    return codes


def wrapped(value: int) -> int:
    """VALUE modulo 2^16, as a signed number: what a decoder keeps of values that mean nothing."""
    return (value + 2**15) % 2**16 - 2**15


def block_of(bits: Bits, first: int, codes: dict[str, int], steps: bytes) -> np.ndarray:
    """The dequantized coefficients of a block whose DC is FIRST, F.2.2.2."""
    block = np.zeros((8, 8), dtype=np.int64)
    block[0, 0] = first
    index = 1
    while index < 64:
        symbol = bits.symbol(codes)
        if symbol == 0:
            break
        index += symbol >> 4
        if index > 63:
            raise JpegError("a run beyond the block")
        block[ZIGZAG[index]] = wrapped(bits.number(symbol & 15) * steps[index])
        index += 1
    return block


def intervals_of(scan: bytes) -> list[tuple[bytes, int | None]]:
    """The entropy-coded data, cut at markers: bytes without stuffing, and the marker after."""
    intervals, data, index = [], bytearray(), 0
    while index < len(scan):
        if scan[index] != 0xFF:
            data.append(scan[index])
            index += 1
        elif scan[index + 1 : index + 2] == b"\0":
            data.append(0xFF)
            index += 2
        else:
            while index < len(scan) and scan[index] == 0xFF:
                index += 1
            intervals.append((bytes(data), scan[index] if index < len(scan) else None))
            data = bytearray()
            index += 1
    return [*intervals, (bytes(data), None)]


class Decoder:
    """Tables and the state of a decoding."""

    def __init__(self) -> None:
        self.image = Image()
        self.steps: dict[int, bytes] = {}
        self.codes: dict[int, dict[str, int]] = {}  # by class << 4 | number
        self.restart_interval = 0

    def read(self, data: bytes) -> Image:
        """Decode everything. Raises JpegError; the image has the MCUs before the fault."""
        try:
            return self._read(data)
        except (IndexError, KeyError, StopIteration) as error:
            raise JpegError("the data end early, or refer to a missing table") from error

    def mcus_count(self) -> int:
        """MCUs of the image whose header was read."""
        image = self.image
        return -(-image.width // (8 * image.across)) * -(-image.height // (8 * image.down))

    def _read(self, data: bytes) -> Image:
        if data[:2] != bytes((0xFF, SOI)):
            raise JpegError("no start of image")
        at = 2
        while True:
            if len(data) < at + 4 or data[at] != 0xFF:
                raise JpegError("no marker")
            code, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
            segment = data[at + 4 : at + 2 + length]
            at += 2 + length
            if code == SOS:
                self._read_scan(segment, data[at:])
                return self.image
            self._read_segment(code, segment)

    def _read_segment(self, code: int, segment: bytes) -> None:
        if code == DQT:
            for start in range(0, len(segment), 65):
                self.steps[segment[start]] = segment[start + 1 : start + 65]
        elif code == DRI:
            self.restart_interval = int.from_bytes(segment)
        elif code == SOF0:
            self.image.height = int.from_bytes(segment[1:3])
            self.image.width = int.from_bytes(segment[3:5])
            each = [segment[start : start + 3] for start in range(6, len(segment), 3)]
            self.image.components = [(part[0], part[2]) for part in each]
            if len(each) > 1:
                self.image.across, self.image.down = divmod(each[0][1], 16)
        while code == DHT and segment:
            counts, kind = segment[1:17], segment[0]
            self.codes[kind] = codes_of(counts, segment[17:])
            segment = segment[17 + sum(counts) :]

    def _read_scan(self, segment: bytes, scan: bytes) -> None:
        tables = segment[2::2][: len(self.image.components)]
        intervals = iter(intervals_of(scan))
        data, marker = next(intervals)
        bits, predictions = Bits(data), [0] * len(tables)
        for index in range(self.mcus_count()):
            if self.restart_interval and index and index % self.restart_interval == 0:
                bits.end()
                if marker != RST0 + (index // self.restart_interval - 1) % 8:
                    raise JpegError("another restart marker is due")
                data, marker = next(intervals)
                bits, predictions = Bits(data), [0] * len(tables)
            self.image.coefficients.append(self._mcu(bits, tables, predictions))
        bits.end()
        if marker != EOI:
            raise JpegError("no end of image")

    def _mcu(self, bits: Bits, tables: bytes, predictions: list[int]) -> np.ndarray:
        blocks = []
        for component, table in enumerate(tables):
            steps = self.steps[self.image.components[component][1]]
            dc, ac = self.codes[table >> 4], self.codes[1 << 4 | table & 15]
            for _ in range(self.image.across * self.image.down if component == 0 else 1):
                difference = bits.number(bits.symbol(dc))
                predictions[component] = wrapped(predictions[component] + difference)
                first = wrapped(predictions[component] * steps[0])
                blocks.append(block_of(bits, first, ac, steps))
        return np.array(blocks)


def decode(data: bytes) -> Image:
    """The image in DATA. Raises JpegError."""
    return Decoder().read(data)
