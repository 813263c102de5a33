"""Builds a Linux kernel with the code pager: compiled once, linked for each placement of its code.

kernel = build(Wish("smallest"))                          # all code stays in RAM
kernel = build(replace(wish, placement=Path("plan.lds")))  # only linked again

Source, objects and each link are kept in the user's cache, each under a hash of all that it depends
on. So a second call with the same wish builds nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tautochrone import native
from tautochrone.coldcode.fragment import read_fragment
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.linux import build_cache, flash, must_stay, source
from tautochrone.console import output
from tautochrone.errors import TauError

PREFIX = "riscv64-linux-gnu-"
COMPILERS = ("gcc-12", "gcc")
BUILD_TOOLS = ("make", "flex", "bison", "bc", "xz")
PACKAGES = "apt install gcc-12-riscv64-linux-gnu binutils-riscv64-linux-gnu"
PACKAGES += " make flex bison bc xz-utils"
STEADY = {
    "ARCH": "riscv",
    "CROSS_COMPILE": PREFIX,
    # The same input gives the same kernel, on every machine.
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "tautochrone",
    "KBUILD_BUILD_HOST": "tautochrone",
    # Otherwise the number of links so far, which is in the kernel's banner.
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
    # Objects are the same whatever the name of the build folder.
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_COMPILERCHECK": "content",
}
# Variables of the user's shell that would change the kernel's make.
UNWANTED = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "KBUILD_OUTPUT", "KCFLAGS", "O")
COLD_CODE = "CONFIG_COLD_CODE"
FRAGMENT = "cold_code.lds"
LINKER_SCRIPT = "arch/riscv/kernel/vmlinux.lds"
IMAGE = "arch/riscv/boot/Image"
PAGES = "pages.bin"
LINKED = ("vmlinux", "vmlinux.map", IMAGE, ".config")
# The files of a linked kernel that are used later.
SEALED = ("vmlinux", "vmlinux.map", "Image", PAGES)
# Folders in the source's folder: of objects, and of all links.
OBJECTS, LINKS = "build", "linked"
SECONDS_MAX = 3 * 3600.0
VERSION_SECONDS_MAX = 60
SAID_LINES = 30
# Where a compiler, make or the linker says what failed: with several jobs not at the end.
ERROR = re.compile(r"\berror: |\*\*\* |undefined reference|cannot find ")
COMPILED = re.compile(rb"^  (?:CC|AS) ", re.MULTILINE)
# The options that cold code's Kconfig excludes.
EXCLUDED = re.compile(r"!(\w+)|(\w+)=n\b")
OPTION_LINE = re.compile(r"CONFIG_\w+=.+|#.*|")
WRONG_SHOWN = 10


@dataclass(frozen=True)
class Wish:
    """The kernel to build. `configuration` is the name of one of ours, or a file of options.

    `placement` is a fragment of the linker script; None: all code stays in RAM.
    """

    configuration: str = "smallest"
    placement: Path | None = None
    archive: Path = source.ARCHIVE
    seconds_max: float = SECONDS_MAX


@dataclass(frozen=True)
class Built:
    """A linked kernel, in a folder that is cache."""

    folder: Path

    @property
    def vmlinux(self) -> Path:
        """The ELF file with symbols."""
        return self.folder / "vmlinux"

    @property
    def link_map(self) -> Path:
        """The linker's map."""
        return self.folder / "vmlinux.map"

    @property
    def pages(self) -> Path:
        """The page file for flash."""
        return self.folder / PAGES

    @property
    def image(self) -> Path:
        """The image that a boot loader starts."""
        return self.folder / "Image"


def configurations_folder() -> Path:
    """The folder of the configurations of this package."""
    return native.sources() / "coldcode" / "configurations"


def configurations() -> tuple[str, ...]:
    """The names of our configurations."""
    names = sorted(path.stem for path in configurations_folder().glob("*.config"))
    return tuple(name for name in names if name != "required")


