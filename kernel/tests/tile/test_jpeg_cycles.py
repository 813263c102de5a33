"""What the decoder costs on the tile, in banks without translation: to the cycle, and pinned.

An application with virtual memory is compared with these numbers [P2-22].
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel.systems.jpeg import images
from tautochrone.tile.build import Options
from testing.golden import pinned
from testing.tile import compiled, run

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "jpeg_cycles_golden.json"
JPEG = HERE.parents[1] / "systems" / "jpeg"
COLUMNS = ("mcus", "whole", "vld", "idct", "cc", "vld_max", "idct_max", "cc_max")


def measured(name: str, folder: Path) -> dict[str, int]:
    """The cycles of image NAME, by their purpose."""
    image = folder / "image.c"
    image.write_text(images.c_source(images.path_of(name).read_bytes()), encoding="utf-8")
    decoder = sorted(JPEG.glob("*.c"))
    program = compiled(folder, HERE / "jpeg_cycles.c", *decoder, image)
    done = run(Options(), "--program", program)
    assert done.code == 0, done.console + done.messages
    return {key: int(value) for key, value in map(str.split, done.console.splitlines())}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f"{width}x{height}", marks=pytest.mark.slow if number else ())
        for number, (width, height) in enumerate(images.SIZES)
    ],
)
def test_cycles_are_those_pinned(name: str, tmp_path: Path) -> None:
    """Every number, to the cycle; and the steps are nearly all that the decoder does."""
    cycles = measured(name, tmp_path)
    print(name, cycles)
    assert pinned(GOLDEN, {name: cycles})[name] == cycles
    steps = sum(cycles[step] for step in ("header", "vld", "idct", "cc"))
    assert abs(steps - cycles["whole"]) < 0.01 * cycles["whole"]


def test_the_document_has_these_numbers() -> None:
    """Each row of the table in the decoder's README."""
    text = (JPEG / "README.md").read_text(encoding="utf-8")
    for name, cycles in pinned(GOLDEN, {}).items():
        row = " | ".join(f"{cycles[column]:,}" for column in COLUMNS)
        assert f"| {name.replace('x', ' × ')} | {row} |\n" in text
