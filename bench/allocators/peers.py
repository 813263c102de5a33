"""Peers from packages as systems of replay: instructions per call and smallest arena."""

import functools
from pathlib import Path

from bench.allocators import half_fit
from bench.allocators.images import HOST_TARGET, OUT, PACKAGED, PEERS, PeerMissing
from bench.allocators.images import compile_c, peer_on, rust_library
from tautochrone.replay import emulator
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.systems import library, system_named


@functools.cache
def system(name: str, isa_name: str) -> library.TargetLibrary:
    """A peer on a target: crates opt-level 3, C libraries as packaged. Raises PeerMissing."""
    peer, isa = peer_on(name, isa_name)
    if peer.kind == "libc":
        found = system_named(name)
        state = found.state(build=False)
        assert isinstance(found, library.CLibrary) and state is not None
        if not state.works:
            raise PeerMissing(f"{peer.title} is not installed", state.next_step or "")
        return found
    if peer.kind == "rust":
        return library.TargetLibrary(name, isa_name, rust_library(name, isa.rust_target))
    own = half_fit.flags(half_fit.source()) if name == "o1heap" else ()
    flags = ("-O2", "-ffreestanding", *own)
    made = compile_c(isa, PACKAGED / f"{name}_library.c", flags, OUT / f"{name}-{isa_name}.o")
    return library.TargetLibrary(name, isa_name, made)


def counts(name: str, isa_name: str, trace: Path, **options: int) -> emulator.Counts:
    """Instructions per call of a peer on a trace."""
    return system(name, isa_name).counts(open_trace_for_replay(trace), **options)


def safe_heap(name: str, isa_name: str, trace: Path) -> int:
    """The arena from which on every sampled size completes (replay/search.py).

    The peer's variables are outside it. ISA_NAME "host": the crate as a library of this machine, in
    its own 64-bit layout.
    """
    decoded = open_trace_for_replay(trace)
    if isa_name != library.HOST:
        return system(name, isa_name).safe_heap(decoded)
    if PEERS[name].kind != "rust":
        raise PeerMissing(f"{PEERS[name].title} has no package for this machine")
    crate = library.named(f"{library.PREFIX}{rust_library(name, HOST_TARGET)}")
    assert isinstance(crate, library.HostLibrary)
    return crate.safe_heap(decoded, None, library.HOST)
