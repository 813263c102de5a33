"""House style as a test: prints each place that breaks a rule and exits 1 if there is one.

The rules, in the order of RULES:

- length of lines, functions and files;
- file names and words;
- links;
- limits of time in tests;
- arrows of includes, imports and documents;
- lines that each part brings along;
- stale generated files;
- exported symbols;
- C types in Python.

Each of them is broken in scripts/test_tidy.py.
"""

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from arrows import findings as arrow_findings
from closure import findings as closure_findings
from sources import core_sources, functions_of, is_test, tree_files, tree_paths

LINE_COLUMNS_MAX = 100
LINE_SUFFIXES = {".c", ".h", ".py", ".sh", ".sv", ".svh", ".cpp", ".hpp", ".rs", ".md"}
# Fenced blocks of documents that show a command or its output: a line is a line there.
SHOWN_AS_IT_IS = ("```sh", "```console")
FUNCTION_LINES_MAX = 70
DOCUMENT_LINES_MAX = {"README.md": 150, "DESIGN.md": 200, "SPEC.md": 100}
FILE_LINES_MAX = {".c": 600, ".h": 600, ".hpp": 600, ".py": 600, ".rs": 600, ".sh": 200, ".sv": 600}
TIME_LIMIT = re.compile(r"\b(?:timeout=|\w*(?:SECONDS|TIMEOUT)\w* = )(\d+(?:\.\d+)?)\b(?! \*)")
TIME_LIMIT_SECONDS_MIN = 300
IMPATIENT = "# it is to end early"
C_TYPES = ("ctypes.Structure", "ctypes.Union", ".argtypes", ".restype")
DECLARATIONS = "declarations.py"  # the one module that has them
BANNED_NAMES = {"utils", "util", "common", "misc", "helpers", "helper", "manager"}
# Beginnings of words that end in -or and -ize here.
OUR = ("col", "neighb", "behavi", "fav", "hon")
IZE = ("initial", "optim", "minim", "maxim", "synchron", "recogn", "normal", "real", "organ")
WORDS = (
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "unfinished"),
    (
        # FreeRTOS's vPortInitialiseBlocks has its name.
        re.compile(rf"(?i)(?:{'|'.join(OUR)})our|(?<!vPort)(?:{'|'.join(IZE)})is(?:e|ing|ation)"),
        "not US spelling",
    ),
)
# The first two quote papers, the others these rules.
WORDS_QUOTED = {
    Path("docs/papers.md"),
    Path("docs/glossary.md"),
    Path("scripts/tidy.py"),
    Path("scripts/test_tidy.py"),
}


def lengths(root: Path, files: list[Path]) -> Iterator[str]:
    """Lines, functions, files and the README are short enough to read."""
    for path in files:
        name = path.relative_to(root)
        if path.suffix not in LINE_SUFFIXES:
            continue
        lines = path.read_text().splitlines()
        limit = DOCUMENT_LINES_MAX.get(str(name)) or FILE_LINES_MAX.get(path.suffix)
        if limit and len(lines) > limit:
            yield f"{name}: {len(lines)} lines, at most {limit}"
        for number, line in held_lines(path, lines):
            if len(line) > LINE_COLUMNS_MAX:
                yield f"{name}:{number}: {len(line)} columns, at most {LINE_COLUMNS_MAX}"
        for first, count in functions_of(path) if path.suffix in (".c", ".py") else ():
            if count > FUNCTION_LINES_MAX:
                yield f"{name}:{first}: a function of {count} lines, at most {FUNCTION_LINES_MAX}"


