"""[tlb]: the TLB sets, windows and pages of tasks, which `tau tlb plan` finds.

The section holds the whole geometry, so that a plan can be checked, and its header written, without
the geometry's file. The header has the structures of core/tlb_color.h.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tautochrone import unseen
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.facts import plan_format
from tautochrone.files.schema import Reader, table_of
from tautochrone.tlb import in_c
from tautochrone.tlb.checking import broken_rule
from tautochrone.tlb.geometry import Geometry, geometry_of_table
from tautochrone.tlb.partition import HEAP, PAGES_MAX, Partition, Principal, Run
from tautochrone.tlb.planning.demand import RunHeap

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan

NEXT_STEP = "make the plan again with `tau tlb plan`"
PREFIX = "tau_plan_tlb_"
READ = "read-"  # before the part of a run of code that is also read as data
Table = dict[str, Any]


# ---- the table ----------------------------------------------------------------------------------


def from_table(table: Table) -> Partition:
    """As Section. Raises TauError if the geometry is wrong, or a name has nothing to name."""
    geometry = _geometry(table)
    if geometry.digest() != table["geometry_sha256"]:
        raise TauError("[tlb]: geometry_sha256 does not match its arrays and structures", NEXT_STEP)
    if table["word_bytes"] not in (4, 8):
        raise TauError(f"[tlb]: word_bytes is {table['word_bytes']}, not 4 or 8", NEXT_STEP)
    principals = tuple(_principal(row, len(geometry.arrays)) for row in table["principals"])
    found = Partition(geometry, table["word_bytes"], principals)
    _refuse_too_many_pages(found)
    if found.page_table_bytes != table["page_table_bytes"]:
        raise TauError(
            f"[tlb]: page_table_bytes is {table['page_table_bytes']}, but its runs need"
            f" {found.page_table_bytes}",
            NEXT_STEP,
        )
    return found


def _refuse_too_many_pages(value: Partition) -> None:
    """What follows looks at every page of each run, and of windows."""
    bytes_max = PAGES_MAX * value.geometry.page_bytes
    for each in value.principals:
        if each.window_bytes > bytes_max:
            cause = f"the window of {each.name} has more than {PAGES_MAX:,} pages"
            raise TauError(f"[tlb]: {cause}", NEXT_STEP)
    if value.mapped_bytes > bytes_max:
        raise TauError(f"[tlb]: the runs have more than {PAGES_MAX:,} pages", NEXT_STEP)


def _geometry(table: Table) -> Geometry:
    facts: Table = {
        "page_bytes": table["page_bytes"],
        "source": "user",
        "reference": "a plan",
        "array": table["arrays"],
        "structure": table["structures"],
    }
    return geometry_of_table(table["geometry"], facts, Reader("[tlb]", NEXT_STEP))


def _principal(row: Table, arrays_count: int) -> Principal:
    if not len(row["sets"]) == len(row["taken"]) == arrays_count:
        raise TauError(f"[tlb]: {row['name']} has not sets and taken of each array", NEXT_STEP)
    words = (run.split() for run in row["runs"])
    lists = {
        "sets": tuple(map(_numbers, row["sets"])),
        "taken": tuple(row["taken"]),
        "used_by": tuple(row.get("used_by", ())),
        "runs": tuple(
            Run(part.removeprefix(READ), int(start, 16), int(size), part.startswith(READ))
            for part, start, size in words
        ),
    }
    return Principal(**(row | lists))


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers of a text like 0-3 16."""
    found: set[int] = set()
    for word in text.split():
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def _ranges(numbers: Sequence[int]) -> str:
    """The text for numbers, which ascend."""
    starts = [each for before, each in pairwise((-2, *numbers)) if each != before + 1]
    ends = [each for each, after in pairwise((*numbers, -2)) if after != each + 1]
    pairs = zip(starts, ends, strict=True)
    return " ".join(str(one) if one == last else f"{one}-{last}" for one, last in pairs)


def to_table(value: Partition) -> Table:
    """As Section."""
    geometry, facts = value.geometry, plan_format.SECTIONS["tlb"]
    return {
        "geometry": geometry.name,
        "geometry_sha256": geometry.digest(),
        "page_bytes": geometry.page_bytes,
        "word_bytes": value.word_bytes,
        "page_table_bytes": value.page_table_bytes,
        "arrays": [table_of(array, facts["arrays"]) for array in geometry.arrays],
        "structures": [
            table_of(each, facts["structures"])
            | {"array": geometry.arrays[each.array].name}
            | {"rows": [f"{row:#x}" for row in each.rows]}
            for each in geometry.structures
        ],
        "principals": [
            table_of(replace(each, used_by=each.used_by or None), facts["principals"])
            | {"sets": [*map(_ranges, each.sets)]}
            | {
                "runs": [
                    f"{READ * run.is_read}{run.part} {run.start:#x} {run.size_bytes}"
                    for run in each.runs
                ]
            }
            for each in value.principals
        ],
    }


