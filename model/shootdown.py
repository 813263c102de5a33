"""Every interleaving of harts that unmap, walk, flush and reuse frames.

The protocol is docs/design/sv39.md, "Several harts".

    explore(Protocol(), harts=2).states    # how many; raises Reached if the promise breaks

The protocol. Frames that a region leaves are *parked*, not freed. Time is cut into epochs; an epoch
ends when every hart has, since it began, read its number, then flushed all its translations, then
acknowledged. At its end, frames that were parked before it become free. Frames that were parked
during it wait for the end of the next one. Two lists are enough, and both move in constant time.

The promise: a frame that is handed out (as a page or as a table) can be reached by no hart through
a translation from before. A hart may hold every translation that the architecture allows: of an
entry of the root (to a table) or of a leaf (to a page), if it could have read the entry from memory
since its last flush. It keeps each as long as it likes, and may stop a walk between two levels.

The world: SLOTS root entries with a table of one leaf each, FRAMES frames. One lock orders map,
unmap and acknowledgements; walks and flushes take no lock. `Protocol` switches parts of it off:
each such mutant must be found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Protocol:
    """The protocol, and the fault of a mutant."""

    parks: bool = True  # Else frames are free at once.
    parks_tables: bool = True  # Else table pages are free at once.
    has_two_lists: bool = True  # Else all that is parked is free at an epoch's end.
    reads_before_flush: bool = True  # else flushes first and acknowledges whatever epoch it is then
    flushes_before_acknowledging: bool = True
    waits_for_all: bool = True  # Else for all but hart 0.
    flushes_tables: bool = True  # Else leaf entries only, as a flush of one address does.
    clears_before_parking: bool = True  # Else the entry goes when the lock is already open.


class Hart(NamedTuple):
    """Entries that a hart may hold, and where it is in its flush and in its operation."""

    tables: frozenset[tuple[int, int]] = frozenset()  # (slot, table)
    leaves: frozenset[tuple[int, int]] = frozenset()  # (slot, page)
    has_acknowledged: bool = False  # This epoch.
    flush_step: int = 0
    operation: str = ""
    slot: int = 0
    table: int = 0  # That is being given back.


class World(NamedTuple):
    """All of memory and all harts. A frame that is nowhere else is handed out."""

    roots: tuple[int | None, ...]  # The table in each slot's entry.
    leaf: tuple[int | None, ...]  # By frame: what its only entry holds if it is read as a table.
    free: frozenset[int]
    closing: frozenset[int]  # Parked before this epoch.
    parked: frozenset[int]  # Parked during it.
    harts: tuple[Hart, ...]
    owner: int | None = None  # Who holds the lock.


class Reached(Exception):
    """A hart can reach a frame that was handed out again. `trace` are the steps that lead there."""

    def __init__(self, trace: list[str]) -> None:
        """Keep the steps."""
        super().__init__(" / ".join(trace))
        self.trace = trace


@dataclass(frozen=True)
class Result:
    """How far the search came: all reachable states, and the acknowledgements that free a frame."""

    states: int
    acknowledgements_max: int


def in_hand(world: World) -> frozenset[int | None]:
    """The frames of the region that is being unmapped: cleared, not parked yet."""
    tables = [hart.table for hart in world.harts if hart.operation == "park"]
    return frozenset(frame for table in tables for frame in (table, world.leaf[table]))


def is_broken(world: World) -> bool:
    """Whether a hart holds an outdated way to a frame that is handed out."""
    waiting = world.free | world.closing | world.parked | in_hand(world)
    for hart in world.harts:
        for slot, table in hart.tables:
            if table not in waiting and world.roots[slot] != table:
                return True
        for slot, page in hart.leaves:
            table = world.roots[slot]
            if page not in waiting and (table is None or world.leaf[table] != page):
                return True
    return False


def put(world: World, number: int, hart: Hart, **changes: object) -> World:
    """Return the world with one hart changed, and what else is said."""
    harts = world.harts[:number] + (hart,) + world.harts[number + 1 :]
    return world._replace(harts=harts, **changes)


def with_item(items: tuple[int | None, ...], place: int, value: int | None) -> tuple:
    """Return the tuple with one item changed."""
    return items[:place] + (value,) + items[place + 1 :]


def flushed(protocol: Protocol, hart: Hart) -> Hart:
    """The hart after sfence.vma."""
    return hart._replace(
        tables=frozenset() if protocol.flushes_tables else hart.tables, leaves=frozenset()
    )


def acknowledge(protocol: Protocol, world: World, number: int) -> World:
    """Say under the lock that the hart has flushed; the last one ends the epoch."""
    world = put(world, number, world.harts[number]._replace(has_acknowledged=True, flush_step=0))
    needed = world.harts if protocol.waits_for_all else world.harts[1:]
    if not all(hart.has_acknowledged for hart in needed):
        return world
    return world._replace(
        harts=tuple(hart._replace(has_acknowledged=False) for hart in world.harts),
        free=world.free | world.closing | (frozenset() if protocol.has_two_lists else world.parked),
        closing=world.parked if protocol.has_two_lists else frozenset(),
        parked=frozenset(),
    )


def walks(world: World, number: int) -> Iterator[tuple[str, World]]:
    """Entries that the hart's walker may read at any time, for an access or ahead of one."""
    hart = world.harts[number]
    for slot, table in enumerate(world.roots):
        if table is not None and (slot, table) not in hart.tables:
            more = hart._replace(tables=hart.tables | {(slot, table)})
            yield f"hart {number} reads entry {slot}: table {table}", put(world, number, more)
    for slot, table in hart.tables:
        page = world.leaf[table]
        if page is not None and (slot, page) not in hart.leaves:
            more = hart._replace(leaves=hart.leaves | {(slot, page)})
            yield f"hart {number} reads table {table}: page {page}", put(world, number, more)


