"""The notes of kernel/tasks/loops.h in a linked program."""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

from tautochrone.errors import TauError

SECTION = ".debug_tau_loops"
HEAD = struct.Struct("<III")  # address, number in the file, most rounds or ROUND
ROUND = 0xFFFFFFFF


class Loop(NamedTuple):
    """A loop of a source file: the file and a number in it, and the user's name."""

    file: str
    number: int
    name: str


class Begin(NamedTuple):
    """Where a loop begins, and the most rounds (0: the file of tasks says)."""

    address: int
    rounds_max: int


@dataclass
class Notes:
    """By loop: where it begins, and the addresses of its rounds. The compiler may copy both."""

    begins: dict[Loop, list[Begin]] = field(default_factory=dict)
    rounds: dict[Loop, list[int]] = field(default_factory=dict)


def notes_of(elf: Path) -> Notes:
    """Of a program. Raises TauError if the section is not whole."""
    with elf.open("rb") as file:
        section = ELFFile(file).get_section_by_name(SECTION)
        data = section.data() if section else b""
    found = Notes()
    place = 0
    while place < len(data):
        texts = data[place + HEAD.size :].split(b"\0", 2)
        if len(data) - place < HEAD.size or len(texts) < 3:
            raise TauError(f"{elf.name}: {SECTION} is cut short")
        address, number, rounds_max = HEAD.unpack_from(data, place)
        name, path = (text.decode(errors="replace") for text in texts[:2])
        loop = Loop(path, number, name)
        if rounds_max == ROUND:
            found.rounds.setdefault(loop, []).append(address)
        else:
            found.begins.setdefault(loop, []).append(Begin(address, rounds_max))
        place += HEAD.size + len(texts[0]) + len(texts[1]) + 2
    return found
