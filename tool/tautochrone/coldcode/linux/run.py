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

from tautochrone.coldcode.fragment import fragment_text, read_fragment
from tautochrone.coldcode.link_map import Piece, read_link_map
from tautochrone.coldcode.linux import flash, kept
from tautochrone.coldcode.linux.build import Built, Wish, build, compiler_tools
from tautochrone.coldcode.linux.initramfs import initramfs
from tautochrone.coldcode.linux.qemu import NANOSECONDS_PER_INSTRUCTION, Boot, Seen, boot_recorded
from tautochrone.coldcode.recording import CodeRecording

POLICIES = ("round-robin", "random", "nru", "aging")
STORES = ("flash", "compressed", "ram")
PAGE_BYTES = flash.PAGE_BYTES
KIB = 1024
# Places the code of a kernel on pages, from a recording of it, and the pieces of other links of it.
Planner = Callable[[Built, CodeRecording, Sequence[Piece]], Sequence[Sequence[Piece]]]


@dataclass(frozen=True)
class How:
    """What to run. Without a placement in `wish`, `planner` makes one for `threshold`.

    The recording of the kernel with all code in RAM is kept at `recording`, if that is a path.
    """

    planner: Planner
    threshold: float
    wish: Wish = field(default_factory=Wish)
    frames: int = 16
    policy: str = "round-robin"
    store: str = "flash"
    delay_us: int = 0
    memory: str = "64M"
    seconds_max: float = 600.0
    recording: Path | None = None
    force: bool = False


def run(how: How) -> dict[str, Any]:
    """Build, boot both kernels, and compare."""
    baseline = build(replace(how.wish, placement=None))
    how_boot = Boot(
        initramfs(compiler_tools()["compiler"]), memory=how.memory, seconds_max=how.seconds_max
    )
    with tempfile.TemporaryDirectory() as folder:
        recording = how.recording or Path(folder) / "baseline.taucode"
        plain = boot_recorded(baseline, how_boot, recording, how.force)
        wish = how.wish
        if wish.placement is None:
            wish = replace(wish, placement=placed(how, baseline, plain[1]))
        built = build(wish)
        options = [f"frames={how.frames}", f"policy={how.policy}", f"store={how.store}"]
        options.append(f"delay_us={how.delay_us}")
        paged_boot = replace(
            how_boot,
            pages=built.pages.read_bytes() if how.store == "flash" else None,
            options=tuple(f"coldcode.{option}" for option in options),
        )
        paged = boot_recorded(built, paged_boot, Path(folder) / "paged.taucode")
    return compared(how, wish, Run(baseline, *plain), Run(built, *paged))


def placed(how: How, baseline: Built, recording: CodeRecording) -> Path:
    """The planner's fragment. Planned and linked twice, since sizes change with places."""
    folder = kept.cache_folder() / "placements"
    folder.mkdir(parents=True, exist_ok=True)
    path = _written(folder, fragment_text(how.planner(baseline, recording, ())))
    linked = build(replace(how.wish, placement=path))
    pages = how.planner(baseline, recording, read_link_map(linked.link_map))
    return _written(folder, fragment_text(pages))


def _written(folder: Path, text: str) -> Path:
    path = folder / f"{kept.hash_of([text])}.lds"
    path.write_text(text)
    return path


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
        """Instructions of the kernel's code since it had booted."""
        begin = self.recording.marker_time
        return 0 if begin is None else self.recording.end_time - begin


def compared(how: How, wish: Wish, baseline: Run, paged: Run) -> dict[str, Any]:
    """The result: what came back, and what it cost."""
    sizes, before = sizes_of(paged.built), sizes_of(baseline.built)
    plain, seen = baseline.seen, paged.seen
    pages, pinned = seen.number("pages"), seen.number("pinned_pages")
    gone = (pages - pinned) * PAGE_BYTES
    cache = seen.number("frames") * PAGE_BYTES
    # The pager's variables are in the kernel's data already.
    tables = seen.number("tables_bytes") + pages + seen.number("store_bytes")
    assert wish.placement is not None
    return {
        "configuration": wish.configuration,
        "threshold": None if how.wish.placement else how.threshold,
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
        "faults_interrupts_off": seen.number("faults_interrupts_off"),
        "page_microseconds": seen.number("page_microseconds"),
        "worst_fault_instructions": _instructions(seen, "worst_fault_instructions"),
        "worst_load_instructions": _instructions(seen, "worst_load_instructions"),
        "system_instructions": paged.system_instructions,
        "baseline_system_instructions": baseline.system_instructions,
        "outputs_equal": seen.values.get("hash") == plain.values.get("hash"),
        "pager": list(seen.pager),
        "kernel": str(paged.built.folder),
    }


def _instructions(seen: Seen, name: str) -> int:
    """With a fixed clock, QEMU's counter of instructions counts their nanoseconds."""
    return seen.number(name) // NANOSECONDS_PER_INSTRUCTION
