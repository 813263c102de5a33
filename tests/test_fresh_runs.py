"""A firmware on a plan with the advised margin runs on inputs that no recording has.

Method: firmwares on FreeRTOS, in C++ and on newlib take a seed, by which their sizes differ.
A plan is made from recordings of some seeds, and the planned firmware runs on 20 others in QEMU.
All seeds are fixed: chances of a few in a thousand remain, which would fail now and then.
"""

import random
import re
from pathlib import Path

import pytest
from tests import test_cpp, test_newlib
from tests.pages import shown
from tests.test_freertos import PAGE, built

from testing import firmware
from testing.command import tau_done
from testing.firmware import CAPTURE, CORE, HEAP, RECORDER, ROOT, WRAPS

PLANS, FRESH = 5, 20
DESIGN = ROOT / "docs" / "design" / "plan.md"
COMPILERS = ("arm-none-eabi-gcc", "arm-none-eabi-g++")


def freertos(folder: Path, is_planned: bool) -> Path:
    """The firmware of the page, with its lines."""
    name = "planned.mk" if is_planned else "recording.mk"
    (folder / name).write_text(shown(PAGE, name))
    return built(folder, name)


def cpp(folder: Path, is_planned: bool) -> Path:
    """Containers on core/ports/cpp/tautochrone.hpp."""
    flags = test_cpp.BARE if is_planned else (test_cpp.RECORDED, *test_cpp.BARE)
    return test_cpp.built(COMPILERS, CORE if is_planned else [RECORDER], folder, *flags)


def newlib(folder: Path, is_planned: bool) -> Path:
    """Every way from C++ to newlib-nano's heap."""
    recorder = (f'-DTAU_RECORD_CAPTURE="{CAPTURE}"', WRAPS)
    flags = (*test_newlib.NEWLIB, *(() if is_planned else recorder))
    heap = HEAP if is_planned else [RECORDER]
    return firmware.firmware([test_newlib.PROGRAMS / "program.cpp", *heap], folder, flags)


FIRMWARES = {"FreeRTOS": freertos, "C++": cpp, "newlib": newlib}


def held(elf: Path, seed: int, machine: tuple[str, ...]) -> bool:
    """Whether a run gets all its memory. In C++, it ends where it does not, on newlib silently."""
    try:
        said = firmware.emulate(elf, seed, machine=machine)
    except AssertionError as error:
        if str(error).splitlines()[1:] and "no memory for" not in str(error):
            raise
        return False
    (failed,) = re.findall(r"^checksum \w{8} failed (\d+)", said, re.M)
    return int(failed) == 0


def held_of_fresh(name: str, folder: Path, recordings: int, number: int) -> int:
    """How many of FRESH runs hold on plan NUMBER, which is made from so many recordings."""
    seeds = random.Random(f"{name} {number}").sample(range(1, 2**30), recordings + FRESH)
    machine = firmware.QEMU_COUNTING if name == "FreeRTOS" else firmware.QEMU_ARM
    build, runs = FIRMWARES[name], folder / f"runs{number}"
    runs.mkdir(parents=True)
    if not number:
        (folder / "tau").symlink_to(ROOT)
    recording = build(folder, is_planned=False)
    for seed in seeds[FRESH:]:
        assert held(recording, seed, machine)
        tau_done("import", folder / CAPTURE, "-o", runs / f"{seed}.tau")
    header = ("--header", folder / "heap_plan.h", "--force")
    tau_done("plan", runs, "-o", folder / "plan.toml", *header)
    planned = build(folder, is_planned=True)
    return sum(held(planned, seed, machine) for seed in seeds[:FRESH])


def rows() -> list[list[str]]:
    """The rows of the page's table: recordings, and runs that held for each of FIRMWARES."""
    header = f"| recordings | {' | '.join(FIRMWARES)} |"
    table = DESIGN.read_text().split(header)[1].split("\n\n")[0]
    return [re.findall(r"\d+", line) for line in table.splitlines()[2:]]


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_so_many_fresh_runs_hold_as_the_page_says(tmp_path: Path, row: list[str]) -> None:
    recordings, *stated = map(int, row)
    found = [
        sum(held_of_fresh(name, tmp_path / name, recordings, number) for number in range(PLANS))
        for name in FIRMWARES
    ]
    assert found == stated
    assert recordings < FRESH or found == [PLANS * FRESH] * len(FIRMWARES)
