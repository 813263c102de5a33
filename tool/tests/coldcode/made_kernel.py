"""Makes a kernel of many functions with its map, and recordings of it from a seed, without QEMU.

Its files have static functions of the same names, one function is larger than a page, and assembly
is in `.text`. A recording is sound by every rule: counts, touches and times agree.
"""

import random
import subprocess
import zlib
from pathlib import Path

import numpy as np

from tautochrone.coldcode.chunks import chunk
from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.coldcode.recording import BLOCK, END, Settings, prepared
from tautochrone.facts import code_format as form
from tautochrone.targets.build import TARGETS, compiler_of
from tool.tests.coldcode.code_forge import touches_payload

FILES, FUNCTIONS = 4, 40
SCRIPT = """SECTIONS {
    . = 0x80000000;
    .text.cold : {
        tau_cold_start = .;
        INCLUDE cold.lds
        . = ALIGN(4096);
        tau_cold_end = .;
    }
    .text : { *(.text .text.*) }
    .init.text : { *(.init.text) }
}
"""


def _source(file: int) -> str:
    """A file of functions that call the next ones."""
    source = random.Random(file)
    lines = ["volatile int x;" if file == 0 else "extern volatile int x;"]
    lines += [f"static void f{number}(void);" for number in range(FUNCTIONS)]
    for number in range(FUNCTIONS):
        body = "x++;" * source.randint(2, 30)
        calls = "".join(f"f{after}();" for after in range(number + 1, min(number + 3, FUNCTIONS)))
        lines.append(f"static void f{number}(void) {{ {body} {calls} }}")
    lines.append(f"void file{file}(void) {{ f0(); }}")
    if file == 0:
        lines.append(f"void large(void) {{ {'x++;' * 700} }}")
        lines.append('__attribute__((section(".init.text"))) void begin(void) { large(); }')
        calls = "".join(f"file{other}();" for other in range(FILES))
        lines = [f"void file{other}(void);" for other in range(FILES)] + lines
        lines.append(f"void _start(void) {{ begin(); {calls} }}")
        lines.append('__asm__(".text\\n.globl asm\\n.type asm,@function\\nasm: ret\\n");')
    return "\n".join(lines)


def build(folder: Path, fragment: str = "") -> tuple[Kernel, Path]:
    """Compile and link it with a fragment; the kernel and the path of its map."""
    folder.mkdir(parents=True, exist_ok=True)
    recipe = TARGETS["sv39"]
    compiler = [compiler_of("sv39"), *recipe.machine, *recipe.flags, "-Os", "-fno-inline"]
    compiler += ["-ffunction-sections", "-fno-toplevel-reorder", "-nostdlib", "-static"]
    names = []
    for file in range(FILES):
        name = f"dir{file % 2}/{'ab'[file // 2]}.c"
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(_source(file))
        command = [*compiler, "-c", name, "-o", name.replace(".c", ".o")]
        subprocess.run(command, cwd=folder, check=True)
        names.append(name.replace(".c", ".o"))
    (folder / "kernel.lds").write_text(SCRIPT)
    (folder / "cold.lds").write_text(fragment)
    link = [*compiler, "-Wl,-Map=kernel.map,--no-warn-rwx-segments", "-T", "kernel.lds", *names]
    subprocess.run([*link, "-o", "kernel.elf"], cwd=folder, check=True)
    return read_kernel(folder / "kernel.elf"), folder / "kernel.map"


def record(kernel: Kernel, path: Path, seed: int, touches: int = 3000) -> Path:
    """Write a recording: phases that each execute some functions, a few of them often."""
    source = random.Random(seed)
    functions = kernel.functions
    usable = [number for number, name in enumerate(functions.names) if name.startswith("f")]
    used = source.sample(usable, 60)
    counts = [0] * len(functions.names)
    instructions = [source.randint(1, 3) for _ in functions.names]
    rows, time, last = [], 0, -1
    while len(rows) < touches:
        phase = source.sample(used[5:], 8) + used[:3]
        for _ in range(source.randint(20, 200)):
            number = source.choice(phase)
            times = source.choice((1, 2, 300)) if number in used[:5] else source.randint(1, 3)
            if number != last:
                rows.append((number, time))
                last = number
            counts[number] += times
            time += times * instructions[number]
    blocks = []
    for number, count in enumerate(counts):
        if count:
            start = int(functions.starts[number])
            size = min(int(functions.sizes_bytes[number]), 12)
            checksum = zlib.crc32(kernel.code_at(start, size))
            blocks.append((start, 0, count, size, instructions[number], checksum))
    settings = Settings(None, 65536, {"code_sha256": kernel.code_sha256, "kernel": "kernel.elf"})
    payload = np.array(blocks, BLOCK).tobytes()
    rest = [
        (form.CHUNK_TOUCHES, len(rows), touches_payload(rows)),
        (form.CHUNK_BLOCKS, len(blocks), payload),
        (form.CHUNK_END, 0, END.pack(form.ABSENT, time, len(rows), len(blocks))),
    ]
    made = [chunk(kind, 2 + number, *row) for number, (kind, *row) in enumerate(rest)]
    path.write_bytes(prepared(kernel, settings) + b"".join(made))
    return path