# ---- texts --------------------------------------------------------------------------------------


def rule_broken(value: Partition) -> str:
    """As Section: the rules of docs/spec/tlb_color.md."""
    broken = broken_rule(value)
    return f"[tlb]: {broken}" if broken else ""


def document(value: Partition) -> Table:
    """As Section."""
    arrays = value.geometry.arrays
    return {
        "geometry": value.geometry.name,
        "geometry_sha256": value.geometry.digest(),
        "page_bytes": value.geometry.page_bytes,
        "word_bytes": value.word_bytes,
        "principals": [
            {
                "name": each.name,
                "mode": each.mode,
                "shares_sets_with": each.shares_sets_with,
                "used_by": list(each.used_by),
                "sets": {
                    array.name: list(sets)
                    for array, sets in zip(arrays, each.sets, strict=True)
                    if array.is_colorable
                },
                "window": {"start": each.window_start, "size_bytes": each.window_bytes},
                "heap_window_bytes": each.heap_window_bytes,
                "runs": [vars(run) for run in each.runs],
                "largest_object_bytes": each.largest_object_bytes,
                "entries_used": value.entries_used(each),
                "entries_safe": value.entries_safe(each),
            }
            for each in value.principals
        ],
        "mapped_bytes": value.mapped_bytes,
        "address_space_bytes": value.address_space_bytes,
        "page_table_bytes": value.page_table_bytes,
    }


def told(value: Partition) -> list[str]:
    """As Section."""
    arrays = value.geometry.arrays
    lines = []
    for each in value.principals:
        pages = sum(run.size_bytes for run in each.runs) // value.geometry.page_bytes
        shared = f" (in turn with {each.leader})" if each.shares_sets_with else ""
        shared += f" (data of {', '.join(each.used_by)})" if each.used_by else ""
        lines.append(
            f"{each.name}: {each.mode}{shared}, {output.count(pages, 'page')} in"
            f" {each.window_start:#x} to"
            f" {each.window_start + each.window_bytes - 1:#x}"
        )
        if each.runs_of(HEAP):
            lines.append(
                f"  heap: {each.bytes_of(HEAP):,} bytes, objects up to"
                f" {each.largest_object_bytes:,} bytes"
            )
        loads = value.entries(each.runs)
        for number, (array, sets) in enumerate(zip(arrays, each.sets, strict=True)):
            if sets:
                own = [loads[number, index] for index in sets]
                safe = array.safe_ways * len(sets)
                used = f"{sum(own):,} of {safe:,} safe entries used"
                if max(own) > array.safe_ways:
                    used = f"{sum(own):,} entries, {safe:,} safe: it may evict its own"
                which = "set" if len(sets) == 1 else "sets"
                lines.append(f"  {array.name}: {which} {_ranges(sets)}; {used}")
    lines.append(
        f"{value.mapped_bytes:,} bytes mapped in windows of {value.address_space_bytes:,}; page"
        f" tables of {value.page_table_bytes:,} bytes"
    )
    return lines


def problems(value: Partition, _plan: Plan) -> list[str]:
    """As Section: the largest objects with the installed core."""
    found = []
    for each in value.principals:
        runs = [(run.start, run.size_bytes) for run in each.runs_of(HEAP)]
        largest = RunHeap(runs, value.word_bytes).largest_object_bytes() if runs else 0
        if largest != each.largest_object_bytes:
            found.append(
                f"the largest object of {each.name} has {largest} bytes in this core; the plan says"
                f" {each.largest_object_bytes}"
            )
    return found


# ---- the header ---------------------------------------------------------------------------------


def header(value: Partition) -> list[str]:
    """As Section."""
    geometry = value.geometry
    words = 8 * value.word_bytes
    return [
        "// TLB sets: tau_tlb_color_init with tau_plan_tlb_partition, one of its principals, and",
        "// window 0, which has no page for a principal without a heap.",
        "// Not looked at:",
        *(f"// - {each}" for each in unseen.TLB_PLAN),
        *("#ifndef TAU_TLB_COLOR_H", '#include "core/tlb_color.h"', "#endif"),
        f'#define TAU_PLAN_TLB_GEOMETRY_SHA256 "{geometry.digest()}"',
        f"#define TAU_PLAN_TLB_PRINCIPALS_COUNT {len(value.principals)}u",
        *(
            f"#define TAU_PLAN_TLB_{re.sub('[^A-Z0-9]', '_', each.name.upper())} {number}u"
            for number, each in enumerate(value.principals)
        ),
        f"TAU_STATIC_ASSERT(TAU_WORD_BITS == {words}, \"this plan is for words of {words} bits\");",
        "",
        *in_c.c_lines(PREFIX, value),
        "static const struct tau_tlb_color_partition tau_plan_tlb_partition = {",
        "    tau_plan_tlb_geometry, tau_plan_tlb_principals, TAU_PLAN_TLB_PRINCIPALS_COUNT};",
    ]
