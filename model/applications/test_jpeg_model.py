"""The model decodes libjpeg's images as libjpeg does."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from model.applications import jpeg

DIFFERENCE_MAX = 3  # per channel: one per sample, through the color conversion


@pytest.mark.parametrize("quality", [5, 50, 75, 95, 100])
@pytest.mark.parametrize(("mode", "restart"), [("RGB", 0), ("RGB", 3), ("L", 0), ("L", 2)])
def test_the_model_decodes_as_libjpeg(quality: int, mode: str, restart: int) -> None:
    """Gray images, and 4:4:4, where libjpeg does not smooth chroma."""
    generator = np.random.default_rng(quality)
    pixels = generator.integers(0, 256, (19, 27, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(
        file, "JPEG", quality=quality, subsampling=0, restart_marker_blocks=restart
    )
    expected = np.asarray(Image.open(file).convert("RGB")).astype(int)
    decoded = jpeg.decode(file.getvalue()).pixels()
    assert np.abs(decoded - expected).max() <= DIFFERENCE_MAX


def test_the_zigzag_begins_as_in_the_standard() -> None:
    """Figure A.6."""
    assert jpeg.ZIGZAG[:6] == [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (0, 2)]
    assert jpeg.ZIGZAG[-2:] == [(7, 6), (7, 7)]


def test_a_cut_scan_is_refused() -> None:
    """Every data that end early end with an error."""
    file = io.BytesIO()
    Image.new("RGB", (16, 16), (200, 30, 40)).save(file, "JPEG", subsampling=0)
    data = file.getvalue()
    for count in range(2, len(data)):
        with pytest.raises(jpeg.JpegError):
            jpeg.decode(data[:count])
