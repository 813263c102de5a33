"""Builds code for bare targets: one recipe per target, and one cache.

    elf = kept("rv32", "tlsf", root, ["core/tlsf.c"], keep=["tau_tlsf_malloc"])
    link("tile", root, ["targets/programs/hello.c"], Path("hello.elf"))

ROOT contains core/, facts/ and targets/: the repository, or the tool's package. Sources are .c and
.S files, which are compiled, and object files. Relative paths are relative to ROOT. Every source
may include "core/…", "facts/…" and "targets/…".
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import kept_files, limited, notes

VERSION_SECONDS_MAX = 20
BUILD_SECONDS_MAX = 300


class BuildError(Exception):
    """Code cannot be built. The message says why, and `next_step` what to do, if that is known.

    `said` is the compiler's output.
    """

    def __init__(self, message: str, next_step: str | None = None, said: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.said = said


@dataclass(frozen=True)
class Target:
    """The recipe of a target.

    `machine` selects the processor. `flags` apply to every C file; with `optimize` they are the
    conditions of the stated numbers. `start` (start-up code) and `script` (linker script) are files
    in targets/. `library` are the flags with which the compiler finds its libgcc.
    """

    title: str
    compiler: str
    package: str
    machine: tuple[str, ...]
    flags: tuple[str, ...]
    start: tuple[str, ...]
    script: str
    library: tuple[str, ...]
    optimize: str = "-O2"


BARE_FLAGS = ("-std=c17", "-ffreestanding", "-ffunction-sections", "-fdata-sections")
# A loop of the program must not become a call of memset, which is a loop itself.
TILE_FLAGS = (*BARE_FLAGS, "-Wall", "-Wextra", "-Werror", "-fno-tree-loop-distribute-patterns")
LINK_FLAGS = ("-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,--build-id=none")
LINK_FLAGS += ("-Wl,--no-warn-rwx-segments",)
M4_MACHINE = ("-mcpu=cortex-m4", "-mthumb")
SV39_MACHINE = ("-march=rv64imac_zicsr_zifencei", "-mabi=lp64", "-mcmodel=medany")
RV32 = Target(
    title="RV32IMC",
    compiler="riscv64-unknown-elf-gcc",
    package="gcc-riscv64-unknown-elf",
    machine=("-march=rv32imc", "-mabi=ilp32"),
    flags=(*BARE_FLAGS, "-g0"),
    start=("rv32/stub.S",),
    script="emulated.ld",
    # No multilib is exactly for Zbb or Zicsr: the linker would take a 64-bit libgcc.
    library=("-march=rv32im", "-mabi=ilp32"),
)
TILE = replace(
    RV32,
    title="the tile",
    machine=("-march=rv32imc_zicsr", "-mabi=ilp32"),
    flags=TILE_FLAGS,
    start=("tile/crt0.S", "tile/trap.c"),
    script="tile/tile.ld",
)
TARGETS = {
    # Emulated, calls counted: tool/tautochrone/replay/emulator.py.
    "rv32": RV32,
    "rv32zbb": replace(
        RV32, title="RV32IMC with Zbb", machine=("-march=rv32imc_zbb", "-mabi=ilp32")
    ),
    "m4": replace(
        RV32,
        title="Cortex-M4",
        compiler="arm-none-eabi-gcc",
        package="gcc-arm-none-eabi",
        machine=M4_MACHINE,
        start=("m4/stub.S",),
        library=M4_MACHINE,
    ),
    # The simulated tile, and the same with bit manipulation: hw/README.md.
    "tile": TILE,
    "tile-b": replace(TILE, machine=("-march=rv32imc_zicsr_zba_zbb_zbs", "-mabi=ilp32")),
    # QEMU's machine virt, in supervisor mode.
    "sv39": replace(
        RV32,
        title="Sv39",
        machine=SV39_MACHINE,
        flags=("-std=c17", "-ffreestanding", "-fno-jump-tables"),
        start=("sv39/start.S",),
        script="sv39/sv39.ld",
        library=SV39_MACHINE,
    ),
}


def compiler_of(target: str) -> str:
    """The path of a target's compiler; BuildError naming its Debian package if it is missing."""
    recipe = TARGETS[target]
    path = shutil.which(recipe.compiler)
    if path is None:
        raise BuildError(
            f"{recipe.compiler} is not installed; code for {recipe.title} needs it",
            f"apt install {recipe.package}",
        )
    return path


def compiler_version(target: str) -> str:
    """The first line of a target's compiler's version; BuildError if it is not installed."""
    return _version(compiler_of(target))


