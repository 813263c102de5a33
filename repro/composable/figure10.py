"""Fig. 10: what virtual memory costs the decoder, and what composability costs on top.

The first iterations of the decoder, in one task, three times:
- in untranslated banks, without any virtual memory;
- as an application whose slot never ends, with pages of 16 KiB or 4 KiB and 2 to 8 entries in each
  TLB: what remains is translation [P2-22];
- in slots of 50,000 cycles: what comes on top is loading the table, and the misses behind it
  [P2-23].
"""

import functools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.tile.build import Options
from kernel.systems.jpeg import images
from repro.composable import applications
from repro.composable.applications import BUILT, JPEG, PROGRAMS, base, image_source
from repro.composable.applications import printed, simulated
from repro.composable.unit import unit_cycles
from repro.engine.results import REPOSITORY
from tautochrone.compose import code
from tautochrone.compose.run import Run
from tautochrone.compose.system import Application, Command, System, pages_of
from tautochrone.console.output import note
from tautochrone.targets.build import link

ITERATIONS, QUICK_ITERATIONS = 100, 5
PAGES_BYTES = (16384, 4096)
ENTRIES = (2, 4, 8)
ENTRIES_DEFAULT = 4
USER_SLOT, OS_SLOT = 50_000, 800
LOAD_CYCLES = 500_000  # more than loading the decoder takes
LOADED_FRAME = 16  # the decoder is loaded by then, in slots of USER_SLOT
# For a slot that does not end before the iterations do, by entries.
MARGINS = {2: 2.0, 4: 1.3, 8: 1.3}
NEVER_FORGOTTEN = "tlb"


@dataclass(frozen=True)
class Image:
    """An image, how it is sampled, and the order in which its program is linked (0: by name)."""

    name: str
    path: Path
    sampling: str
    link_order: int = 0


IMAGES = (
    Image("192x144", images.path_of("192x144"), "4:2:0"),
    Image("96x72", applications.IMAGES / "96x72-444.jpg", "4:4:4"),
)
QUICK_IMAGES = (Image("64x64", images.path_of("64x64"), "4:2:0"),)


def sources(image: Image) -> list[Path]:
    """What both forms of the program are made of."""
    found = [PROGRAMS / "iterations.c", image_source(image.path), *sorted(JPEG.glob("*.c"))]
    if image.link_order:
        random.Random(image.link_order).shuffle(found)
    return found


def flags(iterations: int) -> list[str]:
    """How many iterations. Equal alignment: where a loop lies in a word changes its fetches."""
    return [f"-DTAU_ITERATIONS={iterations}u", "-falign-functions=4"]


def bank_cycles(image: Image, iterations: int) -> int:
    """The cycles of the iterations in untranslated banks."""
    base()
    program = link(
        "tile",
        REPOSITORY,
        [PROGRAMS / "iterations_bank.c", *sources(image)],
        BUILT / f"bank-{image.name}-{iterations}.elf",
        flags(iterations),
    )
    return int(printed(program, Options()))


@functools.cache
def application(image: Image, page_bytes: int, iterations: int) -> Application:
    """The same iterations as an application."""
    name = f"iterations-{image.name}-{page_bytes}-{iterations}"
    files = [PROGRAMS / "iterations_application.c", *sources(image)]
    made = code.application(REPOSITORY, name, files, base(), BUILT, flags(iterations), page_bytes)
    return Application("decoder", made, ("main",), page_bytes, page_bytes)


def interval(run: Run) -> tuple[int, int]:
    """The cycles of the marks in front of and behind the iterations."""
    marks = [mark.cycle for mark in run.tiles[0].marks]
    if len(marks) != 2:
        raise RuntimeError(f"the iterations did not end: {run.console}")
    return marks[0], marks[1]


def never_ending(
    image: Image, page_bytes: int, entries: int, iterations: int, bank: int
) -> dict[str, Any]:
    """The iterations in one slot: cycles, and misses of it."""
    program = application(image, page_bytes, iterations)
    system = System(
        (program,),
        (("decoder.main", "loader"),),
        (Command("load", "decoder", 1),),
        user_slot_cycles=max(int(bank * MARGINS[entries]) + 100_000, LOAD_CYCLES),
        os_slot_cycles=OS_SLOT,
    )
    # With the default it is the simulator of all other systems.
    parameters = () if entries == ENTRIES_DEFAULT else (f"Entries={entries}",)
    run = simulated(system, 4, unit_parameters=parameters)
    begin, end = interval(run)
    slot = next(slot for slot in run.tiles[0].slots if slot.first_cycle <= begin <= slot.last_cycle)
    if end > slot.last_cycle:
        raise RuntimeError("the slot ended in the middle of the iterations")
    misses = slot.misses_fetch + slot.misses_data
    return {
        "cycles": end - begin,
        "over": (end - begin) / bank,
        "misses_fetch": slot.misses_fetch,
        "misses_data": slot.misses_data,
        "hits_later": end - begin - bank - unit_cycles()["miss_cycles"] * misses,
        "table_entries": len(pages_of(system, program, 0)),
    }


def sliced(image: Image, page_bytes: int, iterations: int, bank: int, leak: str) -> dict[str, int]:
    """The iterations in slots: cycles of the user, slots and misses between the marks."""
    system = System(
        (application(image, page_bytes, iterations),),
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


def on_top(image: Image, page_bytes: int, iterations: int, bank: int) -> dict[str, Any]:
    """The cost of forgetting, compared with a kernel that keeps a loaded table."""
    forgetting = sliced(image, page_bytes, iterations, bank, "none")
    keeping = sliced(image, page_bytes, iterations, bank, NEVER_FORGOTTEN)
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
        bank = bank_cycles(image, iterations)
        row: dict[str, Any] = {"bank_cycles": bank, "sampling": image.sampling, "pages": {}}
        for page_bytes in pages_bytes:
            note(f"{image.name}: pages of {page_bytes} bytes")
            row["pages"][str(page_bytes)] = {
                "by_entries": {
                    str(count): never_ending(image, page_bytes, count, iterations, bank)
                    for count in entries
                },
                "on_top": on_top(image, page_bytes, iterations, bank),
            }
        result["images"][image.name] = row
    return result


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(QUICK_IMAGES, QUICK_ITERATIONS, (ENTRIES_DEFAULT,), (16384,))
