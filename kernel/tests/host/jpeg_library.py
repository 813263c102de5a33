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
from tautochrone.declarations import Library, Struct

from kernel.tests.host.host_build import JPEG_FILES, ROOT, build_library

BLOCKS = (1, 3, 4, 6)  # of an MCU, by layout
OK = 0


def blocks_of(token: Struct) -> np.ndarray:
    """The blocks that a token's layout has, 8 × 8 each."""
    return np.array(token.blocks).reshape(6, 8, 8)[: BLOCKS[token.place.layout]]


def fill_with_garbage(token: Struct, seed: int) -> None:
    """Make a token's place hold something, as an old token or another tile's memory does."""
    data = random.Random(seed).randbytes(ctypes.sizeof(token))
    ctypes.memmove(ctypes.byref(token), data, len(data))


class JpegLibrary:
    """The compiled decoder."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        made = build_library(folder / "jpeg.so", JPEG_FILES, root)
        self.library = Library(made)
        self.struct = self.library.struct

    def reason(self, status: int) -> str:
        """What a status means."""
        return self.library.tau_jpeg_reason(status).decode()

    def decode(self, data: bytes, width: int, height: int) -> tuple[int, np.ndarray]:
        """The status and the pixels of an image whose size is known."""
        pixels = np.zeros((height, width, 3), np.uint8)
        decoder = self.struct("tau_jpeg_decoder")()
        status = self.library.tau_jpeg_decode(decoder, data, len(data), pixels, width * height)
        return status, pixels

    def coefficients(self, data: bytes, pixels_max: int) -> list[Struct]:
        """Every token of vld, each stored into a place that holds something else."""
        vld = self.struct("tau_jpeg_vld")()
        tokens: list[Struct] = []
        self.library.tau_jpeg_vld_begin(vld, data, len(data), pixels_max)
        goes_on = True
        while goes_on:
            token = self.struct("tau_jpeg_coefficients")()
            fill_with_garbage(token, len(tokens))
            goes_on = self.library.tau_jpeg_vld_next(vld, token)
            tokens.append(token)
        return tokens

    def samples(self, token: Struct) -> Struct:
        """What idct makes of a token."""
        made = self.struct("tau_jpeg_samples")()
        fill_with_garbage(made, 1)
        self.library.tau_jpeg_idct_mcu(token, made)
        return made

    def color(self, token: Struct, pixels: np.ndarray) -> bool:
        """Let cc store a token's pixels."""
        return self.library.tau_jpeg_color_mcu(token, pixels, pixels.size // 3)


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
