"""Who may read, write and execute what: a hostile application tries each way, one way a task.

Each way of WAYS ends with the trap that it names, in the task that tried it, or reaches what its
application was given. Two neighbors, one of which is on both tiles and uses the link and a DMA
channel, have each of their cycles and their memory compared. docs/spec/kernel.md has a row for each
kind of memory that is tried here (kernel/systems/hostile/rights.c).
"""

from __future__ import annotations

import functools
import json
import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from tautochrone.compose import code
from tautochrone.compose.run import Run
from tautochrone.compose.pages import EXECUTE, READ, WRITE, Page
from tautochrone.compose.system import Application, Command, Fifo, System, pages_of
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile

from kernel.tests.tile.systems import OS_SLOT, ROOT, Builder, assert_unmoved, with_commands

FETCH, ILLEGAL, BREAK, LOAD, STORE, CALL, REACHED = 1, 2, 3, 5, 7, 8, 0
METRONOME, SENDER, FIRST = 0, 1, 2
TASKS = 8
WAYS_MIN = 60
USER_SLOT, START, LOADERS, FIRST_FRAME, FRAMES = 3_000, 200_000, 14, 8, 256
KIB, GUARD = 1024, facts.SIZE_STACK_GUARD_BYTES
HOSTILE, NEIGHBOR = 0x80200000, 0x80300000  # Where they and the sender are linked.
SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
WINDOW, BASE = tile.ADDRESS_WINDOW, facts.ADDRESS_BASE
FIFO, DMA, SYSTEM = facts.ADDRESS_FIFO, facts.ADDRESS_DMA, facts.ADDRESS_SYSTEM
OTHER_END = FIFO + facts.SIZE_FIFO_PAGE_BYTES_MAX
DEVICE, UNIT = tile.ADDRESS_DEVICE, tile.ADDRESS_UNIT
STACK = "task{}_memory"  # Of the task that tries it; offsets are from the end of its guard.
CAUSES = {"load": LOAD, "store": STORE, "jump": FETCH}


@dataclass(frozen=True)
class Way:
    """An access (or instructions to run), and the cause of its trap.

    `address` is a number, instructions, or a symbol and an offset. `across`: the trap is about the
    second page that the access touches, so many bytes further.
    """

    what: str
    access: str
    address: int | str | tuple[str, int]
    cause: int
    across: int = 0


def each(what: str, addresses: list[int], *accesses: str) -> list[Way]:
    """Each access to each address, refused."""
    return [
        Way(what, access, address, CAUSES[access.split("_")[0]])
        for address in addresses
        for access in accesses
    ]


