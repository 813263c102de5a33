"""Compiles the kernel, the base code and applications for the tile."""

import hashlib
import shutil
import struct
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tautochrone import native
from tautochrone.machine.images import building
from tautochrone.errors import TauError
from tautochrone.facts import compose_format as facts
from tautochrone.targets.build import TARGETS, compiler_of, kept, run
from tautochrone.targets.libraries import STRINGS, Libraries
from tautochrone.tile.compiled import compiled
from tautochrone.tile.user_flags import linker_flags

APPLICATIONS_MAX = facts.LIMIT_APPLICATIONS
ADDRESS = facts.ADDRESS_APPLICATION
NO_LIBRARIES = Libraries()
LEAKS = "kernel/slots/leaks.toml"
BASE_SOURCES = ("fifo.c", "base.c", "dma.c")
MEMORY = "targets/programs/replay/memory.c"  # memset and memcpy, which compiled code may call.
ENTRY_SUFFIX = "_entry"
FLAGS = ("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments")


def _run(command: Sequence[str], folder: Path | None = None) -> str | None:
    """A compiler's message if it failed; None if it did not. Paths in COMMAND start from FOLDER."""
    done = run(command, folder=folder)
    return done.stderr or "it failed without a message" if done.returncode != 0 else None


@building()
def base_code(root: Path, folder: Path) -> Path:
    """Link the base code into FOLDER."""
    made = folder / "base.elf"
    objects = [compiled(root / "kernel/base" / name, root).path for name in BASE_SOURCES]
    linker = [compiler_of("tile"), *TARGETS["tile"].machine, *FLAGS]
    script = ["-T", str(root / "kernel/base/base.ld")]
    said = _run([*linker, *script, *map(str, objects), "-o", str(made)])
    if said is not None:
        raise TauError("the base code cannot be linked", said=said)
    return made


def base_bytes(base: Path) -> bytes:
    """The bytes of the base code as they are in its page."""
    from elftools.elf.elffile import ELFFile

    with open(base, "rb") as file:
        (segment,) = (each for each in ELFFile(file).iter_segments() if each["p_type"] == "PT_LOAD")
        content = segment.data()
    return content + bytes(-len(content) % 4)


def base_hash(base: Path) -> bytes:
    """The hash that executables carry: SHA-256 of the base code's bytes."""
    return hashlib.sha256(base_bytes(base)).digest()


def loaded_hash(executable: Path) -> str:
    """SHA-256 of the loaded parts: of each segment its header's words, then its bytes.

    The file itself holds names of the compiler's temporary files.
    """
    from elftools.elf.elffile import ELFFile

    digest = hashlib.sha256()
    with open(executable, "rb") as file:
        for segment in ELFFile(file).iter_segments():
            names = ("p_type", "p_flags", "p_vaddr", "p_memsz", "p_filesz")
            digest.update(repr([segment[name] for name in names]).encode())
            digest.update(segment.data())
    return digest.hexdigest()


def refusal(image: bytes, digest: bytes) -> str | None:
    """Why the loader would refuse IMAGE with the base code of this hash; None if it would not.

    The kernel's own reader answers (kernel/slots/executable.c).
    """
    kernel = native.library("libtau_kernel.so")
    words = image + bytes(-len(image) % 4) or bytes(4)
    executable = kernel.struct("tau_executable")()
    said = kernel.tau_executable_read(executable, words, len(image), digest)
    return None if said is None else str(said.decode())


def tasks_of(executable: Path) -> list[tuple[int, str]]:
    """Entry and name of each task of an executable that the loader would take.

    The name is TAU_TASK's; an executable without symbols gives task0, task1, …
    """
    with open(executable, "rb") as file:
        elf = _elf_of(file, executable)
        names = _entry_names(elf)
        entries = [entry for entry, _, _ in _noted_tasks(elf)]
    return [(entry, names.get(entry, f"task{index}")) for index, entry in enumerate(entries)]


def stacks_of(executable: Path) -> list[tuple[int, int]]:
    """First address and bytes of the stack of each task of such an executable."""
    with open(executable, "rb") as file:
        elf = _elf_of(file, executable)
        return [(end - size_bytes, size_bytes) for _, end, size_bytes in _noted_tasks(elf)]


def _elf_of(file: BinaryIO, executable: Path) -> Any:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        return ELFFile(file)
    except ELFError as error:
        raise TauError(
            f"{executable}: its section table is damaged: {error}", "link it again"
        ) from error


