"""The decoder against libjpeg, and step by step against the model.

TAU_TEST_SEED chooses the random images; a failure prints the image's size and options.
"""

from __future__ import annotations

import io
import os
import random

import numpy as np
import pytest
from PIL import Image

from kernel.systems.jpeg.images import SIZES, natural, path_of
from kernel.tests.host.jpeg_library import (
    OK,
    Encoded,
    JpegLibrary,
    blocks_of,
    encoded,
    fill_with_garbage,
)
from model.applications import jpeg

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
IMAGES = 120
MODEL_IMAGES = 24
SIDE_MAX = 70
LAYOUTS = ("4:4:4", "4:2:2", "4:2:0")
SAMPLE_DIFFERENCE_MAX = 1  # between a sample and the exactly rounded one
PIXEL_DIFFERENCE_MAX = 3  # per channel, if the samples may differ by one


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> JpegLibrary:
    """The compiled decoder."""
    return JpegLibrary(tmp_path_factory.mktemp("jpeg"))


def random_image(draw: random.Random, layout: str) -> Encoded:
    """A natural or a noisy image with random size and options."""
    width, height = draw.randint(1, SIDE_MAX), draw.randint(1, SIDE_MAX)
    seed = draw.randrange(2**32)
    pixels = natural(width, height, seed)
    if draw.random() < 0.5:
        pixels = np.random.default_rng(seed).integers(0, 256, pixels.shape, dtype=np.uint8)
    return encoded(
        pixels,
        gray=draw.random() < 0.2,
        quality=draw.randint(1, 100),
        subsampling=layout,
        optimize=draw.random() < 0.5,
        restart_marker_blocks=draw.choice((0, 0, 1, 2, 7)),
    )


def test_444_is_what_libjpeg_makes(library: JpegLibrary) -> None:
    """Natural and noisy images of many sizes and qualities: the same pixels, to the bit."""
    print("seed", SEED)
    draw = random.Random(SEED)
    for _ in range(IMAGES):
        image = random_image(draw, "4:4:4")
        status, pixels = library.decode(image.data, image.width, image.height)
        assert status == OK, (image.said, library.reason(status))
        difference = np.abs(pixels.astype(int) - image.libjpeg)
        assert difference.max() == 0, (image.said, difference.max())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_step_is_the_models(library: JpegLibrary, layout: str) -> None:
    """Coefficients are equal, samples within 1, pixels of the same samples within 1."""
    print("seed", SEED)
    draw = random.Random(SEED)
    for _ in range(MODEL_IMAGES):
        image = random_image(draw, layout)
        expected = jpeg.decode(image.data)
        tokens = library.coefficients(image.data, image.width * image.height)
        assert [token.place.status for token in tokens] == [OK] * len(expected.coefficients)
        assert [token.place.is_last for token in tokens] == [0] * (len(tokens) - 1) + [1]
        samples = [library.samples(token) for token in tokens]
        for token, made, blocks in zip(tokens, samples, expected.coefficients, strict=True):
            assert (blocks_of(token) == blocks).all(), image.said
            exact = jpeg.samples_of(blocks).astype(int)
            assert np.abs(blocks_of(made) - exact).max() <= SAMPLE_DIFFERENCE_MAX, image.said
        pixels = np.zeros((image.height, image.width, 3), np.uint8)
        assert all(library.color(made, pixels) for made in samples)
        of_ours = expected.pixels([blocks_of(made) for made in samples])
        assert np.abs(pixels.astype(int) - of_ours).max() <= 1, image.said
        assert np.abs(pixels.astype(int) - expected.pixels()).max() <= PIXEL_DIFFERENCE_MAX


@pytest.mark.parametrize("name", [f"{width}x{height}" for width, height in SIZES])
def test_the_applications_images_are_the_models(library: JpegLibrary, name: str) -> None:
    """The images that are linked into the application."""
    data = path_of(name).read_bytes()
    width, height = map(int, name.split("x"))
    status, pixels = library.decode(data, width, height)
    assert status == OK
    expected = jpeg.decode(data)
    assert (expected.width, expected.height) == (width, height)
    assert (expected.across, expected.down) == (2, 2)
    assert np.abs(pixels.astype(int) - expected.pixels()).max() <= PIXEL_DIFFERENCE_MAX


def test_every_color_is_the_models(library: JpegLibrary) -> None:
    """Each pair of Cb and Cr with five lumas: within 1, for the constants are rounded."""
    pixels = np.zeros((8, 8, 3), np.uint8)
    model_image = jpeg.Image(8, 8, 1, 1, [(1, 0), (2, 0), (3, 0)])
    draw = np.random.default_rng(SEED)
    pairs = np.stack(np.meshgrid(np.arange(256), np.arange(256)), -1).reshape(-1, 64, 2)
    token = library.struct("tau_jpeg_samples")()
    token.place.width = token.place.height = 8
    token.place.layout = 1
    for pair in pairs:
        luma = draw.choice([0, 60, 128, 200, 255], 64)
        blocks = np.array([luma, pair[:, 0], pair[:, 1]], np.uint8)
        for index, block in enumerate(blocks):
            token.blocks[index][:] = block.tolist()
        assert library.color(token, pixels)
        expected = jpeg.pixels_of(model_image, [blocks.reshape(3, 8, 8)])
        assert np.abs(pixels.astype(int) - expected).max() <= 1


