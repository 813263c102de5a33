"""Tables of all kinds, the naive models' answers for them, and random lookups."""

import random
from collections.abc import Callable

from hw.socket.tb.mmu_socket import PORTS, Answer, Lookup, Result, Socket
from model.pagetable import PageTable
from model.validity import PagesValidity

Memories = tuple[list[int], list[int], list[int]]
Expect = Callable[[Lookup], Result]
NUMBER_BITS = 27
NUMBERS = (1 << NUMBER_BITS) - 1
ALL_ONES = 0xFFFFFFFF


def mapped_result(word: int | None, access: int, frame_bits: int) -> Result:
    """What the socket says of a page with the word frame | rights, or of one that is not mapped."""
    if word is None:
        return Result(True, 1, None)
    if access & ~(word >> NUMBER_BITS):
        return Result(True, 2, None)
    return Result(False, 0, word & ((1 << frame_bits) - 1))


def pagetable_expects(memories: Memories, frame_bits: int) -> Expect:
    """The model of the plain page table on the words of memory 2."""
    table = PageTable(len(memories[2]).bit_length() - 1, None)
    for page, word in enumerate(memories[2]):
        if word:
            table.mapped[page] = word & NUMBERS, word >> NUMBER_BITS & 7

    def expect(lookup: Lookup) -> Result:
        status, frame = table.translate(lookup.page, lookup.access)
        if status == "OK":
            return mapped_result(frame, 0, frame_bits)
        return Result(True, {"NOT_IN_REGION": 1, "ACCESS_DENIED": 2}[status], None)

    return expect


def validity_expects(memories: Memories, frame_bits: int) -> Expect:
    """The model of the pages validity array on the words of all memories.

    The one thing that it does not define is an element of a stack beyond the space: no page.
    """
    regions, stacks, data = memories
    model = PagesValidity(len(data), regions[0::2], stacks[0::2], stacks[1::2], data)
    model.sp = [word & NUMBERS for word in regions[1::2]]

    def expect(lookup: Lookup) -> Result:
        try:
            word = model.lookup(lookup.page)
        except IndexError:
            word = None
        return mapped_result(word, lookup.access, frame_bits)

    return expect


def hostile(pages: int, chance: random.Random) -> Memories:
    """Words of every kind: random, all ones, zero, near the space's end, and plausible ones."""
    kinds = (
        lambda: chance.getrandbits(32),
        lambda: ALL_ONES,
        lambda: 0,
        lambda: pages + chance.randrange(3) - 1,
        lambda: chance.randrange(pages),
        lambda: chance.randrange(pages) | chance.getrandbits(5) << NUMBER_BITS,
        lambda: chance.randrange(pages) | 1 << chance.randrange(32),
    )
    weights = [chance.random() ** 2 for _ in kinds]

    def words(count: int) -> list[int]:
        return [chance.choices(kinds, weights)[0]() for _ in range(count)]

    memories = words(2 * pages), words(2 * pages), words(pages)
    # Some pages are mapped as they should be, so that not everything faults.
    regions, stacks, data = memories
    for page in chance.sample(range(1, pages), pages // 2):
        start = chance.randrange(1, page + 1)
        place = chance.randrange(start, pages)
        regions[2 * page], stacks[2 * page], stacks[2 * place + 1] = start, place, page
        if chance.random() < 0.8:
            regions[2 * start + 1] = place + chance.randrange(-1, 3) | chance.getrandbits(5) << 27
        if chance.random() < 0.8:
            data[page] = chance.getrandbits(12) | chance.getrandbits(3) << NUMBER_BITS
    return memories


def nearly(pages: int, chance: random.Random) -> Memories:
    """Entries that are right but for one thing at most, so that each comparison decides some."""
    memories = [0] * 2 * pages, [0] * 2 * pages, [0] * pages
    regions, stacks, data = memories
    for page in chance.sample(range(1, pages), pages // 3):
        wrong = chance.choice(("", "c above", "c high", "c zero", "h below", "h high", "h above",
                               "s high", "s other"))
        high = 1 << chance.randrange(pages.bit_length() - 1, 32)
        start = chance.randrange(1, page + 1) if wrong != "c zero" else 0
        if wrong == "c above" and page + 1 < pages:
            start = chance.randrange(page + 1, pages)
        place = chance.randrange(start, pages)
        if wrong == "h below":
            place = chance.randrange(start) if start else place
        sp = place - 1 if wrong == "h above" else chance.choice((place, pages - 1))
        regions[2 * page] = start | (high if wrong == "c high" else 0)
        regions[2 * start + 1] = max(sp, 0) | chance.getrandbits(5) << NUMBER_BITS
        stacks[2 * page] = place | (high if wrong == "h high" else 0)
        stacks[2 * place + 1] = page ^ {"s high": high, "s other": 1}.get(wrong, 0)
        data[page] = chance.getrandbits(12) | 7 << NUMBER_BITS
    return memories


def lived_in(pages: int, chance: random.Random, operations: int = 60) -> Memories:
    """What the model leaves behind after regions came and went, over memory full of anything."""
    memories = hostile(pages, chance)
    regions, stacks, data = memories
    model = PagesValidity(pages, regions[0::2], stacks[0::2], stacks[1::2], data)
    starts: dict[int, int] = {}
    mapped: set[int] = set()
    for _ in range(operations):
        start = chance.randrange(1, pages)
        if start in starts:
            model.clear(start)
            mapped -= set(range(start, start + starts.pop(start)))
            continue
        end = min([other for other in starts if other > start], default=pages)
        if any(other < start < other + count for other, count in starts.items()):
            continue
        starts[start] = chance.randrange(1, end - start + 1)
        model.clear(start)
        for page in range(start, start + starts[start]):
            if chance.random() < 0.6:
                rights = chance.choice((1, 3, 5, 7, 2))
                frame = chance.getrandbits(12) | rights << NUMBER_BITS
                model.map_page(start, page, frame)
                mapped.add(page)
    state = [chance.getrandbits(5) << NUMBER_BITS for _ in range(pages)]
    regions[0::2] = model.cache
    regions[1::2] = [top | other for top, other in zip(model.sp, state, strict=True)]
    stacks[0::2], stacks[1::2] = model.helper, model.stack
    assert {page for page in range(pages) if model.lookup(page) is not None} == mapped
    return memories


async def random_lookups(
    socket: Socket, expect: Expect, count: int, idle: float, pages: list[int]
) -> list[Answer]:
    """COUNT lookups of PAGES, interleaved at random on both ports, each compared with EXPECT.

    A lookup that is not taken at once is sometimes withdrawn, as the socket allows.
    """
    chance = socket.chance
    answers: list[Answer] = []
    asked = 0
    while asked < count:
        for port in PORTS:
            if socket.offers[port] is not None and chance.random() < 0.9:
                continue
            socket.offer(port, None)
            if chance.random() >= idle:
                access = chance.choice((1, 2, 4, 1, 2, 4, 3, 7, 0))
                lookup = Lookup(chance.choice(pages), access)
                socket.offer(port, lookup, {expect(lookup)})
                asked += 1
        answers += await socket.cycle()
    return answers + await socket.drain()
