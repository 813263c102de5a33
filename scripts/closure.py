"""How much code each part of the product brings along: writes the table of docs/closure.md.

The closure of a part is its own files and all that they use, directly or not:

- each file of ours that they include;
- the source of such a header: the file of the same name in the same folder;
- each SystemVerilog file whose name occurs as a word, as a module or a package.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from arrows import Uses
from sources import is_test, tree_files

PAGE = Path("docs/closure.md")
HEAD = "| part | begins with | files | code | all lines |\n|---|---|---|---|---|\n"
SUFFIXES = (".c", ".h", ".S", ".sv", ".svh")
WORD = re.compile(r"\btau_\w+")
NOT_CODE = re.compile(r"\s*(//.*|# .*)?")  # a blank line, or a comment, also of assembly
LINES_MAX = 2000
# Parts that are larger, and how large they may be.
LARGER = {
    "TLSF": 2590,
    "code pager of Linux": 2050,
    "budgeted heap": 3560,
    "pools for bands": 4120,
    "heap of a FreeRTOS firmware": 4480,
    "heap of a newlib firmware": 4370,
    "heap of a Zephyr firmware": 4430,
    "heap on pages": 4920,
    "TLB colors": 3350,
    "recorder of Linux programs": 3300,
    "library of `tau run`": 9460,
    "kernel of slots": 2550,
    "kernel of tasks": 4280,
    "tile, without a unit": 2100,
}
# A figure of the page is stale if it is off by more than this share.
STALE_SHARE = 0.05
PARTS = {
    "TLSF": ("core/tlsf.c",),
    "budgeted heap": ("core/budget.c",),
    "pools for bands": ("core/pools.c",),
    "heap on pages": ("core/page_heap.c",),
    "regions on Sv39": ("core/ports/sv39.c",),
    "cold code on Sv39": ("core/ports/sv39_code.c",),
    "TLB colors": ("core/tlb_color.c",),
    "heap of a newlib firmware": ("core/ports/newlib/heap.c",),
    "heap of a FreeRTOS firmware": ("core/ports/freertos/heap_tautochrone.c",),
    "heap of a Zephyr firmware": ("core/ports/zephyr/heap.c",),
    "recorder of a firmware": ("core/ports/record_wrap.c", "core/ports/record.c"),
    "recorder of Linux programs": ("linux/recorder/*.c",),
    "recorder of accesses": ("linux/accesses/*.c",),
    "library of `tau run`": ("linux/runtime/**/*.c",),
    "code pager of Linux": ("linux/coldcode/kernel/**/*.c",),
    "kernel of slots": ("kernel/slots/*.c", "kernel/slots/*.S"),
    "kernel of tasks": ("kernel/tasks/*.c", "kernel/tasks/*.S"),
    "MMU `pagetable`": ("hw/pagetable/rtl/*.sv",),
    "MMU `rtmmu`": ("hw/rtmmu/rtl/*.sv",),
    "MMU `composable`": ("hw/composable/rtl/*.sv",),
    "MMU `tlb`": ("hw/tlb/rtl/*.sv",),
    "tile, without a unit": ("hw/tile/rtl/*.sv",),
}


class Closure:
    """What the files of a tree bring along."""

    def __init__(self, root: Path, files: list[Path]) -> None:
        self.root = root
        kept = [path for path in files if path.suffix in SUFFIXES]
        self.uses = Uses(root, [path for path in kept if not is_test(path.relative_to(root))])
        self.modules = {name.stem: name for name in self.uses.names if name.suffix == ".sv"}

    def used_by(self, name: Path) -> Iterator[Path]:
        """The files that one file brings along itself."""
        for used in self.uses.of(name):
            yield used
            if (source := used.with_suffix(".c")) in self.uses.names:
                yield source
        if name.suffix == ".sv":
            words = set(WORD.findall((self.root / name).read_text()))
            yield from (self.modules[word] for word in words & set(self.modules))

    def of(self, patterns: tuple[str, ...]) -> set[Path]:
        """The closure of all files that match a pattern."""
        matched = (path for pattern in patterns for path in self.root.glob(pattern))
        found = {path.relative_to(self.root) for path in matched} & self.uses.names
        left = list(found)
        while left:
            new = set(self.used_by(left.pop())) - found
            found |= new
            left += new
        return found

    def lines(self, names: set[Path]) -> list[str]:
        """The lines of these files."""
        return [line for name in names for line in (self.root / name).read_text().splitlines()]


def row_of(closure: Closure, part: str) -> tuple[str, int]:
    """The table's row of a part, and its lines."""
    names = closure.of(PARTS[part])
    begins = ", ".join(f"`{pattern}`" for pattern in PARTS[part])
    lines = closure.lines(names)
    code = sum(not NOT_CODE.fullmatch(line) for line in lines)
    return f"| {part} | {begins} | {len(names)} | {code:,} | {len(lines):,} |\n", len(lines)


def findings(root: Path, files: list[Path]) -> Iterator[str]:
    """Yield each part that is too large, and each stale figure of the page."""
    if not (root / PAGE).exists():
        return
    text = (root / PAGE).read_text()
    closure = Closure(root, files)
    for part in PARTS:
        _, lines = row_of(closure, part)
        limit = LARGER.get(part, LINES_MAX)
        if lines > limit:
            yield f"scripts/closure.py: {part}: {lines} lines to read, at most {limit}"
        stated = re.search(rf"^\| {re.escape(part)} \|.*\| ([\d,]+) \|$", text, re.M)
        number = int(stated[1].replace(",", "")) if stated else 0
        if abs(number - lines) > STALE_SHARE * lines:
            yield f"{PAGE}: {part}: {lines} lines, not {number}: run scripts/closure.py"


def write(root: Path) -> None:
    """Write the page's table again."""
    closure = Closure(root, tree_files(root))
    table = HEAD + "".join(row_of(closure, part)[0] for part in PARTS)
    before = (root / PAGE).read_text().partition(HEAD)[0]
    (root / PAGE).write_text(before + table)


if __name__ == "__main__":
    write(Path(__file__).resolve().parent.parent)