# The first four applications have a FIFO over the link, with a DMA channel: its writer is task 0,
# whose pages tasks 0 to 3 on tile 0 have; its reader is task 4, with tasks 5 to 7 on tile 1.
GIVEN = [
    Way("own page of a FIFO", "store", FIFO, REACHED),
    Way("own page of a FIFO", "jump", FIFO, FETCH),
    Way("page of a FIFO's other end", "load", OTHER_END, LOAD),
    Way("page of a FIFO's other end", "jump", OTHER_END, FETCH),
    Way("own page of a FIFO", "load_byte", FIFO + 0x8000 + 3, REACHED),
    Way("own page of a FIFO", "jump", FIFO + 0x8000, FETCH),
    Way("page of a FIFO's other end", "load_byte", OTHER_END + 0x8000 + 1, LOAD),
    Way("DMA channel", "load", DMA, LOAD),  # Tile 1 has none.
    Way("page of a FIFO's other end", "store", OTHER_END, REACHED),
    Way("DMA channel", "load", DMA + tile.DMA_PAGE_WORDS, REACHED),
    Way("DMA channel", "jump", DMA, FETCH),
    Way("DMA channel", "store", DMA + KIB, STORE),
    Way("page of a FIFO's other end", "store_half", OTHER_END + 0x8000, REACHED),
    Way("page of a FIFO's other end", "load_half", OTHER_END + 0x8000 + 2, LOAD),
    Way("no page", "store", FIFO, STORE),  # The writer's, on the reader's tile.
    Way("no page", "load", FIFO, LOAD),
    # A transfer from beyond the source's page, and one to beyond the destination's: 64 words.
    Way("DMA channel", "run", f"li t0, {DMA:#x}\n li t1, 1024\n sw t1, 0(t0)\n sw zero, 4(t0)\n"
        " li t1, 64\n sw t1, 8(t0)", REACHED),
    Way("DMA channel", "run", f"li t0, {DMA:#x}\n li t1, 1024\n sw zero, 0(t0)\n sw t1, 4(t0)\n"
        " li t1, 64\n sw t1, 8(t0)", REACHED),
    Way("own page of a FIFO", "load", FIFO + KIB - 2, LOAD, 2),
    Way("own page of a FIFO", "store", FIFO + KIB - 2, STORE, 2),
    Way("DMA channel", "store", DMA + KIB, STORE),
    Way("DMA channel", "jump", DMA + 7 * KIB, FETCH),
    Way("no page", "load", FIFO + 14 * 0x8000, LOAD),
    Way("no page", "store", OTHER_END + 14 * 0x8000, STORE),
]  # fmt: skip
OWN = [
    Way("own code", "load", ("task0", 0), REACHED),
    Way("own code", "store", ("task0", 0), STORE),
    Way("own code", "store_byte", ("task0", 1), STORE),
    Way("own data", "store", ("rights_data", 0), REACHED),
    Way("own data", "jump", ("rights_data", 0), FETCH),
    Way("own stack", "load", (STACK, 0), REACHED),
    Way("own stack", "jump", (STACK, 0), FETCH),
    Way("own stack", "load", (STACK, KIB - 2), LOAD, 2),
    Way("own stack", "store", (STACK, KIB - 1), STORE, 1),
    Way("guard of a stack", "store", (STACK, -4), STORE),
    Way("guard of a stack", "store", (STACK, -2), STORE),
    Way("guard of a stack", "load_half", (STACK, -1), LOAD),
    Way("guard of a stack", "load_byte", (STACK, -GUARD), LOAD),
    Way("base code", "load", BASE, LOAD),
    Way("base code", "load_byte", BASE + 0x3FFF, LOAD),
    Way("base code", "store", BASE, STORE),
    Way("base code", "store", BASE - 2, STORE),
    Way("base code", "jump", BASE + 0x3FFC, ILLEGAL),  # Cleared.
    Way("base code", "jump", BASE + 0x4000, FETCH),
    Way("own system page", "load", SYSTEM, REACHED),
    Way("own system page", "store", SYSTEM, REACHED),
    Way("own system page", "jump", SYSTEM, FETCH),
    *each("no page", [WINDOW, SYSTEM + KIB, 0x8FFFFC00, 0xBFFFFFFC], "load", "store", "jump"),
    *each("another's pages", [facts.ADDRESS_APPLICATION, NEIGHBOR], "load", "store", "jump"),
]
NOT_IN_THE_WINDOW = [
    *each("banks", [tile.ADDRESS_INSTR, tile.ADDRESS_DATA], "load", "store", "jump"),
    *each("banks", [0, 0x80, tile.ADDRESS_INSTR + 0x7FFFC], "store_byte"),
    *each("table memories", [tile.ADDRESS_TABLE0 + 0x200], "load", "store", "jump"),
    *each("table memories", [tile.ADDRESS_TABLE1, tile.ADDRESS_TABLE2], "load", "store"),
    *each("plain memory and links", [tile.ADDRESS_PLAIN, tile.ADDRESS_LINKS], "load", "store"),
    *each("devices", [DEVICE + tile.REGISTER_EXIT], "store", "store_byte", "jump"),
    *each("devices", [DEVICE + tile.REGISTER_TIMER_COMPARE], "load", "store"),
    *each("devices", [DEVICE + tile.REGISTER_OWNER], "store"),
    *each("devices", [DEVICE + tile.REGISTER_DMA, DEVICE + tile.REGISTER_DMA + 8], "store"),
    *each("devices", [DEVICE + tile.REGISTER_CYCLE, DEVICE + tile.REGISTER_COUNTERS], "load"),
    *each("unit registers", [UNIT], "load", "store", "jump"),
    *each("memory tile", [tile.ADDRESS_MEMORY_TILE], "load", "store", "jump"),
    *each("frames", [tile.ADDRESS_FRAMES, tile.ADDRESS_FRAMES + 64 * KIB], "load", "store"),
    *each("frames", [tile.ADDRESS_FRAMES + 64 * KIB, 0xFFFFFFFC], "jump"),
    *each("frames", [0xFFFFFFFC], "store"),
    Way("frames", "load", 0xBFFFFFFE, LOAD),
]
READ_ONLY = ("mhartid", "0xf11")
CSRS = (
    *("mstatus", "misa", "mie", "mtvec", "mcounteren", "mscratch", "mepc", "mcause", "mtval"),
    *("mip", "pmpcfg0", "pmpaddr0", "mcycle", "minstret", "mcountinhibit", "tselect", "dcsr"),
    *("dpc", "dscratch0", "0x7c0", "0x7c1", "satp", "0xc00", "0xc01", "0xc02", "0x747"),
)
PRIVILEGED = [
    *(Way("CSRs", "run", f"csrr t0, {name}", ILLEGAL) for name in (*CSRS, *READ_ONLY)),
    *(Way("CSRs", "run", f"csrw {name}, zero", ILLEGAL) for name in CSRS),
    *(Way("CSRs", "run", f"csrsi {name}, 8", ILLEGAL) for name in ("mstatus", "mie")),
    *(Way("instructions", "run", name, ILLEGAL) for name in ("mret", "sret", ".word 0x7b200073")),
    *(Way("instructions", "run", name, ILLEGAL) for name in (".word 0", "sfence.vma")),
    Way("instructions", "run", "ebreak", BREAK),
    Way("instructions", "run", "li a7, 0\n ecall", CALL),
    Way("instructions", "run", "li a7, 2\n ecall", CALL),
    Way("instructions", "run", "wfi", REACHED),
    Way("instructions", "run", ".word 0x0000100f", REACHED),  # fence.i
]
MORE = [*NOT_IN_THE_WINDOW, *PRIVILEGED]
WAYS = [*GIVEN, *OWN, *MORE[::3], *MORE[1::3], *MORE[2::3]]
APPLICATIONS = 12  # In a run; each has eight tasks, and a way for each.
BATCHES = -(-len(WAYS) // (APPLICATIONS * TASKS))


def place_of(way: Way, task: int) -> tuple[str, int]:
    """A way's symbol and offset; the symbol of a number is "0"."""
    if not isinstance(way.address, tuple):
        return "0", way.address if isinstance(way.address, int) else 0
    name, offset = way.address
    return name.format(task), offset + (GUARD if name == STACK else 0)


def source_of(ways: list[Way]) -> str:
    """The file of ways that rights.c includes."""
    rows, runs = [], []
    for number, way in enumerate(ways):
        name, offset = place_of(way, number % TASKS)
        place = f"(uintptr_t)&{name} + {offset}" if name != "0" else f"{offset}u"
        if way.access == "run":
            place = f"(uintptr_t)way{number}"
            runs.append(
                f"__attribute__((naked)) static void way{number}(void) {{\n"
                f"    __asm__ volatile({json.dumps(way.address)} \"\\n ret\");\n}}\n"
            )
        rows.append(f"    {{{way.access.replace('run', 'jump')}, {place}}},\n")
    table = f"const struct rights_way rights_ways[] = {{\n{''.join(rows)}}};\n"
    return "".join(runs) + table + f"const uint32_t rights_ways_count = {len(ways)};\n"


def system_of(builder: Builder, hostile: Path) -> System:
    """The neighbors, and hostile applications: tasks 0 to 3 on one tile, 4 to 7 on the other."""
    sender = builder.executable("dma/sender.c", place=2)
    names = [f"hostile{number}" for number in range(APPLICATIONS)]
    tasks = tuple(f"task{number}" for number in range(TASKS))
    given = (Fifo("task0", "task4", KIB, True),)
    slots: list[list[str]] = [["loader"] * LOADERS, ["loader"] * LOADERS]
    for half, mine in enumerate(("metronome.main", "sender.consume")):
        for name in names:
            slots[half] += [f"{name}.{task}" for task in tasks[4 * half : 4 * half + 4]]
        slots[half].insert(40, mine)
    slots[0].insert(30, "sender.produce")
    slots[1].insert(30, "idle")
    return System(
        (
            builder.metronome(),
            Application("sender", sender, ("produce", "consume"), KIB,
                        fifos=(Fifo("produce", "consume", 4096, True),)),
            *(
                Application(name, hostile, tasks, KIB, fifos=given if number < 3 else ())
                for number, name in enumerate(names)
            ),
        ),
        (tuple(slots[0]), tuple(slots[1])),
        tuple(
            Command("load", name, FIRST_FRAME - (name in ("metronome", "sender")) * 6)
            for name in ("metronome", "sender", *names)
        ),
        USER_SLOT,
        OS_SLOT,
        START,
        frame_count=FRAMES,
    )  # fmt: skip


@functools.cache
def alone_of(builder: Builder) -> Run:
    """The same slots, and nobody hostile in them."""
    system = system_of(builder, builder.metronome().executable)  # Not loaded, whatever it is.
    return builder.run(with_commands(system, "metronome", "sender"), FIRST_FRAME + 2)


@pytest.mark.parametrize(
    "batch", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, BATCHES))]
)
def test_each_way_ends_with_its_cause(builder: Builder, batch: int) -> None:
    """[KRN-1, KRN-15, KRN-18]: in its task, at its address; and no neighbor moves by one cycle."""
    ways = WAYS[batch * APPLICATIONS * TASKS :][: APPLICATIONS * TASKS]
    hostile = executable_of(builder, f"rights{batch}", ways)
    with open(hostile, "rb") as file:
        symbols = {
            each.name: each["st_value"]
            for each in ELFFile(file).get_section_by_name(".symtab").iter_symbols()
        }
    beside = tried(builder, system_of(builder, hostile))
    for number, way in enumerate(ways):
        assert answer(beside, number) == expected(way, number % TASKS, symbols), (number, way)


