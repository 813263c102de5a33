"""Boots a kernel of ours in QEMU's machine `virt`, recorded or not, and reads its console."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.linux import flash
from tautochrone.coldcode.linux.build import Built
from tautochrone.coldcode.linux.root import Root
from tautochrone.coldcode.profile import QEMU_PACKAGE, How, NotEndedError, profile
from tautochrone.coldcode.recording import CodeRecording, NotExecutedError
from tautochrone.errors import TauError

EMULATOR = "qemu-system-riscv64"
# The kernel calls it once. Its cold code leaves RAM at its end, with a message that loads pages.
MARKER = "free_initmem"
# Fixed, so that a run repeats to the instruction: 8 ns each, and randomness by a seed.
STEADY = "-icount shift=3,sleep=off -rtc base=2026-01-01,clock=vm".split()
NANOSECONDS_PER_INSTRUCTION = 8
MACHINE = "-machine virt -display none -monitor none -no-reboot".split()
APPEND = "console=hvc0 panic=-1"
APPEND_CHARACTERS_MAX = 1023
MEMORY_BYTES = 64 << 20
LINE = re.compile(r"tau: (\w+)(?::|\b) *(\S+)(?: kB)?$")
RESULT = "tau: hash "
KEPT = "coldcode: "
STAYS = "all code stays in RAM"
FILES = "/proc/meminfo and coldcode/counters of debugfs"
NEEDED = ("MemTotal", "pages", "pinned_pages", "frames", "faults", "loads", "evictions")
NEEDED += ("faults_interrupts_off", "page_microseconds", "worst_fault_instructions")
NEEDED += ("worst_load_instructions", "tables_bytes", "store_bytes")
SAID_LINES = 25
# A tick of the slowest timer, 100 a second; a step that does not divide it.
WAIT_US_MAX, WAIT_STEP_US = 10_000, 6_181
# How the kernel's words begin when it fails, and when it gives up.
TROUBLE = re.compile(r"\b(?:usercopy: |kernel BUG at|BUG: |Oops|Unable to handle|Out of memory)")
PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
CONSOLE, CHIP = "console", "flash"


@dataclass(frozen=True)
class Boot:
    """How a kernel is booted. `pages` is the content of flash; None: an empty flash.

    `options` are words of the kernel's command line. The seed is for all randomness, and for
    the places of interrupts. `name` is the kernel's name in messages.
    """

    root: Root
    pages: bytes | None = None
    options: tuple[str, ...] = ()
    memory_bytes: int = MEMORY_BYTES
    seed: int = 1
    seconds_max: float = 600.0
    name: str = "the kernel"

    @property
    def wait_us(self) -> int:
        """What the kernel waits after boot, so that ticks of its timer come elsewhere. Seeds that
        follow each other are spread over a tick and more."""
        return (self.seed - 1) * WAIT_STEP_US % WAIT_US_MAX


@dataclass(frozen=True)
class Seen:
    """Output of a kernel: values by name, results, and the pager's messages."""

    console: str
    values: dict[str, str]
    results: tuple[str, ...]
    pager: tuple[str, ...]

    def number(self, name: str) -> int:
        """A value that is a number; 0 if it was not printed."""
        value = self.values.get(name, "0")
        if not re.fullmatch(r"[0-9]{1,20}", value):
            raise TauError(f"the first program printed {name} {value}", "print a number")
        return int(value)

    @property
    def is_paged(self) -> bool:
        """Whether cold code has left RAM."""
        return not any(line.startswith(STAYS) for line in self.pager)

    def refuse_gaps(self) -> None:
        """Raise TauError if the result of a run needs something that was not printed."""
        missing = [name for name in NEEDED if name not in self.values]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            cause = f"the first program did not print {', '.join(missing[:3])}{more}"
            raise TauError(cause, f"let it print {FILES}, each line after `tau: `")
        if not self.results:
            cause = "the first program printed no result"
            raise TauError(cause, f"let it print `{RESULT}` and a result to compare")


def boot(built: Built, how: Boot) -> Seen:
    """Boot, and read the console. Raises TauError if the first program did not get to its end."""
    with tempfile.TemporaryDirectory() as folder:
        command = _command(built, how, Path(folder))
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=how.seconds_max
            )
        except subprocess.TimeoutExpired as error:
            raise _not_ended(how, Path(folder)) from error
        said = _console(Path(folder)) + done.stderr.decode(errors="replace")
    return seen(said, how.name)


