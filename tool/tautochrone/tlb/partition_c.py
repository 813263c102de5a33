"""Writes a partition as C: the constants that core/tlb_color.h takes, in a plan and on the tile.

PREFIX begins the name of each constant.
"""

from collections.abc import Iterable, Sequence

from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import UNCOLORED, Principal

WORDS_IN_LINE = 8


def array(prefix: str, kind: str, name: str, rows: Iterable[str]) -> list[str]:
    """An array of structures."""
    return [
        f"static const {kind} {prefix}{name}[] = {{",
        *(f"    {{{row}}}," for row in rows),
        "};",
    ]


def words(prefix: str, kind: str, name: str, values: Sequence[int]) -> list[str]:
    """An array of numbers."""
    lines = [f"static const {kind} {prefix}{name}[] = {{"]
    for start in range(0, len(values), WORDS_IN_LINE):
        row = (f"{value:#x}u" for value in values[start : start + WORDS_IN_LINE])
        lines.append(f"    {', '.join(row)},")
    return [*lines, "};"]


def geometry(prefix: str, value: Geometry) -> list[str]:
    """`geometry`, with the arrays that it points to."""
    lines = array(
        prefix,
        "struct tau_tlb_color_array",
        "arrays",
        [f"{each.sets}u, {each.ways}u, {each.safe_ways}u" for each in value.arrays],
    )
    structures = []
    for number, each in enumerate(value.structures):
        rows = "NULL"
        if each.rows:
            rows = f"{prefix}rows_{number}"
            lines += words(prefix, "uintptr_t", f"rows_{number}", each.rows)
        role = f"TAU_TLB_COLOR_{each.role.upper()}"
        page_log2 = log2(each.page_bytes)
        structures.append(f"{rows}, {each.constant}u, {role}, {page_log2}u, {each.array}u")
    lines += array(prefix, "struct tau_tlb_color_structure", "structures", structures)
    return [
        *lines,
        f"static const struct tau_tlb_color_geometry {prefix}geometry = {{",
        f"    {prefix}arrays, {prefix}structures, {len(value.arrays)}u,"
        f" {len(value.structures)}u, {log2(value.page_bytes)}u}};",
        "",
    ]


def sets_and_windows(
    prefix: str,
    value: Geometry,
    number: int,
    principal: Principal,
    windows: Sequence[tuple[int, int]],
) -> list[str]:
    """`sets_NUMBER` and `windows_NUMBER` of a principal; a window is its start and its bytes."""
    lines, rows = [], []
    for place, (facts, sets) in enumerate(zip(value.arrays, principal.sets, strict=True)):
        own = "NULL"
        if sets:
            own = f"{prefix}owned_{number}_{place}"
            bits = sum(1 << index for index in sets)
            masks = [bits >> 32 * word & 0xFFFFFFFF for word in range(-(-facts.sets // 32))]
            lines += words(prefix, "uint32_t", f"owned_{number}_{place}", masks)
        rows.append(f"{own}, {principal.taken[place]}u")
    lines += array(prefix, "struct tau_tlb_color_sets", f"sets_{number}", rows)
    page_log2 = log2(value.page_bytes)
    return lines + array(
        prefix,
        "struct tau_tlb_color_window",
        f"windows_{number}",
        [f"{start:#x}u, {log2(size)}u, {page_log2}u" for start, size in windows],
    )


def principals(prefix: str, windows_counts: Iterable[int]) -> list[str]:
    """`principals`, of how many windows each has."""
    return array(
        prefix,
        "struct tau_tlb_color_principal",
        "principals",
        [
            f"{prefix}sets_{number}, {prefix}windows_{number}, {count}u"
            for number, count in enumerate(windows_counts)
        ],
    )


def mode(principal: Principal) -> str:
    """The constant of a principal's mode."""
    name = "ISOLATED" if principal.mode == UNCOLORED else principal.mode.upper().replace("-", "_")
    return f"TAU_TLB_COLOR_{name}"


def log2(value: int) -> int:
    """The logarithm of a power of two."""
    return value.bit_length() - 1
