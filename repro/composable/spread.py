"""How much the cost of translation depends on the image and on where code and data lie [P2-22].

    python -m repro composable spread   # the stage
    python -m repro.composable.spread      # makes new images, with Pillow

The decoder's iterations in one slot, as in Fig. 10. Images differ in width, quality and sampling.
Each is linked in several orders of the decoder's files, which moves what shares a page.
"""

import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel.systems.jpeg import images
from repro.composable import figure10
from repro.composable.applications import IMAGES
from tautochrone.console.output import note

ITERATIONS = 60
LINK_ORDERS = (0, 1, 2)
# Largest page in bytes, entries of each TLB.
UNITS = ((16384, 4), (4096, 4), (4096, 8))


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


def linked(image: figure10.Image, order: int) -> figure10.Image:
    """The image in a program that is linked in another order."""
    return figure10.Image(f"{image.name}-{order}", image.path, image.sampling, order)


def overs(
    image: figure10.Image, iterations: int, orders: tuple[int, ...]
) -> dict[str, list[float]]:
    """Cycles over those in banks, in each order, by the unit."""
    found: dict[str, list[float]] = {}
    for order in orders:
        program = linked(image, order)
        bank = figure10.bank_cycles(program, iterations)
        for page_bytes, entries in UNITS:
            run = figure10.never_ending(program, page_bytes, entries, iterations, bank)
            found.setdefault(f"{page_bytes}-{entries}", []).append(run["over"])
    return found


def measure(
    chosen_images: list[figure10.Image] | None = None,
    iterations: int = ITERATIONS,
    orders: tuple[int, ...] = LINK_ORDERS,
) -> dict[str, Any]:
    """Every image in every order."""
    rows: dict[str, dict[str, list[float]]] = {}
    for image in chosen() if chosen_images is None else chosen_images:
        note(f"spread: {image.name}, {image.sampling}")
        rows[image.name] = overs(image, iterations, orders)
    summary = {}
    for page_bytes, entries in UNITS:
        unit = f"{page_bytes}-{entries}"
        every = [over for row in rows.values() for over in row[unit]]
        summary[unit] = {
            "least": min(every), "median": statistics.median(every), "most": max(every)
        }
    return {
        "iterations": iterations,
        "programs": len(rows) * len(orders),
        "images": rows,
        "units": summary,
    }


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure([*figure10.QUICK_IMAGES], figure10.QUICK_ITERATIONS, (0,))


if __name__ == "__main__":
    make()
