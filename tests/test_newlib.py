"""The tutorial's heap replaces newlib's, whole: nothing of newlib's own allocator is left.

Method: the C of docs/tutorials/size-a-heap.md, as it is printed, is linked with a program that uses
every way to the heap. It is linked for a Cortex-M4, with newlib-nano and newlib, and run in QEMU.
The linker's map names the library's objects that were taken. For picolibc it is linked only.
"""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pages import shown

from tautochrone.plan.file import Plan, PlanClass, PlanTrace
from tautochrone.plan.header import save_header

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = "docs/tutorials/size-a-heap.md"
BOARD = ROOT / "tests" / "firmware"
PROGRAMS = ROOT / "tests" / "newlib"
TARGET = ["-mcpu=cortex-m4", "-mthumb", "-Os"]
STRICT = ["-Wall", "-Wextra", "-Werror"]
COMPILERS = {"c": ["arm-none-eabi-gcc", "-std=gnu17"], "cpp": ["arm-none-eabi-g++", "-std=gnu++17"]}
# rdimon: files and exit through the debugger, which is QEMU here.
LIBRARIES = {
    "nano": ["--specs=nano.specs", "--specs=rdimon.specs", "-u", "_printf_float"],
    "newlib": ["--specs=rdimon.specs"],
}
QEMU = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none"]
SEMIHOSTING = ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
ARCHIVES = {"nano": "libc_nano.a", "newlib": "libc.a"}
# Where nm says that a member of a library defines a part of its allocator, or uses its state.
PART = r"[TWVU] (?:_sbrk_r|__malloc_free_list|__malloc_av_|__malloc_lock)$"
CALL = r"[TWV] _(?:malloc|calloc|realloc|free|memalign|malloc_usable_size)_r$"
PLAN = Plan(
    classes=(PlanClass(24, 64), PlanClass(128, 16)),
    heap_bytes=131_072,
    planner="replayed",
    optimal_within=0.0,
    margin=0.0,
    layout="32",
    traces=(PlanTrace("program.tau", "ab" * 32, 1000, 50_000),),
)


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed and return its output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def linked(
    folder: Path, library: str, language: str, *words: str | Path
) -> subprocess.CompletedProcess[str]:
    """Compile and link what WORDS name, in LANGUAGE, with the firmware's objects and LIBRARY."""
    firmware = ["tautochrone.o", "heap.o", "board.o"]
    command = [*COMPILERS[language], *TARGET, *STRICT, *LIBRARIES[library], f"-I{folder}"]
    link = ["-Wl,--gc-sections", "-Wl,-Map=firmware.map", "-T", BOARD / "board.ld"]
    link += ["-o", "firmware.elf"]
    whole = [*command, *words, *firmware, *link]
    return subprocess.run(whole, cwd=folder, capture_output=True, text=True, timeout=300)


def emulated(folder: Path) -> str:
    """Run the firmware; return its output. Its exit status is 0."""
    command = ["timeout", "60", *QEMU, *SEMIHOSTING, "-kernel", "firmware.elf"]
    return run(*command, cwd=folder)


def members(folder: Path) -> set[str]:
    """The members of the C library that the linker took, from its map."""
    included = (folder / "firmware.map").read_text().split("\n\nDiscarded input sections")[0]
    return set(re.findall(r"^\S*/libc\w*\.a\((\S+)\)$", included, re.M))


def members_of_its_allocator(folder: Path, library: str) -> set[str]:
    """The members of LIBRARY that are, or need, its own allocator."""
    compiler = [*COMPILERS["c"], *TARGET]
    archive = run(*compiler, f"-print-file-name={ARCHIVES[library]}", cwd=folder).strip()
    listing = run("arm-none-eabi-nm", "-A", archive, cwd=folder)
    return set(re.findall(rf":(\S+\.o):\S* +(?:{PART}|{CALL})", listing, re.M))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The firmware's folder of the tutorial, compiled."""
    made = tmp_path_factory.mktemp("firmware")
    run(sys.executable, ROOT / "scripts" / "amalgamate.py", made, cwd=ROOT)
    save_header(PLAN, made / "heap_plan.h", "tau plan")
    (made / "heap.c").write_text(shown(TUTORIAL, "heap.c"))
    sources = ["tautochrone.c", "heap.c", BOARD / "board.c"]
    run(*COMPILERS["c"], *TARGET, *STRICT, f"-I{made}", "-c", *sources, cwd=made)
    return made


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("language", COMPILERS)
def test_the_tutorials_heap_is_the_only_one(folder: Path, library: str, language: str) -> None:
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    source = PROGRAMS / f"program.{language}"
    done = linked(folder, library, language, source, f"-DSEED={seed}u")
    assert done.returncode == 0, done.stderr
    taken = members(folder)
    assert any("printf" in name for name in taken), "the map was read"
    its_own = members_of_its_allocator(folder, library)
    assert len(its_own) > 6, "all of its functions are known"
    assert taken & its_own == set()
    printed = emulated(folder)
    assert printed.endswith("all holds\n"), printed
    assert language != "c" or "printed 2.50\n" in printed


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("call", ["mallinfo()", "malloc_stats()", "malloc_trim(0)"])
def test_what_describes_newlibs_heap_does_not_link(folder: Path, library: str, call: str) -> None:
    """As the tutorial says, instead of being linked next to ours."""
    (folder / "user.c").write_text(f"#include <malloc.h>\nint main(void) {{ {call}; return 0; }}\n")
    done = linked(folder, library, "c", folder / "user.c")
    assert done.returncode != 0
    assert "multiple definition" in done.stderr or "undefined reference" in done.stderr


PICOLIBC = ["riscv64-unknown-elf-gcc", "--specs=picolibc.specs", "-march=rv32imac", "-mabi=ilp32"]
PICOLIBC_USER = """#include <stdlib.h>
#include <string.h>
int main(void) { return realloc(strdup("text"), 40) == NULL || aligned_alloc(64, 64) == NULL; }
"""


def test_picolibc_takes_it_whole(folder: Path) -> None:
    (folder / "user.c").write_text(PICOLIBC_USER)
    sources = ["user.c", "heap.c", "tautochrone.c"]
    link = ["-Wl,-Map=firmware.map", "-Wl,--defsym=__ram_size=0x100000", "-o", "picolibc.elf"]
    run(*PICOLIBC, "-Os", *STRICT, f"-I{folder}", *sources, *link, cwd=folder)
    taken = members(folder)
    assert any("strdup" in name for name in taken), "the map was read"
    assert not [name for name in taken if "malloc" in name or "sbrk" in name]
