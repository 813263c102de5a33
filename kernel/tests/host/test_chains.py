"""Whole applications: tasks as threads, connected by FIFOs, make what the plain code makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel.systems.jpeg.images import c_source, natural, path_of
from kernel.tests.host.host_build import (
    FIFO_FILES,
    JPEG_FILES,
    JPEG_TASKS,
    PIPELINE_FILES,
    ROOT,
    build,
    run,
)
from kernel.tests.host.jpeg_library import JpegLibrary, encoded
from model.applications import pipeline

RECORDED = ROOT / "kernel/tests/host/recorded_system_page.h"
CHAIN = "kernel/tests/host/chain.c"
WORD = 2**32
JPEG_NAMES = ("tau_jpeg_vld_task", "tau_jpeg_idct_task", "tau_jpeg_cc_task")
PIPELINE_NAMES = tuple(f"tau_pipeline_task{number}" for number in range(1, 6))
ORDERS = {3: ([], [2], [1, 2], [0]), 5: ([], [4, 2], [4, 3, 2, 1], [0, 1])}


def checksum(words: np.ndarray) -> str:
    """Fletcher's checksum of words, as applications print it."""
    sums = np.cumsum(words.astype(object))
    return f"{int(sums[-1]) % WORD:08x}{int(sums.sum()) % WORD:08x}"


def chain(made: Path, names: tuple[str, ...], sources: list[str | Path]) -> Path:
    """The program that runs the tasks NAMES."""
    flags = [f"-DTAU_TEST_TASKS={','.join(names)}", f"-DTAU_TEST_FIFOS={len(names) - 1}"]
    flags += ["-include", str(RECORDED), "-pthread", "-O2"]
    return build(made, [CHAIN, *FIFO_FILES, *sources], flags)


def jpeg_chain(folder: Path, data: bytes) -> Path:
    """The decoder as an application with the image DATA."""
    image = folder / "image.c"
    image.write_text(c_source(data), encoding="utf-8")
    return chain(folder / "jpeg", JPEG_NAMES, [*JPEG_FILES, *JPEG_TASKS, image])


def pixel_words(pixels: np.ndarray) -> np.ndarray:
    """Pixels as the words of the buffer, the last one filled up with zeros."""
    data = pixels.tobytes()
    return np.frombuffer(data + bytes(-len(data) % 4), dtype="<u4")


@pytest.mark.parametrize("name", ["64x64", "192x144", "4:4:4", "gray", "restarts"])
def test_three_tasks_decode_as_one(name: str, tmp_path: Path) -> None:
    """Pixels and iterations, whichever task starts first."""
    options = {"4:4:4": {"subsampling": "4:4:4"}, "gray": {"gray": True}}
    if "x" in name:
        data = path_of(name).read_bytes()
        width, height = map(int, name.split("x"))
    else:
        width, height = 71, 45
        chosen = options.get(name, {"subsampling": "4:2:2", "restart_marker_blocks": 3})
        data = encoded(natural(width, height, 8), **chosen).data
    library = JpegLibrary(tmp_path)
    status, pixels = library.decode(data, width, height)
    mcus = len(library.coefficients(data, width * height))
    program = jpeg_chain(tmp_path, data)
    for order in ORDERS[3]:
        said = run(program, *order)
        assert f"jpeg: decoded, checksum {checksum(pixel_words(pixels))}\n" in said
        assert said.count(f": {mcus} iterations\n") == len(JPEG_NAMES)
    assert library.reason(status) == "decoded"


@pytest.mark.parametrize(
    ("kept", "reason", "mcus"), [(100, "the data end early", 1), (-3, "the data end early", 16)]
)
def test_damaged_images_end_all_three_tasks(
    kept: int, reason: str, mcus: int, tmp_path: Path
) -> None:
    """A fault in the header is one token, one in the data the last of several."""
    said = run(jpeg_chain(tmp_path, path_of("64x64").read_bytes()[:kept]))
    assert f"jpeg: {reason}, " in said
    assert said.count(f": {mcus} iterations\n") == len(JPEG_NAMES)


def test_the_pipeline_computes_what_the_model_does(tmp_path: Path) -> None:
    """Five tasks, whichever starts first."""
    program = chain(tmp_path / "pipeline", PIPELINE_NAMES, list(PIPELINE_FILES))
    tokens = pipeline.run(tasks=5, tokens=100)
    words = np.array(tokens, dtype=np.uint32).ravel()
    for order in ORDERS[5]:
        said = run(program, *order)
        assert f"pipeline: done, checksum {checksum(words)}\n" in said
        assert said.count(": 100 iterations\n") == len(PIPELINE_NAMES)