def executable_of(builder: Builder, name: str, ways: list[Way]) -> Path:
    """The hostile application with these ways."""
    table = builder.folder / f"{name}.h"
    table.write_text(source_of(ways), encoding="utf-8")
    flags = [f'-DRIGHTS_WAYS="{table}"', f"-DRIGHTS_FIRST={FIRST}u"]
    return code.application(
        ROOT, name, [ROOT / "kernel/systems/hostile/rights.c"],
        builder.base, builder.folder, flags, KIB, HOSTILE,
    )  # fmt: skip


def tried(builder: Builder, system: System) -> Run:
    """The run of a system, if no neighbor moved and the memory of both is whole."""
    done = builder.run(system, FIRST_FRAME + 2)
    for neighbor, said in ((METRONOME, "whole"), (SENDER, "right")):
        assert_unmoved(alone_of(builder), done, neighbor, 20)
        lines = done.output(neighbor)[:-1]  # The end of the run may cut the last line.
        assert len(lines) > 3 and all(said in line for line in lines)
    return done


BYTES = {"load": 4, "load_half": 2, "load_byte": 1, "store": 4, "store_half": 2, "store_byte": 1}
PLACES = (
    *(WINDOW, SYSTEM, BASE, FIFO, OTHER_END, FIFO + 0x8000, OTHER_END + 0x8000, DMA),
    *(facts.ADDRESS_APPLICATION, HOSTILE, NEIGHBOR, tile.ADDRESS_INSTR, tile.ADDRESS_DATA),
    *(tile.ADDRESS_TABLE0, tile.ADDRESS_PLAIN, DEVICE, UNIT, tile.ADDRESS_FRAMES),
)


