"""Counts the exact instructions per call of an allocator on RV32IMC and Cortex-M4.

For our own systems:

    counts = count(trace_path, "tlsf", "rv32")  # or "budget", with plan=…
    counts["malloc"].max, .p999, .mean, .bound  # see Calls

For any allocator, given as sources, objects or archives (machine/images.py states the interface):

    image = build_image("peer", "rv32", sources=["peer.c", "adapter.c"], cflags=["-Ipeer"],
                        libraries=["libpeer.a"], prefix="peer")
    counts = count_calls(image, trace_path)     # a dictionary of Calls, see CATEGORIES

Equal image, trace and heap size give equal numbers. tool/native/replay/emulator.h says how calls
are counted. The host moves payload (memmove, memcpy, memset): each such call is charged 3
instructions, and its bytes are reported separately. An allocator without realloc is resized by a
malloc and a free, counted as these. Without calloc or aligned_alloc, malloc replaces them.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tautochrone import installation, native
from tautochrone.machine.core_build import FASTEST, Build
from tautochrone.machine.images import (
    FUNCTIONS,
    ISAS,
    Image,
    build_image,
    core_image,
)
from tautochrone.declarations import Struct
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.replay import open_trace
from tautochrone.replay.session import failure

__all__ = [
    "CATEGORIES",
    "ISAS",
    "Calls",
    "Counts",
    "Image",
    "build_image",
    "core_image",
    "count",
    "count_calls",
]

INSTRUCTIONS_MAX = 6_000_000_000
ISA_NUMBERS = {"rv32": 0, "m4": 1, "rv32zbb": 2}  # enum tau_emulator_isa
HEAP_BYTES_MIN = 65536
REGION_ALIGNMENT = 1 << 21
# uc_err of unicorn, where an allocator can be the cause.
EMULATOR_ERRORS = {
    6: "it read memory that is not there, such as a device's",
    7: "it wrote memory that is not there, such as a device's",
    8: "it jumped to memory that is not there",
    10: "it has an instruction that the processor does not know",
    21: "it raised an exception",
    2000: "it waits for an interrupt, which never comes here",  # tool/native/replay/emulator.h
    2001: "the call does not return within 100 million instructions",
}
WAYS = ("blocks", "instructions", "ours")  # enum tau_emulator_way
HEAP_TRIES = 4  # 2, 4, 8, 16 times the peak.
CATEGORIES = (
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "free",
    "realloc_in_place",
    "realloc_moved",
    "malloc_hit",
    "malloc_miss",
    "free_hit",
    "free_miss",
)


@dataclass(frozen=True)
class Calls:
    """The calls of one operation: instructions per call, without payload.

    `bound` is None if unknown. Accesses are loads and stores; they are counted on RV32 only, else
    None. `histogram` is of instructions.
    """

    count: int
    mean: float
    p50: int
    p999: int
    max: int
    max_event: int
    histogram: dict[int, int] = field(repr=False)
    bound: int | None = None
    max_accesses: int | None = None
    p999_accesses: int | None = None
    accesses_histogram: dict[int, int] | None = field(default=None, repr=False)
    bound_accesses: int | None = None


class Counts(dict[str, Calls]):
    """Calls by operation and by its parts (CATEGORIES), with the facts of the run."""

    heap_bytes: int = 0
    payload_bytes: int = 0
    refusals: int = 0
    first_refusal: int | None = None
    stack_bytes: int = 0
    init_bytes: int = 0  # The bytes that a firmware gave its heap; 0: not seen.
    is_truncated: bool = False
    fault_event: int = 0  # Where the run ended, unless it completed.
    placement_hash: int = 0


def unicorn_library() -> str:
    """The path of the emulator's library in the Python package unicorn."""
    return str(installation.folder_of("unicorn") / "lib" / "libunicorn.so.2")


