"""The images that the decoder's application can carry, and how they become a part of it.

    python -m kernel.systems.jpeg.images            # writes images/, with Pillow
    python -m kernel.systems.jpeg.images 64x64 X.c  # writes images/64x64.jpg as the C file X.c

The images are checked in, so that numbers measured with them do not depend on an encoder's version.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent / "images"
# Width and height. 192×144 is the smallest here with more than a hundred MCUs.
SIZES = ((64, 64), (160, 120), (176, 144), (192, 144))
QUALITY = 75
BYTES_PER_LINE = 16
OCTAVES = 6
ROUGHNESS = 0.7  


def natural(width: int, height: int, seed: int) -> np.ndarray:
    """An image with the spectrum of a photograph: noise at every scale, edges, little chroma."""
    generator = np.random.default_rng(seed)
    planes = []
    for contrast in (60, 15, 15):  # luma, then two of chroma
        plane = np.zeros((height, width))
        for octave in range(OCTAVES):
            cell = 2**octave
            weight = (cell / 2**OCTAVES) ** ROUGHNESS * contrast
            coarse = generator.normal(size=(height // cell + 2, width // cell + 2))
            plane += _enlarged(coarse, cell)[:height, :width] * weight
        planes.append(plane)
    y, x = np.mgrid[:height, :width]
    for _ in range(5):  # disks with sharp borders
        center = generator.uniform((0, 0), (height, width))
        inside = np.hypot(y - center[0], x - center[1]) < generator.uniform(0.1, 0.4) * height
        for plane, contrast in zip(planes, (50, 25, 25), strict=True):
            plane[inside] += generator.normal() * contrast
    luma, first, second = planes
    pixels = np.stack([luma + first, luma - first / 2 - second / 2, luma + second], axis=-1)
    return np.clip(pixels + 128, 0, 255).astype(np.uint8)


def _enlarged(plane: np.ndarray, factor: int) -> np.ndarray:
    """PLANE with FACTOR times the rows and columns, interpolated linearly."""
    for axis in (0, 1):
        low = np.delete(plane, -1, axis)
        high = np.delete(plane, 0, axis)
        parts = np.arange(factor) / factor
        steps = np.stack([low + (high - low) * part for part in parts], axis=axis + 1)
        shape = list(low.shape)
        shape[axis] *= factor
        plane = steps.reshape(shape)
    return plane


def path_of(name: str) -> Path:
    """The image NAME, as 64x64."""
    return FOLDER / f"{name}.jpg"


def c_source(data: bytes) -> str:
    """The C file that defines DATA as the application's image."""
    lines = [
        "    " + " ".join(f"{byte}," for byte in data[start : start + BYTES_PER_LINE])
        for start in range(0, len(data), BYTES_PER_LINE)
    ]
    return "\n".join(
        [
            '#include "kernel/systems/jpeg/tasks/tasks.h"',
            "",
            f"const uint32_t tau_jpeg_image_bytes = {len(data)};",
            f"const uint8_t tau_jpeg_image[{len(data)}] = {{",
            *lines,
            "};",
            "",
        ]
    )


def make() -> None:
    """Write every image: 4:2:0, with the tables of Annex K."""
    from PIL import Image

    FOLDER.mkdir(exist_ok=True)
    for width, height in SIZES:
        image = Image.fromarray(natural(width, height, seed=width))
        image.save(path_of(f"{width}x{height}"), quality=QUALITY, subsampling="4:2:0")


def main(words: list[str]) -> None:
    """Make the images, or write one as C."""
    if not words:
        make()
        return
    name, target = words
    Path(target).write_text(c_source(path_of(name).read_bytes()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
