"""Who may use whom: reads the tables of arrows in DESIGN.md, and what each file really uses.

1. A file is in the row with the longest folder that it lies in; `*` stands for one folder.
2. C, C++ and SystemVerilog use what they include, Python what it imports. A name is looked up as
   compilers and Python do: next to the file, from the root, else as the end of a file's path. If
   several files have that end, the use is a finding: it must name its folder. A name in angle
   brackets is looked up from the root only.
3. Every use is an arrow from row to row. It must be in the table.
4. A document links as its folder uses. It may also link to files below it, and to files without a
   row: the documents of the whole house, which link everywhere.
"""

import ast
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sources import is_test

FOLDERS_TABLE = ("folder", "what it is", "may use")
MECHANISMS_TABLE = ("mechanism", "what it is", "may include")
C_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".S", ".sv", ".svh"}
INCLUDE = re.compile(r'^\s*[#`]\s*include\s*(["<])([^">]+)[">]', re.M)
# A link of a document, without the place in the page; and fenced text, which has no links.
LINK = re.compile(r"\]\(([^)#\s]+)")
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
# Where Python finds modules, from the root; installed, the recipes are a part of the package.
MODULE_ROOTS = ("", "tool", "scripts")
MODULE_ALIASES = {("tautochrone", "targets"): ("targets",)}
# What tests share; the rows of DESIGN.md need not name it.
TESTING = "testing"
# What a mechanism is that all others may include.
BASE = "base"
# Folders of the core whose files belong to no mechanism.
NO_MECHANISM = {"ports", "tests"}


@dataclass(frozen=True)
class Row:
    """One row of a table: the name, and the names that it may use."""

    name: str
    about: str
    uses: frozenset[str]


def rows_of(design: str, head: tuple[str, ...]) -> list[Row]:
    """Return the rows of the table with this head; names are what stands in backticks."""
    rows: list[Row] = []
    inside = False
    for line in design.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if tuple(cells) == head:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and "`" in cells[0]:
            uses = frozenset(re.findall(r"`([^`]+)`", cells[-1]))
            rows += [Row(name, cells[1], uses) for name in re.findall(r"`([^`]+)`", cells[0])]
    return rows


def folder_of(path: Path, pattern: str) -> str | None:
    """Return the folder of `path` that `pattern` names, None if `path` lies elsewhere."""
    parts = tuple(pattern.split("/"))
    here = path.parts[: len(parts)]
    lies = len(path.parts) > len(parts) and all(map(_is_named, here, parts))
    return "/".join(here) if lies else None


def _is_named(name: str, pattern: str) -> bool:
    return pattern in ("*", name)


def row_of(path: Path, rows: list[Row]) -> tuple[str, Row] | None:
    """Return the longest folder of a row that `path` lies in, and the row; names before `*`."""
    found = [(folder, row) for row in rows if (folder := folder_of(path, row.name))]
    order = lambda pair: (pair[0].count("/"), "*" not in pair[1].name)
    return max(found, key=order, default=None)


def may_use(row: Row, target_folder: str) -> bool:
    """Tell whether a row names a folder; a name that ends with `/` is all that lies below it."""
    for name in row.uses:
        below = name.endswith("/") and f"{target_folder}/".startswith(name)
        if below or folder_of(Path(target_folder, "file"), name) == target_folder:
            return True
    return False


