"""Where control goes after an instruction of RISC-V, 64 bit, compressed or not."""

from dataclasses import dataclass

JAL, JALR, BRANCH, AUIPC, SYSTEM = 0x6F, 0x67, 0x63, 0x17, 0x73
RETURNS = {0x10200073, 0x30200073}  # sret, mret
TRAPS = {0x00100073, 0x9002}  # ebreak, c.ebreak
RA = 1
# Bits of a compressed jump's and branch's distance: (place in the instruction, place in it).
JUMP_BITS = ((2, 5), (3, 1), (4, 2), (5, 3), (6, 7), (7, 6), (8, 10), (9, 8), (10, 9), (11, 4))
JUMP_BITS += ((12, 11),)
BRANCH_BITS = ((2, 5), (3, 1), (4, 2), (5, 6), (6, 7), (10, 3), (11, 4), (12, 8))


@dataclass(frozen=True)
class Instruction:
    """Control flow of one instruction at `address`.

    `targets` are where it goes on, `calls` is the callee. `through` is the register of an indirect
    jump or call, and `offset` is added to it; `links` if it is a call. `sets` is a
    register, and the address that auipc puts there. `is_trap`: it is ebreak.
    """

    address: int
    size: int
    targets: tuple[int, ...] = ()
    calls: int | None = None
    through: int | None = None
    offset: int = 0
    links: bool = False
    sets: tuple[int, int] | None = None
    is_trap: bool = False

    @property
    def end(self) -> int:
        """The address after it."""
        return self.address + self.size


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def _gathered(word: int, places: tuple[tuple[int, int], ...], bits: int) -> int:
    return _signed(sum((word >> source & 1) << place for source, place in places), bits)


def decode(address: int, encoded: bytes) -> Instruction | None:
    """The instruction that ENCODED, 2 or 4 bytes, begins with; None if it is cut short or 0."""
    half = int.from_bytes(encoded[:2], "little")
    if len(encoded) < 2 or half == 0:
        return None
    if half & 3 != 3:
        return _compressed(address, half)
    return _whole(address, int.from_bytes(encoded[:4], "little")) if len(encoded) >= 4 else None


def _compressed(address: int, half: int) -> Instruction:
    kind, quadrant = half >> 13, half & 3
    end = address + 2
    if quadrant == 1 and kind == 5:
        return Instruction(address, 2, (address + _gathered(half, JUMP_BITS, 12),))
    if quadrant == 1 and kind in (6, 7):
        return Instruction(address, 2, (end, address + _gathered(half, BRANCH_BITS, 9)))
    register = half >> 7 & 31
    if quadrant == 2 and kind == 4 and half >> 2 & 31 == 0 and register:
        links = bool(half >> 12 & 1)
        if not links and register == RA:
            return Instruction(address, 2)
        targets = (end,) if links else ()
        return Instruction(address, 2, targets, through=register, links=links)
    return Instruction(address, 2, (end,), is_trap=half in TRAPS)


def _whole(address: int, word: int) -> Instruction:
    operation, end = word & 0x7F, address + 4
    destination, source = word >> 7 & 31, word >> 15 & 31
    if operation == JAL:
        distance = (word >> 31) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11
        target = address + _signed(distance | (word >> 21 & 0x3FF) << 1, 21)
        if destination == 0:
            return Instruction(address, 4, (target,))
        return Instruction(address, 4, (end,), calls=target)
    if operation == BRANCH:
        distance = (word >> 31) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5
        return Instruction(
            address, 4, (end, address + _signed(distance | (word >> 8 & 15) << 1, 13))
        )
    if operation == JALR:
        offset = _signed(word >> 20, 12)
        if destination == 0 and source == RA and offset == 0:
            return Instruction(address, 4)
        targets = (end,) if destination else ()
        return Instruction(
            address, 4, targets, through=source, offset=offset, links=bool(destination)
        )
    if operation == AUIPC:
        upper = _signed(word >> 12, 20) << 12
        return Instruction(address, 4, (end,), sets=(destination, (address + upper) % 2**64))
    is_return = word in RETURNS
    return Instruction(address, 4, () if is_return else (end,), is_trap=word in TRAPS)
