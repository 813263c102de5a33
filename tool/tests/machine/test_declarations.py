"""A declaration in a C header reaches Python without an edit there.

Method: a small library is compiled with another type of a field each time, and called; as it is,
and as the build leaves it: stripped, with a file next to it.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tautochrone import declarations, native
from tautochrone.declarations import Library

HEADER = """#include <stdbool.h>
#include <stdint.h>
enum kind { KIND_SMALL, KIND_LARGE };
struct inner { uint8_t bytes[2][3]; };
struct outer {
    %s first;
    const volatile uint16_t *numbers;
    struct outer *next;
    struct hidden *hidden;
    struct inner inner[2];
    enum kind kind;
    const char *name;
    bool (*visit)(void *context);
};
double sum(const struct outer *outer, uint32_t count);
struct inner inner_of(struct outer outer, unsigned index);
const char *name_of(struct outer *outer);
"""
SOURCE = """#include "outer.h"
struct hidden { int unseen; };
double sum(const struct outer *outer, uint32_t count) {
    double sum = (double)outer->first + (outer->next ? outer->next->kind : 0);
    for (uint32_t i = 0; i < count; i++) { sum += outer->numbers[i]; }
    return sum;
}
struct inner inner_of(struct outer outer, unsigned index) { return outer.inner[index]; }
const char *name_of(struct outer *outer) { return outer->name; }
"""
TYPES = {
    "uint8_t": ctypes.c_uint8,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "_Bool": ctypes.c_bool,
    "enum kind": ctypes.c_uint32,
}


@pytest.mark.parametrize("is_stripped", [False, True])
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_a_type_that_changes_in_a_header_changes_in_python(
    tmp_path: Path, name: str, compiler: str, is_stripped: bool
) -> None:
    (tmp_path / "outer.h").write_text("#include <stddef.h>\n" + HEADER % name)
    (tmp_path / "outer.c").write_text(SOURCE)
    made = tmp_path / "libouter.so"
    command = [compiler, "-g", "-O2", "-shared", "-fPIC", "outer.c", "-o", made.name]
    subprocess.run(command, cwd=tmp_path, check=True)
    if is_stripped:
        subprocess.run([sys.executable, declarations.__file__, made], check=True)
        subprocess.run(["strip", "--strip-debug", made], check=True)
    library = Library(made)
    outer = library.struct("outer")
    assert outer.first.size == ctypes.sizeof(TYPES[name])
    assert dict(outer._fields_)["first"] is TYPES[name]
    numbers, inner = np.array([7, 70_000 % 65536], np.uint16), (((1, 2, 3), (4, 5, 6)),)
    one = outer(1, numbers, outer(kind=1), None, (inner, inner), 0, b"name")
    assert library.sum(one, len(numbers)) == 1 + 1 + numbers.sum()
    assert [list(row) for row in library.inner_of(one, 1).bytes] == [[1, 2, 3], [4, 5, 6]]
    assert library.name_of(one) == b"name"
    with pytest.raises(TypeError, match="uint32"):
        one.numbers = numbers.astype(np.uint32)
    with pytest.raises(ctypes.ArgumentError):
        library.sum(library.struct("inner")(), 0)


def test_every_structure_of_the_package_has_the_compilers_layout() -> None:
    """Making a class compares it with what the compiler did."""
    for path in native.DIRECTORY.glob("*.json"):
        library = native.library(f"{path.stem}.so")
        declared = library.declared
        assert all(library.struct(name)._fields_ for name in declared["structs"]), path
        assert all(getattr(library, name) for name in declared["functions"])
