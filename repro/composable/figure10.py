"""Fig. 10: what virtual memory costs the decoder, and what composability costs on top.

The first iterations of the decoder, in one task, three times:
- in untranslated banks, without any virtual memory;
- as an application whose slot never ends, with pages of 16 KiB or 4 KiB and 2 to 8 entries in each
  TLB: what remains is translation [P2-22];
- in slots of 50,000 cycles: what comes on top is loading the table, and the misses behind it
  [P2-23].
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.systems.jpeg import images
from repro.composable import applications
from repro.composable.applications import JPEG, PROGRAMS, image_source, simulated
from repro.composable.forms import (
    ENTRIES_DEFAULT, MARGINS, OS_SLOT, Program, application, bank_cycles, interval, never_ending
)
from repro.composable.unit import unit_cycles
from tautochrone.compose.system import Command, System
from tautochrone.console.output import note

ITERATIONS, QUICK_ITERATIONS = 100, 5
PAGES_BYTES = (16384, 4096)
ENTRIES = (2, 4, 8)
USER_SLOT = 50_000
LOADED_FRAME = 16  # the decoder is loaded by then, in slots of USER_SLOT
NEVER_FORGOTTEN = "tlb"


@dataclass(frozen=True)
class Image:
    """An image, and how it is sampled."""

    name: str
    path: Path
    sampling: str


IMAGES = (
    Image("192x144", images.path_of("192x144"), "4:2:0"),
    Image("96x72", applications.IMAGES / "96x72-444.jpg", "4:4:4"),
)
QUICK_IMAGES = (Image("64x64", images.path_of("64x64"), "4:2:0"),)


def decoder(image: Image, iterations: int) -> Program:
    """The first iterations of the decoder with an image."""
    files = (PROGRAMS / "iterations.c", image_source(image.path), *sorted(JPEG.glob("*.c")))
    return Program(f"{image.name}-{iterations}", files, (f"-DTAU_ITERATIONS={iterations}u",))


def sliced(program: Program, page_bytes: int, bank: int, leak: str) -> dict[str, int]:
    """The program in slots: cycles of the user, slots and misses between the marks."""
    system = System(
        (application(program, page_bytes),),
        (("loader", "decoder.main"),),
        (Command("load", "decoder", LOADED_FRAME),),
        user_slot_cycles=USER_SLOT,
        os_slot_cycles=OS_SLOT,
    )
    slots = 2 * (LOADED_FRAME + int(bank * MARGINS[ENTRIES_DEFAULT]) // USER_SLOT + 4)
    run = simulated(system, slots, leak)
    begin, end = interval(run)
    own = [
        slot
        for slot in run.tiles[0].slots
        if slot.owner >> 8 == 0 and slot.last_cycle > begin and slot.first_cycle < end
    ]
    return {
        "user_cycles": sum(
            min(slot.last_cycle, end) - max(slot.first_cycle, begin) for slot in own
        ),
        "slots": len(own),
        "misses": sum(slot.misses_fetch + slot.misses_data for slot in own),
    }


def on_top(program: Program, page_bytes: int, bank: int) -> dict[str, Any]:
    """The cost of forgetting, compared with a kernel that keeps a loaded table."""
    forgetting = sliced(program, page_bytes, bank, "none")
    keeping = sliced(program, page_bytes, bank, NEVER_FORGOTTEN)
    unit = unit_cycles()
    misses = forgetting["misses"] - keeping["misses"]
    offered = forgetting["slots"] * USER_SLOT
    spent = forgetting["slots"] * unit["load_cycles"] + misses * unit["miss_cycles"]
    return {
        "slots": forgetting["slots"],
        "misses_more": misses,
        "misses_more_per_slot": misses / forgetting["slots"],
        "user_cycles": forgetting["user_cycles"],
        "user_cycles_more": forgetting["user_cycles"] - keeping["user_cycles"],
        "percent": 100 * spent / offered,
        "percent_of_misses": 100 * misses * unit["miss_cycles"] / offered,
        "percent_of_loads": 100 * unit["load_cycles"] / USER_SLOT,
    }


def measure(
    chosen: tuple[Image, ...] = IMAGES,
    iterations: int = ITERATIONS,
    entries: tuple[int, ...] = ENTRIES,
    pages_bytes: tuple[int, ...] = PAGES_BYTES,
) -> dict[str, Any]:
    """Every image, page size and number of entries."""
    result: dict[str, Any] = {
        "iterations": iterations,
        "entries_default": ENTRIES_DEFAULT,
        "user_slot_cycles": USER_SLOT,
        "images": {},
    }
    for image in chosen:
        program = decoder(image, iterations)
        bank = bank_cycles(program)
        row: dict[str, Any] = {"bank_cycles": bank, "sampling": image.sampling, "pages": {}}
        for page_bytes in pages_bytes:
            note(f"{image.name}: pages of {page_bytes} bytes")
            row["pages"][str(page_bytes)] = {
                "by_entries": {
                    str(count): never_ending(program, page_bytes, count, bank)
                    for count in entries
                },
                "on_top": on_top(program, page_bytes, bank),
            }
        result["images"][image.name] = row
    return result


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(QUICK_IMAGES, QUICK_ITERATIONS, (ENTRIES_DEFAULT,), (16384,))
