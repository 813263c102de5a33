"""Compiles the core and its C tests in the configurations that the tests ask for.

A `Build` names one configuration. All C tests of a configuration are one program, `program_of`. It
is linked once and kept in build/core-tests until a file of the core changes. Nothing here depends
on the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tautochrone.targets.heaps import heaps
from tautochrone.targets.sources import CORE_FILES

ROOT = Path(__file__).resolve().parents[3]
CORE = ROOT / "core"
KEPT = ROOT / "build" / "core-tests"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
WARNINGS += ["-Wno-unused-function"]  # Each file uses few functions of a private header.
# Headers of gcc-12-multilib, with the kernel headers of the machine: words as wide as
# pointers, so sizes and links wrap around as on a 32-bit target.
NARROW = ("-m32", "-idirafter", f"/usr/include/{platform.machine()}-linux-gnu")
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
COMPILE_SECONDS_MAX = 300
PORT = '-DTAU_PORT_HEADER="core/tests/kit/port_test.h"'
THREADED_PORT = '-DTAU_PORT_HEADER="core/tests/kit/port_threads.h"'
ASSERTS = "TAU_ASSERT_LEVEL=2"
OWN_MAIN = re.compile(r"^(?:int main|FUZZ_MAIN)\(", re.MULTILINE)
CASE = re.compile(r"^TEST_CASE\((\w+)\)", re.MULTILINE)


def sources_of(*systems: str) -> list[str]:
    """The files that make SYSTEMS, from the root, once each."""
    return [*dict.fromkeys(name for system in systems for name in CORE_FILES[system])]


KIT = ["core/tests/kit/test.c", "core/tests/kit/choose.c", "core/tests/kit/port_test.c"]
MAIN = ["core/tests/kit/mechanism.c", "core/tests/kit/main.c"]
ALL = sources_of(*heaps(), "pools", "hierarchy", "pagetable", "buddy", "code_cache", "tlb_color")
ALL += ["peers/conventional/tlb_malloc.c"]
# A heap of one word's alignment, and the files of heaps on pages, which have two words'.
ALIGNMENT_4 = ("TAU_ALIGNMENT=4", "TAU_ALIGNMENT_BELOW_MAX=1")
WITH_PAGES = ("core/page_heap.c", "core/tests/checks/check_page_heap.c")
WITH_PAGES += ("peers/conventional/break_heap.c",)
WALKS = sorted(str(path.relative_to(ROOT)) for path in CORE.glob("tests/checks/*.c"))
# Tests with a program of their own: heaps on pages, threads, and those that only measure.
APART = {path.stem for path in CORE.glob("tests/page_heap/*.c")} | {"test_threads"}


@dataclass(frozen=True)
class Build:
    """One configuration of the core. `sanitize` adds the address and undefined-behavior checks."""

    word_bits: int = 64
    check_level: int = 1
    junk_fill: int = 0
    optimize: str = "-O2"
    compiler: str = "gcc"
    sanitize: bool = False
    defines: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The configuration as a test's name."""
        parts = [
            self.compiler,
            f"{self.word_bits}",
            f"level{self.check_level}",
            self.optimize[1:],
        ]
        if self.junk_fill:
            parts.append("junk")
        if self.sanitize:
            parts.append("sanitize")
        parts += [define.removeprefix("TAU_").rstrip("u") for define in self.defines]
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
            *(f"-D{define}" for define in self.defines),
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
    ccache = ["ccache"] if shutil.which("ccache") else []
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        objects = [f"{folder}/{number}.o" for number in range(len(sources))]
        for source, made in zip(sources, objects, strict=True):
            name = source.relative_to(root) if source.is_relative_to(root) else source
            _call([*ccache, *flags, "-c", str(name), "-o", made], root)
        _call([*flags, *objects, "-o", str(output)], root)
    return output


