"""docs/tutorials/size-a-heap.md leads from a pointer-rich firmware to one that runs on its plan.

Method: the tutorial's commands are run as they are printed, with a program of tests/firmware in
place of its dots, once for each way to record. The firmware is then built with the tutorial's
heap.c, and runs in QEMU on the recorded input and on fresh ones: no allocation fails, and the
checksum equals the same program's on this machine.
"""

import os
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from testing import firmware
from testing.firmware import FIRMWARE, LIBRARIES, PROGRAMS, ROOT, source_of

TUTORIAL = ROOT / "docs" / "tutorials" / "size-a-heap.md"
FRESH_SEEDS = 20
# Recordings of other days, each of another input.
DAYS = {"monday.tau": 2, "tuesday.tau": 3, "wednesday.tau": 4, "new.tau": 5}
ARMHF = "arm-linux-gnueabihf-gcc"


def blocks(language: str) -> list[str]:
    """The tutorial's blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TUTORIAL.read_text(), re.M | re.S)


def commands() -> list[str]:
    """The tutorial's commands; a command that goes on in the next line is one."""
    return [line for block in blocks("sh") for line in block.replace("\\\n", " ").splitlines()]


def planned_firmware(program: str, folder: Path) -> Path:
    """Build the program with the tutorial's heap.c, where the core and the plan's header are."""
    (heap,) = blocks("c")
    (folder / "heap.c").write_text(heap)
    sources = [source_of(program), folder / "tautochrone.c", folder / "heap.c"]
    return firmware.firmware(sources, folder)


def run(folder: Path, command: str) -> str:
    """Run one line as a user types it; return its output."""
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    words = {"capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, **words)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that the tutorial's reader has: `tau` is the repository, and a command."""
    (tmp_path / "bin").mkdir()
    tau = f'#!/bin/sh\nexec "{sys.executable}" -m tautochrone "$@"\n'
    (tmp_path / "bin" / "tau").write_text(tau)
    (tmp_path / "bin" / "tau").chmod(0o755)
    for name in ("tau", "scripts"):
        (tmp_path / name).symlink_to(ROOT if name == "tau" else ROOT / name)
    return tmp_path


def is_of_way(command: str, way: str) -> bool:
    """Whether WAY needs a command: each way to record has some that the other has not."""
    if any(word in command for word in ("arm-none-eabi", "qemu-system-arm", "tau import")):
        return way == "firmware"
    return way == "linux" or not any(word in command for word in (ARMHF, "--target armhf"))


def completed(command: str, program: str) -> str:
    """The command with the reader's own files in place of the dots."""
    source = shlex.quote(str(source_of(program)))
    board = f"{FIRMWARE / 'board.c'} -T {FIRMWARE / 'board.ld'} -o firmware.elf"
    ours = f"-Os {source}" if ARMHF in command else f"{shlex.join(LIBRARIES['nano'])} {source}"
    whole = command.replace("…", ours if ARMHF in command else f"{ours} {board}")
    return whole.replace("--its arguments", "1")


def record_other_days(folder: Path, program: str, way: str) -> None:
    """Record the other inputs in the way in which the first was."""
    for name, seed in DAYS.items():
        if way == "firmware":
            firmware.emulate(folder / "firmware.elf", seed)
            run(folder, f"tau import capture.bin -o {name}")
        else:
            run(folder, f"tau record --target armhf -o {name} -- ./program {seed}")


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


@pytest.mark.parametrize("way", ["firmware", pytest.param("linux", marks=pytest.mark.slow)])
def test_the_tutorial_leads_to_a_firmware_that_runs(folder: Path, way: str) -> None:
    program, chosen = "cache", random.Random()
    seeds = [1, *(chosen.randrange(2, 2**31) for _ in range(FRESH_SEEDS))]
    print(f"seeds {seeds}")
    mine = [command for command in commands() if is_of_way(command, way)]
    assert sum("tau " in command for command in mine) >= 8
    last = [command for command in mine if "--elf" in command]
    for command in mine:
        if "monday.tau" in command:
            record_other_days(folder, program, way)
        if command not in last:
            run(folder, completed(command, program))
    built = folder / "firmware"
    elf = planned_firmware(program, built)
    assert_runs(elf, program, folder, seeds)
    assert [run(folder, command) for command in last] and elf == built / "firmware.elf"
    assert "firmware.elf, m4: " in run(folder, "tau info plan.toml")


@pytest.mark.slow
@pytest.mark.parametrize("pools", ["never", "always"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_runs_on_its_plan(folder: Path, program: str, pools: str) -> None:
    """The recorded input at margin 0, with pools and without."""
    recorded = folder / "recorded"
    recorded.mkdir()
    elf = firmware.recorded_firmware(program, recorded)
    firmware.record(elf, folder / "program.tau", 7)
    run(folder, f"tau plan program.tau --margin 0% --pools {pools} -o p.toml --header heap_plan.h")
    built = folder / "built"
    built.mkdir()
    run(folder, f"python3 scripts/amalgamate.py {built}")
    (folder / "heap_plan.h").rename(built / "heap_plan.h")
    assert_runs(planned_firmware(program, built), program, folder, [7])


# What only one side allocates: newlib's table of files; in C++, each run-time library's reserve for
# exceptions.
NEWLIB, RESERVES = [("malloc", 428, 0)], ([("malloc", 2528, 0)], [("malloc", 20224, 0)])


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_32_bit_arm_linux_asks_for_what_the_firmware_does(folder: Path, program: str) -> None:
    """Call by call, by the tutorial's two ways to record."""
    firmware.record(firmware.recorded_firmware(program, folder), folder / "firmware.tau", 7)
    source = source_of(program)
    compiler = ARMHF.replace("gcc", "g++") if source.suffix == ".cpp" else ARMHF
    standard = firmware.LANGUAGES[source.suffix][1]
    firmware.run(compiler, standard, "-g", "-Os", source, "-o", "program", cwd=folder)
    run(folder, "tau record --target armhf -o linux.tau -- ./program 7")
    of_firmware, of_linux = (
        firmware.calls_of(folder / f"{name}.tau") for name in ("firmware", "linux")
    )
    assert of_firmware[:1] == NEWLIB and len(of_linux) > 10_000
    del of_firmware[0]
    if source.suffix == ".cpp":
        for calls, reserve in zip((of_firmware, of_linux), RESERVES, strict=True):
            calls.remove(reserve[0])
    assert of_firmware == of_linux
