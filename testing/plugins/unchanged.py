"""A plugin of pytest: `--skip-unchanged` leaves out test files that passed with the same inputs.

The inputs of a test file are, by the table of arrows in DESIGN.md:

- each file in its folder's row, and in each row that these rows may use, however indirectly;
- `testing`, if a Python file of these rows imports it;
- each top folder that the row's Python files, or their modules of `testing`, name in quotes, with
  its tests only if they also name "tests";
- the files of the root, its documents only where the row's Python files name a document.

Tests of `scripts` and `tests` read the whole tree. Every test depends on the installed packages of
Debian and of Python, the installed command, the user, the machine and the environment.

A test file is recorded when all its tests have run and passed. Nothing is left out or recorded
under CI, if an option restricts what runs of a file, or where git or dpkg-query cannot say what the
inputs are.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

PLUGIN = "tautochrone-unchanged"
RECORD = "tautochrone/unchanged"
READ_ALL = ("scripts", "tests")
IMPORTS_TESTING = re.compile(r"^\s*(?:from|import) testing\b[^\n(]*(?:\([^)]*\))?", re.M)
QUOTED = re.compile(r"""["']([a-z]+)[/"']""")
NAMES_DOCUMENT = re.compile(r"\.md\b")
# Built in the source tree for developers, and ignored by git.
BUILT = ("tool/tautochrone/_native", "tool/tautochrone/targets")
# They differ from one terminal or run to the next, and steer no test.
VOLATILE = {"_", "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM", "WINDOWID"}
VOLATILE_BEGINNINGS = ("MAKE", "MFLAGS", "PYTEST_", "SSH_", "XDG_SESSION")
# Options that leave out tests of a file, or parts of them; `-m` is an input instead.
RESTRICTING = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "stepwise_skip")
RESTRICTING += ("collectonly", "setuponly", "setupplan")
# Before other plugins change it.
ENVIRONMENT = dict(os.environ)


class Inputs:
    """Hashes of the inputs of each test file in a tree."""

    def __init__(self, root: Path, common: str) -> None:
        self.root = root
        self.common = common
        self.contents = {name: content_of(root / name) for name in names_in(root)}
        self.rows = rows_of(root)

    @cached_property
    def by_folder(self) -> dict[str, set[str]]:
        """The files of each row's folder, of each top folder without a row, and of the root."""
        found: dict[str, set[str]] = defaultdict(set)
        for name in self.contents:
            found[self.folder_of(name)].add(name)
        return found

    def folder_of(self, name: str) -> str:
        """The longest folder with a row that a file lies in, else its top folder."""
        from arrows import row_of

        found = row_of(Path(name), self.rows)
        return found[0] if found else name.rpartition("/")[0].partition("/")[0]

    def used_by(self, folder: str) -> set[str]:
        """The folders that a folder may use itself."""
        from arrows import may_use, row_of

        found = row_of(Path(folder, "file"), self.rows)
        # Only tests use tests, of their own side.
        side = "" if is_of_no_test(folder) else folder.partition("/")[0]
        used = {
            name
            for name in filter(None, self.by_folder)
            if is_of_no_test(name) or name.partition("/")[0] == side
            if found and may_use(found[1], name)
        }
        return used | ({"testing"} if IMPORTS_TESTING.search(self.python(folder)) else set())

    @cache
    def python(self, folder: str) -> str:
        """The text of a folder's Python files."""
        names = sorted(name for name in self.by_folder[folder] if name.endswith(".py"))
        return "\n".join((self.root / name).read_text() for name in names)

    def python_of_testing(self, text: str) -> str:
        """The text of the modules in `testing` that a text imports, and that these import."""
        names = filter(lambda name: name.endswith(".py"), self.by_folder["testing"])
        left = {name: (self.root / name).read_text() for name in names}
        found, new = "", text
        while new:
            words = set(re.findall(r"\w+", " ".join(IMPORTS_TESTING.findall(new))))
            new = "".join(left.pop(name) for name in list(left) if Path(name).stem in words)
            found += new
        return found

    @cache
    def reached(self, folder: str) -> set[str]:
        """The folders that a folder's tests depend on."""
        if folder in READ_ALL:
            return set(self.by_folder)
        found, left = {folder}, [folder]
        while left:
            new = self.used_by(left.pop()) - found
            found |= new
            left += new
        text = self.python(folder)
        if IMPORTS_TESTING.search(text):
            text += self.python_of_testing(text)
        named = set(QUOTED.findall(text))
        under = {each for each in self.by_folder if each.partition("/")[0] in named}
        return found | (under if "tests" in named else set(filter(is_of_no_test, under)))

    @cache
    def names(self, folder: str) -> set[str]:
        """The files that a folder's tests depend on."""
        names = set().union(*(self.by_folder[name] for name in self.reached(folder)))
        documents = folder in READ_ALL or NAMES_DOCUMENT.search(self.python(folder))
        return names | {name for name in self.by_folder[""] if documents or name[-3:] != ".md"}

    @cache
    def hash(self, test_file: str) -> str:
        """The hash of a test file's inputs."""
        names = sorted(self.names(self.folder_of(test_file)))
        told = [self.common, *(f"{name} {self.contents[name]}" for name in names)]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