def flush_steps(protocol: Protocol, world: World, number: int) -> Iterator[tuple[str, World]]:
    """The hart's part in the epoch, step by step; it may begin whenever there is cause."""
    hart = world.harts[number]
    if hart.flush_step == 0 and not (protocol.reads_before_flush and hart.has_acknowledged):
        begun = hart._replace(flush_step=1)
        if not protocol.reads_before_flush:
            begun = flushed(protocol, begun)._replace(flush_step=2)
        yield f"hart {number} begins to flush", put(world, number, begun)
    if hart.flush_step == 1:
        if protocol.flushes_before_acknowledging:
            done = put(world, number, flushed(protocol, hart)._replace(flush_step=2))
            yield f"hart {number} flushes", done
        elif world.owner is None:
            done = acknowledge(protocol, world, number)
            late = done.harts[number]._replace(flush_step=3)
            yield f"hart {number} acknowledges", put(done, number, late)
    if hart.flush_step == 2 and world.owner is None and not hart.has_acknowledged:
        yield f"hart {number} acknowledges", acknowledge(protocol, world, number)
    if hart.flush_step == 3:
        done = put(world, number, flushed(protocol, hart)._replace(flush_step=0))
        yield f"hart {number} flushes late", done


def operations(protocol: Protocol, world: World, number: int) -> Iterator[tuple[str, World]]:
    """Map and unmap, step by step."""
    hart = world.harts[number]
    slot = hart.slot
    table = world.roots[slot]
    if not hart.operation and world.owner is None:
        being_cleared = {other.slot for other in world.harts if other.operation == "clear"}
        for wanted, root in enumerate(world.roots):
            if wanted in being_cleared:
                continue
            name = "map" if root is None else "unmap"
            begun = hart._replace(operation=name, slot=wanted)
            yield f"hart {number} will {name} {wanted}", put(world, number, begun, owner=number)
    elif hart.operation == "map":
        for frame in world.free:
            leaf = with_item(world.leaf, frame, None)  # Table pages are zeroed.
            changes = {"leaf": leaf, "free": world.free - {frame}}
            changes["roots"] = with_item(world.roots, slot, frame)
            begun = hart._replace(operation="fault")
            yield f"hart {number} hangs table {frame}", put(world, number, begun, **changes)
        if not world.free:
            done = hart._replace(operation="", slot=0)
            yield f"hart {number} finds no table", put(world, number, done, owner=None)
    elif hart.operation == "fault":
        done = hart._replace(operation="", slot=0)
        for frame in world.free:
            leaf = with_item(with_item(world.leaf, frame, None), table, frame)
            changes = {"leaf": leaf, "free": world.free - {frame}, "owner": None}
            yield f"hart {number} maps page {frame}", put(world, number, done, **changes)
        if not world.free:
            yield f"hart {number} finds no frame", put(world, number, done, owner=None)
    elif hart.operation == "unmap" and not protocol.clears_before_parking:
        late = flushed(protocol, hart)._replace(operation="clear")
        yield f"hart {number} flushes and parks", park(protocol, world, number, late, table)
    elif hart.operation == "unmap":
        begun = hart._replace(operation="park", table=table)
        roots = with_item(world.roots, slot, None)
        yield f"hart {number} clears entry {slot}", put(world, number, begun, roots=roots)
    elif hart.operation == "clear":
        done = hart._replace(operation="", slot=0)
        roots = with_item(world.roots, slot, None)
        yield f"hart {number} clears entry {slot}", put(world, number, done, roots=roots)
    elif hart.operation == "park":
        done = flushed(protocol, hart)._replace(operation="", slot=0, table=0)
        yield f"hart {number} flushes and parks", park(protocol, world, number, done, hart.table)


