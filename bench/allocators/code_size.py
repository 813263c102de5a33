"""Code size of allocators, ours and peers, on both instruction sets [P1-25]: the linked code of the
requested functions.

Ours is compiled -Os; crates with opt-level s; C libraries are measured as their packages ship them.
Constants count, so do the helpers that the code pulls in (the compiler's and memcpy). Columns:
malloc + free; the same + init; the same + realloc.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.allocators.images import (
    ISAS, OUT, PEERS, PeerMissing, compile_c, link, peer_image, sizes_of
)
from bench.commands import ROOT
from tautochrone.targets.sources import CORE_FILES

COLUMNS = ("malloc_free", "with_init", "with_realloc")
OURS = ("tlsf", "budget", "pools")


def compiled(
    isa_name: str, sources: Iterable[Path], flags: tuple[str, ...], label: str
) -> list[str]:
    """Objects of C files for a target."""
    isa, options = ISAS[isa_name], ("-ffreestanding", *flags)
    return [
        str(compile_c(isa, source, options, OUT / f"{label}-{source.stem}.o")) for source in sources
    ]


def linked(isa_name: str, objects: list[str], keep: Iterable[str], label: str) -> int:
    """Bytes of the functions KEEP of objects, linked with all that they reach."""
    isa, image = ISAS[isa_name], OUT / f"{label}.elf"
    link(isa, [*objects, "-lc", "-lgcc"], [*keep], image, isa.library_flags)
    return sizes_of(image)[0]


def our_sizes(
    system: str, isa_name: str, check_level: int, optimize: str = "-Os"
) -> dict[str, int]:
    """Bytes of each column for one of our heaps at a check level."""
    label = f"{system}-{isa_name}-{check_level}{optimize}"
    sources = [ROOT / name for name in CORE_FILES[system]]
    objects = compiled(isa_name, sources, (optimize, f"-DTAU_CHECK_LEVEL={check_level}"), label)
    keep = [f"tau_{system}_{verb}" for verb in ("malloc", "free", "init", "realloc")]
    return {
        column: linked(isa_name, objects, keep[:count], f"{label}-{column}")
        for count, column in enumerate(COLUMNS, 2)
    }


def peer_sizes(name: str, isa_name: str) -> dict[str, int]:
    """Bytes of each column for a peer, and its static data."""
    peer = PEERS[name]
    if peer.kind == "libc":
        # A C library has no init; its functions are called directly, and the sbrk of the adapter
        # counts as it must exist.
        groups = (("malloc", "free"), ("malloc", "free"), ("malloc", "free", "realloc"))
    else:
        groups = (
            ("tau_library_malloc", "tau_library_free"),
            ("tau_library_malloc", "tau_library_free", "tau_library_init"),
            ("tau_library_malloc", "tau_library_free", "tau_library_init", "tau_library_realloc"),
        )
    result = {}
    for column, keep in zip(COLUMNS, groups):
        image = peer_image(name, isa_name, "size" if peer.kind == "rust" else "release", keep)
        result[column], result["static_data"] = sizes_of(image)
    return result


def measure(isa_names: tuple[str, ...] = ("rv32", "m4")) -> list[dict[str, Any]]:
    """One row an allocator and instruction set.

    A peer that cannot be built has "missing" with the cause instead.
    """
    rows: list[dict[str, Any]] = []
    for isa_name in isa_names:
        for system in OURS:
            for level in (0, 1):
                sizes = our_sizes(system, isa_name, level)
                rows.append({"name": system, "isa": isa_name, "check_level": level, **sizes})
        for name, peer in PEERS.items():
            if isa_name not in peer.isas or name in ("dlmalloc_growing", "o1heap", "half_fit"):
                continue
            try:
                rows.append({"name": name, "isa": isa_name, **peer_sizes(name, isa_name)})
            except PeerMissing as cause:
                rows.append({"name": name, "isa": isa_name, "missing": cause.message})
    return rows
