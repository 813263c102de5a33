"""Programs of other machines: which emulator runs them, and the recorder that it preloads.

Debian's user-mode QEMU runs a Linux program of another machine. The recorder for that machine is
built from the sources in this package with Debian's cross compiler, and kept in the user's cache.
"""

import functools
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.record.program import EXIT_CANNOT_RECORD, interpreter

BUILD_SECONDS_MAX = 300
VERSION_SECONDS_MAX = 60
# QEMU's own variable for the folder with the machine's C library.
SYSROOT_VARIABLE = "QEMU_LD_PREFIX"
SOURCES = ("linux/recorder", "linux/interpose")
HEADERS = ("facts", "facts/gen", "core/ports")


@dataclass(frozen=True)
class Target:
    """A machine, by Debian's name."""

    name: str
    title: str
    triplet: str
    emulator: str

    @property
    def install(self) -> str:
        """The command that installs all that recording for this machine needs."""
        return f"apt install qemu-user gcc-{self.triplet} libc6-dev-{self.name}-cross"


TARGETS = {
    one.name: one
    for one in (
        Target("arm64", "64-bit Arm", "aarch64-linux-gnu", "qemu-aarch64"),
        Target("armhf", "32-bit Arm", "arm-linux-gnueabihf", "qemu-arm"),
        Target("riscv64", "64-bit RISC-V", "riscv64-linux-gnu", "qemu-riscv64"),
    )
}
# Machines whose programs are not recorded: why, and the alternative.
NOT_SERVED = {
    "i386": (
        "32-bit x86 aligns members of 8 bytes to 4, so no 32-bit target has its sizes, "
        "and qemu-i386 runs no threads",
        "record a build for --target armhf, which lays out structures as 32-bit targets do",
    ),
    "riscv32": (
        "Debian has no C library and no compiler for 32-bit RISC-V Linux",
        "record a build for --target armhf: it lays out the same structures, except those with "
        "long double",
    ),
}
NAMES = (*TARGETS, *NOT_SERVED)


@dataclass(frozen=True)
class Emulation:
    """All that runs and records a program of another machine, found on this one."""

    target: Target
    emulator: str
    compiler: str
    sysroot: Path

    @functools.cached_property
    def version(self) -> str:
        """The emulator's name and version, as in the trace's header: "qemu-arm 7.2.22"."""
        said = _run([self.emulator, "--version"], self.target, VERSION_SECONDS_MAX)
        found = re.search(r"version ([0-9.]+)", said)
        return f"{self.target.emulator} {found[1] if found else 'unknown'}"

    def words(self, command: list[str], program: Path, library: str) -> list[str]:
        """Return the command line that runs `command`, which starts `program`, with a library."""
        return [
            self.emulator,
            *("-L", str(self.sysroot)),
            *("-0", command[0]),
            *("-E", f"LD_PRELOAD={library}"),
            str(program),
            *command[1:],
        ]

    def interpreter(self, name: str) -> Path | None:
        """Return a program's dynamic linker as the emulator finds it; None if there is none."""
        places = (self.sysroot / name.lstrip("/"), Path(name))
        return next((place for place in places if place.exists()), None)

    def library(self) -> Path:
        """Return the recorder for this machine; build it if needed. Raises TauError."""
        import hashlib
        import tempfile

        from tautochrone.targets import kept_files
        from tautochrone.targets.build import BuildError, cache_folder

        root = native.sources()
        flags = _flags(root)
        files = [path for folder in SOURCES for path in sorted((root / folder).glob("*.c"))]
        version = _run([self.compiler, "--version"], self.target, VERSION_SECONDS_MAX)
        digest = hashlib.sha256("\0".join([version, *flags]).encode())
        for folder in (*SOURCES, *HEADERS):
            for path in sorted((root / folder).glob("*.[ch]")):
                digest.update(path.read_bytes() + b"\0")
        try:
            folder = cache_folder()
        except BuildError as error:
            raise TauError(error.message, error.next_step, EXIT_CANNOT_RECORD) from error
        made = folder / f"libtau_record-{self.target.name}-{digest.hexdigest()[:32]}.so"
        if kept_files.is_whole(made):
            return made
        try:
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                fresh = Path(scratch) / made.name
                command = [self.compiler, *flags, "-fPIC", "-shared", f"-I{root}"]
                command += [*map(str, files), "-o", str(fresh)]
                _run(command, self.target, BUILD_SECONDS_MAX)
                kept_files.keep(fresh, made)
        except OSError as error:
            raise TauError(
                f"cannot keep the recorder for {self.target.title} in {folder}: {error.strerror}",
                "name another folder with XDG_CACHE_HOME",
                EXIT_CANNOT_RECORD,
            ) from error
        return made


