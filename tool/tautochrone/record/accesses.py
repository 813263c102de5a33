"""Records which parts of its heap a program uses: drives the tool of linux/accesses.

The tool is a separate program under the GPL. Its first use compiles it against this machine's
`valgrind` package, in about two seconds, and keeps it in the user's cache.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

from tautochrone import native
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.record import launch
from tautochrone.record.merge import DiskFull
from tautochrone.record.program import EXIT_CANNOT_RECORD, build_id
from tautochrone.targets import limited
from tautochrone.trace import abi
from tautochrone.trace import file as trace
from tautochrone.trace.ending import Ending, ending_of

RAW_SUFFIX = ".tauaccess"
RAW_MAGIC = b"TAUACC\r\n"
RAW_VERSION = 1
TOOL = "tauaccess"
# The only kind of machine that the tool supports.
MACHINE, PLATFORM = "x86_64", "amd64-linux"
HEADERS = Path("/usr/include/valgrind")
LIBRARIES = tuple(
    Path("/usr/lib") / folder / "valgrind" for folder in ("x86_64-linux-gnu", ".", "../lib64")
)
CORE = tuple(Path(folder) / "valgrind" for folder in ("/usr/libexec", "/usr/lib/x86_64-linux-gnu"))
COMPILER = "gcc"
PACKAGES = "apt install valgrind gcc libc6-dev"
BUILD_SECONDS_MAX = 120
VERSION_SECONDS_MAX = 20
HEADER_BYTES_MAX = 1 << 20
VARINT_BYTES_MAX = 10
NUMBER_DIGITS_MAX = 20
FACT_PROGRAM, FACT_DIRECTORY, FACT_ARGUMENT, FACT_NUMBERS, FACT_PARENT = range(5)
# Above this part of the accesses outside of the stack, unseen memory is reported.
HIDDEN_PART_MAX = 0.5
FEW_ACCESSES = 1_000_000
SIGILL_STATUS = 132


@dataclass(frozen=True)
class Package:
    """The files of Debian's valgrind package that build and run a tool."""

    libraries: Path
    core: Path
    version: str


def find_package() -> Package:
    """Find all that is needed. Raises TauError with the packages if a part is missing."""
    if platform.machine() != MACHINE or platform.system() != "Linux":
        raise TauError(
            f"accesses can be recorded on {MACHINE} Linux only; this is {platform.machine()}",
            "record without --accesses",
            EXIT_CANNOT_RECORD,
        )
    for program in ("valgrind", COMPILER):
        if shutil.which(program) is None:
            raise _missing(program)
    if not (HEADERS / "pub_tool_tooliface.h").exists():
        raise _missing(str(HEADERS / "pub_tool_tooliface.h"))
    libraries = _holding(LIBRARIES, f"libcoregrind-{PLATFORM}.a")
    core = _holding(CORE, f"vgpreload_core-{PLATFORM}.so")
    return Package(libraries, core, _run(["valgrind", "--version"]).stdout.strip())


def _run(command: list[str], seconds_max: float = VERSION_SECONDS_MAX) -> CompletedProcess[str]:
    """Run a tool. Raises TauError if it does not end in time."""
    try:
        return limited.run(command, seconds_max)
    except TimeoutExpired as error:
        raise TauError(
            f"{command[0]} took over {seconds_max:g} s",
            f"see where it hangs: {command[0]} --version",
            EXIT_CANNOT_RECORD,
        ) from error


def _holding(folders: tuple[Path, ...], name: str) -> Path:
    found = next((folder for folder in folders if (folder / name).exists()), None)
    if found is None:
        raise _missing(name)
    return found


def _missing(what: str) -> TauError:
    return TauError(
        "recording accesses needs valgrind, its static libraries and a compiler: "
        f"{what} is missing",
        PACKAGES,
        EXIT_CANNOT_RECORD,
    )


def sources() -> Path:
    """Return the folder with the tool's sources and the header that it shares with this package."""
    folder = native.DIRECTORY / "accesses"
    if not (folder / "access_main.c").exists():
        raise TauError(
            f"{folder} is missing from this installation",
            "reinstall with `pipx install .`, or `make native`",
            EXIT_CANNOT_RECORD,
        )
    return folder


