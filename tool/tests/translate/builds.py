"""Builds a program for the host and for targets, and makes recordings that ask for given sizes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from elftools.elf.elffile import ELFFile

from tautochrone.facts import trace_format
from tautochrone.trace.file import TraceWriter, open_trace

COMPILERS = {
    "x86-64": ["gcc"],
    "arm": ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"],
    "riscv32": ["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32"],
}
ALONE = ["-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector", "-Wl,-e,0"]
CXX = ["-x", "c++", "-fno-exceptions", "-fno-rtti"]


def run(*command: str | Path) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def build(
    folder: Path, abi: str, sources: Iterable[Path], words: Iterable[str] = (), name: str = "p"
) -> Path:
    """Compile and link sources with -g for an ABI, without a C library; return the program."""
    out = folder / f"{name}.{abi}"
    run(*COMPILERS[abi], "-g", *words, *ALONE, *sources, "-o", out)
    return out


def build_with_table(
    folder: Path,
    abi: str,
    types: str,
    expressions: list[str],
    words: tuple[str, ...] = (),
    name: str = "p",
) -> tuple[Path, list[int]]:
    """Build a program of `types`; return it and the compiler's sizeof of each expression.

    The table of sizes is compiled without -g, so it adds no types.
    """
    header = folder / f"{name}.h"
    header.write_text(types)
    main, table = folder / f"{name}_main.c", folder / f"{name}_table.c"
    main.write_text(f'#include "{header.name}"\n')
    sizes = ", ".join(f"sizeof({one})" for one in expressions)
    declared = 'extern "C" const' if "c++" in words else "extern const"
    table.write_text(
        f'#define TABLE 1\n#include "{header.name}"\n'
        f"{declared} unsigned sizes_table[];\n"
        f"const unsigned sizes_table[] = {{{sizes}}};\n"
    )
    compiler, plain = COMPILERS[abi], [word for word in words if not word.startswith("-g")]
    object_path = folder / f"{name}_table.{abi}.o"
    run(*compiler, *plain, *ALONE[:1], "-c", table, "-o", object_path)
    out = folder / f"{name}.{abi}"
    assembled = folder / f"{name}_main.{abi}.o"
    run(*compiler, "-g", *words, *ALONE[:1], "-c", main, "-o", assembled)
    run(*compiler, *ALONE, assembled, object_path, "-o", out)
    return out, table_of(out, len(expressions))


def table_of(path: Path, count: int) -> list[int]:
    """The numbers in the program's sizes_table."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        symbol = elf.get_section_by_name(".symtab").get_symbol_by_name("sizes_table")[0]
        section = elf.get_section(symbol["st_shndx"])
        start = symbol["st_value"] - section["sh_addr"]
        return np.frombuffer(section.data()[start : start + 4 * count], "<u4").tolist()


def write_recording(
    path: Path,
    sizes: list[int],
    site: tuple[str, int] | None = None,
    is_wrapped: bool = False,
    **header: Any,
) -> Path:
    """Write a recording that allocates objects of these sizes.

    Each size has a call site of its own, from `site` on; with `is_wrapped` all have that one.
    """
    count = len(sizes)
    order = {size: 0 if is_wrapped else rank for rank, size in enumerate(dict.fromkeys(sizes))}
    with TraceWriter(path, {"recorder": "test", **header}) as writer:
        place = site or ("", 0)
        known = {rank: writer.site(place[0], place[1] + 16 * rank) for rank in order.values()}
        numbers = [known[order[size]] if site else 0 for size in sizes]
        writer.append(
            op=np.full(count, trace_format.OP_MALLOC),
            slot=np.arange(count),
            size_bytes=np.array(sizes, np.uint64),
            time_ns=np.arange(count),
            site=np.array(numbers),
        )
    return path


def events_of(path: Path) -> np.ndarray:
    """All events of a trace."""
    with open_trace(path) as reader:
        return np.concatenate(list(reader.blocks()))
