"""Half-fit compared with TLSF: the longest paths of malloc and free, of o1heap and of ours, and
their code on Cortex-M4.

    python -m bench.allocators.half_fit    the table of docs/design/tlsf.md

o1heap's C, version 2, comes in its crate, which cargo fetches. It is compiled as ours is. Its
assertions, off or on, stand beside our checks of levels 0 and 1. On, malloc asserts that the block
it takes is large enough and not in use; free, that the pointer lies in the heap, and that its block
is in use and has a possible size. They read no neighbor's size and follow no link back.

o1heap 3 is in no package. peers/packages/half_fit_library.c stands for it: our half-fit with two
words before an object, an alignment of two words, and the same assertions.
"""

import json
from pathlib import Path
from typing import Any

from bench.allocators import code_size
from bench.allocators.images import OUT, PACKAGED, RUST_PACKAGES, PeerMissing, run
from tautochrone.machine.core_build import Build
from tautochrone.machine.images import ISAS, build_image, core_image
from tautochrone.machine.longest_path import bound_instructions

CRATE_VERSION = "0.0.2"
MANIFEST = f"""[package]
name = "half_fit"
version = "0.1.0"
edition = "2021"

[dependencies]
o1heap = "={CRATE_VERSION}"
"""
COLUMNS = ("rv32", "rv32zbb", "m4")
O1HEAP = ("o1heapAllocate", "o1heapFree")
OURS = ("tau_library_malloc", "tau_library_free")
OURS_TITLE = "half-fit, geometry of o1heap 3 (ours)"
ASSERTIONS = ("(void)(x)", "((x)?(void)0:__builtin_trap())")  # off, on


def source() -> Path:
    """The crate's o1heap.c, fetched if need be. Raises PeerMissing."""
    folder = OUT / "o1heap"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(MANIFEST)
    # All that it wants of the C library where we define the assertions.
    (folder / "assert.h").write_text("#define static_assert _Static_assert\n")
    command = ["cargo", "metadata", "--format-version", "1"]
    packages = json.loads(run(command, "crate o1heap", RUST_PACKAGES, cwd=folder))["packages"]
    manifest = next(package["manifest_path"] for package in packages if package["name"] == "o1heap")
    path = Path(manifest).parent / "o1heap" / "o1heap" / "o1heap.c"
    if not path.exists():
        raise PeerMissing(f"{path} is not in the crate", f"take o1heap {CRATE_VERSION}")
    return path


def flags(c_file: Path, check_level: int = 0) -> tuple[str, ...]:
    """How it is compiled."""
    assertion = f"-DO1HEAP_ASSERT(x)={ASSERTIONS[check_level]}"
    return (assertion, f"-I{OUT / 'o1heap'}", f"-I{c_file.parent}")


def row(name: str, build: Build, c_file: Path | None, functions: tuple[str, ...]) -> dict[str, Any]:
    """`malloc / free` on each target, and bytes of code: of C_FILE, or of our TLSF."""
    level, optimize = build.check_level, build.optimize
    found: dict[str, Any] = {"name": name, "optimize": optimize, "check_level": level}
    for isa in COLUMNS:
        if c_file is None:
            elf = core_image("tlsf", isa, build).elf
        else:
            words = (c_file.stem, isa, [c_file], flags(c_file, level), (), "tau_none", optimize)
            elf = build_image(*words, keep=functions).elf
        found[isa] = " / ".join(str(bound_instructions(elf, each)) for each in functions)
    if c_file is None:
        found["code_m4_bytes"] = code_size.our_sizes("tlsf", "m4", level, optimize)["malloc_free"]
    else:
        label = f"{c_file.stem}-m4-{level}{optimize}"
        built = code_size.compiled("m4", [c_file], (optimize, *flags(c_file, level)), label)
        found["code_m4_bytes"] = code_size.linked("m4", built, functions, label)
    return found


def measure() -> list[dict[str, Any]]:
    """A row for each allocator, optimization and check level; a crate that is not to be had is
    "missing" with the cause."""
    rows = []
    for build in (Build(level, optimize) for optimize in ("-O2", "-Os") for level in (0, 1)):
        title = f"o1heap 2, crate {CRATE_VERSION}"
        try:
            rows.append(row(title, build, source(), O1HEAP))
        except PeerMissing as cause:
            rows.append({"name": title, "optimize": build.optimize, "missing": cause.message})
        rows.append(row(OURS_TITLE, build, PACKAGED / "half_fit_library.c", OURS))
        rows.append(row("our TLSF", build, None, ("tau_tlsf_malloc", "tau_tlsf_free")))
    return rows


def table() -> list[str]:
    """The lines of the table, measured."""
    titles = " | ".join(ISAS[isa].title for isa in COLUMNS)
    return [
        f"| malloc / free, longest path | {titles} | bytes on Cortex-M4 |",
        "|---" * (len(COLUMNS) + 2) + "|",
        *(
            f"| {each['name']}, {each['optimize']}, checks {('off', 'on')[each['check_level']]}"
            f" | {' | '.join(each[isa] for isa in COLUMNS)} | {each['code_m4_bytes']} |"
            for each in measure()
        ),
    ]


if __name__ == "__main__":
    print("\n".join(table()))
