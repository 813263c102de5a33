"""Compiles the core and its C tests in the configurations that the tests ask for.

A `Build` names one configuration; `build_program` and `build_library` turn it into an executable
or into a library that ctypes can load. Nothing here knows what is tested.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tautochrone.targets.heaps import heaps
from tautochrone.targets.sources import CORE_FILES

ROOT = Path(__file__).resolve().parents[3]
CORE = ROOT / "core"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
# Of gcc-12-multilib, whose headers of the kernel are those of the machine: words as wide as
# pointers, so sizes and links wrap around as on a 32-bit target.
NARROW = ("-m32", "-idirafter", f"/usr/include/{platform.machine()}-linux-gnu")
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
COMPILE_SECONDS_MAX = 300


def sources_of(*systems: str, apart: tuple[str, ...] = ()) -> list[str]:
    """The files that make SYSTEMS, from the root, once each, but for those APART."""
    names = dict.fromkeys(name for system in systems for name in CORE_FILES[system])
    return [name for name in names if name not in apart]


WALKS = [f"core/tests/checks/check_{name}.c" for name in ("frames", "validity", "vspace")]
WALKS += ["core/tests/kit/port_test.c"]
SPACE = [*sources_of("vspace"), *WALKS]

# check_tlsf.c includes tlsf.c.
HEAP = [*sources_of(*heaps(), apart=("core/tlsf.c",)), *WALKS]
HEAP += ["core/tests/checks/check_page_heap.c", "core/tests/checks/check_tlsf.c"]

BUDDY = [*sources_of("buddy"), "core/tests/checks/check_buddy.c"]
CODE_CACHE = [*sources_of("code_cache"), "core/tests/checks/check_code_cache.c"]

THREADED = [*sources_of("page_heap", "budget"), "core/tests/kit/port_threads.c"]

TLSF = ["core/tests/checks/check_tlsf.c", "core/tests/kit/port_test.c"]
TLB_COLOR = ["core/tlb_color.c", *TLSF]
BUDGET = ["core/tests/checks/check_budget.c", *TLSF]

# What each program needs next to its own file. The checkers of heaps include the mechanism
# that they check; those of pages walk what the headers show.
COMPANIONS = {
    "test_bits": [],
    "test_inits": [
        *sources_of("vspace", "hierarchy", "buddy", "budget"),
        "peers/conventional/pagetable.c",
        "core/tests/kit/port_test.c",
    ],
    "test_tlsf": TLSF,
    "test_tlsf_misuse": TLSF,
    "test_tlsf_pools": TLSF,
    "test_tlsf_checker": ["core/tests/kit/port_test.c"],
    "inject_tlsf": ["core/tlsf.c", "core/tests/kit/port_test.c"],
    "corrupt_heap": ["core/tlsf.c", "core/budget.c", "core/tests/kit/port_test.c"],
    "explore_tlsf": TLSF,
    "fuzz_tlsf": TLSF,
    "test_budget": BUDGET,
    "test_budget_plans": BUDGET,
    "test_budget_checker": TLSF,
    "test_hooks": [*SPACE, "core/page_heap.c", *BUDGET[:2]],
    "test_threads": THREADED,
    "fuzz_budget": BUDGET,
    "test_frames": SPACE,
    "test_validity": SPACE,
    "test_vspace": SPACE,
    "test_vspace_checker": SPACE,
    "fuzz_vspace": SPACE,
    "explore_vspace": SPACE,
    **{path.stem: HEAP for path in (CORE / "tests/page_heap").glob("*.c")},
    "test_buddy": BUDDY,
    "fuzz_buddy": BUDDY,
    "explore_buddy": BUDDY,
    "test_code_cache": CODE_CACHE,
    "fuzz_code_cache": CODE_CACHE,
    "explore_code_cache": CODE_CACHE,
    "test_tlb_color": TLB_COLOR,
    "fuzz_tlb_color": TLB_COLOR,
    "explore_tlb_color": TLB_COLOR,
    "test_tlb_malloc": ["peers/conventional/tlb_malloc.c", *TLSF],
}


@dataclass(frozen=True)
class Build:
    """One configuration of the core. `sanitize` adds the address and undefined-behavior checks."""

    word_bits: int = 64
    check_level: int = 1
    junk_fill: int = 0
    optimize: str = "-O2"
    compiler: str = "gcc"
    sanitize: bool = False

    def __str__(self) -> str:
        """The configuration as a test's name."""
        parts = [self.compiler, f"{self.word_bits}", f"level{self.check_level}", self.optimize[1:]]
        if self.junk_fill:
            parts.append("junk")
        if self.sanitize:
            parts.append("sanitize")
        return "-".join(parts)

    def flags(self) -> list[str]:
        """Compiler arguments of this configuration."""
        return [
            "-std=c17",
            "-D_GNU_SOURCE",
            *WARNINGS,
            "-g",
            self.optimize,
            *(SANITIZERS if self.sanitize else []),
            f"-DTAU_WORD_BITS={self.word_bits}",
            f"-DTAU_CHECK_LEVEL={self.check_level}",
            f"-DTAU_JUNK_FILL={self.junk_fill}",
        ]