def is_of_no_test(folder: str) -> bool:
    """Whether a folder is not one of tests."""
    from sources import is_test

    return not is_test(Path(folder, "file"))


def rows_of(root: Path) -> list[Any]:
    """The rows of DESIGN.md's table of folders."""
    import arrows

    return arrows.rows_of((root / "DESIGN.md").read_text(), arrows.FOLDERS_TABLE)


def names_in(root: Path) -> Iterator[str]:
    """The files of the tree that git knows or would add, and files built for developers."""
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
    listing += ["--exclude-standard", "--deduplicate"]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    yield from filter(None, names.split("\0"))
    for folder in BUILT:
        for path in (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(root))


def content_of(path: Path) -> str:
    """A short text that tells the contents of a file apart, and whether it is there at all."""
    if not path.is_file():
        return "absent"
    return f"{os.access(path, os.X_OK)} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def common_inputs(environment: Mapping[str, str], *more: str) -> str:
    """What every test depends on: packages, the installed command, machine and environment."""
    asked = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\\n"]
    debian = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    python = sorted(f"{each.name} {each.version}" for each in metadata.distributions())
    installed = metadata.distribution("tautochrone").read_text("RECORD") or ""
    variables = sorted(
        f"{name}={value}"
        for name, value in environment.items()
        if name not in VOLATILE and not name.startswith(VOLATILE_BEGINNINGS)
    )
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    processor = sorted({line for line in lines if line.startswith(("flags", "Features"))})
    machine = [*platform.uname(), platform.python_version(), str(os.getuid()), *processor]
    return "\n".join([debian, *python, installed, *variables, *machine, *more])


class Unchanged:
    """Leaves out unchanged files, also in the workers of xdist, and records those that pass."""

    def __init__(self, config: pytest.Config) -> None:
        self.root = config.rootpath
        self.cache = config.cache
        self.inputs = Inputs(self.root, common_inputs(ENVIRONMENT, config.option.markexpr))
        self.passed: dict[str, str] = self.cache.get(RECORD, {})
        self.left_out = [
            name
            for name, recorded in self.passed.items()
            if name in self.inputs.contents and recorded == self.inputs.hash(name)
        ]
        self.outcomes: dict[str, set[str]] = defaultdict(set)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist what to leave out."""
        node.workerinput[RECORD] = self.left_out

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how the set-up, the call or the end of a test went."""
        self.outcomes[report.nodeid.partition("::")[0]].add(report.outcome)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Record each file that passed, if the run was complete and its inputs stayed the same."""
        complete = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        complete = complete and not (session.shouldstop or session.shouldfail)
        after = {name: content_of(self.root / name) for name in names_in(self.root)}
        complete = complete and after == self.inputs.contents
        for name, outcomes in self.outcomes.items():
            self.passed.pop(name, None)
            if complete and outcomes == {"passed"}:
                self.passed[name] = self.inputs.hash(name)
        self.cache.set(RECORD, self.passed)
        if self.left_out and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many files were left out."""
        if self.left_out:
            terminalreporter.write_line(f"{len(self.left_out)} unchanged test files were left out")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    about = "leave out test files whose inputs are as they last passed; ignored under CI"
    parser.addoption("--skip-unchanged", action="store_true", help=about)


def pytest_configure(config: pytest.Config) -> None:
    """Start, except in a worker, or if the tests or their inputs are not all known."""
    partial = any(getattr(config.option, name, None) for name in RESTRICTING)
    partial = partial or any("::" in word for word in config.args)
    asked = config.option.skip_unchanged and not hasattr(config, "workerinput")
    known = (config.rootpath / ".git").exists() and shutil.which("dpkg-query")
    if asked and known and not partial and not os.environ.get("CI"):
        config.pluginmanager.register(Unchanged(config), PLUGIN)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file whose inputs are unchanged."""
    plugin = config.pluginmanager.get_plugin(PLUGIN)
    left_out = plugin.left_out if plugin else getattr(config, "workerinput", {}).get(RECORD, ())
    return str(collection_path).removeprefix(f"{config.rootpath}/") in left_out or None