def park(protocol: Protocol, world: World, number: int, hart: Hart, table: int) -> World:
    """Give up a table and the page in it, and open the lock."""
    page = world.leaf[table]
    pages = frozenset() if page is None else frozenset({page})
    tables = frozenset({table})
    at_once = frozenset() if protocol.parks else pages | tables
    at_once |= frozenset() if protocol.parks_tables else tables
    parked = world.parked | ((pages | tables) - at_once)
    return put(world, number, hart, free=world.free | at_once, parked=parked, owner=None)


def steps(protocol: Protocol, world: World) -> Iterator[tuple[str, World]]:
    """All that can happen next."""
    for number in range(len(world.harts)):
        yield from walks(world, number)
        yield from flush_steps(protocol, world, number)
        yield from operations(protocol, world, number)


def acknowledgements_to_free(protocol: Protocol, world: World) -> int:
    """How many acknowledgements free all that waits now, if nobody unmaps any more."""
    waiting = world.closing | world.parked
    count = 0
    while not waiting <= world.free:
        late = [n for n, hart in enumerate(world.harts) if not hart.has_acknowledged]
        world = acknowledge(protocol, world, late[0])
        count += 1
    return count


def canonical(world: World) -> World:
    """The same world with the harts in an order of their own, as the protocol treats them alike."""

    def key(pair: tuple[int, Hart]) -> tuple:
        number, hart = pair
        ways = (sorted(hart.tables), sorted(hart.leaves))
        return (*ways, *hart[2:], number == world.owner)

    order = sorted(enumerate(world.harts), key=key)
    owner = next((place for place, (n, _) in enumerate(order) if n == world.owner), None)
    return world._replace(harts=tuple(hart for _, hart in order), owner=owner)


def explore(
    protocol: Protocol, harts: int = 2, slots: int = 1, frames: int = 3, states_max: int = 10**7
) -> Result:
    """Visit every reachable state, once for all orders of the harts.

    Raises Reached with a shortest way to a broken promise (its harts may change numbers on the
    way), ValueError beyond STATES_MAX states: then nothing is shown.
    """
    first = World(
        (None,) * slots,
        (None,) * frames,
        frozenset(range(frames)),
        frozenset(),
        frozenset(),
        (Hart(),) * harts,
    )
    came_from: dict[World, tuple[World, str] | None] = {first: None}
    front = [first]
    acknowledgements_max = 0
    while front:
        following = []
        for world in front:
            if world.owner is None:
                count = acknowledgements_to_free(protocol, world)
                acknowledgements_max = max(acknowledgements_max, count)
            for name, after in steps(protocol, world):
                after = canonical(after) if protocol.waits_for_all else after
                if after in came_from:
                    continue
                came_from[after] = (world, name)
                if is_broken(after):
                    raise Reached(path_to(came_from, after))
                following.append(after)
        if len(came_from) > states_max:
            raise ValueError(f"more than {states_max} states")
        front = following
    return Result(len(came_from), acknowledgements_max)


def path_to(came_from: dict[World, tuple[World, str] | None], world: World) -> list[str]:
    """The steps that led to a state."""
    trace = []
    step = came_from[world]
    while step is not None:
        world, name = step
        trace.append(name)
        step = came_from[world]
    return trace[::-1]
