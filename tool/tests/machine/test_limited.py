"""Compilers and tools of others that hang are named and ended, with all that they started.

Method: programs of their names are put in front of the real ones. Each starts another process that
holds its output open, and waits for it.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tautochrone import native
from tautochrone.machine.images import building
from tautochrone.coldcode.linux import build as kernel_build
from tautochrone.coldcode.linux import build_cache, initramfs
from tautochrone.compose import code
from tautochrone.errors import TauError
from tautochrone.record import accesses
from tautochrone.targets import build, libraries, limited
from tautochrone.tlb.tile.code import Builder

LIMIT_SECONDS = 0.5  # it is to end early
NAMES = ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc", "riscv64-linux-gnu-gcc-12", "valgrind")


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the process that each of NAMES started last."""
    child = tmp_path / "child"
    for name in NAMES:
        (tmp_path / name).write_text(f"#!/bin/sh\nsleep 1000 & echo $! > {child}\nwait\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return child


def is_gone(child: Path) -> bool:
    """Whether that process ends within a second; a killed one is adopted, and its end collected."""
    stat = Path(f"/proc/{child.read_text().strip()}/stat")
    for _ in range(100):
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_program_is_ended_with_all_that_it_started(hanging: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        limited.run([NAMES[0]], LIMIT_SECONDS)
    assert is_gone(hanging)


def test_a_compiler_that_hangs_is_named(hanging: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "VERSION_SECONDS_MAX", LIMIT_SECONDS)
    with pytest.raises(build.BuildError, match="arm-none-eabi-gcc --version took over 0.5 s"):
        build.compiler_version("m4")
    assert is_gone(hanging)


@building()
def missing_header(_folder: Path) -> None:
    """The message that names the library of a missing header."""
    libraries.library_of_header("tile", "fatal error: math.h: No such file or directory")


# Functions that start a compiler.
STARTED = {
    "riscv64-unknown-elf-gcc": [
        lambda folder: code.base_code(native.sources(), folder),
        lambda folder: Builder(native.sources(), folder).kernel(1, 0, 0),
        missing_header,
    ],
    "riscv64-linux-gnu-gcc-12": [
        lambda _: kernel_build.compiler_tools(),
        lambda _: initramfs.initramfs("riscv64-linux-gnu-gcc-12"),
    ],
}


@pytest.mark.parametrize(("name", "start"), [(n, each) for n in STARTED for each in STARTED[n]])
def test_every_compiler_that_hangs_is_named(
    hanging: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(build_cache, "cache_folder", lambda: hanging.parent / "cache")
    monkeypatch.setattr(build.run, "__defaults__", ("", LIMIT_SECONDS, None, ""))
    monkeypatch.setattr(kernel_build, "VERSION_SECONDS_MAX", LIMIT_SECONDS)
    monkeypatch.setattr(initramfs, "SECONDS_MAX", LIMIT_SECONDS)
    with pytest.raises(TauError, match=f"{name} took over 0.5 s"):
        start(hanging.parent)
    assert is_gone(hanging)


def test_a_valgrind_that_hangs_is_named(hanging: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accesses._run, "__defaults__", (LIMIT_SECONDS,))
    with pytest.raises(TauError, match="valgrind took over 0.5 s"):
        accesses.find_package()
    assert is_gone(hanging)
