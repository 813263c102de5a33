"""The embedded kernel under the workload, with all code in RAM or paged. Each run is kept in the
user's cache, under a hash of all that it depends on, and so is each recording.

run_of(PROGRAMS)                            # the kernel as Debian's source has it, recorded
run_of(PROGRAMS, Paging(fragment_text(pages), frames=16))
"""

import functools
from dataclasses import astuple, dataclass
from pathlib import Path

from repro.coldcode import workload
from tautochrone.coldcode.linux import build_cache
from tautochrone.coldcode.linux.build import Built, Wish, build
from tautochrone.coldcode.linux.qemu import Boot, Seen, boot_recorded, seen
from tautochrone.coldcode.linux.root import Root
from tautochrone.coldcode.linux.run import Run
from tautochrone.coldcode.recording import load

CONFIGURATION = "embedded"
# Reclaim of memory would make time vary by some per cent between seeds.
MEMORY_BYTES = 128 << 20
SECONDS_MAX = 3000.0
CONSOLE, RECORDING = "console.txt", "run.taucode"


@dataclass(frozen=True)
class Work:
    """What a kernel does: parts of the workload, inputs, rounds, and the machine."""

    parts: str = "programs"
    inputs: str = "recorded"
    rounds: int = workload.ROUNDS
    memory_bytes: int = MEMORY_BYTES
    seed: int = 1


PROGRAMS = Work()
HELD_OUT = Work(inputs="held-out", rounds=1)
SYSTEM = Work(parts="system", rounds=1)


@dataclass(frozen=True)
class Paging:
    """A placement, as the text of its fragment, and the cache of cold code."""

    fragment: str
    frames: int = 16
    policy: str = "round-robin"
    delay_us: int = 0

    @property
    def options(self) -> tuple[str, ...]:
        """Words of the kernel's command line."""
        names = ("frames", "policy", "delay_us")
        return tuple(f"coldcode.{name}={getattr(self, name)}" for name in names)


def wish(paging: Paging | None = None) -> Wish:
    """The kernel that is wanted."""
    if paging is None:
        return Wish(CONFIGURATION)
    folder = build_cache.cache_folder() / "placements"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{build_cache.hash_of([paging.fragment])}.lds"
    path.write_text(paging.fragment)
    return Wish(CONFIGURATION, path)


@functools.cache
def baseline() -> Built:
    """The kernel with all code in RAM."""
    return build(wish())


def run_of(work: Work, paging: Paging | None = None) -> Run:
    """What a kernel printed and executed."""
    built = baseline() if paging is None else build(wish(paging))
    words = tuple(workload.append(work.parts, work.inputs, work.rounds).split())
    words += () if paging is None else paging.options
    image = workload.image()
    parts = [str(built.folder), image.parent.name, *map(str, astuple(work)), *words]

    def make(folder: Path) -> None:
        how = boot_of(built, work, words, paging)
        found, _ = boot_recorded(built, how, folder / RECORDING)
        (folder / CONSOLE).write_text(found.console, encoding="utf-8")

    folder = build_cache.folder(build_cache.cache_folder(), "run", build_cache.hash_of(parts), make)
    return Run(built, console_of(folder), load(folder / RECORDING))


def boot_of(built: Built, work: Work, words: tuple[str, ...], paging: Paging | None) -> Boot:
    """How to boot for that."""
    return Boot(
        Root(workload.image(), is_disk=True),
        pages=None if paging is None else built.pages.read_bytes(),
        options=words,
        memory_bytes=work.memory_bytes,
        seed=work.seed,
        seconds_max=SECONDS_MAX,
    )


def console_of(folder: Path) -> Seen:
    """What a kept run has printed."""
    return seen((folder / CONSOLE).read_text(encoding="utf-8"))
