"""Types that are easily mistaken for another: of equal name, without a name, or not a whole type.

A table compiled with the types has the expected sizes: the compiler's sizeof on the target.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tautochrone.translate.making import (
    ARRAYS,
    NO_COUNTERPART,
    NO_TYPE,
    SEVERAL,
    Size,
    Stated,
    translate,
)
from tool.tests.translate.builds import CXX, build, build_with_table, write_recording

TARGETS = ["arm", "riscv32"]
CPP = """
namespace a { struct node { node *next; long value; int k; }; }
namespace b { struct node { node *next; double value; double more; double other; }; }
namespace { struct hidden { void *p[9]; }; }
namespace a { inline namespace v2 { struct deep { void *p[10]; char c; }; } }
struct outer { struct inner; inner *first; enum class kind : long { x } k; static long total[50]; };
struct outer::inner { outer *back[11]; };
template <typename T, unsigned N> struct box { T items[N]; box *next; short n; };
struct base { virtual int run(); base *up; };
struct derived : base { int run() override; long extra[3]; char tail; };
struct bits { unsigned a : 3; unsigned long b : 33; unsigned char c : 7; void *p[17]; };
struct holder { union { long l; struct { void *p; short s; }; }; int n; void *q[13]; };
inline unsigned long local_size() { struct local { long l[14]; char c; }; local one; one.c = 1;
  return sizeof one + one.c; }
#ifndef TABLE
int base::run() { return 0; }
int derived::run() { return 1; }
a::node v0; b::node v1; hidden v2; a::deep v3; outer v4; outer::inner v5; box<long, 5> v6;
box<a::node, 7> v7; derived v8; bits v9; holder v10; decltype(&derived::run) v11;
unsigned long take() { return local_size() + sizeof(v2); }
#endif
"""
CPP_TYPES = (
    *("a::node", "b::node", "hidden", "a::deep", "outer", "outer::inner", "outer::kind", "base"),
    *("box<long, 5>", "box<a::node, 7>", "derived", "bits", "holder", "decltype(&derived::run)"),
)


def decided(
    folder: Path, host: Path, target: Path, sizes: list[int], stated: dict[int, int] | None = None
) -> dict[int, Size]:
    """The decision for each size."""
    recording = write_recording(folder / "r.tau", sizes, (host.name, 0x1010))
    given = Stated(stated or {}, frozenset())
    told = translate(recording, host, target, folder / "o.tau", given, force=True)
    return {one.call.size_bytes: one for one in told.sizes}


def pair(folder: Path, abi: str, *texts: str, words: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """Build the same units for the host and an ABI."""
    units = []
    for number, text in enumerate(texts):
        unit = folder / f"unit{number}.c"
        unit.write_text(text)
        units.append(unit)
    return build(folder, "x86-64", units, words), build(folder, abi, units, words)


@pytest.mark.parametrize("abi", TARGETS)
@pytest.mark.parametrize("form", ["-gdwarf-4", "-gdwarf-5", "-fdebug-types-section"])
def test_cplusplus(tmp_path: Path, abi: str, form: str) -> None:
    """Namespaces, templates, nested and local classes, bases, bit-fields, members of members."""
    words = (*CXX, form)
    host, ours = build_with_table(tmp_path, "x86-64", CPP, list(CPP_TYPES), words)
    target, theirs = build_with_table(tmp_path, abi, CPP, list(CPP_TYPES), words)
    found = decided(tmp_path, host, target, sorted(set(ours)))
    single = {"hidden", "a::deep", "outer::inner", "box<a::node, 7>", "derived", "bits", "holder"}
    assert {found[size].why for size in ours} <= {"", SEVERAL, NO_COUNTERPART}
    for name, size, target_size in zip(CPP_TYPES, ours, theirs, strict=True):
        targets = found[size].match.target_sizes
        assert target_size in targets, name
        assert found[size].target_bytes in (target_size, None), name
        assert (found[size].target_bytes == target_size) or name not in single, (name, found[size])


def test_a_local_type_of_a_function(tmp_path: Path) -> None:
    """It is matched within its function; equal names in two functions are two types."""
    text = """
    int f(void) { struct local { long l[14]; void *p; } one; one.p = &one; return !one.p; }
    int g(void) { struct local { long long l[20]; void *p; } one; one.p = &one; return !one.p; }"""
    host, target = pair(tmp_path, "arm", text)
    found = decided(tmp_path, host, target, [120, 168])
    assert found[120].target_bytes == 60 and found[168].target_bytes == 168
    assert found[120].match.candidates[0].type == "struct f()::local"


@pytest.mark.parametrize(
    ("second", "wanted"),
    [
        # Another size on the host: by unit.
        ("struct node { long long v[4]; struct node *n[2]; };", {24: 12, 48: 40}),
        # The same size on the host, another on the target: several.
        ("struct node { long long v[2]; struct node *n; };", {24: None}),
        # Other members of the same sizes: equal.
        ("struct node { long v[2]; char *n; };", {24: 12}),
    ],
)
def test_equal_names_in_two_units(
    tmp_path: Path, second: str, wanted: dict[int, int | None]
) -> None:
    first = "struct node { struct node *next, *before; long k; } va;"
    host, target = pair(tmp_path, "arm", first, f"{second} struct node vb;")
    found = decided(tmp_path, host, target, list(wanted))
    assert {size: one.target_bytes for size, one in found.items()} == wanted
    assert all(one.why in ("", SEVERAL) for one in found.values())


def test_a_unit_that_the_target_lacks(tmp_path: Path) -> None:
    """The other unit's type of that name is not its counterpart."""
    first = "struct node { struct node *next; void *p; } va;"
    second = "struct node { struct node *next; double d; } vb;"
    host, _ = pair(tmp_path, "arm", first, second)
    target = build(tmp_path, "arm", [tmp_path / "unit0.c"])
    found = decided(tmp_path, host, target, [16])
    assert found[16].target_bytes is None and found[16].why == NO_COUNTERPART


