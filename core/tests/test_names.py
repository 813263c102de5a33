"""No name of the core is one that a system's headers, or a port's macros, can have too.

Method: each file-scope name of the core begins with `tau_` or its mechanism's noun. Everything is
compiled after all headers of POSIX and macros as windows.h has them, in C, and the headers in C++.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.tests.kit.core_build import CORE, ROOT

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Headers of POSIX and of both libraries here.
HEADERS = """
aio argz assert complex cpio ctype dirent dlfcn envz err errno error fcntl fenv float fmtmsg fnmatch
ftw getopt glob grp iconv inttypes iso646 langinfo libgen limits locale malloc math memory monetary
mqueue ndbm netdb nl_types paths poll pthread pwd reent regex sched search semaphore setjmp signal
spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings syslog
tar termios threads time ulimit unctrl unistd utime utmp utmpx wchar wctype wordexp arpa/inet net/if
netinet/in netinet/tcp sys/cdefs sys/file sys/ioctl sys/ipc sys/lock sys/mman sys/msg sys/param
sys/queue sys/reent sys/resource sys/select sys/sem sys/shm sys/signal sys/socket sys/stat
sys/statvfs sys/time sys/timeb sys/times sys/tree sys/types sys/uio sys/un sys/utsname sys/wait
""".split()
MACROS = {
    **{"min(a, b)": "0", "max(a, b)": "0", "bit(a)": "0", "lowest(a)": "0", "zero(a)": "0"},
    **{"small": "char", "hyper": "long", "interface": "struct"},
    **dict.fromkeys("near far pascal IN OUT OPTIONAL THIS VOID WINAPI CALLBACK".split(), ""),
    **dict.fromkeys("FREE FLAGS SIZE ERROR ALIGNED CANARY ENTRIES ORIGIN PLAIN".split(), "0"),
    **dict.fromkeys("READ WRITE RESET SET NO_ERROR NO_LIMIT PAGE_SIZE PAGE_NOACCESS".split(), "0"),
}
TARGETS = {"host": "", "m4": "arm-none-eabi-"}
# The port of a hart with 64-bit addresses.
HOST_ONLY = {"sv39_code.c"}
PARTS = {"paged"}  # Names that heaps on pages share.
# By the linker, the library or Zephyr.
GIVEN = re.compile(r"__(wrap|real)_\w+|memmove|memset|SYS_INIT|HEAP_LISTENER_\w+_DEFINE")
MAIN = re.compile(r'extern "C" \{|//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
BRACES = re.compile(r"\{[^{}]*\}")
NEITHER = re.compile(r"__attribute__|_Static_assert|TAU_STATIC_ASSERT|__asm__")


def sources() -> list[Path]:
    """Each C file of the core, without tests and ports to a C library, which define its names."""
    ports = CORE / "ports"
    found = sorted(CORE.rglob("*.c"))
    return [each for each in found if "tests" not in each.parts and each.parent.parent != ports]


def noun(path: Path) -> str:
    """The mechanism that PATH belongs to: its name, or the first words of it."""
    nouns = {source.stem for source in sources()} | PARTS
    words = path.stem.split("_")
    starts = ["_".join(words[:count]) for count in range(1, len(words))]
    return next((start for start in starts if start in nouns), path.stem)


def defined(text: str) -> Iterator[str]:
    """What C source defines at file scope: macros, tags, constants, functions, variables, types."""
    text = MAIN.sub("", text.replace("\\\n", " "))
    yield from re.findall(r"^\s*#\s*define (\w+)", text, re.M)
    text = re.sub(r"^\s*#.*", "", text, flags=re.M)
    yield from re.findall(r"\b(?:struct|union|enum) (\w+)(?= \{)", text)
    for body in re.findall(r"\benum(?: \w+)? \{([^}]*)\}", text):
        yield from re.findall(r"\w+", re.sub(r"=[^,]*", "", body))
    while BRACES.search(text):
        text = BRACES.sub(";", text)
    for statement in text.split(";"):
        head = NEITHER.split(statement)[0] if "_assert" in statement.lower() else statement
        head = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", head).split("=")[0]
        if found := re.search(r"\(\*(\w+)\)\(|(\w+)\(|\b\w+ \**(\w+)(?:\[.*)?\s*$", head, re.S):
            name = next(group for group in found.groups() if group)
            if not re.search(rf"(struct|union|enum) {name}\s*$", head):
                yield name


def test_every_name_begins_with_its_mechanism() -> None:
    headers = [path for path in sorted(CORE.rglob("*.h")) if "tests" not in path.parts]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*sources(), *headers]
        for name in defined(path.read_text())
        if not re.match(rf"tau_|{noun(path)}(_|$)", name, re.I) and not GIVEN.fullmatch(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_kind_of_name_is_found() -> None:
    text = """
    #define A(x) { x }
    struct b { int no; }; enum c { D = 1, E, /* no, */ };
    typedef bool (*f)(int no);  // no(
    extern "C" {
    static __attribute__((noinline, unused)) enum c
    g(struct b no) { int no = no(no); }
    static const struct b h = { .no = 1 }; static unsigned i[4], *const no; extern struct b k;
    _Static_assert(sizeof(struct b) == 4, "no"); struct b; l *m(void);
    }
    """
    assert sorted(defined(text)) == sorted("A b c D E f g h i k m".split())


@dataclass(frozen=True)
class Compiler:
    """A target's compilers, and where their complaints about a file come from."""

    tools: str
    folder: Path

    def complaints(
        self, path: Path, *arguments: str, language: str = "c", made: Path | None = None
    ) -> str:
        """The compiler's messages about PATH; it may be MADE into a header that is read fast."""
        command = {"c": ["gcc", "-std=c17"], "c++": ["g++", "-xc++", "-std=c++17"]}[language]
        command[0] = self.tools + command[0]
        kind = ["-fsyntax-only"]
        if made is not None:
            kind = [f"-x{language}-header", "-c", "-o", str(made)]
        command += ["-D_GNU_SOURCE", *kind, f"-I{ROOT}", *arguments, str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    def complaints_behind(self, path: Path, language: str = "c") -> str:
        """The compiler's output for PATH after the headers and the macros."""
        behind = ["-include", str(self.folder / "behind.h")]
        return self.complaints(path, *STRICT, *behind, language=language)

    def present(self) -> list[str]:
        """The headers that it has."""
        probe = self.folder / "probe.h"
        absent = '#if !__has_include(<{0}.h>)\n#pragma message "no <{0}>"\n#endif\n'
        probe.write_text("".join(absent.format(header) for header in HEADERS))
        missing = re.findall(r"no <(.+?)>", self.complaints(probe))
        return [header for header in HEADERS if header not in missing]

    def usable(self, headers: list[str]) -> list[str]:
        """The headers that compile in C and in C++, each after those before it."""
        probe = self.folder / "probe.h"
        probe.write_text("".join(f"#include <{header}.h>\n" for header in headers))
        if not any(self.complaints(probe, "-w", language=each) for each in ("c", "c++")):
            return headers
        half = len(headers) // 2
        return [*self.usable(headers[:half]), *self.usable(headers[half:])] if half else []

    def precompile(self) -> None:
        """Read system.h once for each language: behind.h, which includes it, is taken from that."""
        behind = self.folder / "behind.h"
        behind.write_text('#include "system.h"\n')
        (self.folder / "behind.h.gch").mkdir()
        for language in ("c", "c++"):
            made = self.folder / "behind.h.gch" / language
            said = self.complaints(behind, *STRICT, language=language, made=made)
            assert not said and made.exists(), said


@pytest.fixture(scope="module", params=TARGETS)
def compiler(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """The compilers of a target; system.h has the headers that it has in C and in C++."""
    made = Compiler(TARGETS[request.param], tmp_path_factory.mktemp("names"))
    lines = ["#pragma GCC system_header"]
    lines += [f"#include <{header}.h>" for header in made.usable(made.present())]
    assert {f"#include <{name}.h>" for name in ("unistd", "string", "sys/stat")} <= {*lines}
    for macro, value in MACROS.items():
        lines += [f"#undef {macro.partition('(')[0]}", f"#define {macro} {value}"]
    (made.folder / "system.h").write_text("\n".join(lines) + "\n")
    made.precompile()
    return made


def test_sources_compile_behind_a_system(compiler: Compiler) -> None:
    """The single file too, in which the names of all mechanisms meet."""
    command = [sys.executable, str(ROOT / "scripts/amalgamate.py"), str(compiler.folder)]
    subprocess.run(command, check=True, capture_output=True)
    paths = [path for path in sources() if not (compiler.tools and path.name in HOST_ONLY)]
    single = [compiler.folder / name for name in ("tautochrone.c", "tautochrone_pools.c")]
    for path in [*paths, *single]:
        said = compiler.complaints_behind(path)
        assert not said, said


def test_public_headers_compile_behind_a_system(compiler: Compiler) -> None:
    """In C++ too, which is how a program of C++ sees them."""
    for path in CORE.rglob("*.h"):
        if not {"tests", "private"} & {*path.parts} and not path.stem.endswith("_inline"):
            for language in ("c", "c++"):
                said = compiler.complaints_behind(path, language)
                assert not said, said
