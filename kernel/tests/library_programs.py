"""Small programs that need libgcc, string functions or picolibc: C code, and what each gives.

A program is the body of `uint32_t result(void)`. `data` is a volatile array of eight words, 1 … 8,
so that nothing is computed by the compiler. Applications and tasks link each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

PRELUDE = """\
#include <stdint.h>
#include <string.h>
static volatile uint32_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
"""


@dataclass(frozen=True)
class LibraryProgram:
    """C code before the function, its body, its result, and the libraries it asks for."""

    body: str
    result: int
    before: str = ""
    libraries: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """`static uint32_t result(void)`, with all that it needs."""
        function = f"__attribute__((noinline)) static uint32_t result(void) {{\n{self.body}\n}}\n"
        return PRELUDE + self.before + function


PROGRAMS = {
    "floats": LibraryProgram("float x = data[6]; return (uint32_t)(x / 2.0f * 100.0f);", 350),
    "doubles": LibraryProgram("double x = data[6]; return (uint32_t)(x * x / 1.6);", 30),
    "comparison": LibraryProgram(
        "float x = data[1], y = data[2]; return x < y && y >= x ? data[7] : 0;", 8
    ),
    "division": LibraryProgram(
        "uint64_t x = (uint64_t)data[7] << 40; return (uint32_t)(x / (data[2] * 1000000007ull));",
        2932,
    ),
    "remainder": LibraryProgram(
        "int64_t x = -((int64_t)data[4] << 35); return (uint32_t)-(x % (int64_t)(data[6] << 4));",
        48,
    ),
    "product": LibraryProgram(
        "uint64_t x = data[7] * 0x100000001ull; return (uint32_t)((x * x) >> 33);", 64
    ),
    "bits": LibraryProgram(
        "return __builtin_popcount(data[6]) + __builtin_clz(data[7]) + __builtin_ctz(data[3]);", 33
    ),
    "copy": LibraryProgram(
        "uint32_t a[8]; memcpy(a, (const void *)data, sizeof a);"
        " memmove(a + 1, a, 24); return a[7] * 10 + a[1];",
        81,
    ),
    "fill": LibraryProgram(
        "unsigned char a[33]; memset(a, (int)data[1], data[7]); memset(a + 3, 9, 2);"
        " return a[0] + a[3] + a[7];",
        13,
    ),
    "structures": LibraryProgram(
        "struct big a = {{0}}; a.word[data[4]] = 7; struct big b = a; return b.word[5] + give(b);",
        14,
        "struct big { uint32_t word[70]; };\n"
        "__attribute__((noinline)) static uint32_t give(struct big b) { return b.word[5]; }\n",
    ),
    "texts": LibraryProgram(
        "const char *volatile text = words[data[0]];"
        " return (uint32_t)(strlen(text) * 100 + (strchr(text, 't') - text));",
        1103,
        'static const char *const words[] = {"", "isotropic-1", ""};\n',
    ),
    "order": LibraryProgram(
        'const char *volatile a = "abcd"; return memcmp(a, "abce", data[2]) == 0'
        ' && memcmp(a, "abce", data[3]) < 0;',
        1,
    ),
    "own": LibraryProgram(
        "unsigned char a[4] = {1, 2, 3, 4}; memset(a, 7, data[3]); return a[0];",
        9,
        "void *memset(void *to, int value, size_t n) { unsigned char *p = to;"
        " for (size_t i = 0; i < n; i++) { p[i] = (unsigned char)(value + 2); } return to; }\n",
    ),
    "roots": LibraryProgram(
        "return (uint32_t)(sqrt(data[7] * 2.0) + 100 * sin(0.5));",
        51,
        "#include <math.h>\n",
        ("picolibc",),
    ),
    "numbers": LibraryProgram(
        'char text[16]; sprintf(text, "%u", (unsigned)data[5]);'
        ' return (uint32_t)strtol("12", NULL, 8) + (uint32_t)atoi(text);',
        16,
        "#include <stdio.h>\n#include <stdlib.h>\n",
        ("picolibc",),
    ),
}
