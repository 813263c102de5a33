"""Cost of the region tree in each form, for 2^10 to 2^36 pages: bytes, instructions, accesses.

Run `python -m bench region_tree`; it prints the table and writes out/bench/region_tree.json.

- *flat*: bitmaps with one bit per page, and one per word of the level below; words of 32 bits (the
  core's), or of 64.
- *layered*: the paper's [P0-17 ... P0-19], with the least and greatest page in each inner node.

Each form is first compared with a sorted list, natively, at every size (compare.c). `bound` is the
longest path through the linked code. `max` is the most that the emulator saw in calls at the
borders of the levels (RV32 up to 2^26 pages). A page number above 2^30 needs 64 bits with the sign
that the forms use, so only RV64 has the larger sizes. It is not emulated. Loads from the table that
replaces Zbb's bit scans count as accesses.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.commands import ROOT, first_line
from bench.runner import Bench, Given
from tautochrone.machine.longest_path import bound_accesses, bound_instructions
from tautochrone.machine.calls import Machine, core_code

HERE = Path(__file__).resolve().parent
SIZES = (10, 15, 20, 25, 26, 30, 36)
RV32_MAX, EMULATED_MAX = 30, 26
OPERATIONS = ("find", "next", "split", "union")
BOUNDS = (bound_instructions, bound_accesses)
RV64 = {"rv64": "rv64imc", "rv64zbb": "rv64imc_zbb"}


@dataclass(frozen=True)
class Form:
    """A form of the tree: its file, and its words' bits as a logarithm."""

    file: str
    word_log2: int = 5

    @property
    def source(self) -> Path:
        """The C file."""
        return HERE / self.file

    def flags(self, pages_log2: int) -> list[str]:
        """Compiler arguments for a tree of 2^`pages_log2` pages."""
        return [f"-DBENCH_LOG2={pages_log2}", f"-DBENCH_WORD_LOG2={self.word_log2}", f"-I{HERE}"]

    def isas(self, pages_log2: int) -> list[str]:
        """The targets on which it is measured."""
        rv32 = ["rv32", "rv32zbb"] if self.word_log2 == 5 and pages_log2 <= RV32_MAX else []
        return [*rv32, *RV64]


FORMS = {
    "flat": Form("flat.c"),
    "flat, 64 bits": Form("flat.c", word_log2=6),
    "layered": Form("layered.c"),
}


def compare(form: Form, pages_log2: int, folder: Path) -> int:
    """Random operations against a sorted list; the form's bytes. Raises if an answer is wrong."""
    program = folder / "compare"
    sources = [form.source, HERE / "compare.c"]
    flags = ["-std=gnu17", "-O1", f"-I{ROOT}", *form.flags(pages_log2)]
    subprocess.run(["gcc", *flags, *sources, "-o", program], check=True)
    done = subprocess.run([program, "1"], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{form.file} at 2^{pages_log2} pages: {done.stdout}{done.stderr}")
    return int(done.stdout)


def emulate(image: Any, bytes_count: int, pages_log2: int) -> dict[str, tuple[int, int]]:
    """The most instructions and accesses of each operation, over calls at the levels' borders."""
    seen = dict.fromkeys(OPERATIONS, (0, 0))
    last = 2**pages_log2 - 1
    borders = {page for power in range(pages_log2 + 1) for page in (2**power - 1, 2**power)}
    with Machine(image) as machine:
        tree, words = machine.reserve(8), machine.reserve(bytes_count)
        machine.call("bench_tree_init", tree, words)

        def call(verb: str, page: int) -> int:
            done = machine.call(f"bench_tree_{verb}", tree, page)
            seen[verb] = (max(seen[verb][0], done.instructions), max(seen[verb][1], done.accesses))
            return done.result

        for page in sorted(page for page in borders if 0 < page <= last):
            for other in sorted({page - 1, page - page % 32, page // 32 * 32 - 1, page // 2, last}):
                call("split", page)
                is_second = 0 < other <= last and other != page
                if is_second:
                    call("split", other)
                for asked in (0, page - 1, page, min(page + 40, last), last):
                    starts = [0, page, *([other] if is_second else [])]
                    if call("find", asked) != max(s for s in starts if s <= asked):
                        raise RuntimeError(f"find of {asked} with {starts}")
                    call("next", asked)
                call("union", page)
                if is_second:
                    call("union", other)
    return seen


def built_rv64(form: Form, pages_log2: int, isa: str, elf: Path) -> Path:
    """The operations, linked for RV64."""
    flags = [f"-march={RV64[isa]}", "-mabi=lp64", "-mcmodel=medany", "-O2", "-ffreestanding"]
    flags += ["-fno-jump-tables", "-nostdlib", "-std=gnu17", f"-I{ROOT}", "-Wl,-e,bench_tree_find"]
    command = ["riscv64-unknown-elf-gcc", *flags, *form.flags(pages_log2), form.source]
    subprocess.run([*command, "-o", elf], check=True)
    return elf


def costs(
    form: Form, pages_log2: int, isa: str, bytes_count: int, folder: Path
) -> dict[str, dict[str, int]]:
    """Longest paths, and on RV32 observed maxima, per operation."""
    functions = {verb: f"bench_tree_{verb}" for verb in OPERATIONS}
    seen: dict[str, tuple[int, int]] = {}
    if isa in RV64:
        name = f"{form.source.stem}-{form.word_log2}-{isa}-{pages_log2}.elf"
        elf = built_rv64(form, pages_log2, isa, folder / name)
    else:
        keep, flags = [*functions.values(), "bench_tree_init"], form.flags(pages_log2)
        image = core_code("region_tree_bench", isa, [form.source], keep=keep, cflags=flags)
        elf = image.elf
        seen = emulate(image, bytes_count, pages_log2) if pages_log2 <= EMULATED_MAX else {}
    found = {
        verb: (*(bound(elf, name) for bound in BOUNDS), *seen.get(verb, ()))
        for verb, name in functions.items()
    }
    names = ("bound_instructions", "bound_accesses", "max_instructions", "max_accesses")
    return {verb: dict(zip(names, row, strict=False)) for verb, row in found.items()}


def measure(folder: Path, sizes: tuple[int, ...] = SIZES) -> list[dict[str, Any]]:
    """A row per form, size and target."""
    rows = []
    for pages_log2 in sizes:
        for name, form in FORMS.items():
            bytes_count = compare(form, pages_log2, folder)
            for isa in form.isas(pages_log2):
                found = costs(form, pages_log2, isa, bytes_count, folder)
                row = {"form": name, "pages_log2": pages_log2, "isa": isa}
                rows.append({**row, "bytes": bytes_count, "operations": found})
    return rows


def measure_all(given: Given) -> dict[str, Any]:
    """All rows, and the compiler."""
    compiler = first_line("riscv64-unknown-elf-gcc", "--version")
    return {"compiler": compiler, "rows": measure(given.folder)}


BENCH = Bench("region_tree", measure_all)