def _noted_tasks(elf: Any) -> list[tuple[int, int, int]]:
    """Entry, end of the stack and its size of each task of the note; empty if it has none."""
    for segment in elf.iter_segments():
        content = segment.data() if segment["p_type"] == "PT_NOTE" else b""
        # The loader reads whole words, none beyond, and skips what is not a whole note of ours.
        words = struct.unpack_from(f"<{len(content) // 4}I", content)
        kind = (*words[0:3:2], content[12:16])
        if len(words) >= 4 + facts.NOTE_HEAD_WORDS and kind == (4, facts.NOTE_TYPE, b"tau\0"):
            rows = words[4 + facts.NOTE_HEAD_WORDS :][: words[5] * facts.NOTE_TASK_WORDS]
            return [
                (rows[at], rows[at + 1], rows[at + 2])
                for at in range(0, len(rows), facts.NOTE_TASK_WORDS)
            ]
    return []


def _entry_names(elf: Any) -> dict[int, str]:
    """The tasks' names by entry; none if the symbols are damaged, which nothing else needs."""
    from elftools.common.exceptions import ELFError

    try:
        table = elf.get_section_by_name(".symtab")
        return {
            symbol["st_value"]: symbol.name.removesuffix(ENTRY_SUFFIX)
            for symbol in (table.iter_symbols() if table else ())
            if symbol.name.endswith(ENTRY_SUFFIX)
        }
    except (ELFError, AttributeError, UnicodeDecodeError):
        return {}


@building()
def application(
    root: Path,
    name: str,
    sources: Sequence[Path],
    base: Path,
    folder: Path,
    flags: Sequence[str] = (),
    page_bytes: int = 16384,
    address: int = ADDRESS,
    libraries: Libraries = NO_LIBRARIES,
    paths_from: Path | None = None,
) -> Path:
    """Link an application with the base code's symbols.

    If FOLDER is not BASE's, NAME may be BASE's. It begins at ADDRESS; its data begin at the
    next multiple of PAGE_BYTES. Paths in FLAGS start from PATHS_FROM. Raises TauError with what the
    compiler said, or with the symbols that are missing.
    """
    digest = base_hash(base)
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    values = ",".join(f"{word}u" for word in words)
    ours = ["-Wno-error", f"-DTAU_BASE_HASH={values}", *libraries.compile_flags(root)]
    made = folder.absolute() / f"{name}.elf"
    objects = [
        compiled(each.absolute(), root, [*ours, *flags], paths_from, name, _library_step).path
        for each in sources
    ]
    command = [
        *(*libraries.linker("tile"), *FLAGS),
        *("-T", str(root / "kernel/base/application.ld"), f"-Wl,-R,{base.absolute()}"),
        *("-Wl,--gc-sections", f"-Wl,--defsym=tau_page_bytes={page_bytes}"),
        *(f"-Wl,--defsym=tau_address={address}", *map(str, objects)),
        *linker_flags(flags),
        *libraries.link_words(compiled(root / STRINGS, root).path),
        *("-o", str(made)),
    ]
    said = _run(command, paths_from)
    if said is not None:
        _refuse_link(name, libraries, said)
    return made


def _refuse_link(name: str, libraries: Libraries, said: str) -> NoReturn:
    missing = libraries.missing("tile", said)
    if missing is None:
        raise TauError(f"{name} cannot be linked", said=said)
    step = _library_step(missing.library) or missing.step
    raise TauError(f"{name} cannot be linked: {missing.cause}", step)


def _library_step(library: str | None) -> str | None:
    if library is None:
        return None
    return f'add libraries = ["{library}"] to it, or --library {library} to `tau compose link`'


@building()
def kernel(root: Path, folder: Path, leak: str = "none") -> Path:
    """Link the kernel, or a copy with a leak in it, if it is one of the kernel's."""
    with tempfile.TemporaryDirectory() as scratch:
        changes = tomllib.loads((root / LEAKS).read_text(encoding="utf-8")).get(leak, [])
        base = leaking(root, Path(scratch), changes) if changes else root
        made = kept(
            "tile",
            f"kernel-{leak}",
            root,
            [*sorted((base / "kernel/slots").glob("*.[cS]")), "core/buddy.c", MEMORY],
            [f"-I{base}", "-O2", "-Wl,--defsym=tau_tile_stack_bytes=1024"],
            keep=["tau_trap_exception", "tau_slot_end", "tau_trap_unexpected"],
        )
    return Path(shutil.copyfile(made, folder / f"kernel-{leak}.elf"))


def leaking(root: Path, folder: Path, changes: Iterable[Mapping[str, str]]) -> Path:
    """FOLDER with a copy of the kernel of slots in which CHANGES are made."""
    slots = shutil.copytree(root / "kernel/slots", folder / "kernel/slots")
    for change in changes:
        path = slots / change["file"]
        text = path.read_text(encoding="utf-8")
        assert text.count(change["old"]) == 1, f"{path.name}: {change['old']}"
        path.write_text(text.replace(change["old"], change["new"]), encoding="utf-8")
    return folder
