"""Cost of an executable with each largest page: entries against bytes [P2-15]."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.compose import code, making
from tautochrone.compose.pages import (
    ORDER_MAX,
    UNIT,
    Page,
    Segment,
    order_of,
    pages_for,
    rounded,
    segments_of,
)
from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError
from tautochrone.facts import compose_format

# Entries for more than its own segments: its system page and the base code. Queues come on top.
ENTRIES_BESIDES = 2
NAME_CHARACTERS_MAX = 31
ENTRIES_GOOD = 8  # Few enough for one of the larger TLBs.


@dataclass(frozen=True)
class Choice:
    """The pages for a largest page of `page_bytes`, segments rounded up to `round_bytes`."""

    page_bytes: int
    round_bytes: int
    pages: tuple[Page, ...]

    @property
    def entries(self) -> int:
        """Entries of the page table, including ENTRIES_BESIDES."""
        return len(self.pages) + ENTRIES_BESIDES

    @property
    def memory_bytes(self) -> int:
        """Taken from the tile."""
        return sum(page.size_bytes for page in self.pages)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        orders = [page.order for page in self.pages]
        return {
            "page_bytes": self.page_bytes,
            "round_bytes": self.round_bytes,
            "entries": self.entries,
            "memory_bytes": self.memory_bytes,
            "pages_by_order": {str(each): orders.count(each) for each in sorted(set(orders))},
        }


@dataclass(frozen=True)
class Planned:
    """An executable, its request, all choices that a table can hold, and the one to take."""

    executable: Path
    tasks: tuple[str, ...]
    segments: tuple[Segment, ...]
    choices: tuple[Choice, ...]
    chosen: Choice

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "executable": str(self.executable),
            "tasks": list(self.tasks),
            "segments": [
                {"address": each.address, "memory_bytes": each.memory_bytes}
                for each in self.segments
            ],
            "choices": [each.document() for each in self.choices],
            "chosen": self.chosen.document(),
            unseen.KEY: list(unseen.COMPOSE_PLAN),
        }


def choices_for(segments: list[Segment]) -> list[Choice]:
    """Every pair of largest page and rounding whose pages do not overlap and fit into a table."""
    found: dict[tuple[Page, ...], Choice] = {}
    guards = [segment.guard for segment in segments if segment.is_stack]
    for order in range(ORDER_MAX + 1):
        for rounding in range(order + 1):
            round_bytes = UNIT << 2 * rounding
            pages = tuple(
                page
                for segment in segments
                for page in pages_for(rounded(segment, round_bytes), order)
            )
            choice = Choice(UNIT << 2 * order, round_bytes, pages)
            if not _overlap((*pages, *guards)) and choice.entries <= compose_format.LIMIT_ENTRIES:
                found.setdefault(pages, choice)
    return list(found.values())


def _overlap(pages: tuple[Page, ...]) -> bool:
    in_order = sorted(pages, key=lambda page: page.address)
    return any(
        one.address + one.size_bytes > two.address
        for one, two in zip(in_order, in_order[1:], strict=False)
    )


def plan(executable: Path, page_bytes: int | None) -> Planned:
    """Plan an executable. Raises TauError if the loader would refuse it, or nothing fits."""
    making.refuse_executable(executable)
    segments = segments_of(executable)
    choices = choices_for(segments)
    if page_bytes is not None:
        order_of(page_bytes)
        allowed = [each for each in choices if each.page_bytes == page_bytes]
    else:
        allowed = choices
    if not allowed:
        raise TauError(
            f"{executable}: no pages hold it in a table of {compose_format.LIMIT_ENTRIES} entries",
            "give another --page-bytes, or link it with another one",
        )
    few = [each for each in allowed if each.entries <= ENTRIES_GOOD]
    chosen = (
        min(few, key=lambda each: (each.memory_bytes, each.entries))
        if few
        else min(allowed, key=lambda each: (each.entries, each.memory_bytes))
    )
    tasks = tuple(name for _, name in code.tasks_of(executable))
    return Planned(executable, tasks, tuple(segments), tuple(choices), chosen)


def reservation(planned: Planned, folder: Path) -> str:
    """The part of a system.toml in FOLDER that reserves the chosen pages."""
    chosen = planned.chosen
    tasks = ", ".join(f'"{_legal(task)}"' for task in planned.tasks)
    path = json.dumps(os.path.relpath(planned.executable, folder))
    return "\n".join(
        [
            "[[application]]",
            f'name = "{_legal(planned.executable.stem)}"',
            f"executable = {path}",
            f"tasks = [{tasks}]",
            f"page_bytes = {chosen.page_bytes}",
            f"round_bytes = {chosen.round_bytes}",
            f"entries = {chosen.entries} # more: 2 for each end of a FIFO,"
            " 1 for each channel and each page of a pool",
            f"memory_bytes = {chosen.memory_bytes}",
            "",
        ]
    )


def _legal(name: str) -> str:
    """NAME as system.toml allows names."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return (plain if plain[:1].isalpha() else f"a{plain}")[:NAME_CHARACTERS_MAX]


def show(planned: Planned) -> None:
    """Print for people."""
    asked = sum(each.memory_bytes for each in planned.segments)
    print(
        f"{in_one_line(str(planned.executable))}: {len(planned.segments)} segments, {asked:,} bytes"
    )
    print(f"tasks: {', '.join(planned.tasks)}\n")
    print(f"{'largest page':>14} {'rounded to':>12} {'entries':>8} {'bytes':>12} {'unused':>8}")
    for each in sorted(planned.choices, key=lambda each: (each.entries, each.memory_bytes)):
        unused = 1 - asked / each.memory_bytes
        mark = "  <- reserved" if each == planned.chosen else ""
        print(
            f"{each.page_bytes:>14,} {each.round_bytes:>12,} {each.entries:>8}"
            f" {each.memory_bytes:>12,} {unused:>8.1%}{mark}"
        )
    print(f"\n{unseen.told(unseen.COMPOSE_PLAN)}")
