"""Images: an allocator, compiled and linked for a target, as one flat piece of code.

An image is made of any sources, objects and archives. They give PREFIX_init(memory, size_bytes) ->
heap, PREFIX_malloc(heap, size_bytes), PREFIX_free(heap, pointer) and, where the allocator has
them, PREFIX_calloc(heap, count, size_bytes), PREFIX_aligned_alloc(heap, alignment, size_bytes) and
PREFIX_realloc(heap, pointer, size_bytes), with the meaning of core/tlsf.h. There is no C library:
only memmove, memcpy and memset are there, and libgcc is linked.

Images are kept in the user's cache directory under a hash of all that they depend on, and built
anew if they are damaged.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone import native
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.files import kept_files

IMAGE_SOURCES = Path(__file__).parents[1] / "image"
CODE_ADDRESS = 0x10000
FUNCTIONS = ("malloc", "calloc", "realloc", "aligned_alloc", "free")


@dataclass(frozen=True)
class Isa:
    """A target: its compiler, the Debian package that has it, the flags of the stated numbers.

    `stub` is the file in image/ that takes calls; `number` is enum tau_emulator_isa.
    """

    name: str
    title: str
    number: int
    compiler: str
    package: str
    flags: tuple[str, ...]
    stub: str


ISAS = {
    isa.name: isa
    for isa in (
        Isa(
            "rv32",
            "RV32IMC",
            0,
            "riscv64-unknown-elf-gcc",
            "gcc-riscv64-unknown-elf",
            ("-march=rv32imc", "-mabi=ilp32"),
            "rv32.S",
        ),
        Isa(
            "m4",
            "Cortex-M4",
            1,
            "arm-none-eabi-gcc",
            "gcc-arm-none-eabi",
            ("-mcpu=cortex-m4", "-mthumb"),
            "m4.S",
        ),
        Isa(
            "rv32zbb",
            "RV32IMC with Zbb",
            2,
            "riscv64-unknown-elf-gcc",
            "gcc-riscv64-unknown-elf",
            ("-march=rv32imc_zbb", "-mabi=ilp32"),
            "rv32.S",
        ),
    )
}
# As firmware is usually built; with -O2 these are the conditions of the stated numbers.
COMPILE_FLAGS = ("-std=c17", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-g0")


@dataclass(frozen=True)
class Image:
    """Linked code for a target: the ELF file (kept in the cache) and what calls it."""

    name: str
    isa: str
    elf: Path
    prefix: str
    alignment: int
    code: bytes = field(repr=False)
    symbols: dict[str, int] = field(repr=False)

    def function(self, verb: str) -> str | None:
        """The linked name of `verb` (as "malloc"), None if the image has no such function."""
        name = f"{self.prefix}_{verb}"
        return name if name in self.symbols else None


def cache_directory() -> Path:
    """Where linked images are kept; made if need be. Raises TauError if it cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(base) / "tautochrone" / "images"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TauError(
            f"{path} cannot be made: {error.strerror}",
            "set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    return path


def compiler_of(isa: str) -> str:
    """The path of the target's compiler; TauError naming its Debian package if it is missing."""
    if isa not in ISAS:
        raise TauError(f"no target is called {isa!r}", f"use one of {', '.join(ISAS)}", EXIT_USAGE)
    path = shutil.which(ISAS[isa].compiler)
    if path is None:
        raise TauError(
            f"{ISAS[isa].compiler} is not installed, which code for {ISAS[isa].title} needs",
            f"apt install {ISAS[isa].package}",
        )
    return path


def _run(command: Sequence[str], purpose: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        raise TauError(f"{purpose} failed", said=done.stderr)
    return done.stdout


@functools.lru_cache(maxsize=8)
def _compiler_version(compiler: str) -> str:
    return _run([compiler, "--version"], compiler).splitlines()[0]


def _key(
    compiler: str,
    sources: Sequence[Path],
    flags: Sequence[str],
    libraries: Sequence[Path],
    kept: Sequence[str],
) -> str:
    """A hash of all that the linked code depends on; sources are hashed after preprocessing."""
    digest = hashlib.sha256()
    digest.update("\0".join([_compiler_version(compiler), *kept, *flags]).encode())
    for source in sources:
        if source.suffix in (".c", ".S"):
            digest.update(
                _run(
                    [compiler, *flags, "-E", "-P", str(source)], f"preprocessing {source.name}"
                ).encode()
            )
        else:
            digest.update(source.read_bytes())
        digest.update(b"\0")
    for library in libraries:
        digest.update(library.read_bytes())
    digest.update((IMAGE_SOURCES / "link.ld").read_bytes())
    return digest.hexdigest()[:32]


def build_image(
    name: str,
    isa: str,
    sources: Sequence[str | Path],
    cflags: Sequence[str] = (),
    libraries: Sequence[str | Path] = (),
    prefix: str = "tau_peer",
    optimize: str = "-O2",
    alignment: int = 4,
    keep: Sequence[str] = (),
) -> Image:
    """Compile and link an allocator for a target, or take it from the cache.

    `sources` are .c and .S files (compiled with COMPILE_FLAGS, `optimize`, then `cflags`) and
    object files; `libraries` are archives. What the allocator hands out is a multiple of
    `alignment` bytes. Functions that nothing calls are left out, but for the allocator's and those
    in `keep`. Raises TauError with the compiler's message if building fails.
    """
    compiler = compiler_of(isa)
    flags = [*ISAS[isa].flags, *COMPILE_FLAGS, optimize, *cflags]
    paths = [IMAGE_SOURCES / ISAS[isa].stub, *(Path(source) for source in sources)]
    archives = [Path(library) for library in libraries]
    for path in (*paths, *archives):
        if not path.exists():
            raise TauError(f"{path} does not exist, which the image {name} needs")
    kept = [f"{prefix}_{verb}" for verb in (*FUNCTIONS, "init")]
    kept += ["tau_image_init", "tau_image_shared", *keep]
    elf = cache_directory() / f"{name}-{isa}-{_key(compiler, paths, flags, archives, kept)}.elf"
    if not kept_files.is_whole(elf):
        with tempfile.TemporaryDirectory(dir=elf.parent) as scratch:
            linked = Path(scratch) / "image.elf"
            command = [
                compiler,
                *flags,
                "-nostdlib",
                "-static",
                "-Wl,--gc-sections",
                "-Wl,--build-id=none",
                "-Wl,--no-warn-rwx-segments",
            ]
            command += [f"-Wl,-T,{IMAGE_SOURCES / 'link.ld'}", "-o", str(linked)]
            command += [f"-Wl,-u,{name}" for name in kept]
            command += [*map(str, paths), *map(str, archives), "-lgcc"]
            _run(command, f"building the image {name} for {ISAS[isa].title}")
            kept_files.keep(linked, elf)
    return load_image(name, isa, elf, prefix, alignment)


def load_image(name: str, isa: str, elf: Path, prefix: str, alignment: int = 4) -> Image:
    """Read a linked image: its code as one flat piece, and the addresses of its functions."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        parsed = ELFFile(file)
        segments = [
            (segment["p_vaddr"], segment.data())
            for segment in parsed.iter_segments()
            if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]
        ]
        table = parsed.get_section_by_name(".symtab")
        symbols = {
            symbol.name: int(symbol["st_value"])
            for symbol in table.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name
        }
    end = max(address + len(data) for address, data in segments)
    code = bytearray(end - CODE_ADDRESS)
    for address, data in segments:
        # The first segment may start with the file's headers, below the code.
        start = max(CODE_ADDRESS - address, 0)
        code[address + start - CODE_ADDRESS : address + len(data) - CODE_ADDRESS] = data[start:]
    return Image(name, isa, elf, prefix, alignment, bytes(code), symbols)


def core_image(
    system: str, isa: str, check_level: int = 0, optimize: str = "-O2", cflags: Sequence[str] = ()
) -> Image:
    """The image of "tlsf" or "budget" at a check level (the targets are stated for 0)."""
    sources = native.core_sources()
    if not sources.is_dir():
        raise TauError(
            "the core's sources are missing from this installation",
            "reinstall with `pipx install .`",
        )
    files = [sources / "tlsf.c"]
    if system == "budget":
        files += [sources / "budget.c", IMAGE_SOURCES / "budget.c"]
    elif system != "tlsf":
        raise TauError(
            f"instructions cannot be counted on {system!r}",
            "count on tlsf and budget; peers are in bench/allocators",
            EXIT_USAGE,
        )
    flags = [f"-I{sources.parent}", f"-DTAU_CHECK_LEVEL={check_level}", *cflags]
    return build_image(
        f"{system}-check{check_level}", isa, files, flags, (), f"tau_{system}", optimize, 8
    )
