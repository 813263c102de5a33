"""Builds images: an allocator, compiled and linked for a target, as flat code.

An image is made of sources, objects and archives. They define PREFIX_init(memory, size_bytes) ->
heap, PREFIX_malloc(heap, size_bytes) and PREFIX_free(heap, pointer). They may define
PREFIX_calloc(heap, count, size_bytes), PREFIX_aligned_alloc(heap, alignment, size_bytes) and
PREFIX_realloc(heap, pointer, size_bytes). core/tlsf.h states what these do. There is no C library
except memmove, memcpy and memset; libgcc is linked. targets/build.py has the recipes and the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone import native
from tautochrone.machine.core_build import FASTEST, Build
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.targets.build import TARGETS, BuildError, compiler_version, kept
from tautochrone.targets.sources import CORE_FILES

CODE_ADDRESS = 0x10000
STUB_VARIABLES_BYTES = 1024  # The mailbox of targets/*/stub.S.
ALIGNMENT_32_BYTES = 8  # TAU_ALIGNMENT of core/config.h on 32-bit targets
FUNCTIONS = ("malloc", "calloc", "realloc", "aligned_alloc", "free")
# The targets that are emulated.
ISAS = {name: TARGETS[name] for name in ("rv32", "m4", "rv32zbb")}


@dataclass(frozen=True)
class Image:
    """Linked code for a target: the ELF file in the cache, and the addresses of its functions."""

    name: str
    isa: str
    elf: Path
    prefix: str
    alignment: int
    code: bytes = field(repr=False)
    symbols: dict[str, int] = field(repr=False)
    address: int = CODE_ADDRESS

    def place(self, address: int) -> str:
        """An address as text: the symbol at or before it, plus the offset."""
        before = [(value & ~1, name) for name, value in self.symbols.items()]
        start, name = max((one for one in before if one[0] <= address), default=(0, ""))
        return f"{name}+{address - start:#x}" if name else f"{address:#x}"

    def function(self, verb: str) -> str | None:
        """The linked name of `verb` (as "malloc"), None if the image has no such function."""
        name = f"{self.prefix}_{verb}"
        return name if name in self.symbols else None


@contextmanager
def building() -> Iterator[None]:
    """Turn a failed build into a TauError."""
    try:
        yield
    except BuildError as error:
        raise TauError(error.message, error.next_step, said=error.said) from error


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

    `sources` are .c and .S files, compiled with the flags of the target's recipe, `optimize`, then
    `cflags`, and object files; a relative one lies in native.sources(). `libraries` are archives.
    The allocator returns multiples of `alignment`, in bytes. The linker drops functions that
    nothing calls, except the allocator's and those in `keep`. Raises TauError with the compiler's
    message if building fails.
    """
    if isa not in ISAS:
        raise TauError(f"no target is called {isa!r}", f"use one of {', '.join(ISAS)}", EXIT_USAGE)
    names = [f"{prefix}_{verb}" for verb in (*FUNCTIONS, "init")]
    names += ["tau_image_init", "tau_image_shared", *keep]
    archives = [Path(library) for library in libraries]
    with building():
        elf = kept(isa, name, native.sources(), sources, [optimize, *cflags], archives, names)
    return load_image(name, isa, elf, prefix, alignment)


def stub_image(isa: str, address: int, alignment: int) -> Image:
    """What calls the functions of another program, which is linked elsewhere, at an address.

    Its objects are at multiples of `alignment`.
    """
    place = f"-Wl,--defsym=tau_image_address={address:#x}"
    with building():
        elf = kept(isa, "stub", native.sources(), (), [place])
    return load_image("stub", isa, elf, "tau_none", alignment, address)


def load_image(
    name: str, isa: str, elf: Path, prefix: str, alignment: int = 4, address: int = CODE_ADDRESS
) -> Image:
    """Read an image that is linked for an address: its code as one array of bytes, and the
    addresses of its functions.
    """
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
    code = bytearray(max(place + len(data) for place, data in segments) - address)
    for place, data in segments:
        # The first segment may start with the file's headers, below the code.
        start = max(address - place, 0)
        code[place + start - address : place + len(data) - address] = data[start:]
    return Image(name, isa, elf, prefix, alignment, bytes(code), symbols, address)


def compiler_versions(targets: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The version of each target's compiler, as it says itself, for those that are installed."""
    found = []
    for target in targets:
        try:
            found.append((target, compiler_version(target)))
        except BuildError:
            continue
    return tuple(found)


def variables_bytes(image: Image) -> int:
    """The bytes of an image's variables, in whole words of 8, without the stub's."""
    from elftools.elf.elffile import ELFFile

    with image.elf.open("rb") as file:
        sections = [each.header for each in ELFFile(file).iter_sections()]
    flags = {"writable": 0x1, "loaded": 0x2, "of a thread": 0x400}
    mask, wanted = sum(flags.values()), flags["writable"] + flags["loaded"]
    taken = sum(each["sh_size"] for each in sections if each["sh_flags"] & mask == wanted)
    return -(-(taken - STUB_VARIABLES_BYTES) // 8) * 8


def code_bytes(image: Image) -> int:
    """The bytes of an image's code and constants, without those that replay adds."""
    stub = (image.symbols["tau_stub_end"] & ~1) - (image.symbols["tau_stub_start"] & ~1)
    return len(image.code) - stub


def core_files(system: str) -> list[str]:
    """The sources of one of our heaps, in link order."""
    return [*CORE_FILES[system]]


def core_image(
    system: str,
    isa: str,
    build: Build = FASTEST,
    cflags: Sequence[str] = (),
    block_alignment: int = ALIGNMENT_32_BYTES,
) -> Image:
    """The image of "tlsf", "budget" or "pools" in a build."""
    if not native.core_sources().is_dir():
        raise TauError(
            "the core's sources are missing from this installation",
            "reinstall with `pipx install .`",
        )
    if system not in ("tlsf", "budget", "pools"):
        raise TauError(
            f"instructions cannot be counted on {system!r}",
            "count on tlsf, budget and pools; peers are in bench/allocators",
            EXIT_USAGE,
        )
    files = core_files(system)
    files += [] if system == "tlsf" else [f"targets/programs/{system}.c"]
    flags, prefix = [*build.cflags, *cflags], f"tau_{system}"
    if system == "pools":
        flags.append(f"-DPOOLS_ALIGNMENT={block_alignment}u")
    name, alignment = f"{system}-check{build.check_level}", build.alignment_in("32")
    return build_image(name, isa, files, flags, (), prefix, build.optimize, alignment)
