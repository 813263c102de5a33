"""The port to C++ serves containers from the heap of a plan, and refuses what cannot be right.

Method: tests/cpp/program.cpp checks refusals, misuse and the heap's statistics itself. It gives one
result with gcc and exceptions, and with clang without exceptions and RTTI. A firmware goes from its
recording to its plan without margin: it has the same result there, and the bytes in use are the
model's. Wrong programs do not compile, or do not link, and the message says why.
"""

import random
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pages import Page, read
from tests.test_newlib import used_in_main
from tests.test_record_wrap import misuse_of

from tautochrone.convert.importing import import_file
from tautochrone.plan.file import BANDS, Plan, PlanClass, PlanTrace, load_plan
from tautochrone.plan.header import save_header
from tautochrone.trace.file import open_trace
from tautochrone.who.places import Places

from testing import firmware
from testing.command import tau_done
from testing.firmware import CAPTURE, CORE, CORTEX_M4, FIRMWARE, LIBRARIES, RECORDER, ROOT, run

SOURCES = sorted((ROOT / "tests" / "cpp").glob("*.cpp"))
CPP = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-Os")
C = ("-std=gnu17", "-Os")
BARE = ("-fno-exceptions", "-fno-rtti")
MARK = 4127  # bytes of the object that is there when program.cpp prints the bytes in use
RECORDED = "-DTAU_RECORD_CPP"
M4 = (*CORTEX_M4, *firmware.SECTIONS, *LIBRARIES["nano"])
M4_LINK = ("-Wl,--gc-sections", "-T", FIRMWARE / "board.ld")

PLAN = Plan(
    classes=(PlanClass(32, 64),),
    heap_bytes=65_536,
    planner="replayed",
    optimal_within=0.0,
    layout="host",
    traces=(PlanTrace("program.tau", "ab" * 32, 1000, 8000),),
)
GUARANTEED = replace(PLAN, planner=BANDS, recorded_counts=(60,), stated_counts=(0,))
USE = """
struct alignas(64) Line { char bytes[64]; };
void *use() { return tautochrone::allocator<Line>().allocate(1); }
"""


def built(compilers: tuple[str, str], c: list[Path], folder: Path, *flags: str | Path) -> Path:
    """Build program.cpp and these sources in C; return the executable."""
    include = (f"-I{ROOT}", f"-I{folder}")
    cc, cxx = compilers
    target, link = (M4, M4_LINK) if cc.startswith("arm") else ((), ())
    c = [*c, FIRMWARE / "board.c"] if target else c
    capture = (f'-DTAU_RECORD_CAPTURE="{CAPTURE}"', RECORDED)
    run(cc, *C, *target, *include, *(capture if RECORDED in flags else ()), "-c", *c, cwd=folder)
    objects = [f"{source.stem}.o" for source in c]
    inputs = (*SOURCES, *objects, *link)
    run(cxx, *CPP, *target, *include, *flags, *inputs, "-o", "program", cwd=folder)
    return folder / "program"


def result_of(said: str) -> tuple[firmware.Printed, int]:
    """What program.cpp prints: the bytes in use, and its result."""
    used, line = said.splitlines(keepends=True)
    return firmware.printed(line), int(re.fullmatch(r"used (\d+)\n", used)[1])


@pytest.fixture
def seed() -> int:
    """The seed of the program's run."""
    chosen = random.randrange(1, 2**30)
    print(f"seed {chosen}")
    return chosen


def test_a_program_runs_on_its_plan(tmp_path: Path, seed: int) -> None:
    checksums = set()
    without_pools = replace(PLAN, classes=())
    ways = ((("gcc", "g++"), (), without_pools), (("clang-14", "clang++-14"), BARE, PLAN))
    for compilers, flags, plan in ways:
        save_header(plan, tmp_path / "heap_plan.h", "tau plan", force=True)
        program = built(compilers, CORE, tmp_path, *flags)
        said, used = result_of(run(program, str(seed), cwd=tmp_path))
        checksums.add(said.checksum)
        assert used > MARK
    assert len(checksums) == 1