def boot_recorded(
    built: Built, how: Boot, recording: Path, force: bool = False
) -> tuple[Seen, CodeRecording]:
    """The same, with a recording of the code that is executed after boot."""
    with tempfile.TemporaryDirectory() as folder:
        command = _command(built, how, Path(folder))
        limits = How(MARKER, seconds_max=how.seconds_max, force=force)
        try:
            recorded = profile(command, read_kernel(built.vmlinux), recording, limits)
        except NotEndedError as error:
            raise _not_ended(how, Path(folder)) from error
        except NotExecutedError as error:
            cause = f"{how.name} did not start with {how.memory_bytes:,} bytes of memory"
            step = "give --memory that the kernel fits into, and that this machine has"
            raise TauError(cause, step, said=_end_of(_console(Path(folder)))) from error
        return seen(_console(Path(folder)), how.name), recorded


def seen(console: str, name: str = "the kernel") -> Seen:
    """Output on the console of the kernel NAME. Raises TauError if its first program did not get
    to its end, with what the kernel says of it."""
    lines = console.replace("\r", "").splitlines()
    if "tau: end" not in lines:
        panic = PANIC.search(console)
        if panic:
            said = _trouble_of(lines)
            cause = f"{name} panicked: {panic[1].strip()}"
            raise TauError(cause, "see its console above", said=said)
        cause = f"the first program of {name} did not print `tau: end`"
        raise TauError(cause, "see its console above", said=_end_of(console))
    rows = [row for row in map(LINE.match, lines) if row]
    pager = tuple(line.partition(KEPT)[2] for line in lines if line.startswith(KEPT))
    results = tuple(line for line in lines if line.startswith(RESULT))
    return Seen(console, {row[1]: row[2] for row in rows}, results, pager)


def _command(built: Built, how: Boot, folder: Path) -> list[str]:
    """The command of QEMU, whose console is a file in FOLDER, as are the flash's bytes."""
    emulator = shutil.which(EMULATOR)
    if emulator is None:
        raise TauError(f"{EMULATOR} is not installed", QEMU_PACKAGE)
    how.root.refuse(how.memory_bytes)
    waits = [f"coldcode.wait_us={how.wait_us}"] if how.wait_us else []
    words = " ".join([APPEND, *how.root.kernel_options(how.memory_bytes), *how.options, *waits])
    if len(words) > APPEND_CHARACTERS_MAX:
        cause = f"the kernel's command line has {len(words):,} characters"
        raise TauError(cause, f"shorten --append: at most {APPEND_CHARACTERS_MAX:,} fit")
    command = [emulator, *MACHINE, *STEADY, "-seed", str(how.seed)]
    command += ["-serial", f"file:{folder / CONSOLE}", "-kernel", str(built.image)]
    command += ["-append", words, *how.root.options(how.memory_bytes)]
    if how.pages is not None:
        with open(folder / CHIP, "wb") as file:
            file.write(flash.chip_of(how.pages))
            file.truncate(flash.CHIP_BYTES)
        chip = str(folder / CHIP).replace(",", ",,")
        command += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={chip}"]
    return command


def _console(folder: Path) -> str:
    path = folder / CONSOLE
    return path.read_text(errors="replace") if path.exists() else ""


def _not_ended(how: Boot, folder: Path) -> TauError:
    cause = f"{how.name} did not power off in {how.seconds_max:g} s"
    step = "let the first program power off, or give more time with --seconds"
    return TauError(cause, step, said=_end_of(_console(folder)))


def _end_of(console: str) -> str:
    return "\n".join(console.splitlines()[-SAID_LINES:])


def _trouble_of(lines: list[str]) -> str:
    """The console of a kernel that panicked: from the first line that says why, and the panic."""
    panic = next(number for number, line in enumerate(lines) if PANIC.search(line))
    first = next((number for number in range(panic) if TROUBLE.search(lines[number])), panic)
    shown = lines[first : min(first + SAID_LINES, panic)]
    return "\n".join([*shown, *lines[panic : panic + SAID_LINES]])
