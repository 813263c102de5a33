"""Two pages lead from a pointer-rich firmware to one that runs on its plan.

Method: docs/tutorials/size-a-heap.md and docs/ports/newlib.md are run as test_pages.py runs the
others, with a program of tests/firmware in place of their dots. The firmware that they lead to runs
in QEMU on the recorded input and, after the tutorial, on fresh ones: no allocation fails, and the
checksum equals the same program's on this machine.
"""

import json
import random
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.pages import Page, read, shown

from testing import firmware
from testing.command import tau_done
from testing.firmware import FIRMWARE, LIBRARIES, PROGRAMS, QEMU_ARM, ROOT, run, source_of

FRESH_SEEDS = 20
# Recordings of other days, each of another input.
DAYS = {"monday.tau": 2, "tuesday.tau": 3, "wednesday.tau": 4, "new.tau": 5}
ARMHF = "arm-linux-gnueabihf-gcc"
PAGE = "docs/tutorials/size-a-heap.md"
PORT = "docs/ports/newlib.md"


def page_of(path: str, program: str) -> Page:
    """A page with a program of ours in place of its dots, and with recordings of other days."""
    source, nano = source_of(program), shlex.join(LIBRARIES["nano"])
    board = f"{FIRMWARE / 'board.c'} -T {FIRMWARE / 'board.ld'}"
    own = f"{nano} {source} {board}"
    days = "".join(
        f"{shlex.join(QEMU_ARM)} -semihosting-config enable=on,target=native,arg=a,arg={seed}"
        f" -kernel firmware.elf\ntau import capture.bin -o {name}\n"
        for name, seed in DAYS.items()
    )
    instead = {
        "-mcpu=cortex-m4 -mthumb -Os …": f"-mcpu=cortex-m4 -mthumb -Os {own}",
        "tau/core/budget.c …": f"tau/core/budget.c {own}",
        "-g …": f"-g -Os {source}",
        "--its arguments": "1",
        "tau plan monday.tau": f"{days}tau plan monday.tau",
    }
    return Page(path, instead=instead)


def checksum_of(program: str, folder: Path, seed: int) -> str:
    """What the program prints on this machine."""
    host = folder / "on_host" / program
    if not host.exists():
        host.parent.mkdir()
        firmware.on_host(program, host.parent)
    return firmware.printed(firmware.run(host, str(seed), cwd=folder)).checksum


def assert_runs(elf: Path, program: str, folder: Path, seeds: list[int]) -> None:
    """The firmware gives the right result for each seed, and no allocation fails."""
    for seed in seeds:
        said = firmware.printed(firmware.emulate(elf, seed))
        assert said == firmware.Printed(checksum_of(program, folder, seed), 0), seed


@pytest.mark.parametrize(
    ("path", "program", "fresh_seeds"), [(PAGE, "cache", FRESH_SEEDS), (PORT, "strings", 0)]
)
def test_a_page_leads_to_a_firmware_that_runs(
    tmp_path: Path, path: str, program: str, fresh_seeds: int
) -> None:
    chosen = random.Random()
    seeds = [1, *(chosen.randrange(2, 2**31) for _ in range(fresh_seeds))]
    print(f"seeds {seeds}")
    read(page_of(path, program), tmp_path)
    assert_runs(tmp_path / "planned.elf", program, tmp_path, seeds)


def planned(program: str, folder: Path) -> list[Path]:
    """The sources of a program, and its heap's in a folder, with the page's header."""
    run(sys.executable, ROOT / "scripts" / "amalgamate.py", folder, cwd=ROOT)
    (folder / "watch.h").write_text(shown(PAGE, "watch.h"))
    return [source_of(program), *folder.glob("tautochrone*.c")]


@pytest.mark.parametrize("optimize", ["-Os", "-O2"])
def test_a_firmware_of_single_files_has_the_bounds_of_the_header(
    tmp_path: Path, optimize: str
) -> None:
    """A compiler that saw TLSF and the budgeted heap in one file would inline more."""
    program, trace, plan = "blobs", tmp_path / "program.tau", tmp_path / "plan.toml"
    firmware.record(firmware.recorded_firmware(program, tmp_path), trace, 7)
    (tmp_path / "build.toml").write_text(f'optimize = "{optimize}"\n')
    words = ("--build", tmp_path / "build.toml", "--pools", "always", "-o", plan)
    tau_done("plan", trace, *words, "--header", tmp_path / "heap_plan.h")
    elf = firmware.firmware(planned(program, tmp_path), tmp_path, [optimize])
    assert ", 0 refused" in tau_done("verify", plan, trace, "--elf", elf).stdout


