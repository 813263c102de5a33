"""What one ELF file tells of code in it: functions and lines, from it or its debug file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.errors import TauError
from tautochrone.files import elf_file
from tautochrone.targets import limited
from tautochrone.who.lines import Frame, frames_of

DEBUG_ROOT = Path("/usr/lib/debug")
# A name of 300 characters may stand for one of a gigabyte.
DEMANGLER = ("sh", "-c", "ulimit -S -v 65536; c++filt --no-params | head -c 67108864")
DEMANGLER_SECONDS_MAX = 60
STEP = "build it again with -g"
LINK_STEP = "link it with -no-pie (rustc: -C relocation-model=static), and record it again"
NO_DEBUG = "has no debugging information"


@dataclass(frozen=True)
class Told:
    """The frames of offsets in a file, the innermost first; with a remark, not all have lines."""

    frames: dict[int, tuple[Frame, ...]]
    remark: str


def told_of(path: Path, offsets: Iterable[int], is_from_first_page: bool) -> Told:
    """What the file tells of the calls that return to OFFSETS.

    Offsets are linked addresses, or distances from the first loaded page. Raises TauError for a
    damaged file, and OSError for one that cannot be opened.
    """
    with elf_file.opened(path, STEP) as elf:
        base = elf_file.first_address_of(elf) if is_from_first_page else 0
        is_thumb = elf.header["e_machine"] == "EM_ARM"
        # A call returns to the instruction behind it. Bit 0 of a Thumb address says that it is one.
        calls = {one: base + (one & ~1 if is_thumb else one) - 1 for one in offsets}
        if calls and min(calls.values()) >= elf_file.end_address_of(elf):
            raise TauError(f"{path} was loaded where the recording does not say", LINK_STEP)
        functions = elf_file.functions_of(elf)
        lines, remark = _lines_in(path, elf, list(calls.values()))
    frames: dict[int, tuple[Frame, ...]] = {}
    for offset, address in calls.items():
        name = functions.at(address)
        found = lines.get(address, (Frame("", "", 0),))
        if not found[-1].function:
            found = (*found[:-1], found[-1]._replace(function=name))
        if found[-1].function or found[-1].file:
            frames[offset] = found
    return Told(frames, remark)


def _lines_in(
    path: Path, elf: Any, calls: list[int]
) -> tuple[dict[int, tuple[Frame, ...]], str]:
    """The frames by the DWARF of the file, or of its debug file, and a remark if there is none."""
    if _has_lines(elf):
        return frames_of(elf.get_dwarf_info(follow_links=False), calls), ""
    build_id = elf_file.build_id_of(elf)
    for debug_path in _debug_files(path, elf, build_id):
        if not os.path.isfile(debug_path):  # nor is a name that is too long
            continue
        with elf_file.opened(debug_path, STEP) as debug:
            if _has_lines(debug) and elf_file.build_id_of(debug) == build_id:
                return frames_of(debug.get_dwarf_info(follow_links=False), calls), ""
    is_stripped = elf.get_section_by_name(".symtab") is None
    return {}, f"{'is stripped and ' if is_stripped else ''}{NO_DEBUG}"


def _has_lines(elf: Any) -> bool:
    """Whether a file has DWARF, and not only the headers of its sections."""
    section = elf.get_section_by_name(".debug_info") or elf.get_section_by_name(".zdebug_info")
    return section is not None and section["sh_type"] != "SHT_NOBITS"


def _debug_files(path: Path, elf: Any, build_id: str) -> list[Path]:
    """Where debuggers look for the DWARF of a stripped file."""
    found = []
    if build_id:
        found.append(DEBUG_ROOT / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug")
    link = elf.get_section_by_name(".gnu_debuglink")
    name = link.data().split(b"\0")[0].decode("utf-8", "replace") if link is not None else ""
    if name and "/" not in name:
        folder = path.resolve().parent
        beside = (folder, folder / ".debug", DEBUG_ROOT / str(folder).lstrip("/"))
        found += [each / name for each in beside if each / name != path.resolve()]
    return found


def demangled(names: Sequence[str]) -> dict[str, str]:
    """C++ and Rust names as people write them, of one run of c++filt; unchanged without it,
    and those that are too long.
    """
    mangled = [name for name in dict.fromkeys(names) if name.startswith(("_Z", "_R"))]
    mangled = [name for name in mangled if name.isprintable()]
    if not mangled:
        return {}
    try:
        done = limited.run(DEMANGLER, DEMANGLER_SECONDS_MAX, given="\n".join(mangled) + "\n")
    except (OSError, subprocess.TimeoutExpired):
        return {}
    plain = done.stdout.split("\n")[:-1]
    return dict(zip(mangled, plain)) if len(plain) == len(mangled) else {}