def random_way(chance: random.Random) -> Way:
    """An access near a border, or anywhere; none that could damage its own task."""
    while True:
        access = chance.choice((*BYTES, "jump"))
        place = chance.choice((*PLACES, HOSTILE, HOSTILE, SYSTEM, SYSTEM))
        page = place + KIB * chance.choice((0, 0, 0, 1, 4, 16, chance.randrange(99)))
        address = page + chance.choice((chance.randrange(-4, 4), chance.randrange(KIB)))
        if chance.randrange(8) == 0:
            address = chance.getrandbits(32)
        is_own = HOSTILE <= address < HOSTILE + (1 << 20)
        is_code = BASE - 4 <= address < BASE + facts.SIZE_BASE_BYTES_MAX
        if address >= 0 and (access.startswith("load") or not (is_own or is_code)):
            return Way("random", access, address, 0)


def trap_of(way: Way, pages: list[Page]) -> tuple[int, int]:
    """Cause and address of the trap of an access, by the page list alone."""
    assert isinstance(way.address, int)
    kind = way.access.partition("_")[0]
    right = {"load": READ, "store": WRITE, "jump": EXECUTE}[kind]
    address = way.address & ~1 if kind == "jump" else way.address
    last = address + BYTES.get(way.access, 1) - 1
    for place in (address, last & ~3) if last // 4 > address // 4 else (address,):
        if not any(
            page.address <= place < page.address + page.size_bytes and page.rights & right
            for page in pages
        ):
            return CAUSES[kind], place
    return REACHED, 0


