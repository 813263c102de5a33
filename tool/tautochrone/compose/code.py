"""Compiles the kernel, the base code and applications for the tile."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.targets.build import TARGETS, BuildError, compiler_of, link

LEAKS = ("none", "tlb", "gate", "load-time", "page-mix", "kernel-path", "one-table")
BASE_SOURCES = ("fifo.c", "base.c", "dma.c")
MEMORY = "targets/programs/replay/memory.c"  # memset and memcpy, which compiled code may call
FLAGS = ("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments")


def _compile(root: Path, words: Sequence[str], made: Path, purpose: str) -> Path:
    recipe = TARGETS["tile"]
    command = [compiler_of("tile"), *recipe.machine, *recipe.flags, *FLAGS, f"-I{root}"]
    done = subprocess.run([*command, *words, "-o", str(made)], capture_output=True, text=True)
    if done.returncode != 0:
        raise TauError(f"{purpose} cannot be built:\n{done.stderr}")
    return made


def base_code(root: Path, folder: Path) -> Path:
    """Link the base code into FOLDER."""
    sources = [str(root / "kernel/base" / name) for name in BASE_SOURCES]
    script = str(root / "kernel/base/base.ld")
    return _compile(root, ["-O2", "-T", script, *sources], folder / "base.elf", "the base code")


def base_bytes(base: Path) -> bytes:
    """The bytes of the base code as they lie in its page."""
    from elftools.elf.elffile import ELFFile

    with open(base, "rb") as file:
        (segment,) = (each for each in ELFFile(file).iter_segments() if each["p_type"] == "PT_LOAD")
        content = segment.data()
    return content + bytes(-len(content) % 4)


def base_hash(base: Path) -> bytes:
    """The hash that executables carry: SHA-256 of the base code's bytes."""
    return hashlib.sha256(base_bytes(base)).digest()


def application(
    root: Path,
    name: str,
    sources: Sequence[Path],
    base: Path,
    folder: Path,
    flags: Sequence[str] = (),
    page_bytes: int = 16384,
    address: int = 0x80100000,
) -> Path:
    """Link an application with the base code's symbols.

    It begins at ADDRESS; its data begin at the next multiple of PAGE_BYTES.
    """
    digest = base_hash(base)
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    values = ",".join(f"{word}u" for word in words)
    return _compile(
        root,
        [
            *("-O2", f"-DTAU_BASE_HASH={values}", *flags),
            *("-T", str(root / "kernel/base/application.ld"), f"-Wl,-R,{base}"),
            *("-Wl,--gc-sections", f"-Wl,--defsym=tau_page_bytes={page_bytes}"),
            f"-Wl,--defsym=tau_address={address}",
            *map(str, sources),
        ],
        folder / f"{name}.elf",
        name,
    )


def kernel(root: Path, folder: Path, leak: str = "none") -> Path:
    """Link the kernel, with a leak built in if asked for."""
    sources = [f"kernel/{path.name}" for path in sorted((root / "kernel").glob("*.[cS]"))]
    try:
        return link(
            "tile",
            root,
            [*sources, "core/buddy.c", MEMORY],
            folder / f"kernel-{leak}.elf",
            ["-Os", f"-DTAU_LEAK={LEAKS.index(leak)}", "-Wl,--defsym=tau_tile_stack_bytes=1024"],
            keep=["tau_trap_exception", "tau_slot_end", "tau_trap_unexpected"],
        )
    except BuildError as error:
        raise TauError(f"{error.message}\n{error.said}") from error