@dataclass
class Uses:
    """What the files of a tree use, as paths from its root."""

    root: Path
    files: list[Path]
    names: set[Path] = field(init=False)
    places: dict[Path, list[tuple[str, list[Path]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = {path.relative_to(self.root) for path in self.files}

    @cached_property
    def by_name(self) -> dict[str, list[Path]]:
        """Every file by the last part of its path."""
        found: dict[str, list[Path]] = defaultdict(list)
        for name in self.names:
            found[name.name].append(name)
        return found

    def of(self, name: Path) -> Iterator[Path]:
        """Yield each file of the tree that the file NAME uses."""
        for _, places in self._places(name):
            if len(places) == 1:
                yield places[0]

    def unclear(self, name: Path) -> Iterator[tuple[str, list[Path]]]:
        """Yield each use that may mean several files, as the file NAME spells it, and the files."""
        for spelled, places in self._places(name):
            if len(places) > 1:
                yield spelled, sorted(places)

    def _places(self, name: Path) -> list[tuple[str, list[Path]]]:
        if name not in self.places:
            self.places[name] = list(self._find_places(name))
        return self.places[name]

    def _find_places(self, name: Path) -> Iterator[tuple[str, list[Path]]]:
        text = (self.root / name).read_text()
        if name.suffix in C_SUFFIXES:
            for mark, include in INCLUDE.findall(text):
                if mark == '"':
                    yield include, self._included(name, Path(include))
                elif Path(include) in self.names:
                    yield include, [Path(include)]
        elif name.suffix == ".py":
            for module in modules_of(text, name):
                yield ".".join(module), self._imported(name, module)

    def _included(self, name: Path, include: Path) -> list[Path]:
        for folder in (name.parent, Path()):
            place = Path(os.path.normpath(folder / include))
            if place in self.names:
                return [place]
        return self._with_end(include)

    def _imported(self, name: Path, module: tuple[str, ...]) -> list[Path]:
        """The module or package, of `from a import b` also b if it is a module."""
        for short, path in MODULE_ALIASES.items():
            if module[: len(short)] == short:
                module = path + module[len(short) :]
        places = [name.parent, *(Path(root) for root in MODULE_ROOTS)]
        for length in (len(module), len(module) - 1):
            for place in places if length else ():
                base = Path(place, *module[:length])
                for file in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
                    if file in self.names:
                        return [file]
        if module[0] in sys.stdlib_module_names:
            return []
        return self._with_end(Path(f"{module[0]}.py"))

    def _with_end(self, end: Path) -> list[Path]:
        parts = tuple(part for part in end.parts if part != "..")
        return [path for path in self.by_name[end.name] if path.parts[-len(parts) :] == parts]


def modules_of(text: str, name: Path) -> Iterator[tuple[str, ...]]:
    """Yield what a Python file imports, each imported name as a module of its own."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.parts[: len(name.parts) - node.level] if node.level else ()
            module = above + tuple((node.module or "").split("."))
            parts = tuple(part for part in module if part)
            yield from (parts + (alias.name,) for alias in node.names)


def folder_findings(root: Path, files: list[Path], rows: list[Row]) -> Iterator[str]:
    """Yield each use that the table of folders does not have, with both ends named."""
    uses = Uses(root, files)
    for name in sorted(uses.names):
        if name.suffix not in (*C_SUFFIXES, ".py"):
            continue
        if (here := row_of(name, rows)) is None:
            yield f"{name}: its folder has no row in DESIGN.md's table of arrows"
            continue
        for spelled, places in uses.unclear(name):
            listed = ", ".join(map(str, places))
            yield f"{name}: `{spelled}` is one of {listed}: name its folder"
        for target in sorted(set(uses.of(name))):
            there = row_of(target, rows)
            if there is None or there[0] == here[0]:
                continue  # a target without a row is a finding once, at its own place
            if is_test(target) and target.parts[0] != name.parts[0]:
                yield f"{name}: uses {target}, a test of another side"
            elif not may_use(here[1], there[0]) and not (is_test(name) and there[0] == TESTING):
                yield f"{name}: {here[0]} may not use {there[0]} ({target})"


def document_findings(root: Path, files: list[Path], rows: list[Row]) -> Iterator[str]:
    """Yield each link of a folder's document that the table of folders does not have."""
    for path in files:
        name = path.relative_to(root)
        here = row_of(name, rows)
        if name.suffix != ".md" or here is None:
            continue
        for link in LINK.findall(FENCED.sub("", path.read_text())):
            if ":" in link:
                continue  # another site's
            target = Path(os.path.normpath(name.parent / link))
            there = row_of(target / "file" if (root / target).is_dir() else target, rows)
            if there is None or there[0] == here[0] or name.parent in target.parents:
                continue
            if not may_use(here[1], there[0]):
                yield f"{name}: {here[0]} may not link to {there[0]} ({target})"


def is_of_a_mechanism(name: Path) -> bool:
    """Tell whether a file is one of the core's own, not of its ports or tests."""
    in_core = name.parts[0] == "core" and name.suffix in C_SUFFIXES
    return in_core and not NO_MECHANISM & set(name.parts)


def mechanism_of(path: Path, rows: list[Row]) -> Row | None:
    """Return the mechanism that a file of the core belongs to: x_y.h is part of x."""
    mine = [row for row in rows if path.stem == row.name or path.stem.startswith(f"{row.name}_")]
    return max(mine, key=lambda row: len(row.name), default=None)


def mechanism_findings(root: Path, files: list[Path], rows: list[Row]) -> Iterator[str]:
    """Yield each include in the core that the table of mechanisms does not have."""
    uses = Uses(root, files)
    for name in sorted(uses.names):
        if not is_of_a_mechanism(name):
            continue
        if (mine := mechanism_of(name, rows)) is None:
            yield f"{name}: {name.stem} has no row in DESIGN.md's table of mechanisms"
            continue
        for target in sorted(set(uses.of(name))):
            theirs = mechanism_of(target, rows) if is_of_a_mechanism(target) else None
            if theirs in (None, mine) or theirs.about == BASE:
                continue
            if theirs.name not in mine.uses:
                yield f"{name}: {mine.name} may not include {theirs.name} ({target})"


def findings(root: Path, files: list[Path]) -> Iterator[str]:
    """Yield everything that DESIGN.md's two tables of arrows do not allow."""
    design = root / "DESIGN.md"
    if not design.exists():
        yield "DESIGN.md: missing, it has the tables of arrows"
        return
    text = design.read_text()
    for head, checks in (
        (FOLDERS_TABLE, (folder_findings, document_findings)),
        (MECHANISMS_TABLE, (mechanism_findings,)),
    ):
        rows = rows_of(text, head)
        if not rows:
            yield f"DESIGN.md: no table with the head | {' | '.join(head)} |"
        for check in checks if rows else ():
            yield from check(root, files, rows)
