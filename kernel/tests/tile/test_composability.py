"""Composability on the tile: the decoder alone, and with neighbors that come, go, fault and load.

Each absolute cycle of its slots and iterations is compared, and its output. That leaks are
found and named is tested with the command (tool/tests/compose).
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from tautochrone.compose import bounds, check, code, pages
from tautochrone.compose.neighborhood import neighborhood, rooms
from tautochrone.compose.run import Run, run
from tautochrone.compose.system import Application, Command, Fifo, System, system_file

from kernel.systems.jpeg import images

ROOT = Path(__file__).resolve().parents[3]
JPEG = ROOT / "kernel/systems/jpeg"
NEIGHBOR = ROOT / "kernel/systems/neighbors/neighbor.c"
NEIGHBORS = 2
MAJOR_FRAMES = 52
LOADED_FRAME = 18  # The decoder is loaded by then.
USER_SLOT, OS_SLOT, START = 10_000, 800, 400_000
SEED = 7


class Parts:
    """The executables, built once for all tests of a session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = code.base_code(ROOT, folder)
        image = folder / "image.c"
        image.write_text(images.c_source(images.path_of("64x64").read_bytes()), encoding="utf-8")
        sources = [image, *sorted(JPEG.rglob("*.c"))]
        flags = ["-DTAU_JPEG_PIXELS_MAX=4096u"]
        decoder = code.application(ROOT, "jpeg", sources, self.base, folder, flags)
        self.decoder = Application(
            "jpeg",
            decoder,
            ("vld", "idct", "cc"),
            16384,
            16384,
            (Fifo("vld", "idct"), Fifo("idct", "cc")),
        )
        self.neighbors = [self.neighbor(number) for number in range(NEIGHBORS)]

    def neighbor(self, number: int) -> Application:
        """A neighbor, linked at an address of its own."""
        flags = [f"-DTAU_NEIGHBOR_SEED={number + 5}u"]
        address = 0x80100000 + 0x100000 * (number + 1)
        name = f"neighbor{number}"
        made = code.application(
            ROOT, name, [NEIGHBOR], self.base, self.folder, flags, 1024, address
        )
        return Application(name, made, ("main",), 4096, 1024)

    def system(self, tiles: int) -> System:
        """The decoder on one tile or two, a slot for each neighbor."""
        names = [f"{each.name}.main" for each in self.neighbors]
        slots = (
            (("loader", "jpeg.vld", names[0], "jpeg.idct", names[1], "jpeg.cc"),)
            if tiles == 1
            else (("loader", "jpeg.vld", *names), ("loader", "jpeg.idct", names[0], "jpeg.cc"))
        )
        return System(
            (self.decoder, *self.neighbors),
            slots,
            (Command("load", "jpeg", LOADED_FRAME),),
            user_slot_cycles=USER_SLOT,
            os_slot_cycles=OS_SLOT,
            start_cycle=START,
        )

    def carried_out(self, system: System) -> Run:
        """Run a system to the end of its major frames."""
        kernel = code.kernel(ROOT, self.folder)
        content = system_file(system, code.base_bytes(self.base), code.base_hash(self.base))
        frames = MAJOR_FRAMES * len(system.slots[0])
        done = run(
            self.folder,
            kernel,
            content,
            len(system.slots),
            START + frames * (USER_SLOT + OS_SLOT),
        )
        assert "cycle limit" in done.messages, done.console + done.messages
        return done

    @functools.cache  # noqa: B019
    def beside(self, tiles: int, seed: int = SEED) -> Run:
        """The decoder with random neighbors."""
        names = [each.name for each in self.neighbors]
        full = self.system(tiles)
        free = rooms(full, self.alone(tiles))
        system = neighborhood(full, dict.fromkeys(names, 0), free, seed, MAJOR_FRAMES)
        assert any(command.operation == "unload" for command in system.commands)
        return self.carried_out(system)

    @functools.cache  # noqa: B019
    def alone(self, tiles: int) -> Run:
        """The decoder by itself."""
        return self.carried_out(self.system(tiles))


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """The executables."""
    return Parts(tmp_path_factory.mktemp("composable"))


# With two tiles in each check: test_dma.py, and test_leaks.py of tool/tests/compose.
@pytest.mark.parametrize("tiles", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_neighbors_do_not_change_one_cycle(parts: Parts, tiles: int) -> None:
    """[P2-1, P2-18]: 0, in every event, on one tile and over the link of two."""
    alone, beside = parts.alone(tiles), parts.beside(tiles)
    verdict = check.compare(alone, beside, 0)
    assert verdict == check.Verdict(verdict.events_compared, 0, None)
    assert verdict.events_compared > 400
    owners = {slot.owner >> 8 for slot in beside.tiles[0].slots}
    assert owners >= {0, 1, 2}
    assert sum(slot.calls for slot in beside.tiles[0].slots) > 0  # They called and they failed.
    loads = [step for step in beside.tiles[0].set_up if step[0] == 2 and step[1] > 0]
    assert len(loads) >= 3


def test_every_slot_begins_at_its_cycle(parts: Parts) -> None:
    """[KRN-9]: release and first instruction, whoever ran before [P2-7]."""
    slots = parts.beside(1).tiles[0].slots
    period = USER_SLOT + OS_SLOT
    offsets = {
        (slot.owner_cycle - START - number * period, slot.first_cycle - slot.owner_cycle)
        for number, slot in enumerate(slots)
    }
    assert len(slots) > 300 and len(offsets) == 1


def test_the_os_slot_is_longer_than_its_bound(parts: Parts) -> None:
    """And what neighbors did at the ends of their slots is within it [P2-7]."""
    terms = bounds.os_slot_terms(code.kernel(ROOT, parts.folder))
    assert sum(terms.values()) <= OS_SLOT
    in_the_way = sum(terms.values()) - terms["timer handler"] - terms["margin of the gate"]
    slots = parts.beside(1).tiles[0].slots
    latest = max(
        slot.last_cycle - START - number * (USER_SLOT + OS_SLOT) - USER_SLOT
        for number, slot in enumerate(slots)
    )
    assert bounds.INTERRUPT_CYCLES < latest <= in_the_way


def test_the_decoder_needs_few_entries(parts: Parts) -> None:
    """[P2-26]: at most 12, FIFOs and base code among them."""
    from tautochrone.compose.system import pages_of

    system = parts.system(2)
    counts = [len(pages_of(system, parts.decoder, tile)) for tile in (0, 1)]
    assert max(counts) <= 12, counts


@pytest.mark.parametrize(("kibibytes", "orders"), [(17, [2, 0]), (15, [1, 1, 1, 0, 0, 0])])
def test_sizes_are_digits_to_base_four(kibibytes: int, orders: list[int]) -> None:
    """[P2-15]: the paper's two examples."""
    segment = pages.Segment(0x80100000, kibibytes * 1024, pages.READ)
    assert [page.order for page in pages.pages_for(segment, 7)] == orders