def damaged(draw: random.Random, data: bytes, first: int) -> bytes:
    """DATA with a few bytes from FIRST on changed, left out or added, or cut off."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(first, len(changed))
        kind = draw.randrange(5)
        if kind == 0:
            changed[at] = draw.choice((0, 0xFF, 0xD0, 0xD9, draw.randrange(256)))
        elif kind == 1:
            changed[at] ^= 1 << draw.randrange(8)
        elif kind == 2:
            del changed[at]
        elif kind == 3:
            changed.insert(at, draw.randrange(256))
        else:
            del changed[at + 1 :]
    return bytes(changed)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damaged_data_are_refused_as_by_the_model(library: JpegLibrary, layout: str) -> None:
    """The decoder refuses the same data at the same MCU, and decodes the others alike."""
    print("seed", SEED)
    draw = random.Random(SEED)
    accepted = 0
    for count in range(300):
        if count % 20 == 0:
            image = random_image(draw, layout)
        scan = image.data.index(b"\xff\xda")
        first = scan + 2 + int.from_bytes(image.data[scan + 2 : scan + 4])
        data = damaged(draw, image.data, first)
        tokens = library.coefficients(data, image.width * image.height)
        statuses = [token.place.status for token in tokens]
        model = jpeg.Decoder()
        try:
            model.read(data)
            accepted += 1
            assert statuses == [OK] * len(model.image.coefficients), image.said
        except jpeg.JpegError as error:
            decoded = len(model.image.coefficients)
            mcus = model.mcus_count()
            assert len(tokens) == min(decoded + 1, mcus), (image.said, error)
            assert [status == OK for status in statuses] == [True] * (len(tokens) - 1) + [False]
        for token, blocks in zip(tokens, model.image.coefficients, strict=False):
            assert token.place.status != OK or (blocks_of(token) == blocks).all()
        assert [token.place.is_last for token in tokens] == [0] * (len(tokens) - 1) + [1]
    assert 0 < accepted < 300


def plain(**options: object) -> Encoded:
    """A small image of noise."""
    pixels = np.random.default_rng(5).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    return encoded(pixels, **{"subsampling": "4:2:0", **options})


def other_mode(mode: str, **options: object) -> bytes:
    """An image of another color space than gray and YCbCr."""
    file = io.BytesIO()
    Image.new(mode, (30, 20)).save(file, "JPEG", **options)
    return file.getvalue()


def replaced(old: str, new: str, **options: object) -> bytes:
    """The small image with the first bytes OLD, in hex, replaced by NEW."""
    data = plain(**options).data
    before, after = bytes.fromhex(old), bytes.fromhex(new)
    assert before in data
    return data.replace(before, after, 1)


BAD_SEGMENT = "a malformed or misplaced marker segment"
NOT_BASELINE = "not baseline sequential"
SAMPLING = "none of 4:4:4, 4:2:2, 4:2:0"
SIZE = "empty, or too large for its buffer"
BAD_TABLE = "a table that no code can have"
SOF = "ffc0 0011 08 0014 001e 03 01 22 00 02 11 01 03 11 01"
SOS = "ffda 000c 03 01 00 02 11 03 11 00 3f 00"


def sof(new: str) -> bytes:
    """The small image with another frame header."""
    return replaced(SOF, new)


REFUSED = {
    "nothing": (b"", "the data end early"),
    "another file": (b"\x89PNG\r\n\x1a\n", "no start of image"),
    "progressive": (plain(progressive=True).data, NOT_BASELINE),
    "extended": (sof(SOF.replace("ffc0", "ffc1")), NOT_BASELINE),
    "arithmetic": (sof(SOF.replace("ffc0", "ffcc")), NOT_BASELINE),
    "12 bits": (sof(SOF.replace("08 0014", "0c 0014")), "not 8 bits"),
    "16-bit table": (replaced("ffdb 0043 00", "ffdb 0043 10"), "not 8 bits"),
    "CMYK": (other_mode("CMYK"), "neither one component nor three"),
    "RGB": (other_mode("RGB", keep_rgb=True), "not YCbCr"),
    "RGB by Adobe's segment": (sof(f"ffee 000e 41646f6265 0064 0000 0000 00 {SOF}"), "not YCbCr"),
    "RGB by name": (sof("ffc0 0011 08 0014 001e 03 522200 471101 421101"), "not YCbCr"),
    "4:4:0": (sof(SOF.replace("01 22", "01 12")), SAMPLING),
    "4:1:1": (sof(SOF.replace("01 22", "01 41")), SAMPLING),
    "sampled chroma": (sof(SOF.replace("02 11", "02 21")), SAMPLING),
    "factor 0": (sof(SOF.replace("01 22", "01 02")), BAD_SEGMENT),
    "factor 5": (sof(SOF.replace("01 22", "01 52")), BAD_SEGMENT),
    "table 4": (sof(SOF.replace("02 11 01", "02 11 04")), BAD_SEGMENT),
    "no table 2": (sof(SOF.replace("02 11 01", "02 11 02")), "a table is missing"),
    "no height": (sof(SOF.replace("0014", "0000")), SIZE),
    "no width": (sof(SOF.replace("001e", "0000")), SIZE),
    "too wide": (sof(SOF.replace("001e", "001f")), SIZE),
    "huge": (sof(SOF.replace("0014 001e", "ffff ffff")), SIZE),
    "two frames": (sof(SOF + SOF), BAD_SEGMENT),
    "frame too short": (sof(SOF.replace("0011", "0010")), BAD_SEGMENT),
    "step 0": (replaced("ffdb 0043 00 08", "ffdb 0043 00 00"), BAD_TABLE),
    "many codes": (replaced("ffc4 001f 00 0001", "ffc4 001f 00 0401"), BAD_SEGMENT),
    "code of all ones": (replaced("0001 0501 0101 0101 01", "0000 0408 0000 0000 00"), BAD_TABLE),
    "too many codes": (replaced("0001 0501 0101 0101 01", "0204 0001 0101 0101 01"), BAD_TABLE),
    "300 symbols": (sof("ffc4 013f 00" + "00" * 14 + "64c8" + "00" * 300 + SOF), BAD_SEGMENT),
    "a symbol missing": (replaced("ffc4 001f 00 0001 05", "ffc4 001f 00 0001 06"), BAD_SEGMENT),
    "a step missing": (replaced("ffdb 0043 00", "ffdb 0042 00"), BAD_SEGMENT),
    "DC of 12 bits": (
        replaced("0001 0203 0405 0607 0809 0a0b", "0c01 0203 0405 0607 0809 0a0b"),
        BAD_TABLE,
    ),
    "one component's scan": (replaced(SOS, "ffda 0008 01 01 00 00 3f 00"), "more than one scan"),
    "part of the spectrum": (replaced(SOS, SOS.replace("00 3f", "00 05")), NOT_BASELINE),
    "another component": (replaced(SOS, SOS.replace("03 01 00", "03 09 00")), BAD_SEGMENT),
    "Huffman table 2": (replaced(SOS, SOS.replace("01 00", "01 20")), BAD_SEGMENT),
    "scan without frame": (sof(""), BAD_SEGMENT),
    "end without scan": (sof("ffd9"), BAD_SEGMENT),
    "short segment": (sof("ffe0 0001"), BAD_SEGMENT),
    "no end of image": (plain().data[:-2], "the data end early"),
    "a byte too many": (plain().data[:-2] + b"\0\xff\xd9", "the data end early"),
    "other restart marker": (
        replaced("ffd1", "ffd2", restart_marker_blocks=1),
        "not the restart marker that is due",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_with_a_reason(library: JpegLibrary, name: str) -> None:
    """The status names the cause, and nothing is decoded after it."""
    data, reason = REFUSED[name]
    status, _ = library.decode(data, 30, 20)
    assert library.reason(status) == reason


def test_fill_bytes_and_unknown_segments_are_passed(library: JpegLibrary) -> None:
    """B.1.1.2: any marker may be preceded by fill bytes; comments and APPn mean nothing here."""
    image = plain(restart_marker_blocks=1)
    data = image.data.replace(b"\xff\xc0", b"\xff\xfe\0\4hi\xff\xef\0\2\xff\xff\xff\xc0")
    data = data.replace(b"\xff\xd0", b"\xff\xff\xff\xd0").replace(b"\xff\xd9", b"\xff\xff\xd9")
    _, expected = library.decode(image.data, 30, 20)
    status, pixels = library.decode(data, 30, 20)
    assert status == OK
    assert (pixels == expected).all()


def test_an_image_larger_than_its_buffer_is_stored_nowhere(library: JpegLibrary) -> None:
    """Neither by vld's refusal nor by cc's own."""
    image = plain()
    status, pixels = library.decode(image.data, 30, 19)
    assert library.reason(status) == SIZE
    assert not pixels.any()
    token = library.samples(library.coefficients(image.data, 600)[0])
    assert not library.color(token, pixels)
    assert not pixels.any()


def test_a_failed_token_is_passed_on(library: JpegLibrary) -> None:
    """Its blocks mean nothing: idct does not read them, cc stores nothing."""
    (token,) = library.coefficients(plain().data[:50], 600)
    made = library.samples(token)
    assert bytes(made.place) == bytes(token.place)
    untouched = library.struct("tau_jpeg_samples")()
    fill_with_garbage(untouched, 1)
    assert bytes(made)[12:] == bytes(untouched)[12:]
    pixels = np.zeros((20, 30, 3), np.uint8)
    assert not library.color(made, pixels)
    assert not pixels.any()
