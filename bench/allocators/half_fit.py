"""Half-fit compared with TLSF: the longest paths of malloc and free, of o1heap and of ours.

    python -m bench.allocators.half_fit    the table of docs/design/tlsf.md

o1heap's C, version 2, comes in its crate, which cargo fetches; it is compiled as ours is, its
assertions off.
"""

import json
from pathlib import Path

from bench.allocators.images import OUT, RUST_PACKAGES, PeerMissing, run
from tautochrone.machine.longest_path import bound_instructions
from tautochrone.machine.images import ISAS, build_image, core_image

CRATE_VERSION = "0.0.2"
MANIFEST = f"""[package]
name = "half_fit"
version = "0.1.0"
edition = "2021"

[dependencies]
o1heap = "={CRATE_VERSION}"
"""
COLUMNS = ("rv32", "rv32zbb", "m4")
FUNCTIONS = ("o1heapAllocate", "o1heapFree")


def source() -> Path:
    """The crate's o1heap.c, fetched if need be. Raises PeerMissing."""
    folder = OUT / "o1heap"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(MANIFEST)
    # All that it wants of the C library where assertions are off.
    (folder / "assert.h").write_text("#define static_assert _Static_assert\n")
    command = ["cargo", "metadata", "--format-version", "1"]
    packages = json.loads(run(command, "crate o1heap", RUST_PACKAGES, cwd=folder))["packages"]
    manifest = next(package["manifest_path"] for package in packages if package["name"] == "o1heap")
    path = Path(manifest).parent / "o1heap" / "o1heap" / "o1heap.c"
    if not path.exists():
        raise PeerMissing(f"{path} is not in the crate", f"take o1heap {CRATE_VERSION}")
    return path


def flags(c_file: Path) -> tuple[str, ...]:
    """How it is compiled."""
    return ("-DO1HEAP_ASSERT(x)=(void)(x)", f"-I{OUT / 'o1heap'}", f"-I{c_file.parent}")


def bounds(isa: str, c_file: Path) -> tuple[str, str]:
    """`malloc / free` of our TLSF and of o1heap."""
    ours = core_image("tlsf", isa)
    words = ("o1heap", isa, [c_file], flags(c_file), (), "tau_none")
    theirs = build_image(*words, keep=FUNCTIONS)
    pairs = (ours.elf, ("tau_tlsf_malloc", "tau_tlsf_free")), (theirs.elf, FUNCTIONS)
    first, second = (
        " / ".join(str(bound_instructions(elf, name)) for name in names) for elf, names in pairs
    )
    return first, second


def table() -> list[str]:
    """The lines of the table, measured."""
    c_file = source()
    columns = [bounds(isa, c_file) for isa in COLUMNS]
    titles = " | ".join(ISAS[isa].title for isa in COLUMNS)
    rows = zip((f"o1heap, crate {CRATE_VERSION}", "our TLSF"), (1, 0), strict=True)
    return [
        f"| malloc / free, longest path, -O2, no checks | {titles} |",
        "|---" * (len(COLUMNS) + 1) + "|",
        *(f"| {name} | {' | '.join(column[row] for column in columns)} |" for name, row in rows),
    ]


if __name__ == "__main__":
    print("\n".join(table()))
