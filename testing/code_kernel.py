"""The kernel of linux/coldcode/tests for QEMU's machine virt, and pages in link order."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tautochrone.coldcode.fragment import PAGE_BYTES, Page, page_bytes_of
from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.coldcode.link_map import Piece, alignment_bytes
from tautochrone.targets.build import TARGETS, compiler_of

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [ROOT / "linux/coldcode/tests/programs" / name for name in ("start.S", "kernel.c")]


def build(made: Path, *flags: str) -> Kernel:
    """Compile the kernel, with more flags: OTHER_KERNEL, WAITS."""
    recipe = TARGETS["sv39"]
    command = [compiler_of("sv39"), *recipe.machine, *recipe.flags, "-O1", "-Wall", "-Wextra"]
    command += [*flags, "-nostdlib", "-static", "-Wl,--no-warn-rwx-segments"]
    command += ["-T", str(ROOT / "targets" / recipe.script), *map(str, SOURCES), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return read_kernel(made)


def in_link_order(pieces: Sequence[Piece]) -> tuple[Page, ...]:
    """Pages of whole pieces, one after the other. A piece that is larger than a page stays out."""
    alignment = alignment_bytes(pieces)
    pages: list[list[Piece]] = []
    for piece in pieces:
        if page_bytes_of([piece], alignment) > PAGE_BYTES:
            continue
        if not pages or page_bytes_of([*pages[-1], piece], alignment) > PAGE_BYTES:
            pages.append([])
        pages[-1].append(piece)
    return tuple(map(tuple, pages))
