"""Runs a kernel with cold code beside the same kernel with all its code in RAM, in QEMU.

result = run(How(planner=placer(0.999, 16, "round-robin"), threshold=0.999, frames=16))

What is missing is made first: the kernel, a recording of it, a placement, a link with that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.coldcode.fragment import fragment_text, read_fragment
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.link_map import Piece, read_link_map
from tautochrone.coldcode.linux import flash, kept
from tautochrone.coldcode.linux.build import Built, Wish, build, compiler_tools
from tautochrone.coldcode.linux.initramfs import initramfs
from tautochrone.coldcode.linux.qemu import (
    MEMORY_BYTES,
    NANOSECONDS_PER_INSTRUCTION,
    Boot,
    Seen,
    boot_recorded,
)
from tautochrone.coldcode.linux.root import Root, open_root
from tautochrone.coldcode.linux.settling import settled, warn_of_misplaced
from tautochrone.coldcode.recording import CodeRecording
from tautochrone.coldcode.replay import Cache, replay, touches_of, until
from tautochrone.console import signals
from tautochrone.errors import TauError

POLICIES = ("round-robin", "random", "nru", "aging")
STORES = ("flash", "compressed", "ram")
PAGE_BYTES = flash.PAGE_BYTES
KIB = 1024
# What the kernel calls for the first program, once the pager is at work.
FIRST_PROGRAM = "run_init_process"
# The counters count from the return of the first of these to the second one on, which releases
# cold code, until the third one reads them. A kernel without cold code calls them, too.
RELEASE_BEHIND, RELEASED_BY = "tau_cold_counters_show", "tau_cold_activate"
COUNTED_UNTIL = "counters_show"
MARKS = (RELEASE_BEHIND, RELEASED_BY, COUNTED_UNTIL)
# Places the code of a kernel on pages, from a recording of it, and the pieces of other links of it.
Planner = Callable[[Built, CodeRecording, Sequence[Piece]], Sequence[Sequence[Piece]]]


@dataclass(frozen=True)
class How:
    """What to run. Without a placement in `wish`, `planner` makes one for `threshold`.

    `code_sha256` is the code that the placement was planned for; None: nobody knows. `root` holds
    the programs; None: ours. `append` goes to the kernel's command line. The recording of the
    kernel with all code in RAM is kept at `recording`, if that is a path.
    """

    planner: Planner
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
    recording: Path | None = None
    force: bool = False

    @property
    def cache(self) -> Cache:
        """As the kernel is told."""
        return Cache(self.frames, self.policy, interrupt_pages=self.interrupt_pages)


def run(how: How) -> dict[str, Any]:
    """Build, boot both kernels, and compare."""
    baseline = build(replace(how.wish, placement=None))
    _refuse_other_kernel(baseline, how)
    with signals.ended_by_exceptions(), tempfile.TemporaryDirectory() as folder:
        how_boot = Boot(
            _root(how, Path(folder)),
            options=tuple(how.append.split()),
            memory_bytes=how.memory_bytes,
            seed=how.seed,
            seconds_max=how.seconds_max,
            name="the kernel with all code in RAM",
        )
        recording = how.recording or Path(folder) / "baseline.taucode"
        plain = boot_recorded(baseline, how_boot, recording, how.force)
        plain[0].refuse_gaps()
        wish = how.wish
        if wish.placement is None:
            wish = replace(wish, placement=placed(how, baseline, plain[1]))
        built = build(wish)
        if how.wish.placement is not None:
            warn_of_misplaced(built, how.wish.placement)
        options = [f"frames={how.frames}", f"policy={how.policy}", f"store={how.store}"]
        options += [f"delay_us={how.delay_us}", f"frames_least={how.cache.frames_least}"]
        paged_boot = replace(
            how_boot,
            name="the kernel with cold code",
            pages=built.pages.read_bytes() if how.store == "flash" else None,
            options=(*how_boot.options, *(f"coldcode.{option}" for option in options)),
        )
        paged = boot_recorded(built, paged_boot, Path(folder) / "paged.taucode")
        paged[0].refuse_gaps()
    return compared(how, wish, Run(baseline, *plain), Run(built, *paged))


def _root(how: How, folder: Path) -> Root:
    """Where programs come from."""
    if how.root is None:
        return Root(initramfs(compiler_tools()["compiler"]))
    return open_root(how.root, folder)


def _refuse_other_kernel(baseline: Built, how: How) -> None:
    """Raise TauError if the placement was planned for another kernel than this configuration's."""
    code_sha256 = read_kernel(baseline.vmlinux).code_sha256
    if how.code_sha256 not in (None, code_sha256):
        raise TauError(
            f"the plan is of another kernel: code {how.code_sha256[:16]}, and that of"
            f" {how.wish.configuration} is {code_sha256[:16]}",
            "name its --configuration and --source, or plan again from `tau coldcode run"
            " --recording`",
        )