def cache_folder() -> Path:
    """Where linked code is kept; made if need be. Raises BuildError if it cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(base) / "tautochrone" / "images"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(
            f"{path} cannot be made: {error.strerror}",
            "set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    return path


def link(
    target: str,
    root: Path,
    sources: Sequence[str | Path],
    made: Path,
    flags: Sequence[str] = (),
    libraries: Sequence[Path] = (),
    keep: Sequence[str] = (),
) -> Path:
    """Compile and link for a target into the file `made`; return it.

    FLAGS come after the recipe's, so their optimization level wins. Functions that nothing calls
    are left out, except those in KEEP. Raises BuildError with the compiler's output.
    """
    recipe, compiler = TARGETS[target], compiler_of(target)
    purpose = f"building {made.stem} for {recipe.title}"
    compile_flags = _compile_flags(target, root, flags)
    command = [compiler, *compile_flags, *LINK_FLAGS]
    command += ["-T", str(root / "targets" / recipe.script), "-o", str(made)]
    command += [f"-Wl,-u,{name}" for name in keep]
    with tempfile.TemporaryDirectory() as scratch:
        # Each by itself: a compiler that keeps objects, as ccache does, compiles a file once.
        for number, path in enumerate(_files(target, root, sources)):
            if path.suffix in (".c", ".S"):
                made_object = f"{scratch}/{number}-{path.stem}.o"
                _run([compiler, *compile_flags, "-c", str(path), "-o", made_object], purpose)
                command.append(made_object)
            else:
                command.append(str(path))
        command += [*map(str, libraries), _libgcc(compiler, recipe.library)]
        _run(command, purpose)
    return made


def kept(
    target: str,
    name: str,
    root: Path,
    sources: Sequence[str | Path],
    flags: Sequence[str] = (),
    libraries: Sequence[Path] = (),
    keep: Sequence[str] = (),
) -> Path:
    """As link, with a cache: the file's name has a hash of everything that the code depends on.

    While no file changes, a note says the hash, and no compiler is started but for its version.

    NAME is part of the file's name, for people who look into the cache.
    """
    files = _files(target, root, sources)
    for path in (*files, *libraries):
        if not path.exists():
            raise BuildError(f"{path} does not exist; {name} needs it")
    tool = [_version(compiler_of(target)), *LINK_FLAGS, *keep]
    script = root / "targets" / TARGETS[target].script
    words = _compile_flags(target, root, flags)
    asked = notes.name_of(compiler_of(target), tool, words, files, libraries, script)
    note = cache_folder() / f"{name}-{target}-{asked}.note"
    digest = notes.found(note)
    if digest is None:
        begun_ns = time.time_ns()
        with tempfile.TemporaryDirectory(dir=note.parent) as scratch:
            texts, read = _texts(target, words, files, Path(scratch))
            bytes_linked = [path.read_bytes() for path in (*libraries, script)]
            parts = ["\0".join(tool).encode(), *(text + b"\0" for text in texts), *bytes_linked]
            digest = hashlib.sha256(b"".join(parts)).hexdigest()[:32]
            notes.keep(note, digest, (*read, *libraries, script), begun_ns, Path(scratch))
    elf = note.with_name(f"{name}-{target}-{digest}.elf")
    if not kept_files.is_whole(elf):
        with tempfile.TemporaryDirectory(dir=elf.parent) as scratch:
            linked = Path(scratch) / f"{name}.elf"
            kept_files.keep(link(target, root, sources, linked, flags, libraries, keep), elf)
    return elf


def _files(target: str, root: Path, sources: Sequence[str | Path]) -> list[Path]:
    return [
        *(root / "targets" / name for name in TARGETS[target].start),
        *(root / source for source in sources),
    ]


def _compile_flags(target: str, root: Path, flags: Sequence[str]) -> list[str]:
    recipe = TARGETS[target]
    return [*recipe.machine, *recipe.flags, recipe.optimize, *flags, f"-I{root}"]


def _texts(
    target: str, words: Sequence[str], files: Sequence[Path], scratch: Path
) -> tuple[list[bytes], list[Path]]:
    """The flags but the root's, which may lie anywhere, and each file as the compiler sees it; and
    all files that it read for that.
    """
    texts, read = ["\0".join(words[:-1]).encode()], list(files)
    rule = scratch / "rule"
    seen = [compiler_of(target), *words, "-E", "-P", "-MD", "-MF", str(rule)]
    for path in files:
        if path.suffix in (".c", ".S"):
            texts.append(_run([*seen, str(path)], f"preprocessing {path.name}").encode())
            read += notes.files_in(rule.read_text(errors="surrogateescape"))
        else:
            texts.append(path.read_bytes())
    return texts, read


def run(
    command: Sequence[str],
    purpose: str = "",
    seconds_max: float = BUILD_SECONDS_MAX,
    folder: Path | None = None,
    given: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a compiler or a tool of it, as `limited.run` does. PURPOSE is its name in messages.

    Raises BuildError if it does not end in time.
    """
    try:
        return limited.run(command, seconds_max, folder, given)
    except subprocess.TimeoutExpired as error:
        raise BuildError(
            f"{purpose or command[0]} took over {seconds_max:g} s",
            f"see where it hangs: {command[0]} --version",
        ) from error


def _run(command: Sequence[str], purpose: str, seconds_max: float = BUILD_SECONDS_MAX) -> str:
    done = run(command, purpose, seconds_max)
    if done.returncode != 0:
        raise BuildError(f"{purpose} failed", said=done.stderr)
    return done.stdout


@functools.lru_cache(maxsize=8)
def _version(compiler: str) -> str:
    said = _run([compiler, "--version"], f"{compiler} --version", VERSION_SECONDS_MAX)
    return (said.splitlines() or [""])[0]


@functools.lru_cache(maxsize=8)
def _libgcc(compiler: str, flags: tuple[str, ...]) -> str:
    return _run([compiler, *flags, "-print-libgcc-file-name"], compiler).strip()
