"""Which pages an executable needs: entries against bytes [P2-15]."""

from dataclasses import dataclass
from pathlib import Path

from tautochrone.compose import code
from tautochrone.errors import TauError
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile

WINDOW = tile.ADDRESS_WINDOW
UNIT = facts.SIZE_PAGE_BYTES_MIN
WINDOW_END = WINDOW + (UNIT << 18)  # A page number has 18 bits.
ORDER_MAX = 7
READ, WRITE, EXECUTE = 1, 2, 4
GUARD_ORDER = 2  # The order of a page as large as the guard of a stack.


@dataclass(frozen=True)
class Page:
    """One entry of an application's table; `frame` counts for kind `fixed` only."""

    address: int
    order: int
    rights: int
    kind: int = facts.PAGE_KIND_OWN
    frame: int = 0

    @property
    def size_bytes(self) -> int:
        """Its bytes."""
        return UNIT << 2 * self.order

    def words(self) -> tuple[int, int]:
        """The two words of the system file."""
        page = (self.address - WINDOW) // UNIT
        rest = self.rights << facts.PAGE_SHIFT_RIGHTS | self.kind << facts.PAGE_SHIFT_KIND
        return page | self.order << facts.PAGE_SHIFT_ORDER, rest | self.frame


@dataclass(frozen=True)
class Segment:
    """The memory that an executable asks for.

    The stack of each task is a segment of its own, and never rounded; `task` is its number.
    """

    address: int
    memory_bytes: int
    rights: int
    task: int | None = None

    @property
    def is_stack(self) -> bool:
        """Whether it is the stack of a task."""
        return self.task is not None

    @property
    def guard(self) -> Page:
        """The addresses below a stack, which no page may map."""
        return Page(self.address - facts.SIZE_STACK_GUARD_BYTES, GUARD_ORDER, 0)


def order_of(size_bytes: int) -> int:
    """The order of a page of SIZE_BYTES; raises TauError if there is none."""
    for order in range(ORDER_MAX + 1):
        if UNIT << 2 * order == size_bytes:
            return order
    sizes = ", ".join(str(UNIT << 2 * order) for order in range(ORDER_MAX + 1))
    raise TauError(f"a page cannot have {size_bytes} bytes", f"use one of {sizes}")


def segments_of(executable: Path) -> list[Segment]:
    """The loadable segments of an ELF file, and its stacks instead of the segment that has them.

    That segment has no bytes in the file. All of it but the stacks stays without pages.
    """
    from elftools.elf.elffile import ELFFile

    stacks = code.stacks_of(executable)
    found = []
    with open(executable, "rb") as file:
        for each in ELFFile(file).iter_segments():
            if each["p_type"] != "PT_LOAD" or not each["p_memsz"]:
                continue
            start, rights = each["p_vaddr"], _rights(each["p_flags"])
            inside = [
                Segment(address, size_bytes, rights, task)
                for task, (address, size_bytes) in enumerate(stacks)
                if start <= address and address + size_bytes <= start + each["p_memsz"]
            ]
            is_of_stacks = inside and not each["p_filesz"]
            found += inside if is_of_stacks else [Segment(start, each["p_memsz"], rights)]
    return found


def file_bytes_of(executable: Path) -> int:
    """How many bytes of an ELF file a load copies."""
    from elftools.elf.elffile import ELFFile

    with open(executable, "rb") as file:
        segments = ELFFile(file).iter_segments()
        return sum(each["p_filesz"] for each in segments if each["p_type"] == "PT_LOAD")


def _rights(flags: int) -> int:
    return (flags >> 2 & 1) * READ | (flags >> 1 & 1) * WRITE | (flags & 1) * EXECUTE


def pages_for(segment: Segment, order_max: int) -> list[Page]:
    """Walk up from the segment's start: the largest page that is aligned and fits, each time.

    The end is rounded up to the smallest page. A size is thus its digits to base 4, as the paper
    has it: 17 KB are two pages, 15 KB six.
    """
    pages: list[Page] = []
    address = segment.address // UNIT * UNIT
    end = -(-(segment.address + segment.memory_bytes) // UNIT) * UNIT
    if end > WINDOW_END:
        raise TauError(
            f"a segment ends at {end:#x}, the window at {WINDOW_END:#x}",
            "link it to a lower address",
        )
    while address < end:
        order = max(
            order
            for order in range(order_max + 1)
            if address % (UNIT << 2 * order) == 0 and address + (UNIT << 2 * order) <= end
        )
        pages.append(Page(address, order, segment.rights))
        address += UNIT << 2 * order
    return pages


def rounded(segment: Segment, size_bytes: int) -> Segment:
    """The segment with its end rounded up to a multiple of SIZE_BYTES: fewer entries."""
    if segment.is_stack:
        return segment
    end = -(-(segment.address + segment.memory_bytes) // size_bytes) * size_bytes
    return Segment(segment.address, end - segment.address, segment.rights)