def cache_folder() -> Path:
    """Return the folder of built tools, in the user's cache (XDG_CACHE_HOME)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tautochrone"


def build() -> Path:
    """Return a folder for VALGRIND_LIB with the tool in it; build it if needed.

    The folder's name depends on the sources and on the versions of Valgrind and the compiler.
    """
    package, folder = find_package(), sources()
    files = sorted([*folder.glob("*.[ch]"), *folder.glob("facts/*.h")])
    compiler = _run([COMPILER, "--version"]).stdout
    mark = hashlib.sha256(compiler.encode() + package.version.encode() + str(package).encode())
    for file in files:
        mark.update(file.read_bytes())
    wanted = cache_folder() / f"{TOOL}-{mark.hexdigest()[:16]}"
    if not (wanted / f"{TOOL}-{PLATFORM}").exists():
        try:
            wanted.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=wanted.parent) as made:
                _compile(package, folder, Path(made) / "tool")
                # Another process may have built it first; that build is as good.
                if not wanted.exists():
                    (Path(made) / "tool").replace(wanted)
        except OSError as error:
            raise TauError(
                f"cannot build the recorder of accesses in {wanted.parent}: {error.strerror}",
                "name another folder with XDG_CACHE_HOME",
                EXIT_CANNOT_RECORD,
            ) from error
    return wanted


def _compile(package: Package, folder: Path, target: Path) -> None:
    """Build the tool and the library that replaces malloc in the new folder `target`."""
    target.mkdir()
    archives = [f"libcoregrind-{PLATFORM}.a", f"libvex-{PLATFORM}.a", f"libgcc-sup-{PLATFORM}.a"]
    preload = package.libraries / f"libreplacemalloc_toolpreload-{PLATFORM}.a"
    steps = [
        [
            *"-m64 -O2 -g1 -std=gnu17 -fno-stack-protector -fno-strict-aliasing".split(),
            *"-fno-builtin -fomit-frame-pointer -fno-pie".split(),
            *"-DVGA_amd64=1 -DVGO_linux=1 -DVGP_amd64_linux=1".split(),
            "-DVGPV_amd64_linux_vanilla=1",
            f"-isystem{HEADERS}",
            f"-isystem{HEADERS / 'vki'}",
            f"-I{folder}",
            *"-static -no-pie -nodefaultlibs -nostartfiles -u _start".split(),
            *"-Wl,--build-id=none -Wl,-Ttext-segment=0x58000000".split(),
            *["-o", str(target / f"{TOOL}-{PLATFORM}")],
            *map(str, sorted(folder.glob("*.c"))),
            *(str(package.libraries / name) for name in archives),
            "-lgcc",
        ],
        [
            *"-m64 -shared -fpic -nodefaultlibs -Wl,-z,interpose -Wl,-z,initfirst".split(),
            f"-Wl,-soname,vgpreload_{TOOL}.so",
            *["-o", str(target / f"vgpreload_{TOOL}-{PLATFORM}.so")],
            *["-Wl,--whole-archive", str(preload), "-Wl,--no-whole-archive"],
        ],
    ]
    for step in steps:
        done = _run([COMPILER, *step], BUILD_SECONDS_MAX)
        if done.returncode:
            raise TauError(
                f"the recorder of accesses cannot be built against {package.version}: "
                + (done.stderr.strip().splitlines() or ["no message"])[0],
                "install the matching packages: " + PACKAGES,
                EXIT_CANNOT_RECORD,
            )
    for name in (f"vgpreload_core-{PLATFORM}.so", "default.supp"):
        shutil.copy(package.core / name, target / name)


# ---- Running


def run(
    command: list[str],
    directory: Path,
    preset: dict[str, str] | None,
    follow_children: bool,
    output_to_stderr: bool,
    full: bool,
    events_max: int | None,
) -> launch.Ended:
    """Run `command` under the tool; each of its processes leaves a recording in `directory`.

    With `full` each access of the heap is an event, else only the first of each granule. Otherwise
    as launch.run.
    """
    tool = build()
    valgrind = shutil.which("valgrind") or "valgrind"
    words = [
        valgrind,
        *["-q", f"--tool={TOOL}", "--vgdb=no", f"--folder={directory.resolve()}"],
        f"--trace-children={'yes' if follow_children else 'no'}",
        f"--full={'yes' if full else 'no'}",
        *([] if events_max is None else [f"--events-max={events_max}"]),
        *command,
    ]
    environment = dict(os.environ) | (preset or {}) | {"VALGRIND_LIB": str(tool)}
    return launch.run_in(words, environment, output_to_stderr, follow_children)


# ---- Recordings


@dataclass(frozen=True)
class Header:
    """The recorded program, from the first rows of a recording."""

    program: str
    directory: str
    arguments: list[str]
    pid: int
    parent_pid: int
    started_unix_ms: int
    full: bool
    forked_from: str | None
    forked_at: int

    @property
    def called(self) -> str:
        """What the process was started as. Valgrind knows only the executable."""
        return self.program

    @property
    def began(self) -> int:
        """When it began, to sort by."""
        return self.started_unix_ms


def heap_accesses(facts: Struct) -> int:
    """The number of accesses of the heap, at which the trace's clock ends."""
    return facts.heap_loads + facts.heap_stores


