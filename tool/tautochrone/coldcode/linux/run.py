"""Boots a kernel with cold code in QEMU; on request also the same kernel with all code in RAM.

result = run(How(threshold=0.999, frames=16))

Missing parts are made first: the kernel, a recording of it, a plan, and a link with its placement.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES, fragment_text, read_fragment
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.link_map import Piece, read_link_map
from tautochrone.coldcode.linux import build_cache
from tautochrone.coldcode.linux.build import Built, Wish, build, compiler_tools
from tautochrone.coldcode.linux.initramfs import initramfs
from tautochrone.coldcode.linux.must_stay import patched_while_booting
from tautochrone.coldcode.linux.qemu import (
    MEMORY_BYTES,
    NANOSECONDS_PER_INSTRUCTION,
    Boot,
    Seen,
    boot_recorded,
)
from tautochrone.coldcode.linux.root import Root, open_root
from tautochrone.coldcode.linux.settle import settled, warn_of_misplaced
from tautochrone.coldcode.pieces import code_of
from tautochrone.coldcode.planning import Planned, for_part
from tautochrone.coldcode.recording import CodeRecording
from tautochrone.coldcode.replay import Cache, replay, touches_of, until
from tautochrone.console import signals
from tautochrone.errors import TauError

STORES = ("flash", "compressed", "ram")
KIB = 1024
# The kernel calls it for the first program, once the pager is at work.
FIRST_PROGRAM = "run_init_process"
# The counters begin when the first of these has returned to the second, which releases cold code.
# They end when the third reads them. A kernel without cold code calls them, too.
RELEASE_BEHIND, RELEASED_BY = "tau_cold_counters_show", "tau_cold_activate"
COUNTED_UNTIL = "counters_show"
MARKS = (RELEASE_BEHIND, RELEASED_BY, COUNTED_UNTIL)


@dataclass(frozen=True)
class How:
    """The run that is wanted. Without a placement in `wish`, one is planned for `threshold`.

    `code_sha256` is the code that the placement was planned for; None if that is unknown. `root`
    holds the programs; None: ours. `append` goes to the kernel's command line. With
    `is_compared`, the kernel with all code in RAM is booted, too. Its recording is kept at
    `recording`, if that is a path.
    """

    threshold: float | None
    wish: Wish = field(default_factory=Wish)
    code_sha256: str | None = None
    root: Path | None = None
    append: str = ""
    frames: int = 16
    policy: str = "round-robin"
    interrupt_pages: int = 0
    store: str = "flash"
    delay_us: int = 0
    memory_bytes: int = MEMORY_BYTES
    seed: int = 1
    seconds_max: float = 600.0
    is_compared: bool = False
    recording: Path | None = None
    force: bool = False

    @property
    def cache(self) -> Cache:
        """The cache of cold code that the kernel gets."""
        return Cache(self.frames, self.policy, interrupt_pages=self.interrupt_pages)

    @property
    def pager_options(self) -> list[str]:
        """The pager's words of the kernel's command line."""
        options = [f"frames={self.frames}", f"policy={self.policy}", f"store={self.store}"]
        options += [f"delay_us={self.delay_us}", f"frames_least={self.cache.frames_least}"]
        return [f"coldcode.{option}" for option in options]


@dataclass(frozen=True)
class Run:
    """A kernel, the output of its programs, and the code that it executed."""

    built: Built
    seen: Seen
    recording: CodeRecording

    @property
    def system_instructions(self) -> int:
        """Instructions of the kernel's code for programs, without reading pages."""
        before = until(self.recording, FIRST_PROGRAM)
        begin = int(self.recording.times[len(before.times)])
        reading = self.seen.number("page_microseconds") * 1000 // NANOSECONDS_PER_INSTRUCTION
        return self.recording.end_time - begin - reading


