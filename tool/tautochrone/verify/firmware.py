"""Replays recordings on the functions of a user's linked program: `tau verify --elf`.

The program is not started. Its memory is as a loader leaves it: initialized variables, the rest
zero. Its malloc makes the heap at the first call, as core/ports/newlib/heap.c does. That call is
not counted. All its code may run, except code that reaches a device.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tautochrone.machine.longest_path import NEVER, UNUSED_FUNCTIONS, Code, bound_instructions
from tautochrone.machine.images import FUNCTIONS, ISAS, Image, stub_image
from tautochrone.errors import TauError
from tautochrone.files import elf_file
from tautochrone.plan.build import WORD_BITS, build_of
from tautochrone.plan.file import Plan
from tautochrone.replay.emulator import Program, count_calls
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.trace.file import OPS
from tautochrone.verify.recordings import Done, bounds_of, done_of

PAGE_BYTES = 4096
STUB_BYTES = 4 << 20  # IMAGE_BYTES of tool/native/replay/emulator.c
STUB_ADDRESSES = (0x60000000, 0x70000000, 0x90000000, 0x10000, 0xA0000000)
REGIONS_MAX, PAYLOAD_MAX = 8, 16  # tool/native/replay/emulator.h
SEGMENTS_BYTES_MAX = 256 << 20
# Tag_CPU_arch of Arm's build attributes: instruction sets in which Cortex-M4's code takes more.
BASELINE = {11: "ARMv6-M", 12: "ARMv6-M", 16: "ARMv8-M Baseline"}
CPP_HEAP = "_ZN11tautochrone4plan4madeE"  # of core/ports/cpp/tautochrone.hpp
# Other names of the operations, the first that a program has.
NAMES = {"aligned_alloc": ("memalign", "aligned_alloc")}
# The same of FreeRTOS, in a program with core/ports/freertos/heap_tautochrone.c: its state's name.
FREERTOS_STATE = "tau_heap"
FREERTOS_NAMES = {"malloc": ("pvPortMalloc",), "calloc": ("pvPortCalloc",), "free": ("vPortFree",)}
PAYLOAD = ("memmove", "memcpy", "memset", "__aeabi_memcpy", "__aeabi_memmove", "__aeabi_memset")
# The functions that make a heap, and which argument is its size.
INIT = {
    "tlsf": ("tau_tlsf_init", 1),
    "budget": ("tau_budget_init", 2),
    "pools": ("tau_pools_init", 2),
}
BUILT = "tau_tlsf_built_"
CLASSES = "tau_plan_classes"  # the header's pools
TUTORIAL = "docs/tutorials/size-a-heap.md"
HEAP_STEP = (
    "build core/ports/newlib/heap.c or core/ports/freertos/heap_tautochrone.c into it, with the"
    f" plan's header ({TUTORIAL})"
)
AS_LINKED = "name the file as it was linked"


@dataclass(frozen=True)
class Firmware:
    """A linked program that can be called. `bounds` are the longest paths of its own functions;
    `unbounded` says why others have none."""

    path: Path
    plan: Plan
    target: str
    compiler: str
    stub: Image
    program: Program
    bounds: dict[str, int]
    unbounded: dict[str, str]
    baseline: str  # its instruction set, if the header's bounds do not hold in it

    def verify(self, trace: OpenTrace, skip_misuse: bool) -> Done:
        """Replay a recording on its functions. Raises TauError if they misbehave."""
        self._refuse_missing(trace)
        counts = count_calls(
            *(self.stub, trace, self.plan.heap_bytes, None, skip_misuse),
            goes_on=True,
            forgets_alignment=self.plan.system == "pools",
            program=self.program,
        )
        if counts.init_bytes != self.plan.heap_bytes:
            cause = "has a malloc that does not make the plan's heap"
            if counts.init_bytes:
                cause = (
                    f"makes its heap in {counts.init_bytes:,} bytes, the plan has"
                    f" {self.plan.heap_bytes:,}: the header in it is another plan's"
                )
            raise TauError(f"{self.path} {cause}", f"{HEAP_STEP}, or leave out --elf")
        name = (self.path.name, self.path, self.compiler)
        done = done_of(self.plan, trace, self.target, *name, counts, self.bounds)
        stated = {} if self.baseline else bounds_of(self.plan, self.target)
        return replace(done, stated=stated)

    def _refuse_missing(self, trace: OpenTrace) -> None:
        """Refuse a recording that calls functions that the program lacks."""
        counted = zip(OPS, trace.totals.events_of_op, strict=False)
        called = {op for op, count in counted if count} & set(FUNCTIONS)
        missing = sorted(called - self.program.functions.keys())
        if missing:
            named = ", ".join(missing)
            cause = f"{self.path} has no function {named}, which {trace.path} calls"
            raise TauError(cause, f"{HEAP_STEP}, or leave out --elf")


def open_firmware(path: Path, plan: Plan) -> Firmware:
    """Read a linked program. Raises TauError if it cannot be called, or is not built as planned."""
    target, baseline, segments, symbols, sizes, compiler = _read(path)
    _refuse_other_build(path, plan, symbols)
    _refuse_other_pools(path, plan, symbols, segments)
    functions = _functions(path, symbols)
    regions = _regions(path, segments)
    is_free = (
        address
        for address in STUB_ADDRESSES
        if all(address + STUB_BYTES <= a or a + len(data) <= address for a, data in regions)
    )
    place = next(is_free, None)
    if place is None:
        raise TauError(f"{path}: its memory leaves no room for what calls its functions")
    payload = [(symbols[name] & ~1, sizes[name]) for name in PAYLOAD if sizes.get(name)]
    ranges = sorted({(start, start + size) for start, size in payload})[:PAYLOAD_MAX]
    if not baseline:
        _refuse_longer_paths(path, plan, target)
    bounds, unbounded = _bounds(path, functions, plan.system)
    code = Code(path)
    addresses = {verb: symbols[name] for verb, name in functions.items()}
    init, argument = INIT[plan.system]
    start = (symbols.get(init, 0), argument)
    pointer = symbols.get("__global_pointer$", 0)
    program = Program(path.name, code.place, addresses, regions, ranges, start, pointer)
    stub = stub_image(target, place, build_of(plan).alignment_in("32"))
    return Firmware(path, plan, target, compiler, stub, program, bounds, unbounded, baseline)


def _read(path: Path) -> tuple[str, str, list[tuple[int, bytes, int]], Any, dict[str, int], str]:
    """The target, a BASELINE, segments (address, data, size), symbols, sizes, and compiler."""
    from elftools.elf.sections import SymbolTableSection

    with elf_file.opened(path, "link it again") as elf:
        target, baseline = _target(path, elf), _baseline(path, elf)
        loaded = [
            segment
            for segment in elf.iter_segments()
            if segment["p_type"] == "PT_LOAD" and segment["p_memsz"]
        ]
        _refuse_large(path, [segment.header for segment in loaded])
        segments = [(each["p_vaddr"], each.data(), each["p_memsz"]) for each in loaded]
        table = elf.get_section_by_name(".symtab")
        rows = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
        comment = elf.get_section_by_name(".comment")
        compiler = comment.data() if comment is not None else b""
    if not rows:
        raise TauError(f"{path} is stripped: it has no names of functions", AS_LINKED)
    defined = [row for row in rows if row["st_shndx"] != "SHN_UNDEF" and row.name]
    symbols = {row.name: int(row["st_value"]) for row in defined}
    sizes = {row.name: int(row["st_size"]) for row in defined}
    said = compiler.split(b"\0")[0].decode("ascii", "replace")
    return target, baseline, segments, symbols, sizes, said or "unknown"


def _refuse_large(path: Path, headers: list[Any]) -> None:
    """Refuse segments that are damaged, or more than can be emulated, before they are read."""
    for header in headers:
        if header["p_filesz"] > header["p_memsz"]:
            raise ValueError("a segment has more bytes in the file than in memory")
        if header["p_vaddr"] + header["p_memsz"] > 1 << 32:
            raise ValueError("a segment ends above the last address")
    total = sum(header["p_memsz"] for header in headers)
    if total > SEGMENTS_BYTES_MAX:
        raise TauError(f"{path}: segments of {total:,} bytes are more than can be emulated")


def _target(path: Path, elf: Any) -> str:
    machine, kind = elf["e_machine"], elf["e_type"]
    found = {"EM_ARM": "m4", "EM_RISCV": "rv32"}.get(machine) if elf.elfclass == 32 else None
    if found is None:
        raise TauError(
            f"{path} is {elf.elfclass}-bit code for {str(machine).removeprefix('EM_')}",
            f"name a program for {' or '.join(ISAS[each].title for each in ('m4', 'rv32'))}",
        )
    if kind != "ET_EXEC":
        raise TauError(f"{path} is not linked for its addresses ({kind})", AS_LINKED)
    return found


def _baseline(path: Path, elf: Any) -> str:
    """Its instruction set, if that is one of BASELINE. Refuses Cortex-A and Cortex-R."""
    attributes = elf.get_section_by_name(".ARM.attributes")
    if attributes is None or elf["e_machine"] != "EM_ARM":
        return ""
    said = {
        each.tag: each.value
        for part in attributes.subsections
        for subpart in part.subsubsections
        for each in subpart.attributes
    }
    if said.get("TAG_CPU_ARCH_PROFILE", ord("M")) != ord("M"):
        cause = f"{path} is code for an Arm core that is not a Cortex-M: it cannot be emulated"
        raise TauError(cause, "verify the plan on the compiled core: leave out --elf")
    return BASELINE.get(said.get("TAG_CPU_ARCH", 0), "")


def _refuse_other_build(path: Path, plan: Plan, symbols: Iterable[str]) -> None:
    """Refuse a program without our heap, or with a core of other options than the plan's."""
    wanted = build_of(plan).symbol(WORD_BITS[plan.layout])
    has = [name for name in symbols if name.startswith(BUILT)]
    if not has:
        raise TauError(f"{path} has no heap of this core ({wanted} is missing)", HEAP_STEP)
    if wanted not in has:
        raise TauError(
            f"{path} is built with other options than the plan: it has {', '.join(has)}, the plan"
            f" {wanted}",
            f"build the core with {_wanted_build(plan, has)}, or plan again with --build",
        )