def held_lines(path: Path, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines whose length counts: of a document not its tables and commands."""
    fence = ""
    for number, line in enumerate(lines, 1):
        if path.suffix == ".md" and line.startswith("```"):
            fence = "" if fence else line
        if path.suffix != ".md" or not (line.startswith("|") or fence in SHOWN_AS_IT_IS):
            yield number, line


def names_and_words(root: Path, files: list[Path]) -> Iterator[str]:
    """Each file's name says what it is about; nothing is unfinished; the spelling is American."""
    for path in files:
        name = path.relative_to(root)
        for part in name.parts:
            if part.split(".")[0] in BANNED_NAMES:
                yield f"{name}: say what it is about; `{part}` does not"
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue  # pictures and raw records
        for number, line in enumerate(lines, 1):
            for pattern, reason in WORDS if name not in WORDS_QUOTED else ():
                if found := pattern.search(line):
                    yield f"{name}:{number}: `{found.group()}` is {reason}"


def links(root: Path, _files: list[Path]) -> Iterator[str]:
    """No symbolic link: it may lead nowhere on another machine."""
    for path in tree_paths(root):
        if path.is_symlink():
            yield f"{path.relative_to(root)}: a link"


def patience(root: Path, files: list[Path]) -> Iterator[str]:
    """A test's limit of time only ends what hangs: a busy, slow machine takes much longer."""
    for path in files:
        name = path.relative_to(root)
        if path.suffix != ".py" or not (is_test(name) or "testing" in name.parts):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = TIME_LIMIT.search(line)
            if found and float(found[1]) < TIME_LIMIT_SECONDS_MIN and IMPATIENT not in line:
                yield f"{name}:{number}: {found[1]} s, at least {TIME_LIMIT_SECONDS_MIN}"


def arrows(root: Path, files: list[Path]) -> Iterator[str]:
    """Includes and imports follow the tables of DESIGN.md."""
    yield from arrow_findings(root, files)


def closures(root: Path, files: list[Path]) -> Iterator[str]:
    """No part of the product brings along more code than it may, and docs/closure.md is true."""
    yield from closure_findings(root, files)


def generated(root: Path, files: list[Path]) -> Iterator[str]:
    """The files that facts/gen.py writes are checked in."""
    generator = root / "facts" / "gen.py"
    if generator in files:
        check = [sys.executable, str(generator), "--check"]
        done = subprocess.run(check, capture_output=True, text=True)
        if done.returncode:
            yield f"facts/gen: stale, run facts/gen.py: {(done.stdout + done.stderr).strip()}"


def symbols(root: Path, files: list[Path]) -> Iterator[str]:
    """Every external symbol of core/x.c starts with tau_x_."""
    with tempfile.TemporaryDirectory() as folder:
        for path in core_sources(root, files):
            made = str(Path(folder) / f"{path.stem}.o")
            subprocess.run(["gcc", "-std=c17", "-c", f"-I{root}", path, "-o", made], check=True)
            listing = ["nm", "-g", "--defined-only", made]
            names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
            for symbol in (line.split()[-1] for line in names.splitlines()):
                if not symbol.startswith(f"tau_{path.stem}_"):
                    yield f"{path.relative_to(root)}: exports {symbol}, not tau_{path.stem}_…"


def mirrors(root: Path, files: list[Path]) -> Iterator[str]:
    """C types come from the headers, through one module."""
    for path in files:
        if path.suffix == ".py" and path.name != DECLARATIONS:
            text = path.read_text()
            tree = ast.parse(text if any(word in text for word in C_TYPES) else "")
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and ast.unparse(node).endswith(C_TYPES):
                    place = f"{path.relative_to(root)}:{node.lineno}"
                    yield f"{place}: {ast.unparse(node)}: use tautochrone.declarations"


RULES = (
    lengths,
    names_and_words,
    links,
    patience,
    arrows,
    closures,
    generated,
    symbols,
    mirrors,
)


def findings(root: Path) -> list[str]:
    """Return every place under `root` that breaks a rule."""
    files = tree_files(root)
    return [finding for rule in RULES for finding in rule(root, files)]


if __name__ == "__main__":
    broken = findings(Path(__file__).resolve().parent.parent)
    print("\n".join(broken) or "tidy: nothing to say", file=sys.stderr)
    sys.exit(1 if broken else 0)