def run(how: How) -> dict[str, Any]:
    """Build, boot, and report the result."""
    baseline = build(replace(how.wish, placement=None))
    _refuse_other_kernel(baseline, how)
    with signals.ended_by_exceptions(), tempfile.TemporaryDirectory() as folder:
        plain_boot = Boot(
            _root(how, Path(folder)),
            options=tuple(how.append.split()),
            memory_bytes=how.memory_bytes,
            seed=how.seed,
            seconds_max=how.seconds_max,
            name="the kernel with all code in RAM",
        )
        plain = None
        if how.is_compared or how.recording or how.wish.placement is None:
            path = how.recording or Path(folder) / "baseline.taucode"
            plain = _booted(baseline, plain_boot, path, how.force)
        wish = how.wish
        if wish.placement is None:
            assert plain is not None
            wish = replace(wish, placement=placed(how, baseline, plain.recording))
        built = build(wish)
        if how.wish.placement is not None:
            warn_of_misplaced(built, how.wish.placement)
        paged_boot = replace(
            plain_boot,
            name="the kernel with cold code",
            pages=built.pages.read_bytes() if how.store == "flash" else None,
            options=(*plain_boot.options, *how.pager_options),
        )
        paged = _booted(built, paged_boot, Path(folder) / "paged.taucode")
    result = result_of(how, wish, baseline, paged)
    if how.is_compared:
        assert plain is not None
        result |= compared(how, wish, plain, paged)
    return result


def _booted(built: Built, boot: Boot, recording: Path, force: bool = False) -> Run:
    """The run of a kernel. Raises TauError if its first program did not print all values."""
    found = Run(built, *boot_recorded(built, boot, recording, force))
    found.seen.refuse_gaps()
    return found


def _root(how: How, folder: Path) -> Root:
    """The root file system, with the programs."""
    if how.root is None:
        return Root(initramfs(compiler_tools()["compiler"]))
    return open_root(how.root, folder)


def _refuse_other_kernel(baseline: Built, how: How) -> None:
    """Raise TauError if the placement was planned for another kernel than this configuration's."""
    if how.code_sha256 is None:
        return
    code_sha256 = read_kernel(baseline.vmlinux).code_sha256
    if how.code_sha256 != code_sha256:
        raise TauError(
            f"the plan is for another kernel: code {how.code_sha256[:16]}, but"
            f" {how.wish.configuration} has code {code_sha256[:16]}",
            "name its --configuration and --source, or plan again from `tau coldcode run"
            " --recording`",
        )


def placed(how: How, baseline: Built, recording: CodeRecording) -> Path:
    """The fragment of a plan for how.threshold, in which every piece is on its page as linked."""
    assert how.threshold is not None
    kernel, pieces = read_kernel(baseline.vmlinux), read_link_map(baseline.link_map)
    threshold, kept = how.threshold, patched_while_booting(kernel)

    def plan(linked: Sequence[Piece]) -> Planned:
        code = code_of(kernel, pieces, [recording], kept, linked)
        return for_part(code, threshold, Cache(how.frames, how.policy))

    planned = settled(plan, lambda text: build(replace(how.wish, placement=_written(text))))
    return _written(fragment_text(planned.page_pieces))


def _written(text: str) -> Path:
    return build_cache.file(build_cache.cache_folder() / "placements", ".lds", text)


# ---- The result


@dataclass(frozen=True)
class Sizes:
    """Bytes of a linked kernel in RAM: its code, the pager's variables, and all code and data
    except those that are freed after boot."""

    text: int
    pager: int
    static: int


def sizes_of(built: Built) -> Sizes:
    """The sizes by the symbols of the linker script."""
    places = read_kernel(built.vmlinux).places
    at = {name: place.address for name, place in places.items()}
    init = at["__init_end"] - at["__init_begin"]
    pager = places["tau_cold_pager"].size_bytes
    return Sizes(at["_etext"] - at["_start"], pager, at["_end"] - at["_start"] - init)


