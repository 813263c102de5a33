"""Runs peers from packages: instructions per call and smallest arena, as bare code in the emulator
or as a library of this machine.

The emulator is the tool's (tautochrone.emulator); the peers are linked into its images. A peer
without memalign or realloc of its own is driven as the emulator's head says.
"""

import functools
from pathlib import Path

from bench.allocators.images import ISAS, PEERS, PeerMissing, adapter, host_library
from bench.allocators.images import peer_image, peer_on, rust_library, sizes_of
from bench.commands import first_line
from tautochrone.errors import TauError
from tautochrone.facts import fault_format as faults
from tautochrone.replay import emulator, opened
from tautochrone.replay.search import grid_sizes_of, search_steps
from tautochrone.replay.systems.native import library_system

PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/lib/rv32imac/ilp32/libc.a")
ARENA_BYTES_MAX = 1 << 28


def c_library(name: str, isa_name: str) -> Path:
    """The archive of a C library, as its package installs it."""
    isa = ISAS[isa_name]
    if name == "picolibc":
        path = PICOLIBC
    else:
        archive = "libc_nano.a" if name == "newlib-nano" else "libc.a"
        path = Path(first_line(isa.compiler, *isa.flags, f"-print-file-name={archive}"))
    if not path.is_absolute() or not path.exists():
        raise PeerMissing(f"{PEERS[name].title} is not installed", f"apt install {isa.package}")
    return path


@functools.cache
def image(name: str, isa_name: str) -> emulator.Image:
    """The peer linked for the emulator: crates opt-level 3, C libraries as packaged."""
    peer, isa = peer_on(name, isa_name)
    if peer.kind == "rust":
        library = rust_library(name, isa.rust_target)
        return emulator.build_image(name, isa_name, [], (), [library], "peer")
    libraries = [c_library(name, isa_name)]
    return emulator.build_image(name, isa_name, [adapter(name, isa)], (), libraries, "peer")


def counts(name: str, isa_name: str, trace: Path, **options: int) -> emulator.Counts:
    """Instructions per call of a peer on a trace."""
    return emulator.count_calls(image(name, isa_name), trace, **options)


def holds(name: str, isa_name: str, trace: Path, arena_bytes: int) -> bool:
    """Whether a trace completes in an arena of this size."""
    try:
        emulator.count_calls(image(name, isa_name), trace, heap_bytes=arena_bytes)
    except TauError as error:
        refusals = (faults.MEANING[faults.NO_MEMORY], faults.MEANING[faults.INIT_FAILED])
        if any(text in error.message for text in refusals):
            return False
        raise
    return True


def static_data_bytes(name: str, isa_name: str) -> int:
    """Writable data that the peer keeps outside its arena, rounded up to 8; an adapter's three
    words are in it.
    """
    if PEERS[name].kind == "rust":
        return 0  # the state of a crate's heap is inside the arena
    return (sizes_of(peer_image(name, isa_name))[1] + 7) // 8 * 8


def footprint(name: str, isa_name: str, trace: Path) -> int:
    """The smallest arena that completes TRACE, with the peer's static data.

    Found by the same search as ours (tautochrone.search): to 8 bytes, and on the same grid of
    smaller sizes. ISA_NAME "host": the crate as a library of this machine, in its own 64-bit
    layout.
    """
    decoded = opened.open_trace_for_replay(trace)
    if isa_name == "host":
        system = library_system(name, host_library(name), "peer")
        with system.session(decoded, None, "host") as session:
            return session.smallest_heap()
    found = 0
    for found in search_steps(
        lambda size: holds(name, isa_name, trace, size),
        int(decoded.facts.peak_live_bytes),
        ARENA_BYTES_MAX,
        grid_sizes=grid_sizes_of(decoded.facts.events),
    ):
        pass
    if not found:
        raise TauError(f"{name} does not hold {trace.name} in {ARENA_BYTES_MAX} bytes")
    return found + static_data_bytes(name, isa_name)
