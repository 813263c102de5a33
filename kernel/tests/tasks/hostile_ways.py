"""Ways in which a task may try what it was not granted, and the program that tries them in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.facts import tile_format as tile
from tautochrone.tlb.partition import CODE, GLOBALS, HEAP, STACK
from tautochrone.tlb.tile.system import PAGE_BYTES, System

FETCH, ILLEGAL, BREAK, LOAD, STORE, CALL = 1, 2, 3, 5, 7, 8  # mcause
ACCESSES = {"load": LOAD, "store": STORE, "fetch": FETCH}
HOSTILE, INNOCENT = 0, 1  # tasks of the system

CSRS = {
    **{"mstatus": 0x300, "misa": 0x301, "mie": 0x304, "mtvec": 0x305, "mcounteren": 0x306},
    **{"mcountinhibit": 0x320, "mhpmevent3": 0x323, "mscratch": 0x340, "mepc": 0x341},
    **{"mcause": 0x342, "mtval": 0x343, "mip": 0x344, "pmpcfg0": 0x3A0, "pmpaddr0": 0x3B0},
    **{"mseccfg": 0x747, "tselect": 0x7A0, "tdata1": 0x7A1, "dcsr": 0x7B0, "dpc": 0x7B1},
    **{"cpuctrl": 0x7C0, "secureseed": 0x7C1, "mcycle": 0xB00, "minstret": 0xB02},
    **{"cycle": 0xC00, "time": 0xC01, "instret": 0xC02, "mvendorid": 0xF11, "mhartid": 0xF14},
    **{"ustatus": 0x000, "fcsr": 0x003, "sstatus": 0x100, "satp": 0x180},
}
INSTRUCTIONS = {
    "mret": (0x30200073, ILLEGAL),
    "sret": (0x10200073, ILLEGAL),
    "uret": (0x00200073, ILLEGAL),
    "dret": (0x7B200073, ILLEGAL),
    "wfi": (0x10500073, ILLEGAL),
    "sfence.vma": (0x12000073, ILLEGAL),
    "lr.w": (0x100522AF, ILLEGAL),
    "flw": (0x00052007, ILLEGAL),
    "zeros": (0x00000000, ILLEGAL),
    "ones": (0xFFFFFFFF, ILLEGAL),
    "ebreak": (0x00100073, BREAK),
}
CALLS = (0, 2, 3, 7, 0x80000000, 0xFFFFFFFF)  # 1 is wait
DEVICES = ("console", "exit", "timer_compare", "lock", "owner", "start", "counters")
STATE_RUNNING = "offsetof(struct tau_tasks_state, running)"
HEAD = """\
// Tries one way in each life: it is stopped, and begins again with the next one.
#include <stddef.h>

#include "kernel/tasks/kernel.h"

static uint32_t next_way;

__attribute__((unused)) static void at(uint32_t address) {
    ((void (*)(void))(uintptr_t)address)();
}

__attribute__((unused)) static void load(uint32_t address) {
    __asm__ volatile("lw t0, 0(%0)" : : "r"(address) : "t0", "memory");
}

__attribute__((unused)) static void store(uint32_t address) {
    __asm__ volatile("sw %0, 0(%0)" : : "r"(address) : "memory");
}

__attribute__((unused)) static void call(uint32_t number) {
    register uint32_t a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : : "r"(a7) : "memory");
}