def hidden_accesses(facts: Struct) -> int:
    """Accesses outside of malloc's memory and the stack, except the dynamic linker's."""
    others = facts.all_loads + facts.all_stores - heap_accesses(facts)
    return max(0, others - facts.stack_accesses)


def is_recording(path: Path | str) -> bool:
    """Whether the file starts like a recording of accesses."""
    with open(path, "rb") as file:
        return file.read(len(RAW_MAGIC)) == RAW_MAGIC


def read_header(path: Path) -> Header:
    """Read the recorded program. Raises TauError if the file is not a recording, or a newer one."""
    with open(path, "rb") as file:
        data = file.read(HEADER_BYTES_MAX)
    if not data.startswith(RAW_MAGIC) or len(data) <= len(RAW_MAGIC):
        raise TauError(f"{path} is not a recording of accesses", "make one: tau record --accesses")
    if data[len(RAW_MAGIC)] > RAW_VERSION:
        raise TauError(
            f"{path} is a recording of a newer version of tau",
            "update tau: `pipx install --force .`",
        )
    facts: dict[int, list[str]] = {}
    for fact, text in _facts(data, len(RAW_MAGIC) + 1):
        facts.setdefault(fact, []).append(os.fsdecode(text))

    def one(fact: int) -> str:
        return facts.get(fact, [""])[0]

    words = one(FACT_NUMBERS).split()
    numbers = [_number(word) for word in words] + [0] * 5
    return Header(
        program=one(FACT_PROGRAM),
        directory=one(FACT_DIRECTORY),
        arguments=facts.get(FACT_ARGUMENT, []),
        pid=numbers[0],
        parent_pid=numbers[1],
        started_unix_ms=numbers[2],
        full=bool(numbers[3]),
        forked_from=one(FACT_PARENT) or None,
        forked_at=numbers[4],
    )


def _number(word: str) -> int:
    """Return a fact's number; 0 for a text that no recorder writes."""
    return int(word) if len(word) <= NUMBER_DIGITS_MAX and word.isdecimal() else 0


