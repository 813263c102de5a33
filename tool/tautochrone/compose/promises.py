"""What a system promises beside time and output: memory, rights, frames, tokens, slots.

Each life of each application is compared with the system: its table with the page list, its frames
with those of the others, its pages with what the loader had to put there and with the patterns of
neighbors. Neighbors tell what they reached (kernel/systems/neighbors). An application that has a
slot gets it until the end.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.compose import check
from tautochrone.compose.audit import Entry, Snapshot
from tautochrone.compose.pages import EXECUTE, READ, WRITE, Page
from tautochrone.compose.run import Run
from tautochrone.compose.system import System, pages_of
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile

RIGHTS = ((READ, "read"), (WRITE, "write"), (EXECUTE, "execute"))
REACHED, FOUND = "reached: ", "found: "  # What a neighbor prints (kernel/systems/neighbors).
OWN_KINDS = (facts.PAGE_KIND_OWN, facts.PAGE_KIND_POOL)


@dataclass(frozen=True)
class Finding:
    """A promise that was broken: of which shared resource, and in which cycle, if it has one."""

    what: str
    resource: str
    cycle: int = 0


@dataclass(frozen=True)
class Searched:
    """How much was looked at."""

    lives: int = 0
    frames: int = 0
    memories: int = 0
    probes: int = 0
    late_loads: int = 0
    slots_promised: int = 0
    slots_run: int = 0

    def __add__(self, other: Searched) -> Searched:
        one, two = vars(self), vars(other)
        return Searched(**{name: one[name] + two[name] for name in one})


@dataclass(frozen=True)
class Image:
    """What a loader has to put into pages: bytes at addresses, 0 elsewhere."""

    parts: tuple[tuple[int, bytes], ...]

    @classmethod
    def of(cls, executable: Path, base: bytes) -> Image:
        """An executable's segments, and the base code."""
        from elftools.elf.elffile import ELFFile

        with open(executable, "rb") as file:
            segments = ELFFile(file).iter_segments()
            parts = [(e["p_vaddr"], e.data()) for e in segments if e["p_type"] == "PT_LOAD"]
        return cls((*parts, (facts.ADDRESS_BASE, base)))

    def first_wrong(self, entry: Entry, found: bytes) -> int | None:
        """The first address of a page that holds something else when the application begins.

        The loader copies words: the rest of a segment's last word counts as the segment's.
        """
        wanted = bytearray(len(found))
        for address, content in self.parts:
            first = max(address - entry.address, 0)
            end = min(address + len(content) - entry.address, len(found))
            if first < end:
                place = first + entry.address - address
                wanted[first:end] = content[place : place + end - first]
                last = min(-(-end // 4) * 4, len(found))
                wanted[end:last] = found[end:last]
        if wanted == found:
            return None
        return entry.address + next(at for at in range(len(found)) if wanted[at] != found[at])


def findings(
    system: System, run: Run, base: bytes, keys: Mapping[str, int], names: Sequence[str]
) -> tuple[list[Finding], Searched]:
    """What was broken in a run, and how much was looked at. Only NAMES are promised their slots.

    KEYS: of each neighbor, the word that fills its memory.
    """
    found: list[Finding] = []
    searched = Searched()
    search = _Search(system, base, {system.number(name): key for name, key in keys.items()})
    for place in range(len(run.audits)):
        begins = _begins(run, place)
        searched += Searched(lives=len(begins))
        for snapshot in run.audits[place].snapshots:
            wrong = search.wrong(snapshot, place, snapshot in begins)
            if wrong is not None:
                found.append(Finding(f"{wrong[0]} on tile {place}", wrong[1], snapshot.cycle))
            searched += Searched(frames=len(snapshot.content) // facts.SIZE_PAGE_BYTES_MIN)
    for name in keys:
        found += _told(system, run, name)
        searched += Searched(probes=len(run.events(system.number(name))))
    for name in names:
        lost, counts = _slots(system, run, name)
        found += lost
        searched += counts
    answers = [each for records in run.tiles for each in records.answers]
    late_loads = sum(each.code == facts.ANSWER_LATE for each in answers)
    searched += Searched(late_loads=late_loads)
    return sorted(found, key=lambda each: each.cycle), searched


def memory_difference(
    alone: Run, beside: Run, number: int, until: int | None
) -> tuple[Finding | None, int]:
    """The first slot that begins with other memory than alone, and how many were compared.

    From cycle UNTIL on a difference is a consequence.
    """
    compared = 0
    found: list[Finding] = []
    for place in range(len(beside.audits)):
        pairs = zip(*(check.slots_of(run, place, number) for run in (alone, beside)), strict=False)
        for count, slots in enumerate(pairs):
            one, two = (
                run.audits[place].hashes.get((number, slot.first_cycle))
                for run, slot in zip((alone, beside), slots, strict=True)
            )
            compared += one is not None and two is not None
            cycle = slots[1].first_cycle
            if one != two and (until is None or cycle <= until):
                what = f"its memory at the start of slot {count} on tile {place} differs from alone"
                found.append(Finding(what, "memory", cycle))
                break
    return min(found, key=lambda each: each.cycle, default=None), compared


def _begins(run: Run, place: int) -> list[Snapshot]:
    """The first snapshot of each life: the one behind its load."""
    found = []
    for answer in run.tiles[place].answers:
        behind = (
            each
            for each in run.audits[place].snapshots
            if each.application == answer.application
            and each.cycle >= answer.cycle
            and not each.is_end
        )
        if answer.code == facts.ANSWER_READY:
            found += list(behind)[:1]
    return found


class _Search:
    """What a system promises of tables and pages; KEYS has each neighbor's word by its number."""

    def __init__(self, system: System, base: bytes, keys: Mapping[int, int]) -> None:
        self._system, self._keys = system, keys
        all_of_it = system.applications
        self._pages = functools.cache(lambda each, place: pages_of(system, all_of_it[each], place))
        self._image = functools.cache(lambda each: Image.of(all_of_it[each].executable, base))

    def wrong(self, snapshot: Snapshot, place: int, is_begin: bool) -> tuple[str, str] | None:
        """What is wrong first with a snapshot, and the resource; None if nothing is."""
        pages = self._pages(snapshot.application, place)
        name = self._system.applications[snapshot.application].name
        wrong = _wrong_table(snapshot, pages, is_begin) or _alias(self._system, snapshot, pages)
        if wrong is not None:
            return f"{name}: {wrong[0]}", wrong[1]
        for entry, content in snapshot.pages():
            wrong = self._wrong_content(snapshot, content)
            if wrong is None and is_begin:
                wrong = self._wrong_begin(snapshot, entry, content, pages[entry.number].kind)
            if wrong is not None:
                return f"{name}: the page at {entry.address:#x} {wrong[0]}", wrong[1]
        return None

    def _wrong_content(self, snapshot: Snapshot, content: bytes) -> tuple[str, str] | None:
        """A word of a neighbor in a page that is not its own."""
        for number in _patterns(content, self._keys) - {snapshot.application}:
            return f"has words of {self._system.applications[number].name}", "memory"
        return None

    def _wrong_begin(
        self, snapshot: Snapshot, entry: Entry, content: bytes, kind: int
    ) -> tuple[str, str] | None:
        """What a page holds that the loader has not put there."""
        if kind == facts.PAGE_KIND_FIXED:
            is_wrong = not snapshot.has_run and any(content)
            return ("has tokens before its life begins", "token") if is_wrong else None
        first = self._image(snapshot.application).first_wrong(entry, content)
        if kind == facts.PAGE_KIND_POOL or first is None:
            return None
        return f"was not cleared, or not filled, at {first:#x}", "memory"


def _wrong_table(
    snapshot: Snapshot, pages: Sequence[Page], is_begin: bool
) -> tuple[str, str] | None:
    """What is wrong with a table, and the resource; None if it is what the page list says."""
    entries = {entry.number: entry for entry in snapshot.entries(snapshot.application)}
    for number, entry in entries.items():
        at = f"the page at {entry.address:#x}"
        if number >= len(pages):
            return f"{at} is in no page list", "rights"
        page = pages[number]
        if (entry.address, entry.order) != (page.address, page.order):
            listed = f"{page.size_bytes:,} bytes at {page.address:#x}"
            return f"{at} has an entry in place of {listed}", "page mix"
        if entry.rights != page.rights:
            return f"{at} allows {_rights(entry.rights)}, not {_rights(page.rights)}", "rights"
        if page.kind == facts.PAGE_KIND_FIXED and entry.frame != page.frame:
            return f"{at} has frame {entry.frame:#x}, not {page.frame:#x}", "alias"
    for number, page in enumerate(pages):
        if is_begin and number not in entries and page.kind != facts.PAGE_KIND_POOL:
            return f"the page at {page.address:#x} is not mapped", "rights"
    return None


def _alias(
    system: System, snapshot: Snapshot, pages: Sequence[Page]
) -> tuple[str, str] | None:
    """A frame of an own page that another page has too, or that is none of the loader's."""
    memory = range(system.frame_first, system.frame_first + system.frame_count)
    own: dict[int, int] = {}
    for entry in snapshot.entries(snapshot.application):
        at = f"the page at {entry.address:#x} has frame"
        for frame in entry.frames if pages[entry.number].kind in OWN_KINDS else ():
            if frame in own or frame not in memory:
                return f"{at} {frame:#x}, which is not its own", "alias"
            own[frame] = entry.address
    for number, application in enumerate(system.applications):
        for entry in snapshot.entries(number) if number != snapshot.application else ():
            for frame in own.keys() & set(entry.frames if entry.is_memory else ()):
                at = f"the page at {own[frame]:#x} has frame {frame:#x}"
                return f"{at}, as {application.name} at {entry.address:#x}", "alias"
    return None


def _rights(rights: int) -> str:
    return "/".join(name for bit, name in RIGHTS if rights & bit) or "nothing"


def _patterns(content: bytes, keys: Mapping[int, int]) -> set[int]:
    """The neighbors whose words are in a page."""
    import numpy as np

    words = np.frombuffer(content, dtype="<u4")
    met = set(words[np.isin(words, list(keys.values()))].tolist()) if keys else set()
    return {number for number, key in keys.items() if key in met}


def _told(system: System, run: Run, name: str) -> Iterator[Finding]:
    """What a neighbor reached though it may not, or found though nobody gave it."""
    for line in run.output(system.number(name)):
        for word, resource in ((REACHED, "rights"), (FOUND, "kernel state")):
            if word in line:
                yield Finding(f"{name} {word}{line.partition(word)[2]}", resource)


def _is_promised(system: System, name: str, epoch: int) -> bool:
    """Whether the application runs in an epoch, by the last command for it."""
    operation = "unload"
    for command in system.commands:
        if command.application == name and command.epoch <= epoch:
            operation = command.operation
    return operation == "load"


def _slots(system: System, run: Run, name: str) -> tuple[list[Finding], Searched]:
    """The first slot of each task that it was promised and did not get, and the counts.

    A task that ends, waits or fails makes a call or an exception; then its slots may be idle.
    """
    found = []
    number = system.number(name)
    promised = ran = 0
    for place in range(len(system.slots)):
        has_ended: dict[int, bool] = {}
        for count, slot in enumerate(run.tiles[place].slots):
            task = slot.owner & 0xFF
            if slot.owner >> 8 != number:
                continue
            if not _is_promised(system, name, count // system.epoch_slots):
                has_ended.pop(task, None)
                continue
            promised += 1
            is_lost = not check.did_run(slot) and not has_ended.get(task, False)
            ran += not is_lost
            if is_lost:
                what = f"{name}.{system.applications[number].tasks[task]} did not get slot"
                what = f"{what} {count} of tile {place}"
                found.append(Finding(what, "availability", slot.owner_cycle))
                has_ended[task] = True  # One is enough.
            elif slot.is_idle:
                has_ended[task] = True
    return found[:1], Searched(slots_promised=promised, slots_run=ran)