def test_a_definition_that_only_the_host_has(tmp_path: Path) -> None:
    """A forward declaration on the target is not a counterpart."""
    text = """struct plain { void *p[7]; } v;
    struct hosted
    #ifdef __x86_64__
    { void *p[8]; } w
    #else
    ; struct hosted *w
    #endif
    ;"""
    host, target = pair(tmp_path, "riscv32", text)
    found = decided(tmp_path, host, target, [56, 64])
    assert found[56].target_bytes == 28
    assert found[64].target_bytes is None and found[64].why == NO_COUNTERPART


def test_a_forward_declaration_is_not_a_definition(tmp_path: Path) -> None:
    """One unit declares the structure, another one defines it."""
    host, target = pair(
        tmp_path,
        "arm",
        "struct node; struct node *head; typedef struct node node_t; node_t *other;",
        "struct node { struct node *next; void *p[6]; } v; typedef struct node node_t; node_t w;",
    )
    found = decided(tmp_path, host, target, [56])
    assert found[56].target_bytes == 28
    assert {one.type for one in found[56].match.candidates} == {"struct node", "node_t"}


def test_typedefs_decide_with_others(tmp_path: Path) -> None:
    """A typedef of 64 bits on both sides disagrees with unsigned long, which it names on the host.
    """
    text = """
    #ifdef __x86_64__
    typedef unsigned long fixed; typedef int small;
    #else
    typedef unsigned long long fixed; typedef long small;
    #endif
    typedef struct { fixed a[5]; void *p; } record; typedef struct { void *p[5]; } plain;
    fixed v; unsigned long w; small s; int i; record r; plain q; _Bool t;"""
    host, target = pair(tmp_path, "arm", text)
    found = decided(tmp_path, host, target, [8, 4, 48, 40, 1])
    by_size = {size: one.target_bytes for size, one in found.items()}
    assert by_size == {8: None, 4: 4, 48: 48, 40: None, 1: 1}
    assert found[8].why == SEVERAL and found[8].match.target_sizes == (4, 8)
    assert found[40].match.target_sizes == (20, 40), "five pointers, or an array of fixed"


@pytest.mark.parametrize(("abi", "bytes_of_enum"), [("arm", 1), ("riscv32", 4)])
def test_short_enumerations(tmp_path: Path, abi: str, bytes_of_enum: int) -> None:
    """arm-none-eabi-gcc gives an enumeration the bytes that it needs."""
    text = "enum e { A, B } v; struct s { void *p; enum e e[16]; void *q; } w; char c;"
    host, target = pair(tmp_path, abi, text)
    found = decided(tmp_path, host, target, [4, 80, 1])
    candidates = {one.type: one.target_sizes for one in found[4].match.candidates}
    assert candidates["enum e"] == (bytes_of_enum,)
    assert found[80].target_bytes == 8 + 16 * bytes_of_enum
    assert found[1].target_bytes == 1


def test_flexible_arrays_and_arrays_are_hints(tmp_path: Path) -> None:
    """A size of header and elements is asked for; the header alone has a type's size."""
    text = """struct message { struct message *next; long n; short data[]; } *m;
    struct message v; struct point { void *p[5]; } w; unsigned char small;"""
    host, target = pair(tmp_path, "arm", text)
    found = decided(tmp_path, host, target, [16, 36, 15, 120])
    assert found[16].target_bytes == 8
    assert [found[size].target_bytes for size in (36, 15, 120)] == [None] * 3
    assert [found[size].why for size in (36, 15, 120)] == [NO_TYPE] * 3
    hints = {size: {(one.type, one.target_sizes) for one in found[size].match.candidates}
             for size in (36, 15, 120)}  # fmt: skip
    assert ("struct message with 10 elements", (28,)) in hints[36]
    assert hints[15] == set()
    assert ("3 x struct point", (60,)) in hints[120]
    stated = decided(tmp_path, host, target, [16, 36], {36: 28})
    assert stated[36].target_bytes == 28 and (tmp_path / "o.tau").exists()


def test_an_array_alone_tells_nothing(tmp_path: Path) -> None:
    """A buffer on the stack has a type of 64 bytes. Eight pointers on the heap have 64 bytes too.
    """
    text = """int f(char *out) { char line[64]; line[0] = 1; *out = line[0]; return 64; }
    typedef char name[72]; name v;"""
    host, target = pair(tmp_path, "arm", text)
    found = decided(tmp_path, host, target, [64, 72])
    assert found[64].target_bytes is None and found[64].why == ARRAYS
    assert found[72].target_bytes == 72, "a typedef names a type of objects"


def test_bounds_that_depend_on_the_abi(tmp_path: Path) -> None:
    """An array of other bounds on the target is not a counterpart, so nothing is computed from it.
    """
    text = "void *table[88 / sizeof(void *)]; struct s { void *p[10]; } v;"
    host, target = pair(tmp_path, "riscv32", text)
    found = decided(tmp_path, host, target, [80, 88])
    assert found[80].target_bytes == 40
    assert found[88].target_bytes is None and found[88].why == NO_COUNTERPART