def _facts(data: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the facts at the start of a recording, up to the first that is damaged or cut.

    Each is a kind and a text. O(bytes): a length has at most VARINT_BYTES_MAX bytes.
    """
    while at < len(data) and data[at] & 15 == 0:
        fact, at = data[at] >> 4, at + 1
        count = shift = 0
        for byte in data[at : at + VARINT_BYTES_MAX]:
            at += 1
            count |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        else:
            return
        if count > len(data) - at:
            return
        yield fact, data[at : at + count]
        at += count


@dataclass(frozen=True)
class Converted:
    """A trace that was made from a recording."""

    header: Header
    facts: Struct
    totals: Struct
    ending: Ending


def survey(path: Path) -> Struct:
    """Read a whole recording and return its facts. Raises TauError."""
    return _convert(path, None)


def _convert(path: Path, writer: trace.TraceWriter | None) -> Struct:
    found = native.struct("tau_accesses_facts")()
    handle = writer.handle if writer else None
    status = native.library().tau_accesses_convert(os.fsencode(path), handle, found)
    if status == trace.STATUS_DISK_FULL:
        raise DiskFull("the disk is full", "free some space, or use -o on another disk")
    if status:
        raise trace.status_error(status, path)
    return found


def convert(path: Path, out: Path, extra: dict[str, Any] | None = None) -> Converted:
    """Convert a recording to the trace `out`; add `extra` to its header. Raises TauError."""
    header, facts = read_header(path), survey(path)
    told = trace_header(path, header, facts) | (extra or {})
    with trace.TraceWriter(out, told) as writer:
        _convert(path, writer)
        totals = writer.totals
    return Converted(header, facts, totals, ending_of(told, totals))


def trace_header(path: Path, header: Header, facts: Struct) -> dict[str, Any]:
    """Return the trace's header for a recording."""
    parent = {"recording": header.forked_from, "position": header.forked_at}
    return {
        "recorder": "valgrind",
        "recording": path.stem,
        "program": header.program,
        "command": [header.program, *header.arguments],
        "directory": header.directory,
        "pid": header.pid,
        "parent_pid": header.parent_pid,
        "started_unix_ns": header.started_unix_ms * 1_000_000,
        "host": os.uname().nodename,
        "kernel": os.uname().release,
        "machine": os.uname().machine,
        # The tool records 64-bit programs of MACHINE, and no others.
        "abi": abi.HOST[MACHINE],
        "build_id": _build_id(Path(header.program), header.started_unix_ms / 1000),
        "clock": trace_format.CLOCK_ACCESSES,
        "granule_bytes": trace_format.GRANULE_BYTES,
        "every_access": header.full,
        "accesses": {
            "heap_loads": facts.heap_loads,
            "heap_stores": facts.heap_stores,
            "other_loads": facts.all_loads - facts.heap_loads,
            "other_stores": facts.all_stores - facts.heap_stores,
        },
        "stack_accesses": facts.stack_accesses,
        "ended": "exit" if facts.ended else "killed or exec",
        "truncated": bool(facts.stopped or facts.damaged),
        "truncated_reason": _stop_reason(facts),
        "lost": {"bytes": facts.lost_bytes},
        "parent": parent if header.forked_from else None,
    }


def _build_id(path: Path, started_unix_s: float) -> str:
    """Return the build id of a recorded program; empty if it has none, or changed since then."""
    with contextlib.suppress(OSError, ValueError):  # A damaged path may have a null byte.
        if path.stat().st_mtime <= started_unix_s:
            return build_id(path)
    return ""


def _stop_reason(facts: Struct) -> str | None:
    """Why a recording lacks the events of the rest of the run; None if it has them."""
    if facts.stopped:
        return "the limit of --max-events is reached"
    return "the recording is damaged" if facts.damaged else None


def advice(converted: Converted, exit_status: int) -> list[str]:
    """Return sentences about a recording for stderr."""
    facts, said = converted.facts, []
    hidden = hidden_accesses(facts)
    others = heap_accesses(facts) + hidden
    if others >= FEW_ACCESSES and hidden > HIDDEN_PART_MAX * others:
        said.append(
            f"{hidden / others:.0%} of the accesses outside of the stack are to memory that "
            "is not malloc's: static data, or the program's own heap, which this trace does not "
            "show; look for an option of the program that disables its allocator"
        )
    if exit_status == SIGILL_STATUS:
        said.append(
            "the program was killed by SIGILL: Valgrind lacks AVX-512 and some other "
            "new instructions; build the program without -march=native, or "
            "for -march=x86-64-v3"
        )
    return said
