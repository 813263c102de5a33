"""A heap places objects alike on big-endian and on little-endian machines: byte_order.c."""

import shutil
import subprocess
from pathlib import Path

import pytest

from core.tests.kit.core_build import ROOT

SECONDS_MAX = 300
WORDS = (
    *("-std=c17", "-O2", "-Werror", "-ffreestanding", "-fno-tree-loop-distribute-patterns"),
    *("-nostdlib", "-static", f"-I{ROOT}", Path(__file__).with_name("byte_order.c")),
    *(ROOT / "core/tlsf.c", "-lgcc"),
)
MACHINES = {
    32: (("arm-none-eabi-gcc", "-mcpu=cortex-a7", "-mthumb"), "qemu-arm", "qemu-armeb"),
    64: (("aarch64-linux-gnu-gcc-12",), "qemu-aarch64", "qemu-aarch64_be"),
}


def digest(compiler: tuple[str, ...], order: str, level: int, qemu: str, folder: Path) -> bytes:
    """What the calls come to, with the bytes in an order."""
    program = folder / qemu
    words = (*compiler, f"-m{order}-endian", f"-DTAU_CHECK_LEVEL={level}", *WORDS, "-o", program)
    subprocess.run(words, check=True, timeout=SECONDS_MAX)
    return subprocess.run(
        [qemu, program], check=True, capture_output=True, timeout=SECONDS_MAX
    ).stdout


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("bits", MACHINES)
def test_places_are_the_same(bits: int, level: int, tmp_path: Path) -> None:
    """Of 50,000 random calls, at each check level."""
    compiler, little, big = MACHINES[bits]
    for command in (compiler[0], little, big):
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not installed")
    expected = digest(compiler, "little", level, little, tmp_path)
    assert len(expected) == 8
    assert digest(compiler, "big", level, big, tmp_path) == expected