class CompileError(Exception):
    """The compiler refused; the message is its output."""


def compile_c(
    build: Build, sources: list[Path], output: Path, extra: list[str], root: Path = ROOT
) -> Path:
    """Compiles SOURCES into OUTPUT and returns it. Raises CompileError with the compiler's words.

    Each source by itself, named as from ROOT, where the compiler runs: programs share files of the
    core, which ccache, if it is there, compiles once. So do copies of the core with a mutant.
    """
    compiler = shutil.which(build.compiler)
    if compiler is None:
        message = f"{build.compiler} is missing: install the Debian package {build.compiler}"
        raise CompileError(message)
    flags = [compiler, *build.flags(), *extra]
    cache = ["ccache"] if shutil.which("ccache") else []
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        objects = [f"{folder}/{number}.o" for number in range(len(sources))]
        for source, made in zip(sources, objects, strict=True):
            name = source.relative_to(root) if source.is_relative_to(root) else source
            _call([*cache, *flags, "-c", str(name), "-o", made], root)
        _call([*flags, *objects, "-o", str(output)], root)
    return output


def _call(command: list[str], folder: Path) -> None:
    """Run a compiler in FOLDER, which ccache does not care about.

    A CPATH of the caller must not decide what is tested, so it is left out.
    """
    given = {name: value for name, value in os.environ.items() if name != "CPATH"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=COMPILE_SECONDS_MAX,
        env=given | {"CCACHE_NOHASHDIR": "1"},
        cwd=folder,
        check=False,
    )
    if done.returncode != 0:
        raise CompileError(f"{' '.join(command)}\n{done.stderr}")


def build_program(
    build: Build, name: str, folder: Path, core: Path = CORE, extra: tuple[str, ...] = ()
) -> Path:
    """The executable of NAME.c, in a room of core/tests, in FOLDER.

    CORE may be a copy of the folder core with a changed source; headers come from there too.
    EXTRA are more compiler arguments. Programs with threads have ThreadSanitizer and a port of
    their own.
    """
    threaded = COMPANIONS[name] is THREADED
    (own,) = (core / "tests").rglob(f"{name}.c")
    sources = [own, *(core.parent / source for source in COMPANIONS[name])]
    port = "port_threads" if threaded else "port_test"
    arguments = ["-I.", f'-DTAU_PORT_HEADER="core/tests/kit/{port}.h"']
    arguments += ["-fsanitize=thread", "-pthread"] if threaded else []
    return compile_c(build, sources, folder / name, [*arguments, *extra], core.parent)


def build_library(build: Build, folder: Path, core: Path = CORE) -> Path:
    """The core as a shared library in FOLDER, for ctypes."""
    sources = [core / "tau.c"]
    output = folder / f"core-{build}.so"
    return compile_c(build, sources, output, ["-I.", "-shared", "-fPIC"], core.parent)


def run_program(program: Path, arguments: list[str], seconds_max: int) -> str:
    """Runs PROGRAM and returns its output.

    Raises AssertionError with that output if it fails or takes more than SECONDS_MAX.
    """
    command = [str(program), *arguments]
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds_max,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{command}: more than {seconds_max} s\n{error.stdout!r}") from error
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
