"""Makes the recordings: sizes of 32-bit layouts, from programs that were built for 32 bits.

- Firmware: tests/firmware on a Cortex-M4 in QEMU, which records itself. Several seeds each.
- Linux: Debian's programs for 32-bit Arm under user-mode QEMU, by `tau record --target armhf`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.verified.debian import unpacked
from bench.verified.programs import COMMANDS, PACKAGES, Command
from tautochrone.errors import TauError
from tautochrone.record.emulation import SYSROOT_VARIABLE
from tautochrone.trace.file import open_trace
from testing import firmware

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "out" / "bench" / "verified"
SEEDS = (1, 2, 3)
SECONDS_MAX = 300
ON_M4 = "Cortex-M4 firmware in QEMU"
ON_ARMHF = "Debian armhf in user-mode QEMU"


@dataclass(frozen=True)
class Recording:
    """A recording, what it was made on, and its size."""

    name: str
    made_on: str
    abi: str
    path: Path
    events: int
    peak_live_bytes: int
    peak_live_objects: int

    def document(self) -> dict[str, Any]:
        """Return its object in the JSON."""
        return {**asdict(self), "path": str(self.path.relative_to(ROOT))}


def recordings(is_fresh: bool = False) -> Iterator[Recording]:
    """Yield every recording; one that an earlier call made is kept unless `is_fresh`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for program in firmware.PROGRAMS:
        paths = {seed: FOLDER / f"{program}-{seed}.tau" for seed in SEEDS}
        missing = [seed for seed, path in paths.items() if is_fresh or not path.exists()]
        if missing:
            folder = FOLDER / "firmware" / program
            folder.mkdir(parents=True, exist_ok=True)
            elf = firmware.recorded_firmware(program, folder)
            for seed in missing:
                firmware.record(elf, paths[seed], seed)
        yield from (_read(f"{program}-{seed}", ON_M4, path) for seed, path in paths.items())
    root = unpacked(FOLDER / "armhf", PACKAGES)
    for command in COMMANDS:
        path = FOLDER / f"{command.name}.tau"
        if is_fresh or not path.exists():
            _record(command, root, path)
        yield _read(command.name, ON_ARMHF, path)


def _record(command: Command, root: Path, path: Path) -> None:
    """Record a program of the unpacked packages. Raises TauError if it does not run."""
    folder = FOLDER / "inputs" / command.name
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in command.files.items():
        (folder / name).write_text(text)
    program, *arguments = command.words
    places = [root / place / program for place in ("usr/bin", "bin", "usr/local/bin")]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise TauError(f"{program} is in none of the packages", "add its package to PACKAGES")
    words = [sys.executable, "-m", "tautochrone", "-q", "record", "--target", "armhf", "--force"]
    environment = {**os.environ, SYSROOT_VARIABLE: str(root), "LC_ALL": "C"}
    done = subprocess.run(
        [*words, "--no-children", "-o", path, "--", found.resolve(), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS_MAX,
    )
    if done.returncode not in command.statuses:
        path.unlink(missing_ok=True)
        said = done.stderr.decode("utf-8", "replace")[-500:]
        raise TauError(f"{command.name} ended with exit status {done.returncode}: {said}")


def _read(name: str, made_on: str, path: Path) -> Recording:
    with open_trace(path) as reader:
        totals, abi = reader.totals, str(reader.header.get("abi", ""))
        return Recording(
            *(name, made_on, abi, path, totals.events),
            *(totals.peak_live_bytes, totals.peak_live_objects),
        )