def _wanted_build(plan: Plan, has: list[str]) -> str:
    """The plan's build in words, and the macros that the program's core has against it."""
    build, names = build_of(plan), " ".join(has)
    against = [] if build.alignment_bytes or "_align" not in names else ["-DTAU_ALIGNMENT"]
    against += ["-DTAU_STATISTICS=0"] if build.statistics and "_uncounted" in names else []
    return f"{build.told()}{', without ' * bool(against)}{' and '.join(against)}"


def _refuse_other_pools(
    path: Path, plan: Plan, symbols: dict[str, int], segments: list[tuple[int, bytes, int]]
) -> None:
    """Refuse a program whose pools are not the plan's."""
    if not plan.classes:
        return  # its heap is a plain TLSF, or INIT's function is not called
    wanted = b"".join(struct.pack("<II", *each) for each in plan.classes)
    address = symbols.get(CLASSES, -1)
    has = any(
        start <= address and data[address - start :].startswith(wanted)
        for start, data, _ in segments
    )
    if not has:
        raise TauError(
            f"{path}: {CLASSES} is not there or has other pools than the plan: the header in it is"
            " another plan's",
            HEAP_STEP,
        )


def _functions(path: Path, symbols: Any) -> dict[str, str]:
    """The name of each operation's function; malloc and free at least."""
    found = {}
    is_freertos = FREERTOS_STATE in symbols
    for verb in FUNCTIONS:
        names = FREERTOS_NAMES.get(verb, ()) if is_freertos else NAMES.get(verb, (verb,))
        name = next((name for name in names if name in symbols), None)
        if name is not None:
            found[verb] = name
    missing = [verb for verb in ("malloc", "free") if verb not in found]
    if CPP_HEAP in symbols and missing:
        raise TauError(
            f"{path} has its heap by tautochrone.hpp, whose calls are part of its own functions:"
            f" it has no function {', '.join(missing)}",
            "verify the plan on the compiled core: leave out --elf",
        )
    if missing:
        raise TauError(f"{path} has no function {', '.join(missing)}", HEAP_STEP)
    return found


