"""Code bytes of the core: of each function, and of a firmware's linked part, for each target.

Prints the table, and complains of sizes that differ from golden.json.
TAU_UPDATE_GOLDEN=1 makes today's the checked-in one. Linked means: with --gc-sections, only what
the named functions reach, the compiler's own helpers included, the C library's memmove and memset
not.
"""

import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from bench.allocators.images import ISAS, compile_c, function_sizes, link, sizes_of
from bench.commands import ROOT
from bench.runner import Bench
from testing.golden import pinned

GOLDEN = ROOT / "bench" / "size" / "golden.json"
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


def measure(target: str, build: str, folder: Path) -> dict[str, dict[str, int]]:
    """Compile the core for one target in one way and return its sizes in bytes."""
    isa, (level, check) = ISAS[target], BUILDS[build]
    flags = (f"-{level}", "-ffreestanding", f"-DTAU_CHECK_LEVEL={check}")
    (folder / "stubs.c").write_text(STUBS)
    core = [*(ROOT / "core").glob("*.c"), *(ROOT / "peers" / "conventional").glob("*.c")]
    core.remove(ROOT / "core" / "tau.c")
    objects = [
        compile_c(isa, source, flags, folder / f"{source.stem}.o")
        for source in [*sorted(core, key=lambda path: path.stem), folder / "stubs.c"]
    ]
    stubs = function_sizes(objects[-1])
    sizes: dict[str, int] = {}
    for each in objects[:-1]:
        sizes |= function_sizes(each)
    linked = {}
    for name, roots in LINKED.items():
        inputs = [*map(str, objects), "-lgcc"]
        image = link(isa, inputs, [*roots], folder / "linked.elf", (*isa.flags, "-nostdlib"))
        found = function_sizes(image)
        linked[name] = sizes_of(image)[0] - sum(found.get(stub, 0) for stub in stubs)
    return {"linked": linked, "functions": dict(sorted(sizes.items()))}


def table(
    builds: Collection[str] = tuple(BUILDS),
) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Return all sizes of BUILDS: target, build, linked or functions, name, bytes."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            target: {build: measure(target, build, Path(folder)) for build in builds}
            for target in ISAS
        }


def differences(today: dict, golden: dict) -> list[str]:
    """Return one line for each size that differs from the checked-in one."""
    return [
        f"{target} {build} {kind} {name}: {then} bytes checked in, {now} today"
        for target in ISAS
        for build in today[target]
        for kind in ("linked", "functions")
        for name in today[target][build][kind] | golden.get(target, {}).get(build, {}).get(kind, {})
        if (now := today[target][build][kind].get(name))
        != (then := golden.get(target, {}).get(build, {}).get(kind, {}).get(name))
    ]


def lines(today: dict) -> Iterator[str]:
    """A row for each linked set, and for each function."""
    columns = [(target, build) for target in ISAS for build in BUILDS]
    yield f"{'bytes':34}" + "".join(f"{f'{target} {build}':>19}" for target, build in columns)
    for kind, rows in today["rv32"]["-O2 checks 1"].items():
        for name in rows:
            sizes = (today[target][build][kind].get(name, "") for target, build in columns)
            yield f"{name:34}" + "".join(f"{size:>19}" for size in sizes)


def complaints(today: dict) -> list[str]:
    """Sizes that changed."""
    return differences(today, pinned(GOLDEN, today))


BENCH = Bench("size", lambda _: table(), lines, complaints)
