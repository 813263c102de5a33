"""What a user's program for a bare target is linked with, besides its own objects.

    libraries = Libraries.named(["picolibc", "vendor/libfilter.a"], folder)
    compile: [compiler, …, *libraries.compile_flags(root), "-c", source]
    link:    [*libraries.linker("tile"), …, *objects, *libraries.link_words(strings_object)]

Every program gets libgcc (floats, division of 64 bits) and targets/strings.c, whose functions are
weak: a program may have its own. picolibc is linked if asked for. `missing` turns what the linker
said into one sentence and a next step. `library_of_header` names the library whose header the
compiler missed.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .build import TARGETS, BuildError, compiler_of, run

STRINGS = "targets/strings.c"  # relative to the root: compile it once, link its object last
INCLUDE = "targets/include"  # <string.h> of programs without a C library
PICOLIBC = "picolibc"
ARCHIVES = ("libc.a", "libm.a")  # from picolibc
PACKAGES = {"riscv64-unknown-elf-gcc": "picolibc-riscv64-unknown-elf"}
SPECS = f"--specs={PICOLIBC}.specs"
UNDEFINED = re.compile(r"undefined reference to [`'](?P<symbol>[^`']+)'")
NOT_FOUND = re.compile(r"cannot find -l(?P<name>[^\s:]+)")
MISSING_HEADER = re.compile(r"fatal error: (?P<header>[^\s:]+): No such file or directory")
SYMBOLS_SHOWN = 6
# Symbols that picolibc leaves to the program, by functions that need them.
HEAP, OUTPUT = ("__heap_end", "__heap_start"), ("stdout",)
LEFT_TO_PROGRAM = {
    **dict.fromkeys(("malloc", "calloc", "realloc", "free"), HEAP),
    **dict.fromkeys(("printf", "vprintf", "puts", "putchar"), OUTPUT),
}


class Missing(NamedTuple):
    """What the linker missed, and what to add to `libraries`, or else the next step."""

    cause: str
    library: str | None = None
    step: str = "add the source or the archive that does"


@dataclass(frozen=True)
class Libraries:
    """What a program asks for: picolibc or not, and archives of its own in link order."""

    has_picolibc: bool = False
    archives: tuple[Path, ...] = ()

    @classmethod
    def named(cls, names: Sequence[str], folder: Path) -> Libraries:
        """Those of a list as users write it; archives start from FOLDER.

        Raises BuildError if an entry is neither "picolibc" nor an archive that is there.
        """
        archives = []
        for name in names:
            if name == PICOLIBC:
                continue
            path = folder / name
            if path.suffix != ".a":
                raise BuildError(
                    f"unknown library {name}",
                    f'give "{PICOLIBC}", or the path of an archive that ends in .a',
                )
            if not path.is_file():
                raise BuildError(f"library {path} does not exist", "check the path")
            archives.append(path.absolute())
        return cls(PICOLIBC in names, tuple(archives))

    def compile_flags(self, root: Path) -> list[str]:
        """Where the compiler finds <string.h>, or all headers of picolibc."""
        return [SPECS] if self.has_picolibc else ["-isystem", str(root / INCLUDE)]

    def linker(self, target: str) -> list[str]:
        """The command that links objects of TARGET, up to the first object.

        The machine is the one whose libgcc and picolibc are installed. Raises BuildError if the
        compiler or picolibc is not.
        """
        compiler = compiler_of(target)
        if self.has_picolibc:
            if not _archives(compiler, TARGETS[target].library):
                package = PACKAGES.get(Path(compiler).name, PICOLIBC)
                raise BuildError(f"{PICOLIBC} is not installed", f"apt install {package}")
            return [compiler, *TARGETS[target].library, SPECS]
        return [compiler, *TARGETS[target].library]

    def link_words(self, strings: Path) -> list[str]:
        """What comes after the program's own objects. STRINGS is the object of STRINGS."""
        picolibc = ["-lm", "-lc"] if self.has_picolibc else []
        archives = map(str, self.archives)
        return [str(strings), "-Wl,--start-group", *archives, *picolibc, "-lgcc", "-Wl,--end-group"]

    def missing(self, target: str, said: str) -> Missing | None:
        """Which libraries or symbols the linker missed; None if it missed none."""
        names = sorted({found["name"] for found in NOT_FOUND.finditer(said)})
        if names:
            library = PICOLIBC if set(names) <= {"c", "m"} else f"PATH/lib{names[0]}.a"
            flags = [f"-l{name}" for name in names]
            return Missing(f"the linker cannot find {_listed(flags)}", library)
        symbols = sorted({found["symbol"] for found in UNDEFINED.finditer(said)})
        if not symbols:
            return None
        left = {need for each in symbols for need in LEFT_TO_PROGRAM.get(each, ())}
        left |= {*symbols} & {*HEAP, *OUTPUT}
        if left:
            return Missing(
                f"malloc and stdio of {PICOLIBC} need {_listed(sorted(left))}, which the program"
                " has to define",
                step="do without malloc and stdio, or define these with"
                f' libraries = ["{PICOLIBC}"]',
            )
        known = _picolibc_symbols(compiler_of(target), TARGETS[target].library)
        elsewhere = [] if self.has_picolibc else [each for each in symbols if each in known]
        nowhere = [each for each in symbols if each not in elsewhere]
        if not nowhere:
            return Missing(f"{PICOLIBC} has {_listed(elsewhere)}, and is not linked", PICOLIBC)
        return Missing(f"no source and no library that is linked defines {_listed(nowhere)}")


def library_of_header(target: str, said: str) -> str | None:
    """Return the library that has the header which the compiler missed.

    None if it missed none, or if no library has it. A program that asked for the library misses
    none of its headers. Cost: one call of the preprocessor if a header is missing.
    """
    found = MISSING_HEADER.search(said)
    if found is None:
        return None
    command = [compiler_of(target), *TARGETS[target].library, SPECS, "-E", "-x", "c", "-"]
    tried = run(command, given=f"#include <{found['header']}>\n")
    return PICOLIBC if tried.returncode == 0 else None


def _listed(symbols: Sequence[str]) -> str:
    shown = ", ".join(symbols[:SYMBOLS_SHOWN])
    more = len(symbols) - SYMBOLS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


@functools.lru_cache(maxsize=8)
def _archives(compiler: str, library: tuple[str, ...]) -> tuple[Path, ...]:
    """The archives of picolibc for a machine; empty if it is not installed."""
    command = [compiler, *library, SPECS, "-nostdlib", "-Wl,--verbose", "-lm", "-lc"]
    tried = run([*command, "-o", os.devnull]).stdout
    opened = map(Path, re.findall(r"^attempt to open (.+) succeeded$", tried, re.MULTILINE))
    found = tuple(path for path in opened if path.name in ARCHIVES)
    return found if len(found) == len(ARCHIVES) else ()


@functools.lru_cache(maxsize=8)
def _picolibc_symbols(compiler: str, library: tuple[str, ...]) -> frozenset[str]:
    """What picolibc defines; nothing if it is not installed."""
    archives = _archives(compiler, library)
    if not archives:
        return frozenset()
    nm = run([compiler, "-print-prog-name=nm"]).stdout.strip()
    listed = run([nm, "--defined-only", "--extern-only", "-P", *map(str, archives)]).stdout
    return frozenset(line.split()[0] for line in listed.splitlines() if line.count(" ") >= 2)
