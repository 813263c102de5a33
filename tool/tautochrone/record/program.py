"""Finds the program that a command line starts, and whether a library can be preloaded into it.

A script is followed along its #! line to its interpreter.
"""

import contextlib
import os
import platform
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.files import elf_headers

EXIT_CANNOT_RECORD = 125
EXIT_CANNOT_RUN = 126
EXIT_NOT_FOUND = 127

SCRIPT_DEPTH_MAX = 4  # The kernel's limit for a script whose interpreter is a script.
LINE_BYTES_MAX = 256
BUILD_ID_BYTES_MAX = 20  # TAU_RAW_BUILD_ID_BYTES of facts/recording.h.
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64", "riscv64": "EM_RISCV"}
# What `tau record --target` calls the machines of programs, by e_machine and bits.
TARGETS = {
    ("EM_AARCH64", 64): "arm64",
    ("EM_ARM", 32): "armhf",
    ("EM_386", 32): "i386",
    ("EM_RISCV", 64): "riscv64",
    ("EM_RISCV", 32): "riscv32",
}
SHIM = "core/ports/record_wrap.c (its first comment says how)"
# A compiler's option, the library that it builds in, and a function of that library.
SANITIZERS = {
    "address": ("AddressSanitizer", "__asan_init"),
    "hwaddress": ("HWAddressSanitizer", "__hwasan_init"),
    "thread": ("ThreadSanitizer", "__tsan_init"),
    "memory": ("MemorySanitizer", "__msan_init"),
    "leak": ("LeakSanitizer", "__lsan_init"),
}
# The section of every program that was linked for Linux with glibc.
LINUX_NOTE = ".note.ABI-tag"
# What `tau record` and `tau run` advise for a firmware.
FIRMWARE = {
    "record": "link it with core/ports/record_wrap.c and import what it sends, as in "
    "docs/tutorials/size-a-heap.md (FreeRTOS: docs/ports/freertos.md)",
    "run": "link it with its planned heap, as in docs/ports/newlib.md, freertos.md or cpp.md",
}
# What `tau record` and `tau run` advise where nothing can be preloaded.
INSTEAD = {
    "record": f"link it with {SHIM} and import the stream",
    "run": "let it call core/budget.h itself, with the plan's header (tau plan --header)",
}


def check(command: list[str], verb: str = "record", target: str | None = None) -> Path:
    """Return the ELF program that `command` starts. Raises TauError if `tau VERB` cannot serve it.

    `target` is the machine that it has to be built for, by a name of TARGETS; None: this one. The
    error's exit code is 127: not found, 126: cannot be run, 125: nothing can be preloaded.
    """
    path = _find(command[0])
    for _ in range(SCRIPT_DEPTH_MAX):
        head = _head(path)
        if head.startswith(b"\x7fELF"):
            _check_privileges(path, verb)
            _check_elf(path, verb, target)
            return path
        if not head.startswith(b"#!"):
            raise TauError(
                f"{path} is neither a program nor a script with a #! line",
                f"name its interpreter, for example `tau {verb} -- sh {path}`",
                EXIT_CANNOT_RUN,
            )
        path = _interpreter(path, head)
    raise TauError(
        f"{command[0]}: its #! lines nest too deep", "name the program itself", EXIT_CANNOT_RUN
    )


def _find(name: str) -> Path:
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    if os.path.isdir(name):
        raise TauError(f"{name} is a directory", "name a program in it", EXIT_CANNOT_RUN)
    if os.path.exists(name):
        step = f"make it executable: chmod +x {name if '/' in name else f'./{name}'}"
        if "/" not in name and os.access(name, os.X_OK):
            step = f"to run it from this directory, write ./{name}"
        raise TauError(f"{name} is not executable", step, EXIT_CANNOT_RUN)
    raise TauError(
        f"{name}: command not found", "check the spelling, or give its path", EXIT_NOT_FOUND
    )


def _head(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LINE_BYTES_MAX)
    except OSError as error:
        raise TauError(
            f"{path}: {error.strerror}", "make it readable for you", EXIT_CANNOT_RUN
        ) from error


def _interpreter(script: Path, head: bytes) -> Path:
    """Return the interpreter of a #! line; for env, the program that env looks up."""
    words = os.fsdecode(head[2:].split(b"\n")[0]).split()
    if not words:
        raise TauError(
            f"{script}: its #! line names no program", "add the interpreter to it", EXIT_CANNOT_RUN
        )
    if Path(words[0]).name == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        words = names[:1] or words[:1]
    found = shutil.which(words[0])
    if found is None:
        raise TauError(
            f"{script} is run by {words[0]}, which does not exist",
            "install it, or correct the script's #! line",
            EXIT_NOT_FOUND,
        )
    return Path(found)


