"""Records the code that a kernel executes: runs QEMU with the plugin of linux/coldcode/profile.

recording = profile(["qemu-system-riscv64", …], kernel, Path("boot.taucode"), How("free_initmem"))
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tautochrone import __version__, native
from tautochrone.coldcode.kernel import Kernel
from tautochrone.coldcode.recording import (
    CodeRecording,
    Settings,
    load,
    prepared,
    refuse_other_kernel,
)
from tautochrone.errors import TauError
from tautochrone.facts import code_format as form
from tautochrone.files import output_file

PLUGIN = "libtau_code_profile.so"
STDERR = 2
QEMU_DEBIAN = "qemu-system-misc"
QEMU_PACKAGE = f"apt install {QEMU_DEBIAN}"


class NotEndedError(TauError):
    """QEMU took longer than allowed."""


@dataclass(frozen=True)
class How:
    """Settings. Boot ends when the function `marker` is first executed; None: no boot."""

    marker: str | None = None
    touches_max: int = form.TOUCHES_MAX_DEFAULT
    seconds_max: float | None = None
    force: bool = False


def profile(command: Sequence[str], kernel: Kernel, path: Path, how: How) -> CodeRecording:
    """Run a QEMU command until it ends; write and return the recording.

    The command has no plugin yet. Raises TauError if QEMU cannot run or takes longer than allowed,
    if nothing sound was recorded, or if QEMU ran another kernel. Then PATH is unchanged.
    """
    plugin = native.DIRECTORY / PLUGIN
    if not plugin.exists():
        native.library(PLUGIN)
    marker = None if how.marker is None else kernel.address_of(how.marker)
    document = {
        "recorder": f"tautochrone {__version__}",
        "command": list(command),
        "kernel": str(kernel.path),
        "code_sha256": kernel.code_sha256,
        "build_id": kernel.build_id,
        "marker": how.marker,
    }
    settings = Settings(marker, how.touches_max, document)
    with output_file.written(path, how.force, [kernel.path]) as partial:
        partial.write_bytes(prepared(kernel, settings))
        said = _run([*command, "-plugin", f"{_escaped(plugin)},recording={_escaped(partial)}"], how)
        try:
            recording = load(partial)
        except TauError as error:
            raise TauError(error.message, error.next_step, said=said) from error
        refuse_other_kernel(recording, kernel)
    return replace(recording, path=path)


def _escaped(path: Path) -> str:
    """A path in an option of QEMU, which splits at commas."""
    return str(path.resolve()).replace(",", ",,")


def _run(command: list[str], how: How) -> str:
    """Run QEMU; return its stderr. Its exit status is the guest's affair."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=STDERR,  # Our stdout is for the result.
            stderr=subprocess.PIPE,
            timeout=how.seconds_max,
            check=False,
        )
    except FileNotFoundError as error:
        raise TauError(f"{command[0]} is not installed", QEMU_PACKAGE) from error
    except OSError as error:
        step = "name a program, such as qemu-system-riscv64"
        raise TauError(f"{command[0]} cannot be run: {error.strerror}", step) from error
    except subprocess.TimeoutExpired as error:
        raise NotEndedError(
            f"{command[0]} did not end within {how.seconds_max:g} s",
            "let the guest power off, and give QEMU -no-reboot",
        ) from error
    return done.stderr.decode("utf-8", "replace")
