"""The bounds that docs/spec/runtime.md states are those of the linked library.

Method: build it as CMake does, but with its symbols, and take the longest paths of malloc and free.
"""

from __future__ import annotations

import platform
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tautochrone.code.bounds import NEVER, bound_instructions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SPECIFICATION = ROOT / "docs" / "spec" / "runtime.md"
COLORS = SPECIFICATION.with_name("run_colors.md")
# What the bounds do not include: misuse, refusals and spills, a handler's calls, and waiting.
LEFT_OUT = {
    *("refuse", "misused", "unmerged", "budget_refuse", "budget_misused", "tau_misuse_stop"),
    *("refuse_foreign", "tau_heap_spill", "tau_notes_large_bucket", "spill", "foreign"),
    *("tau_reentry_admit", "tau_reentry_allocate", "tau_reentry_free"),
    *("tau_lock_wait", "tau_lock_wake"),
}
SHARED = {"tau_calls_allocate_shared", "free_shared"}
# A task's heap has a bound of its own: docs/spec/run_colors.md.
COLORED = {"tau_colors_allocate", "tau_colors_free"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with its symbols."""
    text = (HERE.parent / "CMakeLists.txt").read_text()
    sources = re.findall(r"[\w/{}$]+\.c\b", text)
    paths = [
        name.replace("${PROJECT_SOURCE_DIR}", str(ROOT))
        if name.startswith("$")
        else str(HERE.parent / name)
        for name in sources
    ]
    (defines,) = re.findall(r"target_compile_definitions\(tau_run PRIVATE (.*)\)", text)
    (flags,) = re.findall(r"TAU_WARNINGS\} (-O3.*?)\)", text, re.S)
    words = [f"-D{word}" for word in defines.split()]
    out = tmp_path_factory.mktemp("library") / "libtau_run.so"
    command = ["gcc", "-std=gnu17", "-fPIC", "-shared", f"-I{ROOT}", *words, *shlex.split(flags)]
    subprocess.run([*command, *paths, "-o", str(out)], check=True)
    return out


@pytest.mark.skipif(platform.machine() != "x86_64", reason="bounds are stated for x86-64")
def test_stated_bounds(library: Path) -> None:
    """Each row of the table, to the instruction."""
    row = r"^\| (alone|several threads|of a task) \| (\d+) / (\d+) \|"
    rows = re.findall(row, SPECIFICATION.read_text() + COLORS.read_text(), re.M)
    found = {}
    for name, more in (("alone", SHARED), ("several threads", COLORED), ("of a task", set())):
        charges = dict.fromkeys(LEFT_OUT | more, NEVER)
        verbs = ("malloc", "free")
        found[name] = tuple(bound_instructions(library, verb, charges) for verb in verbs)
    assert {name: (int(malloc), int(free)) for name, malloc, free in rows} == found
