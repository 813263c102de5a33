"""Makes the recordings: sizes of 32-bit layouts, from programs that were built for 32 bits.

- Firmware: tests/firmware on a Cortex-M4 in QEMU, which records itself. Several seeds each.
- Linux: Debian's programs for 32-bit Arm under user-mode QEMU, by `tau record --target armhf`.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.commands import OUT, ROOT
from bench.programs import run_of, table_of
from bench.recording import Run, record
from bench.verified.debian import unpacked
from tautochrone.errors import TauError
from tautochrone.record.emulation import SYSROOT_VARIABLE
from tautochrone.trace.file import open_trace
from testing import firmware

FOLDER = OUT / "verified"
SEEDS = (1, 2, 3)
ON_M4 = "Cortex-M4 firmware in QEMU"
ON_ARMHF = "Debian armhf in user-mode QEMU"


def recordings(is_fresh: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a row for every recording; one that an earlier call made is kept unless `is_fresh`."""
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
    programs = table_of(__file__)
    root = unpacked(FOLDER / "armhf", tuple(programs.pop("packages")))
    for name, row in programs.items():
        path = FOLDER / f"{name}.tau"
        if is_fresh or not path.exists():
            _record(name, run_of(row), root, path)
        yield _read(name, ON_ARMHF, path)


def _record(name: str, run: Run, root: Path, path: Path) -> None:
    """Record a program of the unpacked packages. Raises TauError if it does not run."""
    program, *arguments = run.command
    places = [root / place / program for place in ("usr/bin", "bin", "usr/local/bin")]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise TauError(f"{program} is in none of the packages", "add its package to programs.toml")
    there = replace(
        run,
        command=(str(found.resolve()), *arguments),
        environment={SYSROOT_VARIABLE: str(root), "LC_ALL": "C"},
    )
    record(name, there, path, ["--target", "armhf", "--no-children"])


def _read(name: str, made_on: str, path: Path) -> dict[str, Any]:
    with open_trace(path) as reader:
        totals = reader.totals
        return {
            "name": name,
            "made_on": made_on,
            "abi": str(reader.header.get("abi", "")),
            "path": str(path.relative_to(ROOT)),
            "events": totals.events,
            "peak_live_bytes": totals.peak_live_bytes,
            "peak_live_objects": totals.peak_live_objects,
        }
