"""The decoder's steps as Python sees them: the C code in a library, tokens as arrays.

library = JpegLibrary(folder)
status, pixels = library.decode(data, width, height)
tokens = library.coefficients(data, pixels_max)     # of vld, MCU by MCU
samples = [library.samples(token) for token in tokens]
"""

from __future__ import annotations

import ctypes
import io
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from kernel.tests.host.host_build import JPEG_FILES, ROOT, build_library

DECODER_BYTES = 16384  # more than struct tau_jpeg_decoder
BLOCKS = (1, 3, 4, 6)  # of an MCU, by layout
OK = 0


class Place(ctypes.Structure):
    """struct tau_jpeg_place."""

    _fields_ = [
        *((name, ctypes.c_uint16) for name in ("left", "top", "width", "height")),
        *((name, ctypes.c_uint8) for name in ("layout", "is_last", "status", "reserved")),
    ]


class Coefficients(ctypes.Structure):
    """struct tau_jpeg_coefficients."""

    _fields_ = [("place", Place), ("blocks", ctypes.c_int16 * 64 * 6)]

    def array(self) -> np.ndarray:
        """The blocks that the layout has, 8 × 8 each."""
        return np.array(self.blocks).reshape(6, 8, 8)[: BLOCKS[self.place.layout]]


class Samples(ctypes.Structure):
    """struct tau_jpeg_samples."""

    _fields_ = [("place", Place), ("blocks", ctypes.c_uint8 * 64 * 6)]

    def array(self) -> np.ndarray:
        """The blocks that the layout has, 8 × 8 each."""
        return np.array(self.blocks).reshape(6, 8, 8)[: BLOCKS[self.place.layout]]


def fill_with_garbage(token: ctypes.Structure, seed: int) -> None:
    """Make a token's place hold something, as an old token or another tile's memory does."""
    data = random.Random(seed).randbytes(ctypes.sizeof(token))
    ctypes.memmove(ctypes.byref(token), data, len(data))


class JpegLibrary:
    """The compiled decoder."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        made = build_library(folder / "jpeg.so", JPEG_FILES, root)
        self.library = ctypes.CDLL(str(made))
        self.library.tau_jpeg_reason.restype = ctypes.c_char_p
        self.library.tau_jpeg_vld_next.restype = ctypes.c_bool
        self.library.tau_jpeg_color_mcu.restype = ctypes.c_bool

    def reason(self, status: int) -> str:
        """What a status means."""
        return self.library.tau_jpeg_reason(status).decode()

    def decode(self, data: bytes, width: int, height: int) -> tuple[int, np.ndarray]:
        """The status and the pixels of an image whose size is known."""
        pixels = np.zeros((height, width, 3), np.uint8)
        decoder = ctypes.create_string_buffer(DECODER_BYTES)
        status = self.library.tau_jpeg_decode(
            decoder, data, len(data), ctypes.c_void_p(pixels.ctypes.data), width * height
        )
        return status, pixels

    def coefficients(self, data: bytes, pixels_max: int) -> list[Coefficients]:
        """Every token of vld, each stored into a place that holds something else."""
        vld = ctypes.create_string_buffer(DECODER_BYTES)
        tokens: list[Coefficients] = []
        self.library.tau_jpeg_vld_begin(vld, data, len(data), pixels_max)
        goes_on = True
        while goes_on:
            token = Coefficients()
            fill_with_garbage(token, len(tokens))
            goes_on = self.library.tau_jpeg_vld_next(vld, ctypes.byref(token))
            tokens.append(token)
        return tokens

    def samples(self, token: Coefficients) -> Samples:
        """What idct makes of a token."""
        made = Samples()
        fill_with_garbage(made, 1)
        self.library.tau_jpeg_idct_mcu(ctypes.byref(token), ctypes.byref(made))
        return made

    def color(self, token: Samples, pixels: np.ndarray) -> bool:
        """Let cc store a token's pixels."""
        place = ctypes.c_void_p(pixels.ctypes.data)
        return self.library.tau_jpeg_color_mcu(ctypes.byref(token), place, pixels.size // 3)


@dataclass(frozen=True)
class Encoded:
    """An image that Pillow encoded, and what libjpeg makes of it."""

    data: bytes
    width: int
    height: int
    said: str

    @property
    def libjpeg(self) -> np.ndarray:
        """The pixels, as libjpeg decodes them."""
        return np.asarray(Image.open(io.BytesIO(self.data)).convert("RGB"))


def encoded(pixels: np.ndarray, gray: bool = False, **options: object) -> Encoded:
    """PIXELS as a JPEG, with Pillow's OPTIONS."""
    file = io.BytesIO()
    image = Image.fromarray(pixels)
    (image.convert("L") if gray else image).save(file, "JPEG", **options)
    height, width = pixels.shape[:2]
    return Encoded(file.getvalue(), width, height, f"{width}x{height} gray={gray} {options}")