def _regions(path: Path, segments: list[tuple[int, bytes, int]]) -> list[tuple[int, bytes]]:
    """The program's memory: whole pages, those that touch joined."""
    regions: list[tuple[int, bytearray]] = []
    for address, data, size in sorted(segments, key=lambda each: each[0]):
        start = address & -PAGE_BYTES
        end = -(-(address + size) // PAGE_BYTES) * PAGE_BYTES
        if not regions or start > regions[-1][0] + len(regions[-1][1]):
            regions.append((start, bytearray()))
        first, memory = regions[-1]
        memory.extend(bytes(max(end - first - len(memory), 0)))
        memory[address - first : address - first + len(data)] = data
    if len(regions) > REGIONS_MAX:
        count = len(regions)
        raise TauError(f"{path}: {count} pieces of memory; at most {REGIONS_MAX} can be used")
    return [(start, bytes(memory)) for start, memory in regions]


def _refuse_longer_paths(path: Path, plan: Plan, target: str) -> None:
    """Refuse a program whose core takes more than the header states: another build, or hooks."""
    unused = {name: NEVER for name in UNUSED_FUNCTIONS.get(plan.system, ())}
    for verb, stated in bounds_of(plan, target).items():
        try:
            own = bound_instructions(path, f"tau_{plan.system}_{verb}", unused or None)
        except TauError:
            continue  # the program does not call it, or the port's hooks have no bound
        if own > stated:
            raise TauError(
                f"{path}: tau_{plan.system}_{verb} takes up to {own} instructions, the header"
                f" says {stated}: hooks of a TAU_PORT_HEADER are in it, or another compiler or"
                " other flags built it",
                "build it once without the hooks, whose instructions no plan knows; or make the"
                " plan with --build FILE that has the firmware's optimization and flags",
            )


def _bounds(
    path: Path, functions: dict[str, str], system: str
) -> tuple[dict[str, int], dict[str, str]]:
    """The longest path of each function, without the making of the heap; or why it has none."""
    found: dict[str, int] = {}
    unbounded: dict[str, str] = {}
    without = {name: NEVER for name, _ in INIT.values()}
    without |= {name: NEVER for name in UNUSED_FUNCTIONS.get(system, ())}
    for verb, name in functions.items():
        try:
            found[verb] = bound_instructions(path, name, without)
        except TauError as error:
            unbounded[verb] = error.message
    return found, unbounded
