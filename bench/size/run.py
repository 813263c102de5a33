"""Code bytes of the core: of each function, and of what a firmware links, for each target.

Prints the table, and complains of what is not as checked in (golden.json).
TAU_UPDATE_GOLDEN=1 makes today's the checked-in one. Linked means: with --gc-sections, only what
the named functions reach, the compiler's own helpers included, the C library's memmove and memset
not.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from bench.commands import ROOT
from bench.runner import Bench
from testing.golden import pinned
from tautochrone.targets.build import TARGETS

GOLDEN = ROOT / "bench" / "size" / "golden.json"
COMPILERS = {name: [TARGETS[name].compiler, *TARGETS[name].machine] for name in ("rv32", "m4")}
BUILDS = {f"-{level} checks {check}": (level, check) for level in ("Os", "O2") for check in (0, 1)}
LINKED = {
    "tlsf malloc+free": ("tau_tlsf_malloc", "tau_tlsf_free"),
    "tlsf malloc+free+init+realloc": (
        *("tau_tlsf_malloc", "tau_tlsf_free", "tau_tlsf_init", "tau_tlsf_realloc"),
    ),
    "budget malloc+free": ("tau_budget_malloc", "tau_budget_free"),
    "budget malloc+free+init+realloc": (
        *("tau_budget_malloc", "tau_budget_free", "tau_budget_init", "tau_budget_realloc"),
    ),
}
STUBS = (
    "void *memmove(void *a, const void *b, __SIZE_TYPE__ c) { (void)b; (void)c; return a; }\n"
    "void *memset(void *a, int b, __SIZE_TYPE__ c) { (void)b; (void)c; return a; }\n"
)


def run(*command: str) -> str:
    """Run a tool of a compiler and return what it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def code_bytes(tools: str, file: Path, leave_out: tuple[str, ...] = ()) -> int:
    """Return the bytes of code and constants in `file`, without the functions named `leave_out`."""
    total = 0
    for line in run(f"{tools}-size", "-A", "-d", str(file)).splitlines():
        if line.startswith((".text", ".rodata")):
            total += int(line.split()[1])
    return total - sum(functions(tools, file).get(name, 0) for name in leave_out)


def functions(tools: str, file: Path) -> dict[str, int]:
    """Return the bytes of each function in `file`."""
    rows = (line.split() for line in run(f"{tools}-nm", "-S", str(file)).splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tT"}


def measure(target: str, build: str, folder: Path) -> dict[str, dict[str, int]]:
    """Compile the core for one target in one way and return its sizes in bytes."""
    level, check = BUILDS[build]
    compiler = COMPILERS[target]
    tools = compiler[0].removesuffix("-gcc")
    options = ["-std=c17", f"-{level}", "-ffreestanding", "-ffunction-sections", "-fdata-sections"]
    command = [*compiler, *options, f"-DTAU_CHECK_LEVEL={check}", f"-I{ROOT}"]
    (folder / "stubs.c").write_text(STUBS)
    objects: list[str] = []
    sizes: dict[str, int] = {}
    core = [*(ROOT / "core").glob("*.c"), *(ROOT / "peers" / "conventional").glob("*.c")]
    core.remove(ROOT / "core" / "tau.c")
    for source in [*sorted(core, key=lambda path: path.stem), folder / "stubs.c"]:
        made = folder / f"{source.stem}.o"
        run(*command, "-c", str(source), "-o", str(made))
        objects.append(str(made))
        if source.stem != "stubs":
            sizes |= functions(tools, made)
    linked = {}
    for name, roots in LINKED.items():
        program = folder / "linked.elf"
        kept = [f"-Wl,--undefined={root}" for root in roots]
        entry = ["-nostdlib", "-Wl,--gc-sections", f"-Wl,-e,{roots[0]}"]
        run(*command, *entry, *kept, *objects, "-lgcc", "-o", str(program))
        linked[name] = code_bytes(tools, program, leave_out=("memmove", "memset"))
    return {"linked": linked, "functions": dict(sorted(sizes.items()))}


def table(
    builds: Collection[str] = tuple(BUILDS),
) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Return all sizes of BUILDS: target, build, linked or functions, name, bytes."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            target: {build: measure(target, build, Path(folder)) for build in builds}
            for target in COMPILERS
        }


def differences(today: dict, golden: dict) -> list[str]:
    """Return one line for each size that is not the checked-in one."""
    return [
        f"{target} {build} {kind} {name}: {then} bytes checked in, {now} today"
        for target in COMPILERS
        for build in today[target]
        for kind in ("linked", "functions")
        for name in today[target][build][kind] | golden.get(target, {}).get(build, {}).get(kind, {})
        if (now := today[target][build][kind].get(name))
        != (then := golden.get(target, {}).get(build, {}).get(kind, {}).get(name))
    ]


def lines(today: dict) -> Iterator[str]:
    """A row for what is linked, and for each function."""
    columns = [(target, build) for target in COMPILERS for build in BUILDS]
    yield f"{'bytes':34}" + "".join(f"{f'{target} {build}':>19}" for target, build in columns)
    for kind, rows in today["rv32"]["-O2 checks 1"].items():
        for name in rows:
            sizes = (today[target][build][kind].get(name, "") for target, build in columns)
            yield f"{name:34}" + "".join(f"{size:>19}" for size in sizes)


def complaints(today: dict) -> list[str]:
    """Sizes that changed."""
    return differences(today, pinned(GOLDEN, today))


BENCH = Bench("size", lambda _: table(), lines, complaints)