def options_of(configuration: str) -> str:
    """The text of a configuration, and the options that every kernel with cold code needs."""
    path = configurations_folder() / f"{configuration}.config"
    step = f"choose one of {', '.join(configurations())}, or a file of options"
    if configuration not in configurations():
        path = Path(configuration)
    if not path.is_file():
        raise TauError(f"unknown configuration {configuration}", step)
    try:
        said = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TauError(f"{path} is not a configuration: not a text file", step) from error
    wrong = [line for line in said.splitlines() if not OPTION_LINE.fullmatch(line.strip())]
    if wrong:
        cause = f"{path}: not options: {'; '.join(wrong[:WRONG_SHOWN])}"
        raise TauError(cause, "write CONFIG_NAME=value on each line, or # in front of a remark")
    required = (configurations_folder() / "required.config").read_text()
    return f"{said}\n{required}"


def build(wish: Wish) -> Built:
    """Build the missing parts. Raises TauError with the compiler's messages if that fails."""
    options = options_of(wish.configuration)
    text = ""
    if wish.placement is not None:
        read_fragment(wish.placement)
        text = wish.placement.read_text()
    tools = compiler_tools()
    folder = source.prepared(wish.archive)
    mark = build_cache.hash_of([options, *tools.values(), *STEADY.values()])
    make = Make(folder, tools, wish.seconds_max)
    objects = build_cache.folder(
        folder, OBJECTS, mark, lambda made: _compile(make, made, options), goes_on=True
    )
    return _linked(make, objects, text)


def relink_of(vmlinux: Path, seconds_max: float = SECONDS_MAX) -> Callable[[str], Built] | None:
    """A function that links the objects of a kernel of `build` with another fragment. None if the
    kernel was built elsewhere, or its objects are gone."""
    link = vmlinux.resolve().parent
    objects = link.parent.parent / f"{OBJECTS}-{link.name.partition('-')[0]}"
    if link.parent.name != LINKS or not (
        build_cache.is_made(link, SEALED) and build_cache.is_made(objects)
    ):
        return None
    return lambda text: _linked(Make(objects.parent, compiler_tools(), seconds_max), objects, text)


def _linked(make: Make, objects: Path, text: str) -> Built:
    """The kernel of these objects and a fragment."""
    mark = objects.name.partition("-")[2]

    def link(made: Path) -> None:
        _link(make, objects, text, made)

    return Built(
        build_cache.folder(
            objects.parent / LINKS, mark, build_cache.hash_of([text]), link, sealed=SEALED
        )
    )


@dataclass(frozen=True)
class Make:
    """How the kernel's make is called."""

    source: Path
    tools: dict[str, str]
    seconds_max: float

    def run(self, folder: Path, *words: str, **variables: str) -> None:
        """Make WORDS in a build folder. Raises TauError with make's output, the errors first."""
        environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
        environment |= STEADY | variables
        launcher = "ccache " if shutil.which("ccache") else ""
        command = ["make", "-C", str(self.source), f"O={folder.name}", f"-j{os.cpu_count() or 1}"]
        command += [f"CC={launcher}{self.tools['compiler']}", f"HOSTCC={launcher}gcc", *words]
        log = folder / "make.log"
        begun = time.monotonic()
        with open(log, "ab") as file:
            before = file.tell()

            def tell() -> None:
                files = output.count(len(COMPILED.findall(log.read_bytes())), "file")
                passed = time.monotonic() - begun
                output.note(f"tau: building the kernel: {files}, {passed:.0f} s")

            said_to = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": subprocess.STDOUT}
            try:
                status = build_cache.run(
                    command, self.seconds_max, tell, env=environment, **said_to
                )
            except FileNotFoundError as error:
                raise TauError(f"{error.filename} is not installed", PACKAGES) from error
            except subprocess.TimeoutExpired as error:
                cause = f"make {' '.join(words)} of the kernel took over {self.seconds_max:g} s"
                step = "give more time with --seconds: compiled files are kept"
                raise TauError(cause, step) from error
        if status:
            said = log.read_bytes()[before:].decode("utf-8", "replace")
            step = (
                build_cache.SPACE_STEP
                if build_cache.NO_SPACE in said
                else f"see {log}, or {PACKAGES}"
            )
            raise TauError("the kernel cannot be built", step, said=errors_first(said))