def result_of(how: How, wish: Wish, baseline: Built, paged: Run) -> dict[str, Any]:
    """The RAM that cold code frees, by the sizes of both kernels, and the pager's counters."""
    sizes, before, seen = sizes_of(paged.built), sizes_of(baseline), paged.seen
    pages, pinned = seen.number("pages"), seen.number("pinned_pages")
    gone, cache = (pages - pinned) * PAGE_BYTES, seen.number("frames") * PAGE_BYTES
    # The pager's variables are in the kernel's data already.
    tables = seen.number("tables_bytes") + pages + seen.number("store_bytes")
    if not seen.is_paged:
        # Tables stay if they were made before each page was found to differ.
        gone, cache, tables = 0, 0, tables if cache else 0
    assert wish.placement is not None
    return {
        "configuration": wish.configuration,
        "threshold": how.threshold,
        "placement": read_fragment(wish.placement).sha256,
        "policy": how.policy,
        "store": how.store,
        "frames": how.frames,
        "pages": pages,
        "pinned_pages": pinned,
        "text_bytes": before.text,
        "resident_text_bytes": sizes.text - gone,
        "cache_bytes": cache,
        "pager_bytes": sizes.pager + tables,
        "static_bytes": sizes.static - gone + cache + tables,
        "baseline_static_bytes": before.static,
        "memory_total_bytes": seen.number("MemTotal") * KIB,
        "faults": seen.number("faults"),
        "loads": seen.number("loads"),
        "evictions": seen.number("evictions"),
        "replayed_own_loads": replayed_loads(how, wish.placement, paged),
        "faults_interrupts_off": seen.number("faults_interrupts_off"),
        "page_microseconds": seen.number("page_microseconds"),
        "worst_fault_instructions": _instructions(seen, "worst_fault_instructions"),
        "worst_load_instructions": _instructions(seen, "worst_load_instructions"),
        "system_instructions": paged.system_instructions,
        "seed": how.seed,
        "pager": list(seen.pager),
        "kernel": str(paged.built.folder),
    }


def compared(how: How, wish: Wish, plain: Run, paged: Run) -> dict[str, Any]:
    """The comparison with the kernel that has all its code in RAM."""
    assert wish.placement is not None
    return {
        "baseline_memory_total_bytes": plain.seen.number("MemTotal") * KIB,
        "replayed_loads": replayed_loads(how, wish.placement, plain),
        "marks_missing": marks_missing(plain.recording, paged.recording),
        "baseline_system_instructions": plain.system_instructions,
        "outputs_equal": paged.seen.results == plain.seen.results,
    }


def replayed_loads(how: How, placement: Path, run: Run) -> int | None:
    """The loads in a replay of the code that a kernel executed while the counters count. None: the
    placement is of another link than the kernel."""
    linked = read_link_map(run.built.link_map)
    try:
        touches = touches_of(counted(run.recording), read_fragment(placement), linked)
    except TauError:
        return None
    return replay(touches, how.cache).loads


def marks_missing(*recordings: CodeRecording) -> list[str]:
    """The MARKS of the window of `counted` that one of the recordings does not have."""
    executed = [set(np.array(each.functions.names)[each.touches]) for each in recordings]
    return [name for name in MARKS if not all(name in names for names in executed)]


def counted(recording: CodeRecording) -> CodeRecording:
    """The recording from the release of cold code on, until the counters were read.

    Without these MARKS: from its beginning, and to its end.
    """
    names = np.array(recording.functions.names)[recording.touches]
    is_release = names == RELEASED_BY
    is_release[: int(np.flatnonzero(names == RELEASE_BEHIND).max(initial=-1)) + 1] = False
    begin = int(np.argmax(is_release)) if is_release.any() else 0
    rest = replace(recording, touches=recording.touches[begin:], times=recording.times[begin:])
    return until(rest, COUNTED_UNTIL)


def _instructions(seen: Seen, name: str) -> int:
    """With a fixed clock, QEMU's counter of instructions counts their nanoseconds."""
    return seen.number(name) // NANOSECONDS_PER_INSTRUCTION