void tau_task_main(struct tau_task *task) {
    (void)task;
    if (next_way == 0) {
        tau_task_wait(0);
    }
    switch (next_way++) {
"""
TAIL = """\
    default:
        for (;;) {
            tau_task_wait(0);
        }
    }
    for (;;) {
        tau_task_wait(next_way);
    }
}
"""


@dataclass(frozen=True)
class Way:
    """What is tried, as C; with which cause it ends, and in which page (None: any)."""

    name: str
    text: str
    cause: int
    page: int | None = None


def access(kind: str, name: str, address: int, more: str = "0", at: int | None = None) -> Way:
    """An access, which is refused in the page of AT, by default of ADDRESS."""
    function = "at" if kind == "fetch" else kind
    page = (address if at is None else at) // PAGE_BYTES
    text = f"{function}({address:#x}u + {more});"
    return Way(f"{kind} {name}", text, ACCESSES[kind], page)


def places(made: System) -> dict[str, int]:
    """Addresses of everything that the hostile task was not granted."""
    place = made.tasks[INNOCENT].place
    own = made.tasks[HOSTILE]
    parts = {part: place.runs_of(part)[0].start for part in (CODE, GLOBALS, STACK, HEAP)}
    found = {f"{part} of another": address + 64 for part, address in parts.items()}
    found |= {"state": made.kernel_state, "kernel's stack": made.kernel_stack + PAGE_BYTES - 16}
    found |= {"page 0": tile.ADDRESS_WINDOW, "window's end": tile.ADDRESS_FRAMES - 4}
    found |= {"below its stack": own.run_of(STACK).start - 4, "above it": own.run_of(STACK).end}
    for name in ("instr", "data", "table0", "table1", "table2", "plain", "links", "unit"):
        found[name] = getattr(tile, f"ADDRESS_{name.upper()}")
    found |= {"memory tile": tile.ADDRESS_MEMORY_TILE, "frames": tile.ADDRESS_FRAMES}
    for name in DEVICES:
        found[name] = tile.ADDRESS_DEVICE + getattr(tile, f"REGISTER_{name.upper()}")
    found["unit's owner"] = tile.ADDRESS_UNIT + 4 * 2
    page = (own.run_of(CODE).start - tile.ADDRESS_WINDOW) // PAGE_BYTES
    found["its word in the table"] = tile.ADDRESS_TABLE2 + 4 * page
    return found | {"address 0": 0, "the last address": 0xFFFFFFFC}


def ways(made: System) -> Iterator[Way]:
    """All of them."""
    for name, address in places(made).items():
        for kind in ACCESSES:
            yield access(kind, name, address)
    for kind in ("load", "store"):
        yield access(kind, "who runs, in the state", made.kernel_state, STATE_RUNNING)
    own = made.tasks[HOSTILE]
    code, data, stack = (own.run_of(part) for part in (CODE, GLOBALS, STACK))
    heap = own.place.runs_of(HEAP)[0]
    yield access("load", "its own code", code.start)
    yield access("store", "its own code", code.start)
    for name, run in (("globals", data), ("stack", stack), ("heap", heap)):
        yield access("fetch", f"its own {name}", run.start)
    for kind in ("load", "store"):
        yield access(kind, "half below its stack", stack.start - 2)
        yield access(kind, "half above its stack", stack.end - 2, at=stack.end)
        yield access(kind, "half above its globals", data.end - 1, at=data.end)
    yield access("fetch", "behind its code", code.end)
    yield Way("run off its code", f"at({code.end - 2:#x}u);", ILLEGAL)  # it ends with zeros
    for name, number in CSRS.items():
        yield Way(f"read {name}", f'__asm__ volatile("csrr t0, {number:#x}" ::: "t0");', ILLEGAL)
        write = f'__asm__ volatile("csrrw t0, {number:#x}, t0" ::: "t0");'
        yield Way(f"write {name}", write, ILLEGAL)
    for name, (word, cause) in INSTRUCTIONS.items():
        yield Way(name, f'__asm__ volatile(".word {word:#x}" ::: "memory");', cause)
    for number in CALLS:
        yield Way(f"call {number:#x}", f"call({number:#x}u);", CALL)
    yield Way("return", "return;", CALL)


def write_program(path: Path, tried: Sequence[Way]) -> None:
    """The program that tries these ways in turn."""
    cases = "".join(
        f"    case {number}:\n        {way.text}\n        break;\n"
        for number, way in enumerate(tried)
    )
    path.write_text(HEAD + cases + TAIL, encoding="utf-8")
