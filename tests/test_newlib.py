"""The port to newlib, newlib-nano and picolibc replaces the library's heap, whole.

Method: core/ports/newlib/heap.c is linked with a program in C that uses every way to the heap. A
program in C++ goes from its recording to its plan: the recorded sizes are those that the library
counts, and on its plan, with the same result, mallinfo counts what the model does. All run in QEMU.
The linker's map names the library's objects that were taken.
"""

import random
import re
from pathlib import Path

import pytest
from tests.test_placement import allocated, model_of
from tests.test_record_wrap import misuse_of

from model.budget import Budget
from model.pools import Pools
from model.tlsf import Tlsf
from tautochrone.convert.importing import import_file
from tautochrone.plan.file import Plan, PlanClass, PlanTrace, load_plan
from tautochrone.plan.header import save_header
from tautochrone.trace.file import OPS

from testing import firmware
from testing.command import tau_done
from testing.firmware import CAPTURE, CORTEX_M4, HEAP, LIBRARIES, RECORDER, ROOT, WRAPS
from testing.recorded import events_of

PROGRAMS = ROOT / "tests" / "newlib"
MAP = ("-Wl,-Map=firmware.map", f"-I{ROOT}")
# newlib-nano prints floating-point numbers only if asked.
NEWLIB = (*MAP, "-u", "_printf_float")
ARCHIVES = {"nano": "libc_nano.a", "newlib": "libc.a"}
# Where nm says that a member of a library defines a part of its allocator, or uses its state.
PART = r"[TWVU] (?:_sbrk_r|sbrk|__malloc_free_list|__malloc_av_|__malloc_lock)$"
CALL = r"[TWV] _(?:malloc|calloc|realloc|free|memalign|malloc_usable_size|mallinfo)_r$"
PLAN = Plan(
    classes=(PlanClass(24, 64), PlanClass(128, 16)),
    heap_bytes=131_072,
    planner="replayed",
    optimal_within=0.0,
    margin=0.0,
    layout="32",
    traces=(PlanTrace("program.tau", "ab" * 32, 1000, 50_000),),
)
# Sizes of the objects by which program.cpp says where it counts.
GROWTH_BEGINS, GROWTH_ENDS, IN_MAIN = 4099, 4111, 4127


def members(folder: Path) -> set[str]:
    """The members of the C library that the linker took, from its map."""
    included = (folder / "firmware.map").read_text().split("\n\nDiscarded input sections")[0]
    return set(re.findall(r"^\S*/libc\w*\.a\((\S+)\)$", included, re.M))


def assert_nothing_of_its_allocator(folder: Path, library: str) -> None:
    """No member of LIBRARY was taken that is, or needs, its own allocator."""
    asked = f"-print-file-name={ARCHIVES[library]}"
    archive = firmware.run("arm-none-eabi-gcc", *CORTEX_M4, asked, cwd=folder).strip()
    listing = firmware.run("arm-none-eabi-nm", "-A", archive, cwd=folder)
    its_own = set(re.findall(rf":(\S+\.o):\S* +(?:{PART}|{CALL})", listing, re.M))
    assert len(its_own) > 6, "all of its functions are known"
    taken = members(folder)
    assert any("printf" in name for name in taken), "the map was read"
    assert taken & its_own == set()


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_function_of_c_is_served(tmp_path: Path, library: str) -> None:
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    save_header(PLAN, tmp_path / "heap_plan.h", "tau plan")
    sources, flags = [PROGRAMS / "program.c", *HEAP], (*NEWLIB, f"-DSEED={seed}u")
    elf = firmware.firmware(sources, tmp_path, flags, library)
    assert_nothing_of_its_allocator(tmp_path, library)
    assert firmware.emulate(elf) == "printed 2.50\nall holds\n"


def test_every_function_of_picolibc_is_served(tmp_path: Path) -> None:
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    save_header(PLAN, tmp_path / "heap_plan.h", "tau plan")
    sources, flags = [PROGRAMS / "program.c", *HEAP], (*MAP, f"-I{tmp_path}", f"-DSEED={seed}u")
    elf = firmware.picolibc_firmware(sources, tmp_path, *flags)
    taken = members(tmp_path)
    assert any("strdup" in name for name in taken), "the map was read"
    # valloc calls memalign.
    its_own = {name for name in taken if "nano-malloc" in name or "sbrk" in name}
    assert its_own == {"nano-malloc-valloc.c.o"}
    firmware.emulate(elf, machine=firmware.QEMU_RISCV)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("call", ["malloc_stats()", "malloc_trim(0)"])
def test_what_describes_newlibs_heap_does_not_link(
    tmp_path: Path, library: str, call: str
) -> None:
    """As the port says, instead of being linked next to ours."""
    save_header(PLAN, tmp_path / "heap_plan.h", "tau plan")
    user = tmp_path / "user.c"
    user.write_text(f"#include <malloc.h>\nint main(void) {{ {call}; return 0; }}\n")
    with pytest.raises(AssertionError, match="multiple definition|undefined reference"):
        firmware.firmware([user, *HEAP], tmp_path, NEWLIB, library)