def test_a_firmware_runs_on_its_plan(tmp_path: Path, seed: int) -> None:
    compilers = ("arm-none-eabi-gcc", "arm-none-eabi-g++")
    recording = built(compilers, [RECORDER], tmp_path, RECORDED, "-g", *BARE)
    recorded, _ = result_of(firmware.emulate(recording, seed))
    trace = tmp_path / "program.tau"
    assert misuse_of(import_file(tmp_path / CAPTURE, trace)) == (0, 0, 0, 0)
    with open_trace(trace) as reader:
        places = Places(reader.header, recording).named(reader.sites())
    # Where the compiler keeps a function of the library apart, as at -Os, that one has the call.
    outermost = {place.frames[-1].function.split("(")[0] for place in places if place.frames}
    assert not any(name.startswith("tautochrone::") for name in outermost), outermost
    words = ("plan", trace, "--pools", "always", "--margin", "0%", "-o", tmp_path / "plan.toml")
    tau_done(*words, "--header", tmp_path / "heap_plan.h")
    on_plan, used = result_of(firmware.emulate(built(compilers, CORE, tmp_path, *BARE), seed))
    assert on_plan == recorded
    assert used == used_in_main(load_plan(tmp_path / "plan.toml"), trace)


def test_the_page_leads_to_a_firmware_that_runs(tmp_path: Path) -> None:
    board = tmp_path / "board.o"
    run("arm-none-eabi-gcc", *C, *CORTEX_M4, "-c", FIRMWARE / "board.c", cwd=tmp_path)
    target = shlex.join(map(str, ("-Os", *LIBRARIES["nano"], board, *M4_LINK)))
    read(Page("docs/ports/cpp.md", instead={"-Os …": target}), tmp_path)
    said = {firmware.emulate(tmp_path / name) for name in ("recording.elf", "planned.elf")}
    assert said == {"7: a name that is too long for the string's own memory\n"}


def refusal_of(folder: Path, text: str, *flags: str | Path) -> str:
    """What the compiler says about a program that uses the port, in FOLDER; nothing if it links."""
    (folder / "user.cpp").write_text(
        f'#include "core/ports/cpp/tautochrone.hpp"\n{text}\nint main() {{}}\n'
    )
    command = ("g++", "-std=c++17", "-Os", "-Wfatal-errors", f"-I{ROOT}", "-I.", "user.cpp", *flags)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stderr


@pytest.mark.parametrize("source", [*firmware.HEAP, RECORDER], ids=lambda path: path.name)
def test_a_source_in_c_says_so_to_a_compiler_of_cpp(source: Path) -> None:
    command = ("g++", "-fsyntax-only", "-Wfatal-errors", f"-I{ROOT}", "-xc++", source)
    said = subprocess.run(command, capture_output=True, text=True).stderr
    assert '#error "compile this file as C (gcc, not g++)' in said


def test_what_cannot_be_right_is_refused_with_the_reason(tmp_path: Path) -> None:
    run("gcc", *C, f"-I{ROOT}", "-c", *CORE, cwd=tmp_path)
    core = ("tlsf.o", "budget.o", "pools.o")
    missing = "heap_plan.h is missing: write it with `tau plan … --header heap_plan.h`"
    assert missing in refusal_of(tmp_path, USE)
    said = refusal_of(tmp_path, "", "-fmax-errors=0", "-Wno-fatal-errors")
    assert said.count("error: ") == 1, said
    assert "heap_plan.h has no heap" in refusal_of(tmp_path, USE, "-DTAU_PLAN_H")
    for plan, refusal in ((PLAN, ""), (GUARANTEED, "the plan guarantees no object with this type")):
        save_header(plan, tmp_path / "heap_plan.h", "tau plan", force=True)
        said = refusal_of(tmp_path, USE, *core)
        assert refusal in said if refusal else not said, said
        assert not refusal_of(tmp_path, USE.replace("64)", "TAU_PLAN_ALIGNMENT)"), *core)
    assert "needs C++17" in refusal_of(tmp_path, USE, "-std=c++14")
    unhandled = "undefined reference to `tautochrone::refused(unsigned long, unsigned long)'"
    assert unhandled in refusal_of(tmp_path, USE.replace("alignas(64)", ""), *core, *BARE)
