"""Applications that need more than their own code: libgcc, string functions, picolibc."""

from __future__ import annotations

from pathlib import Path

import pytest
from tautochrone.compose import code
from tautochrone.compose.run import run
from tautochrone.compose.system import Application, Command, System, system_file
from tautochrone.errors import TauError
from tautochrone.targets.build import BuildError
from tautochrone.targets.libraries import Libraries

from kernel.tests.library_programs import PROGRAMS

ROOT = Path(__file__).resolve().parents[3]
USER_SLOT, OS_SLOT, START = 6000, 800, 200_000
LOADED_FRAME, MAJOR_FRAMES = 5, 7
APPLICATION = """\
#include "kernel/base/application.h"
#include "kernel/base/base.h"
{program}
static void main_task(void) {{
    tau_system_page_print_hex(result());
    tau_base_print("\\n");
}}
TAU_TASK(main_task, 2048);
TAU_APPLICATION(1, TAU_TASK_OF(main_task));
"""


def linked(folder: Path, base: Path, name: str, source: str, libraries: Libraries) -> Path:
    """An application of a C text."""
    path = folder / f"{name}.c"
    path.write_text(source, encoding="utf-8")
    return code.application(ROOT, name, [path], base, folder, (), 4096, libraries=libraries)


def test_programs_link_and_compute_without_a_shim(tmp_path: Path) -> None:
    """Floats, divisions of 64 bits, string functions, picolibc: every program links, and in one
    run of them all each prints the result that a native compiler gives."""
    base = code.base_code(ROOT, tmp_path)
    applications = []
    for name, program in PROGRAMS.items():
        source = APPLICATION.format(program=program.source)
        libraries = Libraries.named(program.libraries, tmp_path)
        made = linked(tmp_path, base, name, source, libraries)
        applications.append(Application(name, made, ("main",), 4096, 1024))
    slots = ("loader",) * 24 + tuple(f"{each.name}.main" for each in applications)
    commands = tuple(Command("load", each.name, LOADED_FRAME) for each in applications)
    system = System(tuple(applications), (slots,), commands, USER_SLOT, OS_SLOT, START)
    content = system_file(system, code.base_bytes(base), code.base_hash(base))
    cycles = START + MAJOR_FRAMES * len(slots) * (USER_SLOT + OS_SLOT)
    done = run(tmp_path, code.kernel(ROOT, tmp_path), content, 1, cycles)
    assert done.stopped is None, done.console
    said = {
        each.name: [line.rpartition(" ")[2] for line in done.output(number)]
        for number, each in enumerate(applications)
    }
    assert said == {name: [f"{program.result:08x}"] for name, program in PROGRAMS.items()}


@pytest.mark.parametrize(
    ("body", "said", "step"),
    [
        ("double sqrt(double); return (uint32_t)sqrt(data[3]);", "picolibc has sqrt", "--library"),
        ("uint32_t nowhere(void); return nowhere();", "defines nowhere", "add the source"),
    ],
)
def test_a_missing_symbol_names_the_library(
    tmp_path: Path, body: str, said: str, step: str
) -> None:
    """One sentence with the symbol and where it is, instead of what the linker prints."""
    program = "#include <stdint.h>\nstatic volatile uint32_t data[8];\n{}"
    text = program.format(f"static uint32_t result(void) {{{body}}}\n")
    base = code.base_code(ROOT, tmp_path)
    with pytest.raises(TauError) as caught:
        linked(tmp_path, base, "short", APPLICATION.format(program=text), Libraries())
    assert said in caught.value.message and step in (caught.value.next_step or "")
    assert caught.value.said == ""


@pytest.mark.parametrize("name", ["newlib", "none.a"])
def test_a_library_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    """Only picolibc has a name; everything else is the path of an archive that exists."""
    with pytest.raises(BuildError, match=f"library .*{name}"):
        Libraries.named([name], tmp_path)
