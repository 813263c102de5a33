"""A system: tiles, slots, applications, commands; and the file that the kernel reads."""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.compose.pages import (
    EXECUTE,
    READ,
    WRITE,
    Page,
    order_of,
    pages_for,
    rounded,
    segments_of,
)
from tautochrone.errors import TauError
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile

FRAME_BITS = 18
SPECIAL = 1 << (FRAME_BITS - 1)
IMAGE_ALIGN_BYTES = 1024
LOADER, IDLE = "loader", "idle"
OPERATIONS = {
    "load": facts.COMMAND_LOAD,
    "unload": facts.COMMAND_UNLOAD,
    "end": facts.COMMAND_END,
}


def special(kind: int, number: int) -> int:
    """The frame number of a page that is a device."""
    return SPECIAL | kind << (FRAME_BITS - 3) | number


@dataclass(frozen=True)
class Fifo:
    """A FIFO between two tasks of an application: each end has a page of PAGE_BYTES.

    With HAS_CHANNEL the application gets a DMA channel from the writer's page to the reader's,
    which is on the other tile. Its channels have numbers in the order of its FIFOs, from 0 on.
    """

    writer: str
    reader: str
    page_bytes: int = 4096
    has_channel: bool = False


@dataclass(frozen=True)
class Application:
    """An executable, its tasks in the order of its note, and how its pages are chosen."""

    name: str
    executable: Path
    tasks: tuple[str, ...]
    page_bytes_max: int = 16384
    round_bytes: int = 1024
    fifos: tuple[Fifo, ...] = ()
    pool_pages: tuple[int, ...] = ()  # Addresses, one page after the other: mapped on demand.
    pool_frames: int = 0


@dataclass(frozen=True)
class Channel:
    """A DMA channel of a tile, and what the kernel's registers of it get."""

    application: str
    place: int
    number: int
    source_frame: int
    destination_frame: int
    size_bytes: int


@dataclass(frozen=True)
class Grant:
    """Communication memory of a tile that an application may have pages of."""

    application: str
    place: int
    frame: int
    frames: int


@dataclass(frozen=True)
class Command:
    """A command of the loaders: "load", "end" or "unload" an application, at an epoch.

    One of the mailbox comes while the applications run: not before the epoch `arrival`.
    """

    operation: str
    application: str
    epoch: int
    arrival: int = 0


@dataclass(frozen=True)
class System:
    """All of it. `slots`: for each tile the major frame, "application.task", "loader" or "idle"."""

    applications: tuple[Application, ...]
    slots: tuple[tuple[str, ...], ...]
    commands: tuple[Command, ...]
    user_slot_cycles: int = 50_000
    os_slot_cycles: int = 1_000
    start_cycle: int = 400_000
    frame_first: int = 64
    frame_count: int = 1024
    switches: tuple[Command, ...] = ()  # Of the mailbox, after all others.

    @property
    def epoch_slots(self) -> int:
        """Slots of an epoch: the least in which each tile has whole major frames."""
        return math.lcm(*map(len, self.slots))

    @property
    def epoch_cycles(self) -> int:
        """Cycles of an epoch, on every tile."""
        return self.epoch_slots * (self.user_slot_cycles + self.os_slot_cycles)

    def cycles(self, epochs: int) -> int:
        """The cycle at which epoch number EPOCHS begins."""
        return self.start_cycle + epochs * self.epoch_cycles

    def epoch_of(self, cycle: int) -> int:
        """The epoch of a cycle."""
        return (cycle - self.start_cycle) // self.epoch_cycles

    def number(self, name: str) -> int:
        """The number of an application."""
        for number, application in enumerate(self.applications):
            if application.name == name:
                return number
        raise TauError(f"unknown application {name}")

    def tile_of(self, application: Application, task: str) -> int | None:
        """The tile that runs a task; None if no slot does."""
        for number, slots in enumerate(self.slots):
            if f"{application.name}.{task}" in slots:
                return number
        return None

    def runs_on(self, application: Application, number: int) -> bool:
        """Whether a tile has a slot of the application."""
        return any(self.tile_of(application, task) == number for task in application.tasks)


def tiles_of(system: System, application: Application) -> list[int]:
    """The tiles with a slot of the application."""
    return [place for place in range(len(system.slots)) if system.runs_on(application, place)]


def commands_of(system: System, place: int) -> list[Command]:
    """The commands of a tile, in its loader's order."""
    return [
        command
        for command in (*system.commands, *system.switches)
        if system.runs_on(system.applications[system.number(command.application)], place)
    ]


