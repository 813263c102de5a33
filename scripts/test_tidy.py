"""Each rule of tidy.py can fail.

Method: a small tidy tree is made, which has no finding; each mutant of it has exactly one.
"""

from pathlib import Path

import closure
import pytest
import tidy

# The repository's own tables.
DESIGN = (Path(__file__).resolve().parent.parent / "DESIGN.md").read_text()
GOOD_C = """#include "core/config.h"

void tau_tlsf_touch(int *cell)
{
    TAU_ASSERT(cell != 0);
    TAU_ASSERT(*cell == 0);
    *cell = 1;
    cell[1] = 1;
}
"""
STEP = "    *cell = 1;\n"
BUDGET = '#include "core/budget.h"\n'
TRACE = '#include "tool/native/trace/trace.h"\n'
HEADER = "#define TAU_ASSERT(holds) ((void)0)\n"

# name of the mutant: (file, its text, a word of the finding)
MUTANTS = {
    "impatient test": ("core/tests/test_a.py", "run(time" + "out=20)\n", "20 s, at least 300"),
    "long line": ("core/tlsf.c", GOOD_C + "// " + "x" * 98 + "\n", "101 columns"),
    "long C function": ("core/tlsf.c", GOOD_C.replace(STEP, STEP * 70), "76 lines"),
    "long Python function": ("bench/a.py", "def run():\n" + "    print()\n" * 70, "71 lines"),
    "long C file": ("core/tlsf.c", GOOD_C + "//\n" * 600, "at most 600"),
    "long header": ("core/config.h", HEADER + "//\n" * 600, "at most 600"),
    "long README": ("README.md", "a\n" * 151, "at most 150"),
    "long line of hardware": ("hw/tile/a.sv", "// " + "x" * 98 + "\n", "101 columns"),
    "long line of the simulator": ("hw/tile/a.cpp", "// " + "x" * 98 + "\n", "101 columns"),
    "long line of a document": ("docs/a.md", "x" * 101 + "\n", "101 columns"),
    "long line of a drawing": ("docs/a.md", "```\n" + "x" * 101 + "\n```\n", "101 columns"),
    "empty name": ("bench/utils.py", "", "does not"),
    "empty folder name": ("bench/common/a.py", "", "does not"),
    "unfinished": ("SPEC.md", "TODO: write\n", "unfinished"),
    "C by hand": ("bench/a.py", "free.argtypes = []\n", "use tautochrone.declarations"),
    "British": ("model/a.py", "neighbours = 2\n", "not US spelling"),
    "British too": ("core/tests/a.c", "// Initialised once.\n", "not US spelling"),
    "core upwards": ("core/config.h", HEADER + BUDGET, "config may not include budget"),
    "tlsf to budget": ("core/tlsf.c", BUDGET + GOOD_C, "may not include budget"),
    "a part of tlsf to budget": ("core/private/heap/tlsf_list.h", BUDGET, "not include budget"),
    "core to tool": ("core/tlsf.c", TRACE + GOOD_C, "core may not use tool/native/trace (tool"),
    "core to tool in brackets": (
        "core/tlsf.c",
        "#include <tool/native/trace/trace.h>\n" + GOOD_C,
        "core may not use tool/native/trace (tool",
    ),
    "core to tool without a blank": (
        "core/tlsf.c",
        '#include"tool/native/trace/trace.h"\n' + GOOD_C,
        "core may not use tool/native/trace (tool",
    ),
    "model to ours": ("model/tlsf.py", "from tautochrone import plan\n", "may not use tool/taut"),
    "tool to bench": ("tool/tautochrone/a.py", "import bench.sizes\n", "may not use bench (bench"),
    "linux to tool": ("linux/recorder/a.c", TRACE, "linux/recorder may not use tool/native/trace"),
    "report to plan": ("tool/tautochrone/plan/b.py", "from ..report import a\n", "report/a.py"),
    "unit to unit": ("hw/tlb/a.sv", '`include "a.svh"\n', "hw/tlb may not use hw/tile (hw/tile/a"),
    "a test to a test": ("tests/test_a.py", "import core_build\n", "a test of another side"),
    "a document to another side": (
        "hw/tlb/doc/a.md",
        "See [there](../../../tool/native/trace/trace.h).\n",
        "hw/tlb may not link to tool/native/trace (tool/native/trace/trace.h)",
    ),
    "a document to a unit": ("hw/tlb/a.md", "[a](../tile/#x)\n", "may not link to hw/tile (hw/t"),
    "a folder of its own": ("extra/a.py", "", "extra/a.py: its folder has no row"),
    "a mechanism of its own": ("core/slab.h", "", "slab has no row"),
    "stale lines": ("docs/closure.md", "| TLSF | `core/tlsf.c` | 2 | 12 |\n", "10 lines, not 12"),
    "stale": ("facts/gen.py", "import sys\nsys.exit('trace.h differs')\n", "trace.h differs"),
    "symbol": ("core/tlsf.c", GOOD_C.replace("tau_tlsf_t", "tlsf_t"), "exports tlsf_touch"),
    "data symbol": ("core/tlsf.c", GOOD_C + "int state;\n", "exports state"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tidy tree."""
    files = {
        "README.md": "a\n" * 150,
        "core/tlsf.c": GOOD_C,
        "core/config.h": HEADER,
        "core/budget.h": '#include "core/tlsf.h"\n',
        "core/tlsf.h": "",
        "core/private/heap/tlsf_block.h": '#include "core/tlsf.h"\n',
        "core/tests/heap/test_tlsf.c": '#include "core/budget.h"\n',
        "tool/native/trace/trace.h": "",
        "model/tlsf.py": "import random\n",
        "bench/sizes.py": "from testing import a\n",
        "testing/a.py": "",
        "hw/tile/a.svh": "",
        "core/tests/kit/core_build.py": "from testing import a\n",
        "tool/tautochrone/plan/__init__.py": "",
        "tool/tautochrone/report/a.py": "from tautochrone.plan import made\n",
        "tool/tautochrone/cli.py": "from capstone import Cs\n",
        "docs/a.md": f"[a](../hw/tile/a.svh)\n| {'x' * 101} |\n\n```sh\n{'x' * 101}\n```\n",
        "hw/a.md": "[below](tile/a.svh) [the house](../docs/a.md) [a site](https://a.org/tool/)\n",
        "DESIGN.md": DESIGN,
        "facts/gen.py": "",
    }
    for name, text in files.items():
        put(tmp_path, name, text)
    return tmp_path


def test_a_link_is_found(tree: Path) -> None:
    (tree / "core" / "core").symlink_to(tree / "core")
    assert any("core/core: a link" in finding for finding in tidy.findings(tree))


def test_a_part_that_is_too_large_is_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The headers that TLSF includes count, and the sources of these headers."""
    put(tree, "docs/closure.md", "| TLSF | `core/tlsf.c` | 2 | 18 |\n")
    put(tree, "core/tlsf.c", '#include "core/status.h"\n' + GOOD_C)
    put(tree, "core/status.h", "#define TAU_OK 0\n")
    put(tree, "core/status.c", "//\n" * 6)
    monkeypatch.setitem(closure.LARGER, "TLSF", 18)
    assert tidy.findings(tree) == []
    monkeypatch.setitem(closure.LARGER, "TLSF", 17)
    assert tidy.findings(tree) == ["scripts/closure.py: TLSF: 18 lines to read, at most 17"]


def test_the_closure_of_a_unit_is_its_modules_and_packages(tree: Path) -> None:
    put(tree, "hw/tlb/rtl/tau_tlb.sv", 'tau_sets sets (.*);\n`include "a.svh"\n')
    put(tree, "hw/socket/rtl/tau_sets.sv", "import tau_status_pkg::*;\n")
    put(tree, "hw/socket/rtl/tau_status_pkg.sv", "")
    put(tree, "hw/socket/rtl/tau_other.sv", "")
    found = closure.Closure(tree, tidy.tree_files(tree)).of(closure.PARTS["MMU `tlb`"])
    names = {"tau_tlb.sv", "tau_sets.sv", "tau_status_pkg.sv", "a.svh"}
    assert {name.name for name in found} == names


def test_the_table_is_written_again(tree: Path) -> None:
    """After the page's own text; it is then true."""
    put(tree, "docs/closure.md", f"# Lines\n\n{closure.HEAD}| TLSF | `core/tlsf.c` | 2 | 99 |\n")
    closure.write(tree)
    lines = (tree / "docs/closure.md").read_text().splitlines()
    assert lines[:2] == ["# Lines", ""] and lines[4] == "| TLSF | `core/tlsf.c` | 2 | 9 | 10 |"
    assert len(lines) == 4 + len(closure.PARTS)
    assert tidy.findings(tree) == []


def test_a_tree_without_the_tables_is_found(tree: Path) -> None:
    put(tree, "DESIGN.md", DESIGN.replace("| may use |", "| uses |"))
    (found,) = tidy.findings(tree)
    assert "no table with the head | folder | what it is | may use |" in found


def put(root: Path, name: str, text: str) -> None:
    """Write one file of a tree."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_this_repository_is_tidy() -> None:
    assert tidy.findings(Path(__file__).resolve().parent.parent) == []


def test_a_tidy_tree_has_no_findings(tree: Path) -> None:
    assert tidy.findings(tree) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_each_rule_can_fail(tree: Path, name: str) -> None:
    file, text, expected = MUTANTS[name]
    put(tree, file, text)
    found = tidy.findings(tree)
    assert len(found) == 1, found
    assert expected in found[0]


def test_every_rule_has_a_mutant(tree: Path) -> None:
    rules = set()
    for file, text, _ in MUTANTS.values():
        before = (tree / file).read_text() if (tree / file).exists() else None
        put(tree, file, text)
        rules |= {rule for rule in tidy.RULES if list(rule(tree, tidy.tree_files(tree)))}
        if before is None:
            (tree / file).unlink()
        else:
            put(tree, file, before)
    # A test of its own breaks this one.
    assert rules == set(tidy.RULES) - {tidy.links}
