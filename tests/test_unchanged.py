"""`--skip-unchanged` leaves out no test file that could now fail.

Method: in a small tree with a table of arrows, each kind of input changes once, and the tests that
depend on it must have another hash. A test suite of that tree runs with the plugin, as it passes,
fails, is stopped, or runs under CI.
"""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from testing.plugins import unchanged
from testing.plugins.unchanged import Inputs, common_inputs

ROOT = Path(__file__).resolve().parents[1]
DESIGN = """
| folder | what it is | may use |
|---|---|---|
| `core` | a | – |
| `core/tests` | a | `core/` |
| `hw/socket/tb` | a | – |
| `hw/tlb/tb` | a | `hw/socket/tb`, `core/`, `testing` |
| `model` | a | – |
| `tool` | a | `core` |
| `tool/tests` | a | `tool/` |
| `testing` | a | `core` |
| `tests` | a | `tool` |
"""
TREE = {
    "DESIGN.md": DESIGN,
    "Makefile": "",
    "docs/a.md": "",
    "facts/a.toml": "",
    "core/a.c": "",
    "core/a.h": "",
    "core/tests/test_core.py": "from testing import golden\n",
    "hw/socket/tb/ports.py": "",
    "hw/tlb/tb/test_tlb.py": "from testing import golden\n",
    "model/test_model.py": "SOURCES = 'facts/a.toml'\n",
    "testing/golden.py": "",
    "tool/a.py": "",
    "tool/tests/test_tool.py": "PAGE = 'docs/a.md'\n",
    "tests/test_all.py": "",
}
TESTS = {Path(name).stem.removeprefix("test_"): name for name in TREE if "/test_" in name}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository."""
    return planted(tmp_path)


def planted(folder: Path) -> Path:
    """The repository in a folder."""
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def hashes(tree: Path, common: str = "") -> dict[str, str]:
    """The hash of each test file."""
    inputs = Inputs(tree, common)
    return {short: inputs.hash(name) for short, name in TESTS.items()}


def changed(tree: Path, before: dict[str, str]) -> set[str]:
    """The test files whose hashes are no longer as before."""
    return {short for short, value in hashes(tree).items() if value != before[short]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("core/a.c", {"core", "tlb", "tool", "all"}),
        ("core/a.h", {"core", "tlb", "tool", "all"}),
        ("core/new.h", {"core", "tlb", "tool", "all"}),
        ("core/tests/test_core.py", {"core", "all"}),
        ("hw/socket/tb/ports.py", {"tlb", "all"}),
        ("tool/a.py", {"tool", "all"}),
        ("testing/golden.py", {"core", "tlb", "all"}),
        ("model/test_model.py", {"model", "all"}),
        ("facts/a.toml", {"model", "all"}),
        ("docs/a.md", {"tool", "all"}),
        ("Makefile", set(TESTS)),
        ("pyproject.toml", set(TESTS)),
        ("README.md", {"tool", "all"}),
        ("tool/tautochrone/_native/liba.so", {"tool", "all"}),
    ],
)
def test_a_changed_file_changes_its_tests(tree: Path, name: str, expected: set[str]) -> None:
    (tree / ".gitignore").write_text("_native\n")
    before = hashes(tree)
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text("# changed\n")
    assert changed(tree, before) == expected


def test_a_file_that_goes_or_becomes_executable_changes_its_tests(tree: Path) -> None:
    before = hashes(tree)
    (tree / "core/a.c").chmod(0o755)
    assert changed(tree, before) == {"core", "tlb", "tool", "all"}
    before = hashes(tree)
    (tree / "core/a.c").unlink()
    assert changed(tree, before) == {"core", "tlb", "tool", "all"}


def test_a_new_arrow_changes_the_tests_of_its_folder(tree: Path) -> None:
    before = hashes(tree)
    (tree / "DESIGN.md").write_text(DESIGN.replace("| `model` | a | –", "| `model` | a | `core`"))
    assert changed(tree, before) == {"model", "tool", "all"}  # tool names documents


def test_the_common_inputs_change_all_tests(tree: Path) -> None:
    before, after = hashes(tree, "gcc 12.2"), hashes(tree, "gcc 12.3")
    assert all(before[short] != after[short] for short in TESTS)


def test_tools_packages_and_environment_are_common_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = common_inputs({"TAU_TEST_SEED": "1", "TERM": "xterm"}, "not slow")
    assert common_inputs({"TAU_TEST_SEED": "1", "TERM": "dumb"}, "not slow") == first
    assert common_inputs({"TAU_TEST_SEED": "2"}, "not slow") != first
    assert common_inputs({}, "not slow") != first
    assert common_inputs({"TAU_TEST_SEED": "1"}, "") != first
    listed = list(metadata.distributions())
    newer = SimpleNamespace(name=listed[0].name, version="999")
    with monkeypatch.context() as patch:
        patch.setattr(unchanged.metadata, "distributions", lambda: [newer, *listed[1:]])
        assert common_inputs({"TAU_TEST_SEED": "1"}, "not slow") != first
    query = tmp_path / "dpkg-query"
    query.write_text("#!/bin/sh\necho gcc 99 installed\n")
    query.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert common_inputs({"TAU_TEST_SEED": "1"}, "not slow") != first


def run(tree: Path, *words: str, **environment: str) -> str:
    """Run the tree's tests with the plugin; return what pytest says."""
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", tree, "-p", unchanged.__name__]
    command += ["--import-mode=importlib", "--skip-unchanged", *words, tree]
    outer = {name: value for name, value in os.environ.items() if name != "CI"}
    paths = [ROOT, ROOT / "scripts", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    outer["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    done = subprocess.run(
        command, cwd=tree, env=outer | environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr + f"exit {done.returncode}"


def test_what_passed_is_left_out_until_it_changes(tree: Path) -> None:
    (tree / ".gitignore").write_text("__pycache__\n.pytest_cache\n")
    for name in TESTS.values():
        with open(tree / name, "a") as file:
            file.write("def test():\n    pass\n")
    failing = tree / TESTS["tool"]
    failing.write_text("PAGE = 'docs/a.md'\ndef test():\n    assert False\n")
    assert "1 failed, 4 passed" in run(tree, "-n", "2")
    assert "4 unchanged" in run(tree, "-n", "2")  # the failed one runs again
    assert "4 passed" in run(tree, "-k", "core or model or all or tlb")
    assert "1 failed, 4 passed" in run(tree, CI="true")
    failing.write_text("PAGE = 'docs/a.md'\ndef test():\n    pass\n")
    assert "2 passed" in run(tree)  # tests/ depends on everything
    said = run(tree)
    assert "5 unchanged" in said and said.endswith("exit 0")


def test_a_stopped_run_records_nothing(tree: Path) -> None:
    first = tree / TESTS["core"]
    first.write_text("def test_a():\n    pass\ndef test_b():\n    raise KeyboardInterrupt\n")
    assert "Interrupt" in run(tree)
    first.write_text("def test_a():\n    pass\ndef test_b():\n    assert False\n")
    assert "1 failed" in run(tree, "-x")
    assert "unchanged" not in run(tree)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with two test files that passed."""
    tree = planted(tmp_path_factory.mktemp("recorded"))
    (tree / ".gitignore").write_text("__pycache__\n.pytest_cache\n")
    for name in ("core", "model"):
        (tree / TESTS[name]).write_text("def test_a():\n    pass\ndef test_b():\n    pass\n")
    assert "4 passed" in run(tree)
    return tree


@pytest.mark.parametrize(
    "words",
    [
        "-k test_a",
        "--deselect core/tests/test_core.py::test_b",
        "--ignore core",
        "--ignore-glob */core",
        "--lf",
        "--sw",
        "--sw-skip",
        "--setup-only",
        "--setup-plan",
        "--collect-only",
        "core/tests/test_core.py::test_a",
    ],
)
def test_a_run_of_some_tests_neither_records_nor_leaves_out(
    recorded: Path, tmp_path: Path, words: str
) -> None:
    """Of two test files that passed one is unchanged, and the other one fails now in a part."""
    tree = tmp_path / "tree"
    shutil.copytree(recorded, tree)
    test = tree / TESTS["core"]
    test.write_text("def test_a():\n    pass\ndef test_b():\n    assert False\n")
    assert "unchanged" not in run(tree, *words.split(), PYTEST_ADDOPTS="")
    said = run(tree)
    assert "1 failed" in said and "1 unchanged" in said


def test_options_of_the_environment_restrict_a_run_too(recorded: Path) -> None:
    """As on the command line."""
    assert "2 unchanged" in run(recorded)
    assert "unchanged" not in run(recorded, PYTEST_ADDOPTS="-k test_a")


def test_only_make_check_leaves_out_files() -> None:
    """make check-all runs every test."""
    for target, is_asked in (("check", True), ("check-all", False)):
        lines = subprocess.check_output(["make", "-n", target], cwd=ROOT, text=True)
        assert ("--skip-unchanged" in lines) == is_asked, target