def _check_privileges(path: Path, verb: str) -> None:
    """Refuse a program that gains privileges at its start, as LD_PRELOAD is then ignored."""
    status = path.stat()
    gains = []
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        gains.append("setuid")
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getgid():
        gains.append("setgid")
    if os.getuid() != 0 and "security.capability" in _attributes(path):
        gains.append("has file capabilities")
    if gains:
        raise TauError(
            f"{path} is {' and '.join(gains)}: the system preloads no library into such a program",
            f"{verb} it as its own user (sudo tau {verb} …), or {verb} a plain copy: cp {path} .",
            EXIT_CANNOT_RECORD,
        )


def _attributes(path: Path) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError:
        return []  # The file system has no attributes.


def is_of_another_machine(path: Path | str) -> bool:
    """Whether a file is a readable ELF program that this machine cannot run."""
    with contextlib.suppress(OSError, TauError):
        machine = _read(Path(path)).machine
        return machine != MACHINES.get(platform.machine(), machine)
    return False


def build_id(path: Path) -> str:
    """Return the GNU build id of an ELF program in hexadecimal; empty if it has none."""
    from tautochrone.files import elf_file

    with contextlib.suppress(TauError), elf_file.opened(path, "") as elf:
        return elf_file.build_id_of(elf)[: 2 * BUILD_ID_BYTES_MAX]
    return ""


def sanitizer(path: Path) -> tuple[str, str] | None:
    """Return what stands in a program's way: a sanitizer, which has its own malloc and wants to be
    the first library, and what to do about it; None if it has none.
    """
    with contextlib.suppress(OSError, TauError):
        found = _read(path, [function for _, function in SANITIZERS.values()]).defines
        for option, (name, function) in SANITIZERS.items():
            if function in found:
                return (
                    f"is built with {name}, which serves malloc itself",
                    f"build it without -fsanitize={option}",
                )
    return None


def interpreter(path: Path) -> str:
    """Return the dynamic linker that a program of `check` names."""
    return _read(path).interpreter


def _read(path: Path, names: Iterable[str] = ()) -> elf_headers.Program:
    return elf_headers.read(path, "build it again", EXIT_CANNOT_RUN, names)


def _check_machine(path: Path, verb: str, machine: str, bits: int, target: str | None) -> None:
    """Refuse a program that was not built for `target`, or for this machine."""
    here = platform.machine()
    host = (MACHINES.get(here, machine), 64)
    title = f"{path} is a {bits}-bit program for {machine.removeprefix('EM_')}"
    built_for = TARGETS.get((machine, bits))
    if target is not None:
        if built_for == target:
            return
        step = "build it with the compiler of that machine"
        if (machine, bits) == host:
            step += ", or leave --target out"
        elif built_for is not None:
            step = f"record it with --target {built_for}"
        raise TauError(f"{title}, not for {target}", step, EXIT_CANNOT_RECORD)
    if (machine, bits) != host:
        named = path if "/" in str(path) else f"./{path}"
        step = f"{verb} it on such a machine, or {INSTEAD[verb]}"
        if verb == "record" and built_for is not None:
            step = f"record it under emulation: tau record --target {built_for} -- {named}"
        raise TauError(f"{title}, this machine is a 64-bit {here}", step, EXIT_CANNOT_RECORD)


def _check_elf(path: Path, verb: str, target: str | None) -> None:
    found = _read(path, ["malloc"])
    machine, bits, interpreter = found.machine, found.bits, found.interpreter
    brings_malloc = found.defines.get("malloc", False)
    is_of_linux = interpreter or LINUX_NOTE in found.sections
    if not is_of_linux and MACHINES.get(platform.machine()) != machine:
        raise TauError(
            f"{path} looks like a firmware: a {bits}-bit program for "
            f"{machine.removeprefix('EM_')} that was not linked for Linux",
            FIRMWARE[verb],
            EXIT_CANNOT_RECORD,
        )
    _check_machine(path, verb, machine, bits, target)
    if not interpreter:
        raise TauError(
            f"{path} is statically linked, so no library can be preloaded",
            f"link it dynamically (without -static), or {INSTEAD[verb]}",
            EXIT_CANNOT_RECORD,
        )
    if verb == "run" and "musl" in interpreter:
        raise TauError(
            f"{path} uses the C library musl, but the allocator is built for glibc",
            f"build it for glibc (gcc, not musl-gcc), or {INSTEAD[verb]}",
            EXIT_CANNOT_RECORD,
        )
    if brings_malloc and (found := sanitizer(path)) is not None:
        raise TauError(f"{path} {found[0]}", found[1], EXIT_CANNOT_RECORD)
    if brings_malloc:
        raise TauError(
            f"{path} contains its own malloc, which no preloaded library can replace",
            "build it without its allocator (often a build option: jemalloc, mimalloc, tcmalloc)",
            EXIT_CANNOT_RECORD,
        )
