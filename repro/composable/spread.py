"""How much the cost of translation depends on the program, its input, and where code and data lie
[P2-22].

    python -m repro composable spread   # the stage
    python -m repro.composable.spread      # makes new images, with Pillow

Programs in one slot, as in Fig. 10: the decoder's iterations with images that differ in width,
quality and sampling, and eleven other programs with two inputs each. All are linked in several
orders of their files, which moves what shares a page.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel.systems.jpeg import images
from repro.composable import figure10
from repro.composable.applications import IMAGES, PROGRAMS
from repro.composable.forms import Program, bank_cycles, in_order, never_ending
from repro.engine.results import REPOSITORY
from tautochrone.console.output import note

ITERATIONS = 15
LINK_ORDERS = (0, 1, 2)
# Largest page in bytes, entries of each TLB.
UNITS = ((16384, 4), (4096, 4))
WORK = PROGRAMS / "work"
TLSF = REPOSITORY / "core" / "tlsf.c"
# Programs and the sizes of their two inputs.
SIZES = {
    "aes": (80, 40),
    "churn": (2000, 1000),
    "crc": (16000, 8000),
    "fifo": (6000, 3000),
    "fir": (900, 400),
    "forest": (300, 150),
    "hash_join": (6000, 1500),
    "machine": (12000, 6000),
    "matrix": (30, 20),
    "sort": (1500, 700),
    "text": (8000, 3000),
}
SEEDS = (2463534242, 88675123)
WALK_PAGES_BYTES = (65536, 4096)


@dataclass(frozen=True)
class Made:
    """An image that is made for this stage."""

    name: str
    width: int
    height: int
    quality: int
    sampling: str  # "gray", or Pillow's name of it
    seed: int
    is_noise: bool = False  # nothing to compress: about the most work for the Huffman decoder


MADE = (
    Made("quality-20", 192, 144, 20, "4:2:0", 5),
    Made("quality-95", 192, 144, 95, "4:2:0", 6),
    Made("wide", 1024, 16, 75, "4:2:0", 2),
    Made("wide-gray", 1024, 16, 75, "gray", 3),
    Made("noise-95", 160, 96, 95, "4:2:0", 7, is_noise=True),
)


def pixels(image: Made) -> np.ndarray:
    """The result."""
    if image.is_noise:
        shape = (image.height, image.width, 3)
        return np.random.default_rng(image.seed).integers(0, 256, shape).astype(np.uint8)
    return images.natural(image.width, image.height, image.seed)


def make() -> None:
    """Write the images."""
    from PIL import Image

    for each in MADE:
        image = Image.fromarray(pixels(each))
        path = IMAGES / f"{each.name}.jpg"
        if each.sampling == "gray":
            image.convert("L").save(path, quality=each.quality)
        else:
            image.save(path, quality=each.quality, subsampling=each.sampling)


def chosen() -> list[figure10.Image]:
    """Those of Fig. 10, and those that are made."""
    more = [figure10.Image(each.name, IMAGES / f"{each.name}.jpg", each.sampling) for each in MADE]
    return [*figure10.IMAGES, *more]


def work(name: str, size: int, seed: int) -> Program:
    """A program of programs/work with an input."""
    files = [WORK / f"{each}.c" for each in (name, "input", "output")]
    files += [TLSF] * (name == "churn")
    flags = (f"-DTAU_SIZE={size}u", f"-DTAU_SEED={seed}u")
    return Program(f"{name}-{size}", tuple(files), flags)


def works(names: Iterable[str] = SIZES) -> dict[str, list[Program]]:
    """Programs with all their inputs."""
    return {
        name: [work(name, *each) for each in zip(SIZES[name], SEEDS, strict=True)] for name in names
    }


def overs(programs: Iterable[Program], orders: tuple[int, ...]) -> dict[str, list[float]]:
    """Cycles over those in banks, of each program in each order, by the unit."""
    found: dict[str, list[float]] = {}
    for each in programs:
        for order in orders:
            program = in_order(each, order)
            bank = bank_cycles(program)
            for page_bytes, entries in UNITS:
                run = never_ending(program, page_bytes, entries, bank)
                found.setdefault(f"{page_bytes}-{entries}", []).append(run["over"])
    return found


def walk(size: int) -> dict[str, Any]:
    """A walk by columns over 12 pages of 4 KiB, with large and with small pages."""
    program = work("walk", size, SEEDS[0])
    bank = bank_cycles(program)
    large, small = (never_ending(program, each, 4, bank)["cycles"] for each in WALK_PAGES_BYTES)
    return {"bank_cycles": bank, "large_cycles": large, "small_cycles": small,
            "small_over_large": small / large}


def measure(
    chosen_images: list[figure10.Image] | None = None,
    iterations: int = ITERATIONS,
    orders: tuple[int, ...] = LINK_ORDERS,
    names: Iterable[str] = SIZES,
) -> dict[str, Any]:
    """Every image and every program in every order."""
    rows: dict[str, dict[str, dict[str, list[float]]]] = {"images": {}, "works": {}}
    for image in chosen() if chosen_images is None else chosen_images:
        note(f"spread: {image.name}, {image.sampling}")
        rows["images"][image.name] = overs([figure10.decoder(image, iterations)], orders)
    for name, programs in works(names).items():
        note(f"spread: {name}")
        rows["works"][name] = overs(programs, orders)
    every = {
        f"{page_bytes}-{entries}": {
            kind: [over for row in rows[kind].values() for over in row[f"{page_bytes}-{entries}"]]
            for kind in rows
        }
        for page_bytes, entries in UNITS
    }
    return {
        "iterations": iterations,
        "programs": sum(len(found) for found in every["4096-4"].values()),
        **rows,
        "units": {
            unit: {kind: summary(found) for kind, found in kinds.items()}
            | {"all": summary([over for found in kinds.values() for over in found])}
            for unit, kinds in every.items()
        },
        "walk": walk(5),
    }


def summary(found: list[float]) -> dict[str, float]:
    """The least, the median and the most."""
    return {"least": min(found), "median": statistics.median(found), "most": max(found)}


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure([*figure10.QUICK_IMAGES], figure10.QUICK_ITERATIONS, (0,), ("crc",))


if __name__ == "__main__":
    make()