class Program(NamedTuple):
    """A linked program with an allocator of its own, for count_calls. Addresses are the target's.

    `place` says in which function an address lies. `functions` has malloc and free at least, of
    FUNCTIONS. They take no heap. `regions` are its memory: addresses of whole pages of 4,096 bytes,
    and their contents, which a run changes. `init` is the function that makes the heap, 0 if it has
    none, and which of its arguments, from 0, is the heap's size. `global_pointer` is what its start
    gives gp, on RISC-V.
    `payload` are the ranges of functions that move and fill payload.
    """

    name: str
    place: Callable[[int], str]
    functions: dict[str, int]
    regions: list[tuple[int, bytes]]
    payload: list[tuple[int, int]]
    init: tuple[int, int] = (0, 0)
    global_pointer: int = 0


def _native_program(raw: Struct, program: Program) -> list[object]:
    """Give an image a program's memory. The result must live as long as the image."""
    buffers, regions = [], []
    for address, data in program.regions:
        buffer = ctypes.create_string_buffer(len(data) + 2 * REGION_ALIGNMENT)
        buffers.append(buffer)
        # Objects are as aligned here as they are there.
        start = -(-ctypes.addressof(buffer) // REGION_ALIGNMENT) * REGION_ALIGNMENT
        start += address % REGION_ALIGNMENT
        ctypes.memmove(start, data, len(data))
        regions.append((address, len(data), start))
    raw.regions = native.library().array("tau_emulator_region", regions)
    raw.regions_count = len(regions)
    raw.init, raw.init_bytes_argument = program.init[0] & ~1, program.init[1]
    raw.global_pointer = program.global_pointer
    raw.payload = native.library().array("tau_emulator_range", program.payload)
    raw.payload_count = len(program.payload)
    return buffers


def _native_image(image: Image, program: Program | None) -> Struct:
    symbols = image.symbols

    def plain(name: str) -> int:
        return symbols[name] & ~1  # On M4 the lowest bit of an address selects Thumb.

    init = symbols.get("tau_image_init") or symbols.get(f"{image.prefix}_init")
    functions = {verb: symbols.get(f"{image.prefix}_{verb}", 0) for verb in FUNCTIONS}
    if program is not None:
        functions |= program.functions
    elif init is None or not functions["malloc"] or not functions["free"]:
        missing = next((verb for verb in ("malloc", "free") if not functions[verb]), "init")
        raise TauError(f"the image {image.name} lacks {image.prefix}_{missing}")
    return native.struct("tau_emulator_image")(
        isa=ISA_NUMBERS[image.isa],
        bytes=image.code,
        bytes_count=len(image.code),
        address=image.address,
        init=init or 0,
        alignment=image.alignment,
        shared=symbols.get("tau_image_shared", 0),
        stub_start=plain("tau_stub_start"),
        stub_end=plain("tau_stub_end"),
        stub_loop=plain("tau_stub_loop"),
        stub_move_done=plain("tau_stub_move_done"),
        stub_set_done=plain("tau_stub_set_done"),
        stub_return=symbols["tau_stub_return"],
        mailbox=symbols["tau_stub_mailbox"],
        move_function=plain("memmove"),
        copy_function=plain("memcpy"),
        fill_function=plain("memset"),
        **functions,
    )


def _histogram(tally: Struct) -> dict[int, int]:
    numbers = np.ctypeslib.as_array(tally.histogram, (tally.histogram_length,))
    return {int(place): int(numbers[place]) for place in np.nonzero(numbers)[0]}


def _percentile(histogram: dict[int, int], per_mille: int) -> int:
    """The smallest number that this share of the calls does not exceed."""
    wanted = -(-sum(histogram.values()) * per_mille // 1000)
    running = np.cumsum(list(histogram.values()))
    return list(histogram)[int(np.searchsorted(running, wanted))]


def _calls_of(raw: Struct) -> Calls:
    instructions = _histogram(raw.instructions)
    accesses = _histogram(raw.accesses) if raw.accesses.histogram_length else None
    return Calls(
        count=int(raw.count),
        mean=raw.instructions.total / raw.count,
        p50=_percentile(instructions, 500),
        p999=_percentile(instructions, 999),
        max=int(raw.instructions.max),
        max_event=int(raw.instructions.max_event),
        histogram=instructions,
        max_accesses=None if accesses is None else int(raw.accesses.max),
        p999_accesses=None if accesses is None else _percentile(accesses, 999),
        accesses_histogram=accesses,
    )


def count_calls(
    image: Image,
    trace_path: str | Path | open_trace.OpenTrace,
    heap_bytes: int | None = None,
    plan: Any | None = None,
    skip_misuse: bool = False,
    instructions_max: int = INSTRUCTIONS_MAX,
    stepped: bool = False,
    ours: bool = False,
    goes_on: bool = False,
    forgets_alignment: bool = False,
    program: Program | None = None,
) -> Counts:
    """Replay a trace on an image and count the instructions of each call.

    `heap_bytes` is the arena (default: twice the trace's peak of live bytes, doubled until the
    trace completes). It stops after `instructions_max`, with `is_truncated`. `stepped` counts
    instruction by instruction, to check the count by blocks. `ours` runs RV32 code on the processor
    of rv32.h instead of unicorn; code with Zbb always runs there. With `goes_on`, requests that are
    refused are counted, and replay goes on. With `forgets_alignment`, a resized object may have the
    least alignment (core/pools.h). With `program`, its functions are called instead of the
    image's, which is then stub_image. Raises TauError if the allocator fails.
    """
    trace = open_trace.open_trace_for_replay(trace_path)
    open_trace.refuse_misuse(trace, skip_misuse)
    if ours and image.isa == "m4":
        raise TauError("our own processor runs RV32 code only", "count on rv32", EXIT_USAGE)
    settings = _settings(
        plan.classes if plan else (),
        instructions_max=instructions_max,
        way=WAYS.index("ours" if ours else "instructions" if stepped else "blocks"),
        goes_on=goes_on,
        realloc_forgets_alignment=forgets_alignment,
    )
    least = max(2 * int(trace.facts.peak_live_bytes), HEAP_BYTES_MIN)
    tries = [-(-(least << i) // 8) * 8 for i in range(HEAP_TRIES)]
    if heap_bytes:
        tries = [-(-heap_bytes // 4) * 4]
    work = functools.partial(_count_once, image, program, trace, settings)
    name = program.name if program else image.name
    for size in tries:
        settings.heap_bytes = size
        counts, fault = open_trace.with_progress(work, f"counting instructions of {image.name}")
        if fault not in (faults.NO_MEMORY, faults.INIT_FAILED):
            break
    if fault != faults.COMPLETED:
        cause = f"{faults.MEANING[fault]} ({settings.heap_bytes} bytes)"
        raise TauError(f"{name} on {ISAS[image.isa].title} {cause}")
    return counts


def count_in(
    image: Image,
    trace: open_trace.OpenTrace,
    heap_bytes: int,
    instructions_max: int = INSTRUCTIONS_MAX,
) -> tuple[Counts, int]:
    """Replay a trace on a library's image in a heap of this size: its counts, and how it ended.

    It completed, was refused memory or could not start. Raises TauError if the allocator fails.
    """
    settings = _settings(
        instructions_max=instructions_max,
        heap_bytes=-(-heap_bytes // 4) * 4,
        realloc_forgets_alignment=True,
    )
    return _count_once(image, None, trace, settings)


def _settings(classes: Sequence[tuple[int, int]] = (), **given: int) -> Struct:
    pairs = np.array([(int(size), int(count)) for size, count in classes], np.uint32)
    return native.struct("tau_emulator_settings")(
        classes=pairs.ravel(), classes_count=len(pairs), **given
    )


def _count_once(
    image: Image, program: Program | None, trace: open_trace.OpenTrace, settings: Struct
) -> tuple[Counts, int]:
    """One run, and how it ended. Raises TauError if the emulator stops, or the allocator errs."""
    library = native.library()
    name = program.name if program else image.name
    raw_image = _native_image(image, program)
    raw = native.struct("tau_emulator_result")()
    held = _native_program(raw_image, program) if program is not None else []
    unicorn = unicorn_library().encode()
    cause = library.tau_emulator_run(unicorn, raw_image, trace.handle, settings, raw)
    try:
        if cause:
            raise TauError(f"counting on {name}: {cause.decode()}")
        if raw.emulator_error:
            number, address = int(raw.emulator_error), int(raw.fault_address)
            cause = EMULATOR_ERRORS.get(number, f"the emulator's error {number}")
            place = program.place(address) if program else image.place(address)
            event, size = int(raw.replay.fault_event), int(settings.heap_bytes)
            raise failure(trace, name, f"stopped in {place}: {cause},", event, size)
        if raw.replay.fault not in (faults.COMPLETED, faults.NO_MEMORY, faults.INIT_FAILED):
            meaning = f"on {ISAS[image.isa].title} {faults.MEANING[raw.replay.fault]}"
            event, size = int(raw.replay.fault_event), int(settings.heap_bytes)
            raise failure(trace, name, meaning, event, size)
        pairs = zip(CATEGORIES, raw.calls, strict=True)
        counts = Counts({name: _calls_of(calls) for name, calls in pairs if calls.count})
    finally:
        library.tau_emulator_free(raw)
        del held
    counts.heap_bytes = int(settings.heap_bytes)
    counts.payload_bytes = int(raw.payload_bytes)
    counts.is_truncated = bool(raw.is_truncated)
    counts.refusals, counts.stack_bytes = int(raw.replay.refusals), int(raw.stack_bytes)
    counts.first_refusal = int(raw.replay.first_refusal) if counts.refusals else None
    counts.fault_event = int(raw.replay.fault_event)
    counts.init_bytes = int(raw.init_bytes)
    counts.placement_hash = int(raw.replay.placement_hash)
    return counts, int(raw.replay.fault)


def count(
    trace_path: str | Path | open_trace.OpenTrace,
    system: str,
    isa: str,
    plan: Any | None = None,
    heap_bytes: int | None = None,
    build: Build = FASTEST,
    skip_misuse: bool = False,
) -> Counts:
    """Count the instructions of each call of one of our systems; add the bound of its function.

    The bound (machine/longest_path.py) holds for every heap and pointer, in this build. In a trace
    without aligned_alloc, the bound of realloc excludes objects with a requested alignment.
    """
    from tautochrone.machine.longest_path import (
        OVER_ALIGNED_FUNCTIONS,
        PAYLOAD_CHARGES,
        SHARED_FUNCTIONS,
        UNUSED_FUNCTIONS,
        accesses_bound_of_image,
        bound_of_image,
    )

    alignment = plan.alignment_bytes if system == "pools" else build.alignment_in("32")
    image = core_image(system, isa, build, block_alignment=alignment)
    forgets = system == "pools"
    counts = count_calls(
        image, trace_path, heap_bytes, plan, skip_misuse, forgets_alignment=forgets
    )
    for verb in FUNCTIONS:
        if verb in counts:
            aligns = verb != "realloc" or "aligned_alloc" in counts
            without = () if aligns else OVER_ALIGNED_FUNCTIONS
            without += UNUSED_FUNCTIONS.get(system, ())
            counts[verb] = replace(
                counts[verb],
                bound=bound_of_image(image, verb, without),
                bound_accesses=accesses_bound_of_image(image, verb, without),
            )
    finer = {"realloc_in_place": ("realloc", PAYLOAD_CHARGES)}
    finer |= {f"{verb}_hit": (verb, SHARED_FUNCTIONS) for verb in ("malloc", "free")}
    for category, (verb, without) in finer.items():
        if category in counts:
            unused = UNUSED_FUNCTIONS.get(system, ())
            bound = bound_of_image(image, verb, (*without, *unused))
            counts[category] = replace(counts[category], bound=bound)
    return counts
