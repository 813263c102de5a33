"""Reads the repository's own sources for tidy.py: which files, which functions, which includes."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

SKIPPED_FOLDERS = {".git", ".venv", "build", "out", "_native", "__pycache__", ".pytest_cache"}


def tree_paths(root: Path) -> list[Path]:
    """Return what the repository has: git's list, or every file without git."""
    if (root / ".git").exists():
        listing = ["git", "-C", str(root), "ls-files"]
        names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
        return [root / name for name in names.splitlines()]
    paths = sorted(root.rglob("*"))
    return [path for path in paths if not SKIPPED_FOLDERS & set(path.relative_to(root).parts)]


def tree_files(root: Path) -> list[Path]:
    """Return the repository's files."""
    return [path for path in tree_paths(root) if path.is_file()]


def core_sources(root: Path, files: list[Path]) -> list[Path]:
    """Return the core's C files, one per mechanism: without ports, tests and the file of all."""
    core = root / "core"
    sources = [path for path in files if path.suffix == ".c" and core in path.parents]
    others = ("ports", "tests", "tau.c")
    return [path for path in sources if path.relative_to(core).parts[0] not in others]


def is_test(path: Path) -> bool:
    """Tell whether `path` is a test or belongs to one."""
    return bool({"tests", "tb"} & set(path.parts)) or path.name.startswith(("test_", "conftest"))


def functions_of(path: Path) -> Iterator[tuple[int, int]]:
    """Yield (first line, lines) of each function in a C or Python file."""
    text = path.read_text()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1
        return
    head = body = 0
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"[a-zA-Z_].*\(", line):
            head = number
        if head and not body and re.search(r"\)\s*\{$|^\{$", line):
            body = head
        if line.startswith("}"):
            if body and line.rstrip() == "}":
                yield body, number - body + 1
            head = body = 0