def placed(how: How, baseline: Built, recording: CodeRecording) -> Path:
    """The planner's fragment, planned until every piece is on its page as linked."""
    pages = settled(
        lambda linked: how.planner(baseline, recording, linked),
        lambda pages: pages,
        lambda text: build(replace(how.wish, placement=_written(text))),
    )
    return _written(fragment_text(pages))


def _written(text: str) -> Path:
    return kept.file(kept.cache_folder() / "placements", ".lds", text)


@dataclass(frozen=True)
class Sizes:
    """Bytes of a linked kernel in RAM: its code, the pager's variables, and all code and data
    without what is freed after boot."""

    text: int
    pager: int
    static: int


def sizes_of(built: Built) -> Sizes:
    """The sizes by the symbols of the linker script."""
    symbols = flash.symbols_of(built.vmlinux)
    at = {name: place.address for name, place in symbols.items()}
    init = at["__init_end"] - at["__init_begin"]
    pager = symbols["tau_cold_pager"].size_bytes
    return Sizes(at["_etext"] - at["_start"], pager, at["_end"] - at["_start"] - init)


@dataclass(frozen=True)
class Run:
    """A kernel, what it printed, and what it executed."""

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


def compared(how: How, wish: Wish, baseline: Run, paged: Run) -> dict[str, Any]:
    """The result: what came back, and what it cost."""
    sizes, before = sizes_of(paged.built), sizes_of(baseline.built)
    plain, seen = baseline.seen, paged.seen
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
        "baseline_memory_total_bytes": plain.number("MemTotal") * KIB,
        "faults": seen.number("faults"),
        "loads": seen.number("loads"),
        "evictions": seen.number("evictions"),
        "replayed_loads": replayed_loads(how, wish.placement, baseline),
        "replayed_own_loads": replayed_loads(how, wish.placement, paged),
        "marks_missing": marks_missing(baseline.recording, paged.recording),
        "faults_interrupts_off": seen.number("faults_interrupts_off"),
        "page_microseconds": seen.number("page_microseconds"),
        "worst_fault_instructions": _instructions(seen, "worst_fault_instructions"),
        "worst_load_instructions": _instructions(seen, "worst_load_instructions"),
        "system_instructions": paged.system_instructions,
        "baseline_system_instructions": baseline.system_instructions,
        "outputs_equal": seen.results == plain.results,
        "seed": how.seed,
        "pager": list(seen.pager),
        "kernel": str(paged.built.folder),
    }


def replayed_loads(how: How, placement: Path, run: Run) -> int | None:
    """The loads in a replay of what a kernel executed while the counters count. None: the placement
    is of another link than the kernel."""
    linked = read_link_map(run.built.link_map)
    try:
        touches = touches_of(counted(run.recording), read_fragment(placement), linked)
    except TauError:
        return None
    return replay(touches, how.cache).loads


def marks_missing(*recordings: CodeRecording) -> list[str]:
    """Which MARKS of the window that `counted` takes one of the recordings does not have."""
    executed = [set(np.array(each.functions.names)[each.touches]) for each in recordings]
    return [name for name in MARKS if not all(name in names for names in executed)]


def counted(recording: CodeRecording) -> CodeRecording:
    """What was executed from the release of cold code on, until the counters were read.

    Without these MARKS: from the begin of the recording, and to its end.
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
