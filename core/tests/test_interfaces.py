"""Facts of the core's headers and objects: sizes and limits as in the models, and no symbols."""

from __future__ import annotations

import subprocess
from pathlib import Path

from core.tests.kit.core_build import CORE, Build, compile_c, run_program
from model.buddy import size_bytes
from model.code_cache import FRAMES_MAX, INSTRUCTION_PAGES
from tautochrone.targets.sources import CORE_FILES


def test_the_models_size_of_a_buddy_table_is_the_macros(tmp_path: Path) -> None:
    """TAU_BUDDY_SIZE_BYTES of every count up to 300 and of some above, in both layouts."""
    counts = [*range(1, 301), 4095, 4096, 16384, 16385, 65537, 1 << 17]
    lines = "".join(f'printf("%zu\\n", TAU_BUDDY_SIZE_BYTES({count}u));' for count in counts)
    source = tmp_path / "sizes.c"
    include = '#include <stdio.h>\n#include "core/buddy.h"\n'
    source.write_text(f"{include}int main(void) {{ {lines} return 0; }}\n")
    program = compile_c(Build(), [source], tmp_path / "sizes", [f"-I{CORE.parent}"])
    assert [*map(int, run_program(program, [], 60).split())] == [*map(size_bytes, counts)]


def test_the_models_limits_of_a_code_cache_are_the_headers() -> None:
    """Numbers that both state."""
    header = (CORE / "code_cache.h").read_text()
    for name, value in (
        ("INSTRUCTION_PAGES", INSTRUCTION_PAGES),
        ("FRAMES_MAX", FRAMES_MAX),
    ):
        assert f"#define TAU_CODE_CACHE_{name} {value}u\n" in header


def test_the_code_cache_calls_nothing_outside(tmp_path: Path) -> None:
    """The object needs no symbol, at -O2 and -Os: a kernel must not fault in its fault handler."""
    (source,) = CORE_FILES["code_cache"]
    for compiler in ("gcc", "clang-14"):
        for optimize in ("-O2", "-Os"):
            made = tmp_path / "object.o"
            command = [
                compiler,
                "-std=c17",
                optimize,
                "-ffreestanding",
                f"-I{CORE.parent}",
                "-c",
            ]
            subprocess.run([*command, str(CORE.parent / source), "-o", str(made)], check=True)
            needed = subprocess.run(["nm", "-u", str(made)], capture_output=True, check=True)
            assert needed.stdout == b"", (compiler, optimize)