def loader_cycles(system: System, place: int) -> int:
    """The cycles that the loader of a tile has in an epoch."""
    slots = system.slots[place]
    count = slots.count(LOADER) * (system.epoch_slots // len(slots))
    return count * system.user_slot_cycles


def uses_link(system: System, application: Application) -> bool:
    """Whether it has a FIFO, with or without a DMA channel, between two tiles."""
    return any(
        system.tile_of(application, fifo.writer) != system.tile_of(application, fifo.reader)
        for fifo in application.fifos
    )


def grants_of(system: System) -> list[Grant]:
    """What is granted: each FIFO end's page, to its application, by tile and frame."""
    applications = {each.name: each for each in system.applications}
    found = []
    for (name, number, side), frame in communication_frames(system).items():
        fifo = applications[name].fifos[number]
        place = system.tile_of(applications[name], fifo.writer if side == "writer" else fifo.reader)
        assert place is not None, side
        found.append(Grant(name, place, frame, fifo.page_bytes // 1024))
    return sorted(found, key=lambda grant: (grant.place, grant.frame))


def communication_frames(system: System) -> dict[tuple[str, int, str], int]:
    """The first frame of each FIFO end's page: by application, FIFO and side."""
    free = [0] * len(system.slots)
    found = {}
    for application in system.applications:
        for number, fifo in enumerate(application.fifos):
            for side, task in (("writer", fifo.writer), ("reader", fifo.reader)):
                place = system.tile_of(application, task)
                if place is None:
                    continue
                frames = fifo.page_bytes // 1024
                first = -(-free[place] // frames) * frames
                free[place] = first + frames
                if free[place] > tile.SIZE_COMMUNICATION_FRAMES:
                    raise TauError(f"FIFO {number} of {application.name}: no frames are left")
                found[application.name, number, side] = first
    return found


def channels_of(system: System) -> list[Channel]:
    """The DMA channels of all tiles; each application's are in the order of its FIFOs."""
    frames = communication_frames(system)
    used = [0] * len(system.slots)
    found = []
    for application in system.applications:
        for number, fifo in enumerate(application.fifos):
            place = system.tile_of(application, fifo.writer)
            if not fifo.has_channel or place is None:
                continue
            name = f"FIFO {number} of {application.name}"
            if system.tile_of(application, fifo.reader) in (place, None):
                raise TauError(
                    f"{name}: a DMA channel leads to the other tile, where its reader has no slot",
                    "give the reader a slot on the other tile, or the FIFO no channel",
                )
            if used[place] == tile.SIZE_DMA_CHANNELS:
                raise TauError(
                    f"{name}: tile {place} has no DMA channel left of {tile.SIZE_DMA_CHANNELS}",
                    "without a channel the writer stores over the link itself",
                )
            ends = [frames[application.name, number, side] for side in ("writer", "reader")]
            found.append(Channel(application.name, place, used[place], *ends, fifo.page_bytes))
            used[place] += 1
    return found


def pages_of(system: System, application: Application, place: int) -> list[Page]:
    """The page list of an application on a tile, by addresses."""
    system_frame = special(tile.SPECIAL_SYSTEM, system.number(application.name))
    pages = [
        Page(facts.ADDRESS_SYSTEM, 0, READ | WRITE, facts.PAGE_KIND_FIXED, system_frame),
        Page(facts.ADDRESS_BASE, 2, EXECUTE, facts.PAGE_KIND_BASE),
    ]
    order_max = order_of(application.page_bytes_max)
    for segment in segments_of(application.executable):
        if segment.task is not None:  # A stack: only where its task runs.
            if system.tile_of(application, application.tasks[segment.task]) != place:
                continue
        pages += pages_for(rounded(segment, application.round_bytes), order_max)
    frames = communication_frames(system)
    for number, fifo in enumerate(application.fifos):
        order = order_of(fifo.page_bytes)
        tiles = {
            side: system.tile_of(application, task)
            for side, task in (("writer", fifo.writer), ("reader", fifo.reader))
        }
        for end, (side, other) in enumerate((("writer", "reader"), ("reader", "writer"))):
            if tiles[side] != place:
                continue
            address = facts.ADDRESS_FIFO + (2 * number + end) * facts.SIZE_FIFO_STRIDE_BYTES
            own = frames[application.name, number, side]
            far = frames.get((application.name, number, other), 0)
            if tiles[other] != place:
                far = special(tile.SPECIAL_LINK, far)
            far_address = address + facts.SIZE_FIFO_PAGE_BYTES_MAX
            pages.append(Page(address, order, READ | WRITE, facts.PAGE_KIND_FIXED, own))
            pages.append(Page(far_address, order, WRITE, facts.PAGE_KIND_FIXED, far))
    own_channels = (
        channel.number
        for channel in channels_of(system)
        if (channel.application, channel.place) == (application.name, place)
    )
    for index, channel in enumerate(own_channels):
        address = facts.ADDRESS_DMA + facts.SIZE_PAGE_BYTES_MIN * index
        frame = special(tile.SPECIAL_DMA, channel)
        pages.append(Page(address, 0, READ | WRITE, facts.PAGE_KIND_FIXED, frame))
    pages += [Page(at, 0, READ | WRITE, facts.PAGE_KIND_POOL) for at in application.pool_pages]
    if len(pages) > facts.LIMIT_ENTRIES:
        raise TauError(
            f"{application.name} needs {len(pages)} entries, a table has {facts.LIMIT_ENTRIES}",
            "larger pages take fewer: page_bytes, round_bytes; so does a smaller pool",
        )
    return sorted(pages, key=lambda page: page.address)


def _slot_words(system: System, name: str) -> tuple[int, int]:
    if name == LOADER:
        return facts.SLOT_LOADER, 0
    if name == IDLE:
        return facts.SLOT_IDLE, 0
    owner, _, task = name.partition(".")
    number = system.number(owner)
    return number, system.applications[number].tasks.index(task)


def command_words(system: System, command: Command) -> tuple[int, ...]:
    """A command as the loaders read it."""
    number = system.number(command.application)
    return OPERATIONS[command.operation], number, command.epoch, command.arrival


def _channel_words(system: System, channel: Channel) -> tuple[int, ...]:
    frames = (channel.source_frame, channel.destination_frame)
    return system.number(channel.application), channel.number, *frames, channel.size_bytes, 0, 0, 0


def _part(
    system: System,
    place: int,
    images: Mapping[str, tuple[int, int]],
    base: tuple[int, int],
    digest: bytes,
    offset: int,
) -> bytes:
    """The part of a tile, which is at OFFSET of the file."""
    applications, pages, commands = [], [], []
    for application in system.applications:
        own = pages_of(system, application, place) if system.runs_on(application, place) else []
        start, size = images[application.name]
        applications.append(
            (
                start - offset,
                size,
                len(pages),
                len(own),
                len(application.tasks),
                application.pool_frames,
                int(len(tiles_of(system, application)) > 1),
                0,
            )
        )
        pages += [page.words() for page in own]
    for command in system.commands:
        application = system.applications[system.number(command.application)]
        if system.runs_on(application, place):
            commands.append(command_words(system, command))
    channels = [_channel_words(system, each) for each in channels_of(system) if each.place == place]
    grants = [
        (system.number(each.application), each.place, each.frame, each.frames)
        for each in grants_of(system)
    ]
    slots = [_slot_words(system, name) for name in system.slots[place]]
    header = [0] * facts.SYSTEM_HEADER_WORDS
    header[facts.HEADER_MAGIC] = facts.SYSTEM_MAGIC
    header[facts.HEADER_VERSION] = facts.SYSTEM_VERSION
    header[facts.HEADER_TILE] = place
    header[facts.HEADER_USER_SLOT_CYCLES] = system.user_slot_cycles
    header[facts.HEADER_OS_SLOT_CYCLES] = system.os_slot_cycles
    header[facts.HEADER_START_CYCLE] = system.start_cycle
    header[facts.HEADER_FRAME_FIRST] = system.frame_first
    header[facts.HEADER_FRAME_COUNT] = system.frame_count
    header[facts.HEADER_EPOCH_FRAMES] = system.epoch_slots // len(slots)
    header[facts.HEADER_BASE_OFFSET] = base[0] - offset
    header[facts.HEADER_BASE_BYTES] = base[1]
    header[facts.HEADER_BASE_HASH : facts.HEADER_BASE_HASH + 8] = struct.unpack("<8I", digest)
    tables: tuple[tuple[int, int, Sequence[tuple[int, ...]]], ...] = (
        (facts.HEADER_SLOT_COUNT, facts.HEADER_SLOT_OFFSET, slots),
        (facts.HEADER_APPLICATION_COUNT, facts.HEADER_APPLICATION_OFFSET, applications),
        (facts.HEADER_PAGE_COUNT, facts.HEADER_PAGE_OFFSET, pages),
        (facts.HEADER_COMMAND_COUNT, facts.HEADER_COMMAND_OFFSET, commands),
        (facts.HEADER_CHANNEL_COUNT, facts.HEADER_CHANNEL_OFFSET, channels),
        (facts.HEADER_GRANT_COUNT, facts.HEADER_GRANT_OFFSET, grants),
    )
    body = b""
    for count, where, rows in tables:
        header[count] = len(rows)
        header[where] = 4 * len(header) + len(body)
        body += b"".join(struct.pack(f"<{len(row)}I", *row) for row in rows)
    header[facts.HEADER_SIZE_BYTES] = 4 * len(header) + len(body)
    return struct.pack(f"<{len(header)}I", *header) + body


def system_file(system: System, base: bytes, digest: bytes) -> bytes:
    """The content of the memory tile: directory, a part for each tile, base code, images."""
    part_bytes = 16 * IMAGE_ALIGN_BYTES
    first = IMAGE_ALIGN_BYTES
    place = first + part_bytes * len(system.slots)
    content = bytearray(place)
    base_place = (len(content), len(base))
    content += base + bytes(-len(base) % IMAGE_ALIGN_BYTES)
    images = {}
    for application in system.applications:
        image = application.executable.read_bytes()
        image += bytes(-len(image) % 4)
        images[application.name] = (len(content), len(image))
        content += image + bytes(-len(image) % IMAGE_ALIGN_BYTES)
    for number in range(len(system.slots)):
        offset = first + part_bytes * number
        part = _part(system, number, images, base_place, digest, offset)
        if len(part) > part_bytes:
            raise TauError(f"the part of tile {number} has {len(part)} bytes, at most {part_bytes}")
        content[offset : offset + len(part)] = part
        content[4 * number : 4 * number + 4] = struct.pack("<I", offset)
    return bytes(content)
