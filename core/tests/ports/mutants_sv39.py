"""Small wrong changes of the Sv39 port, each of which a script must notice.

Not here, as QEMU cannot tell: a flush of one address where the whole space is meant (its sfence.vma
flushes everything) and a missing flush after an entry became valid (it keeps no invalid ones).
model/shootdown.py knows both kinds of entries.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.tests.mutants import mutate


@dataclass(frozen=True)
class Mutant(mutate.Mutant):
    """In the core's FILE of that name, OLD becomes NEW; `on_qemu` if only a real MMU can notice."""

    on_qemu: bool = False


UNMAP = "*slot = 0;\n    TAU_SV39_FLUSH_SPACE(space->asid);\n    space->records"
MUTANTS = [
    Mutant("no flush", "sv39.c", UNMAP, "*slot = 0;\n    space->records", on_qemu=True),
    Mutant(
        "linear without a flush",
        "sv39_linear.c",
        "    TAU_SV39_FLUSH_SPACE(space->asid);\n",
        "",
        on_qemu=True,
    ),
    Mutant("no user bit", "sv39.c", "SV39_ENTRY_VALID | SV39_ENTRY_USER |", "SV39_ENTRY_VALID |"),
    Mutant("no accessed bit", "sv39.c", "| SV39_ENTRY_ACCESSED |", "|"),
    Mutant("no dirty bit", "sv39.c", " | SV39_ENTRY_DIRTY)", ")"),
    Mutant("entry not cleared", "sv39.c", UNMAP, UNMAP.replace("*slot = 0;\n    ", "", 1)),
    Mutant("rights not asked", "sv39.c", "& TAU_RIGHTS)) != 0)", "& TAU_RIGHTS)) == 1)"),
    Mutant(
        "pages behind the region",
        "sv39.c",
        "- record->start >= record->pages",
        "- record->start > record->pages",
    ),
    Mutant(
        "mapped twice",
        "sv39.c",
        "table[page.number % SV39_ENTRIES] != 0",
        "table[page.number % SV39_ENTRIES] == 1",
    ),
    Mutant("oldest forgotten", "sv39.c", "        record->oldest = frame;\n", ""),
    Mutant("chain cut", "sv39.c", "links[frame] = record->newest;", "links[frame] = frame;"),
    Mutant("table not chained", "sv39.c", "record->tables_newest = made;", "(void)made;"),
    Mutant("table not counted", "sv39.c", "record->tables_count++;", "(void)0;"),
    Mutant("tables lost", "sv39.c", "table, record->tables_count);", "table, 1);"),
    Mutant(
        "any page unmaps",
        "sv39.c",
        "if (record->start != start.number)",
        "if (start.number == 1)",
    ),
    Mutant(
        "shared table never empty",
        "sv39.c",
        "space->records[sv39_frame_of(space, slot)].used--;",
        "(void)0;",
    ),
    Mutant("large over small", "sv39.c", "entry)].used != 0)) {", "entry)].used == 513)) {"),
    Mutant(
        "crosses a GiB",
        "sv39.c",
        "(start.number ^ last) >> TAU_SV39_LARGE_LOG2 != 0",
        "last == 0",
    ),
    Mutant("own bit lost", "sv39.c", "*slot |= SV39_ENTRY_OWN;", "(void)0;"),
    Mutant(
        "write without read",
        "sv39.c",
        "(rights & (TAU_READ | TAU_WRITE)) == TAU_WRITE",
        "rights == TAU_WRITE",
    ),
    Mutant(
        "table for want of a page",
        "sv39.c",
        "if (pages_free < pages) {",
        "if (pages_free < pages + tables) {",
    ),
    Mutant(
        "one pool counted twice",
        "sv39.c",
        "space->tables ? pages : 0);",
        "space->tables ? 0 : 0);",
    ),
    Mutant(
        "no table asked for",
        "sv39.c",
        "sv39_lacking(space, 1, above != NULL ? 1 : 0)",
        "sv39_lacking(space, 1, 0)",
    ),
    Mutant("mapped pages grow", "sv39.c", "space->mapped_pages -= record->used;", "(void)0;"),
    Mutant(
        "shared tables stay at the end",
        "sv39.c",
        "                sv39_give_back(space, table);\n",
        "",
    ),
    Mutant(
        "wrong frame",
        "sv39_inline.h",
        "(space->physical_first + frame) << SV39_ENTRY_NUMBER_SHIFT",
        "(space->physical_first + (frame ^ 1)) << SV39_ENTRY_NUMBER_SHIFT",
    ),
    Mutant(
        "neighbor's slot",
        "sv39_inline.h",
        ">> TAU_SV39_SMALL_LOG2) % SV39_ENTRIES]);",
        ">> TAU_SV39_SMALL_LOG2) % 256]);",
    ),
    Mutant(
        "linear forgets the first page",
        "sv39_linear.c",
        "&table[start.number % SV39_ENTRIES], record->pages",
        "&table[start.number % SV39_ENTRIES] + 1, record->pages - 1",
    ),
    Mutant("linear stops early", "sv39_linear.c", "behind < end ? behind : end", "behind"),
    Mutant("linear leaves leaves", "sv39_linear.c", "        *entry = 0;\n", ""),
]