def find(name: str) -> Emulation:
    """Find the recorder for programs of a machine. Raises TauError with the missing parts."""
    if name in NOT_SERVED:
        raise TauError(*NOT_SERVED[name], EXIT_CANNOT_RECORD)
    target = TARGETS[name]
    emulator = shutil.which(target.emulator)
    compiler = _compiler(target.triplet)
    named = os.environ.get(SYSROOT_VARIABLE)
    sysroot = Path(named or f"/usr/{target.triplet}")
    has_library = any(sysroot.glob("lib*")) or any(sysroot.glob("usr/lib*"))
    missing = [
        what
        for what, is_there in (
            (f"the emulator {target.emulator}", emulator),
            (f"the compiler {target.triplet}-gcc", compiler),
            (f"the C library in {sysroot}", has_library),
        )
        if not is_there
    ]
    if emulator is None or compiler is None or not has_library:
        step = target.install
        if named and not has_library:
            step = f"correct {SYSROOT_VARIABLE}, or unset it"
        raise TauError(
            f"recording programs of {target.title} ({name}) needs {', '.join(missing)}",
            step,
            EXIT_CANNOT_RECORD,
        )
    return Emulation(target, emulator, compiler, sysroot)


@dataclass(frozen=True)
class Emulated:
    """A program of another machine, its emulator, and the recorder for it."""

    emulation: Emulation
    program: Path
    library: Path


def prepare(emulation: Emulation, program: Path, named: Path) -> Emulated:
    """Check that a program can be run, and get its recorder. Raises TauError.

    `program` is what program.check found, `named` what the command line names.
    """
    if not program.samefile(named):
        raise TauError(
            f"{named} is a script, and the emulator starts programs only",
            f"name its interpreter: tau record --target {emulation.target.name} -- {program} "
            f"{named}",
            EXIT_CANNOT_RECORD,
        )
    wanted = interpreter(program)
    if emulation.interpreter(wanted) is None:
        raise TauError(
            f"{program} needs {wanted}, which is not in {emulation.sysroot}",
            f"build it for Debian's {emulation.target.name}, or name the folder with its C library "
            f"by {SYSROOT_VARIABLE}",
            EXIT_CANNOT_RECORD,
        )
    return Emulated(emulation, program, emulation.library())


def _compiler(triplet: str) -> str | None:
    """Return the cross compiler: the one without a version in its name, else the newest."""
    plain = shutil.which(f"{triplet}-gcc")
    if plain is not None:
        return plain
    versions: dict[int, str] = {}
    for folder in map(Path, os.get_exec_path()):
        for path in folder.glob(f"{triplet}-gcc-*"):
            number = path.name.removeprefix(f"{triplet}-gcc-")
            if number.isdecimal() and os.access(path, os.X_OK):
                versions.setdefault(int(number), str(path))
    return versions[max(versions)] if versions else None


def _flags(root: Path) -> list[str]:
    path = root / "linux" / "recorder" / "flags.txt"
    try:
        return path.read_text().split()
    except OSError as error:
        raise TauError(
            f"{path} is missing from this installation",
            "reinstall with `pipx install .`, or `make native`",
            EXIT_CANNOT_RECORD,
        ) from error


def _run(command: list[str], target: Target, seconds_max: int) -> str:
    """Run a tool and return its output. Raises TauError with its first message."""
    import subprocess

    from tautochrone.targets import limited

    try:
        done = limited.run(command, seconds_max)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TauError(
            f"{command[0]} cannot be run: {error}", target.install, EXIT_CANNOT_RECORD
        ) from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise TauError(
            f"the recorder for {target.title} cannot be built: {said}",
            f"install its compiler and C library: {target.install}",
            EXIT_CANNOT_RECORD,
        )
    return done.stdout