WATCH = """
#include <stdio.h>
#include "watch.h"
static unsigned near, refused;
void heap_near_limit(size_t size_bytes, size_t count, size_t limit_count) {
    near += size_bytes != 0 && count <= limit_count;
}
void heap_refused(size_t size_bytes) { refused += size_bytes != 0; }
__attribute__((destructor)) static void told(void) { printf("%u near %u", near, refused); }
"""


def test_the_firmware_notices_a_limit_that_is_near_and_one_that_is_exceeded(tmp_path: Path) -> None:
    """With the limits of one run, that run comes near to all and exceeds none; others do."""
    program, trace = "cache", tmp_path / "program.tau"
    elf = firmware.recorded_firmware(program, tmp_path)
    firmware.record(elf, trace, 7)
    header = ("--header", tmp_path / "heap_plan.h")
    words = ("plan", trace, "--margin", "0%", "--guarantee", *header, "--json")
    made = json.loads(tau_done(*words).stdout)
    sources = planned(program, tmp_path)
    (tmp_path / "watch.c").write_text(WATCH)
    port = "-DTAU_PORT_HEADER=\"watch.h\""
    elf = firmware.firmware([*sources, tmp_path / "watch.c"], tmp_path, [port])
    said = {}
    for seed in (7, 8, 9):
        text = firmware.emulate(elf, seed)
        failed, near, refused = re.findall(r"failed (\d+)\n(\d+) near (\d+)$", text)[0]
        assert failed == refused, text
        said[seed] = int(near), int(refused)
    assert said[7] == (len(made["pools"]), 0), said
    assert any(refused for _, refused in said.values()), said


@pytest.mark.slow
@pytest.mark.parametrize("pools", ["never", "always", "guaranteed"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_runs_on_its_plan(tmp_path: Path, program: str, pools: str) -> None:
    """The recorded input at margin 0, with pools and without, and with pools for bands."""
    trace, header = tmp_path / "program.tau", tmp_path / "heap_plan.h"
    elf = firmware.recorded_firmware(program, tmp_path)
    firmware.record(elf, trace, 7)
    way = ["--guarantee"] if pools == "guaranteed" else ["--pools", pools]
    tau_done("plan", trace, "--margin", "0%", *way, "--header", header)
    assert_runs(firmware.firmware(planned(program, tmp_path), tmp_path), program, tmp_path, [7])


# What only one side allocates: newlib's table of files; in C++, each run-time library's reserve for
# exceptions.
NEWLIB, RESERVES = [("malloc", 428, 0)], ([("malloc", 2528, 0)], [("malloc", 20224, 0)])


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_32_bit_arm_linux_asks_for_what_the_firmware_does(tmp_path: Path, program: str) -> None:
    """Call by call, by the tutorial's two ways to record."""
    firmware.record(firmware.recorded_firmware(program, tmp_path), tmp_path / "firmware.tau", 7)
    source = source_of(program)
    compiler = ARMHF.replace("gcc", "g++-12") if source.suffix == ".cpp" else ARMHF
    standard = firmware.LANGUAGES[source.suffix][1]
    firmware.run(compiler, standard, "-g", "-Os", source, "-o", "program", cwd=tmp_path)
    tau_done("record", "--target", "armhf", "-o", "linux.tau", "--", "./program", 7, cwd=tmp_path)
    of_firmware, of_linux = (
        firmware.calls_of(tmp_path / f"{name}.tau") for name in ("firmware", "linux")
    )
    assert of_firmware[:1] == NEWLIB and len(of_linux) > 10_000
    del of_firmware[0]
    if source.suffix == ".cpp":
        for calls, reserve in zip((of_firmware, of_linux), RESERVES, strict=True):
            calls.remove(reserve[0])
    assert of_firmware == of_linux
