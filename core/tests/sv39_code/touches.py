"""Which cold pages each instruction of the firmware needs, recorded on QEMU; and what a cache does.

`record` runs the firmware with the plugin touches.c. `replay` carries the recording out on
model/code_cache.py: an instruction is tried until all its pages are loaded [COLD-9].
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from core.tests.sv39_code.firmware import (
    HERE,
    ROOT,
    USES_ALL,
    USES_SOME,
    WARNINGS,
    Firmware,
    Outcome,
    Settings,
    run,
)
from model.code_cache import POLICIES, CodeCache, Visits


@dataclass
class Touches:
    """Events in order, as the plugin names them.

    "t": the pages that one instruction needs. "f": a fault; the last page is the missing one, the
    others were accessed before. "p": a period ends.
    """

    events: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    @property
    def needs(self) -> set[tuple[int, ...]]:
        """Pages that some instruction needed."""
        return {pages for kind, pages in self.events if kind == "t"}

    @property
    def faults_count(self) -> int:
        """The faults that were recorded."""
        return sum(kind == "f" for kind, _ in self.events)


def build_plugin(folder: Path) -> Path:
    """Compile the plugin for this machine's QEMU."""
    made = folder / "libtouches.so"
    flags = ["-std=c17", "-O2", *WARNINGS, f"-I{ROOT}", "-shared", "-fPIC", "-fvisibility=hidden"]
    command = ["gcc", *flags, str(ROOT / HERE / "touches.c"), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def record(
    firmware: Firmware, settings: Settings, folder: Path, flash: Path, plugin: Path
) -> tuple[Outcome, Touches]:
    """Run the firmware; return its output and the pages that it touched."""
    path = folder / "touches.txt"
    symbols = firmware.symbols
    words = [str(plugin), f"first={symbols['cold_start']}", f"pages={firmware.pages_count}"]
    words += [f"marks={symbols['fault_marks']}", f"period={symbols['end_period']}"]
    words += [f"start={symbols['run_rounds']}", f"out={path}"]
    outcome = run(firmware, settings, folder, flash, ",".join(words))
    assert path.exists(), outcome.text
    lines = (line.split() for line in path.read_text().splitlines())
    return outcome, Touches(with_tries([(line[0], tuple(map(int, line[1:]))) for line in lines]))


def with_tries(events: list[tuple[str, tuple[int, ...]]]) -> list[tuple[str, tuple[int, ...]]]:
    """EVENTS, each fault with the pages that its instruction accesses before the missing one.

    They belong to the next touch that needs the missing page.
    """
    needs: dict[int, tuple[int, ...]] = {}
    found = []
    for kind, pages in reversed(events):
        if kind == "t":
            needs.update(dict.fromkeys(pages, pages))
        elif kind == "f":
            need = needs.get(pages[0], pages)
            pages = need[: need.index(pages[0]) + 1]
        found.append((kind, pages))
    return found[::-1]


def use(cache: CodeCache, accessed: set[int]) -> None:
    """As tau_sv39_code_use, if just the pages ACCESSED have that bit."""
    cache.use({frame for frame, page in enumerate(cache.holds) if page in accessed})


def visit(visits: Visits, accessed: set[int]) -> None:
    """As tau_sv39_code_visit, if just the pages ACCESSED have that bit."""
    holds = visits.cache.holds
    frames = {frame for frame, page in enumerate(holds) if page in accessed}
    before = set(frames)
    visits.visit(frames)
    accessed.difference_update(holds[frame] for frame in before - frames)


def replay(touches: Touches, settings: Settings, pinned: tuple[int, ...] = ()) -> CodeCache:
    """The cache after the recording. A fault that was recorded is one at a page that is absent."""
    cache = CodeCache(
        max(page for pages in touches.needs for page in pages) + 1,
        settings.frames_count,
        settings.frames_least,
        POLICIES[settings.policy],
        settings.seed,
    )
    for page in pinned:
        assert cache.pin(page) == "OK"
    accessed: set[int] = set()
    visits = Visits(cache)
    for kind, pages in touches.events:
        # Each try accesses what comes before the missing page. A recorded fault is one try: an
        # interrupt may come before the next, whose faults are recorded, too.
        while missing := [p for p in pages if p not in cache.holds and p not in cache.pinned]:
            accessed |= set(pages[: pages.index(missing[0])])
            if settings.uses_at_fault == USES_SOME:
                visit(visits, accessed)
            elif settings.uses_at_fault == USES_ALL:
                use(cache, accessed)
            assert cache.fault(missing[0])[0] == "OK"
            accessed.add(missing[0])  # a new entry says so
            if kind == "f":
                break
        accessed |= set(pages if kind == "t" else ())
        if kind == "p" and settings.uses_at_fault != USES_SOME:
            use(cache, accessed)
            cache.age()
            accessed.clear()
    return cache