@pytest.mark.slow
def test_random_accesses_reach_what_the_page_list_gives(builder: Builder) -> None:
    """288 accesses, by a model that knows page lists only."""
    print("seed", SEED)
    chance = random.Random(SEED)
    reached = 0
    for batch in range(3):
        ways = [random_way(chance) for _ in range(APPLICATIONS * TASKS)]
        system = system_of(builder, executable_of(builder, f"random{batch}", ways))
        done = tried(builder, system)
        for number, way in enumerate(ways):
            application = system.applications[FIRST + number // TASKS]
            trap = trap_of(way, pages_of(system, application, number % TASKS // 4))
            assert answer(done, number) == trap, (number, way)
            reached += trap[0] == REACHED
    assert 10 < reached < 200


def answer(done: Run, number: int) -> tuple[int, int] | str:
    """Cause and address of the trap that stopped a way; or what is wrong."""
    application, task = FIRST + number // TASKS, number % TASKS
    tile_run = done.tiles[task // 4]
    marks = [
        mark.value & 1
        for mark in tile_run.marks
        if mark.application == application and mark.value >> 24 == task
    ]
    if marks[:1] != [0] or not tile_run.slots:
        return "it never began"
    if marks == [0, 1]:
        return REACHED, 0
    failure = tile_run.failures[application << 8 | task]
    return failure.cause, failure.address if failure.cause in (FETCH, LOAD, STORE) else 0


def expected(way: Way, task: int, symbols: dict[str, int]) -> tuple[int, int]:
    """What `answer` has to be."""
    name, offset = place_of(way, task)
    address = symbols.get(name, 0) + offset + way.across
    return way.cause, address if way.cause in (FETCH, LOAD, STORE) else 0


def test_the_specification_lists_what_is_tried() -> None:
    """And the first run alone has enough ways."""
    text = (ROOT / "docs/spec/kernel.md").read_text(encoding="utf-8")
    assert len(set(WAYS)) > len(WAYS) - 4 and BATCHES == 2
    assert sum(way.cause != REACHED for way in WAYS[: APPLICATIONS * TASKS]) >= WAYS_MIN
    for what in Counter(way.what for way in WAYS):
        assert f"\n| {what} |" in text, what