def test_a_heap_without_a_lock_does_not_compile(tmp_path: Path) -> None:
    """A program says that it has one thread, or gives the hooks."""
    save_header(PLAN, tmp_path / "heap_plan.h", "tau plan")
    hooks = "#define TAU_PORT_LOCK(heap) (void)(heap)\n#define TAU_PORT_UNLOCK TAU_PORT_LOCK\n"
    (tmp_path / "lock.h").write_text(hooks)
    words = ("arm-none-eabi-gcc", "-fsyntax-only", f"-I{ROOT}", f"-I{tmp_path}", HEAP[0])
    with pytest.raises(AssertionError, match="no lock: add the hooks"):
        firmware.run(*words, cwd=tmp_path)
    for flag in (firmware.SINGLE_THREAD, '-DTAU_PORT_HEADER="lock.h"'):
        firmware.run(*words, flag, cwd=tmp_path)


def numbers_of(text: str) -> tuple[firmware.Printed, list[int]]:
    """What program.cpp prints: its result, and the bytes counted of its growth and in main."""
    line, counts = text.splitlines(keepends=True)
    found = re.fullmatch(r"grew (\d+) used (\d+) all (\d+) (\d+)\n", counts)
    return firmware.printed(line), [int(each) for each in found.groups()]


def chunk_bytes(library: str, size_bytes: int) -> int:
    """What a library takes from the end of its heap for an object."""
    if library == "nano":
        return max(12, (size_bytes + 3) // 4 * 4 + 8)
    return max(16, (size_bytes + 4 + 7) // 8 * 8)


def used_by(model: Tlsf | Budget | Pools) -> int:
    """The bytes of used buckets and blocks in a heap of the model."""
    regions = getattr(model, "bands", getattr(model, "regions", []))
    rest = getattr(model, "shared", None if regions else model)
    dedicated = sum(len(each.used) * each.bucket_bytes for each in regions)
    return dedicated + (rest.used_bytes if rest else 0)


def used_in_main(plan: Plan, trace: Path) -> int:
    """The bytes in use on a heap of the plan, in the model, where program.cpp counts in main."""
    if plan.system == "pools":
        model = Pools([tuple(each) for each in plan.classes], 0, alignment=plan.alignment_bytes)
    else:
        model = model_of(plan.system, plan.heap_bytes, plan)
    places: dict[int, int | None] = {}
    for row in events_of(trace):
        size, slot = int(row["size_bytes"]), int(row["slot"])
        if OPS[row["op"]] == "free":
            assert model.free(places.pop(slot)) == "OK"
            continue
        places[slot] = allocated(model, row, max(size, 1), places.get(slot))
        assert places[slot] is not None
        if size == IN_MAIN:
            return used_by(model)
    raise AssertionError("nothing marks where the program counts")


WAYS = {"nano": (("--pools", "never"), ("--guarantee",)), "newlib": (("--pools", "always"),)}


@pytest.mark.parametrize("library", LIBRARIES)
def test_cpp_runs_on_its_plan(tmp_path: Path, library: str) -> None:
    seed = random.randrange(1, 2**30)
    print(f"seed {seed}")
    program, trace = PROGRAMS / "program.cpp", tmp_path / "program.tau"
    recorder = (*NEWLIB, f'-DTAU_RECORD_CAPTURE="{CAPTURE}"', WRAPS)
    recording = firmware.firmware([program, RECORDER], tmp_path, recorder, library)
    said, (grew, *_) = numbers_of(firmware.emulate(recording, seed))
    assert said.failed == 0
    assert misuse_of(import_file(tmp_path / CAPTURE, trace)) == (0, 0, 0, 0)
    sizes = [size for _, size, _ in firmware.calls_of(trace)]
    growth = sizes[sizes.index(GROWTH_BEGINS) + 1 : sizes.index(GROWTH_ENDS)]
    assert len(growth) == 48
    assert sum(chunk_bytes(library, size) for size in growth) == grew
    for way in WAYS[library]:
        words = ("plan", trace, *way, "--margin", "0%", "-o", tmp_path / "plan.toml", "--force")
        tau_done(*words, "--header", tmp_path / "heap_plan.h")
        elf = firmware.firmware([program, *HEAP], tmp_path, NEWLIB, library)
        assert_nothing_of_its_allocator(tmp_path, library)
        on_plan, (_, used, *whole) = numbers_of(firmware.emulate(elf, seed))
        assert on_plan == said
        assert whole[0] == whole[1], "what is not used is free"
        assert used == used_in_main(load_plan(tmp_path / "plan.toml"), trace)