def errors_first(said: str) -> str:
    """The lines with errors, then the last lines of all."""
    lines = said.splitlines()
    errors = [line for line in lines if ERROR.search(line)][:SAID_LINES]
    rest = [line for line in lines[-SAID_LINES:] if line not in errors]
    return "\n".join([*errors, *(["…"] if errors and rest else []), *rest])


def compiler_tools() -> dict[str, str]:
    """The compiler, and the versions of compiler and linker."""
    linker = f"{PREFIX}ld"
    for compiler in (PREFIX + name for name in COMPILERS):
        if shutil.which(compiler) and shutil.which(linker):
            return {
                "compiler": compiler,
                "compiler_version": _version(compiler),
                "linker_version": _version(linker),
            }
    raise TauError("no compiler for riscv64 Linux is installed", PACKAGES)


def _version(program: str) -> str:
    return build_cache.compiled([program, "--version"], VERSION_SECONDS_MAX).stdout


def _compile(make: Make, folder: Path, options: str) -> None:
    """Configure, and compile the rest if an earlier try was stopped."""
    wished = folder / "wished.config"
    wished.write_text(options)
    make.run(folder, "allnoconfig", KCONFIG_ALLCONFIG=str(wished))
    got = (folder / ".config").read_text().splitlines()
    wanted = map(str.strip, options.splitlines())
    missing = [line for line in wanted if _is_set(line) and line not in got]
    if missing:
        _refuse(missing, got)
    (folder / FRAGMENT).touch()
    make.run(folder, "vmlinux", "Image")


def _refuse(missing: list[str], got: list[str]) -> None:
    """Raise TauError for options that Kconfig dropped, and for those that exclude cold code."""
    kconfig = (source.pager_folder() / "Kconfig").read_text()
    excluded = {f"CONFIG_{name}" for pair in EXCLUDED.findall(kconfig) for name in pair if name}
    found = [line for line in got if line[-2:] in ("=y", "=m") and line[:-2] in excluded]
    causes, steps = [], []
    if found and f"{COLD_CODE}=y" in missing:
        missing = [line for line in missing if line != f"{COLD_CODE}=y"]
        causes.append(f"a kernel with cold code cannot have {', '.join(found)}")
        steps.append(f"remove {', '.join(found)}: docs/design/code_pager.md says why")
    if missing:
        causes.append(f"Kconfig dropped {', '.join(missing)}")
        steps.append("correct the name, or add the options that it depends on")
    raise TauError("; ".join(causes), "; ".join(steps))


def _is_set(line: str) -> bool:
    return line.startswith("CONFIG_") and not line.endswith("=n")


def _link(make: Make, objects: Path, text: str, made: Path) -> None:
    """Link the objects with a fragment, check the kernel and keep it."""
    with build_cache.locked(objects / "link.lock"):
        (objects / FRAGMENT).write_text(text)
        # make does not know what the linker script includes.
        (objects / LINKER_SCRIPT).touch()
        for name in ("vmlinux", IMAGE):
            with contextlib.suppress(FileNotFoundError):
                (objects / name).unlink()
        make.run(objects, "vmlinux", "Image")
        for name in LINKED:
            shutil.copy2(objects / name, made / Path(name).name)
    kernel = read_kernel(made / "vmlinux")
    must_stay.check(kernel)
    (made / PAGES).write_bytes(flash.page_file_of(kernel).content())