def _call(command: list[str], folder: Path) -> None:
    """Run a compiler in FOLDER, which ccache does not care about.

    The caller's CPATH is left out, because it could replace the headers under test.
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


# ---- One program for all tests ------------------------------------------------------------------


# Files of cases, and parts of the names of the builds that are not for them.
UNSUITED = {
    "test_budget_checker": "ASSERT",  # Asserts would see first what the walk is to see.
    "test_tlsf_checker": "ASSERT",
    "test_vspace_checker": "ASSERT",
    "test_inits": "ASSERT|sanitize",  # Pointers wrap around.
    "test_tlsf_misuse": "level0",
    "test_pools_misuse": "level0",
    "test_hooks": "PAGE_LOG2|ALIGNMENT",  # Written for real pages, and heaps on them.
    "test_hierarchy": "__arm__",  # Bits of words are written down.
    "test_region_tree": "LOG2_MAX",  # Trees of up to 2^20 pages.
    "test_tlb_geometries": "sanitize|O2|O0",  # A million of them.
    "test_pagetable": "LOG2_MAX=12",
    "test_code_cache": "FRAMES_MAX=32",  # Flags have more than a word.
}


def files_with_cases(build: Build) -> list[Path]:
    """The files with cases that make sense in BUILD."""
    files = sorted(CORE.glob("tests/**/test_*.c"))
    suited = [path for path in files if not re.search(UNSUITED.get(path.stem, "^$"), str(build))]
    return [path for path in suited if path.stem not in APART]


def cases_of(path: Path) -> list[str]:
    """The names of the cases of a file, as the program prints them."""
    return [f"{path.stem}.{name}" for name in CASE.findall(path.read_text())]


@cache
def _inputs() -> bytes:
    """The content of every file of the core and its tests, as a number."""
    digest = hashlib.sha256()
    for path in sorted([*CORE.rglob("*.[ch]"), *ROOT.glob("peers/conventional/*")]):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.digest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Whoever comes second waits, and finds what the first one made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_tests(
    build: Build,
    output: Path,
    files: tuple[Path, ...] = (),
    core: Path = CORE,
    extra: tuple[str, ...] = (),
) -> Path:
    """Compiles the program with all mechanisms and the FILES of tests, or all that suit BUILD.

    CORE may be a copy of the folder core with a changed source. EXTRA are more compiler arguments.
    See core/tests/kit/main.c for what the program can be asked.
    """
    tests = [path.relative_to(ROOT) for path in files or files_with_cases(build)]
    calls = sorted(path.relative_to(ROOT) for path in CORE.glob("tests/*/calls_*.c"))
    names = [*KIT, *MAIN, *ALL, *WALKS, *([] if files else calls), *tests]
    unsuited = WITH_PAGES if ALIGNMENT_4[0] in build.defines else ()
    sources = [core.parent / name for name in names if str(name) not in unsuited]
    return compile_c(build, sources, output, ["-I.", PORT, *extra], core.parent)


@cache
def program_of(build: Build, files: tuple[Path, ...] = (), extra: tuple[str, ...] = ()) -> Path:
    """The same, compiled once and kept until a file of the core changes."""
    words = [*build.flags(), *extra, build.compiler, *map(str, files or files_with_cases(build))]
    name = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    stamp = hashlib.sha256(_inputs() + name.encode()).hexdigest()
    program, stamped = KEPT / name, KEPT / f"{name}.stamp"
    with _locked(KEPT / f"{name}.lock"):
        if not (program.exists() and stamped.exists() and stamped.read_text() == stamp):
            compile_tests(build, program, files, extra=extra)
            stamped.write_text(stamp)
    return program


# ---- Programs of their own ----------------------------------------------------------------------


def build_program(
    build: Build,
    name: str,
    folder: Path,
    core: Path = CORE,
    extra: tuple[str, ...] = (),
) -> Path:
    """The executable of NAME.c, in a room of core/tests, with all of the core, in FOLDER.

    CORE may be a copy of the folder core with a changed source; headers come from there too.
    EXTRA are more compiler arguments. Programs with threads have ThreadSanitizer and a port of
    their own.
    """
    is_threaded = name == "test_threads"
    (own,) = (core / "tests").rglob(f"{name}.c")
    kit = [*KIT[:2], "core/tests/kit/port_threads.c"] if is_threaded else [*KIT]
    if not OWN_MAIN.search(own.read_text()):
        kit += MAIN
    sources = [own, *(core.parent / source for source in [*kit, *ALL, *WALKS])]
    arguments = ["-I.", THREADED_PORT if is_threaded else PORT]
    arguments += ["-fsanitize=thread", "-pthread"] if is_threaded else []
    return compile_c(build, sources, folder / name, [*arguments, *extra], core.parent)


def build_library(build: Build, folder: Path, core: Path = CORE) -> Path:
    """The core as a shared library in FOLDER, for ctypes."""
    sources = [core / "tau.c"]
    output = folder / f"core-{build}.so"
    return compile_c(build, sources, output, ["-I.", "-shared", "-fPIC"], core.parent)


def run_program(
    program: Path,
    arguments: list[str],
    seconds_max: int,
    environment: dict[str, str] | None = None,
) -> str:
    """Runs PROGRAM and returns its output. ENVIRONMENT is added to the caller's.

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
            env=os.environ | (environment or {}),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{command}: more than {seconds_max} s\n{error.stdout!r}") from error
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
