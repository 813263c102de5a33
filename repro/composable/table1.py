"""Table I: what virtual memory costs in an ECP5, and how fast it is [P2-21].

- The unit by itself; the core, which is Ibex as the simulated tile has it; the core with the unit
  and the two ports around it; a tile with block RAMs, once with and once without them.
- The clock is the tile's, as a core without memories has no paths to them: the median over seeds of
  placement, on the slowest grade.
"""

import math
import statistics
from typing import Any

from repro.composable.applications import RESULTS
from repro.composable.synthesis import Design, clock_mhz, synthesized
from repro.engine.claims import sentences_of
from tautochrone.console.output import note

SEEDS = (1, 2, 3, 4, 5)
ENTRIES = (1, 2, 4, 8)
ENTRIES_DEFAULT = 4
KINDS = ("lut", "ff", "block_rams")
SMALL_FRAME_BITS = 11  # frames of 1 KiB: 1 MiB, and the bit of device frames
SMALL_PAGE_BITS = 14  # a window of 16 MiB
PAPER = sentences_of(RESULTS.home)["paper_values"]


def unit(entries: int) -> Design:
    """The unit by itself."""
    return Design(f"unit-{entries}", "tau_composable", (("Entries", entries),))


def core(entries: int = 0, small: bool = False) -> Design:
    """The core, with the unit if it has entries; SMALL: addresses of a small on-chip memory."""
    sets: tuple[tuple[str, int], ...] = (("Translated", int(entries > 0)),)
    if entries:
        sets += (("Entries", entries),)
    if small:
        sets += (("PageBits", SMALL_PAGE_BITS), ("FrameBits", SMALL_FRAME_BITS))
    return Design(f"core-{entries}{'-small' * small}", "tau_area_core", sets)


def tile(entries: int = 0) -> Design:
    """A tile of block RAMs, with the unit if it has entries."""
    sets: tuple[tuple[str, int], ...] = (("Translated", int(entries > 0)),)
    if entries:
        sets += (("Entries", entries),)
    return Design(f"tile-{entries}", "tau_area_tile", sets)


def growth(before: dict[str, int], after: dict[str, int]) -> dict[str, float | None]:
    """After over before, of each kind; None where there was none before."""
    return {kind: after[kind] / before[kind] if before[kind] else None for kind in KINDS}


def paper_growth() -> dict[str, dict[str, float | None]]:
    """The same of the paper's numbers."""
    result = {}
    for row, kinds in PAPER.items():
        before, after = ({kind: pair[i] for kind, pair in kinds.items()} for i in (0, 1))
        result[row] = growth(before, after)
    return result


def clocks(design: Design, seeds: tuple[int, ...]) -> dict[str, Any]:
    """The clock of each seed, and their median."""
    found = []
    for seed in seeds:
        found.append(math.floor(clock_mhz(design, seed) * 100) / 100)
        note(f"{design.name}, seed {seed}: {found[-1]} MHz")
    return {"mhz": found, "median_mhz": statistics.median(found)}


def measure(entries: tuple[int, ...] = ENTRIES, seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """Cells of every design, clocks of the two tiles."""
    plain = synthesized(core())
    result: dict[str, Any] = {
        "paper": paper_growth(),
        "entries_default": ENTRIES_DEFAULT,
        "core": plain,
        "tile": synthesized(tile()),
        "tile_with_unit": synthesized(tile(ENTRIES_DEFAULT)),
        "by_entries": {},
    }
    result["tile_growth"] = growth(result["tile"], result["tile_with_unit"])
    for count in entries:
        note(f"synthesis: {count} entries")
        whole = synthesized(core(count))
        result["by_entries"][str(count)] = {
            "unit": synthesized(unit(count)),
            "core_with_unit": whole,
            "growth": growth(plain, whole),
        }
    small = synthesized(core(ENTRIES_DEFAULT, small=True))
    result["small"] = {
        "page_bits": SMALL_PAGE_BITS,
        "frame_bits": SMALL_FRAME_BITS,
        "core_with_unit": small,
        "growth": growth(plain, small),
    }
    if seeds:
        result["clock"] = {
            "tile": clocks(tile(), seeds), "tile_with_unit": clocks(tile(ENTRIES_DEFAULT), seeds)
        }
        result["clock"]["ratio"] = (
            result["clock"]["tile_with_unit"]["median_mhz"] / result["clock"]["tile"]["median_mhz"]
        )
    return result
