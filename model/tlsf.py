"""Golden model of the two-level segregated fit: docs/spec/tlsf.md, done in the most obvious way.

Written from SPEC alone, never from the C code: where both agree, two readings of the same words
agree. Blocks are a list in address order and free blocks a list per class, searched from the front.
Addresses are offsets from the memory that the heap was given.

Every operation returns the C function's result: an offset or None for a pointer, a status name for
a status. Cost: proportional to the number of blocks; this is a yardstick, not an allocator.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Block:
    """One block: the place of its payload, its size with header, and its use."""

    payload: int
    size_bytes: int
    is_free: bool = True
    alignment: int = 0  # as asked, if above the heap's own; else 0


@dataclass
class Pool:
    """A row of blocks without gaps; the sentinel's payload address is where it ends."""

    blocks: list[Block] = field(default_factory=list)
    sentinel: int = 0
    wilderness_bytes: int = 0  # behind the sentinel

    @property
    def is_wild(self) -> bool:
        """Whether the last block returns to a wilderness, which may be empty at the moment."""
        return self.untouched_bytes is not None

    untouched_bytes: int | None = None  # the fewest bytes of the wilderness ever; None: it has none


def second_level_bits(pool_max_bytes: int) -> int:
    """L of SPEC: how many bits below the leading one a class tells apart."""
    for limit, bits in ((32 << 10, 2), (512 << 10, 3), (4 << 20, 4)):
        if pool_max_bytes < limit:
            return bits
    return 5


class Tlsf:
    """A heap in SIZE_BYTES of memory at address BASE whose control block takes CONTROL_BYTES.

    The control block's size is a fact of the build, so the caller says it
    (statistics.control_bytes). BASE matters for alignments only. UNIT is the alignment, by default
    two words.
    """

    def __init__(
        self,
        size_bytes: int,
        control_bytes: int,
        word_bits: int = 32,
        check_level: int = 1,
        pool_max_bytes: int = 0,
        base: int = 0,
        unit: int = 0,
    ) -> None:
        """Lays out the first pool. Raises ValueError if the memory cannot hold one block."""
        self.word = word_bits // 8
        self.unit = unit or 2 * self.word
        self.block_min = 4 * self.word
        self.check_level = check_level
        self.size_max = 2**64 - 1  # the largest value of the host's size_t
        self.base = base
        self.pool_max_bytes = max(pool_max_bytes, size_bytes)
        self.level_bits = second_level_bits(self.pool_max_bytes)
        self.lists: dict[int, list[Block]] = {}
        self.pools: list[Pool] = []
        self.peak_used_bytes = 0
        self.out_of_memory_count = 0
        control = round_up(base, self.unit) - base
        status = self._place_pool(control + control_bytes, size_bytes, is_wild=True)
        if status != "OK":
            raise ValueError(status)

    # Classes

    def class_of(self, size_bytes: int) -> int:
        """The class of a block of SIZE_BYTES."""
        key = size_bytes // self.unit - 1
        shift = max(key.bit_length() - 1 - self.level_bits, 0)
        return (shift << self.level_bits) + (key >> shift)

    def _is_class_start(self, size_bytes: int) -> bool:
        """Whether every block of the class of SIZE_BYTES is at least that large."""
        key = size_bytes // self.unit - 1
        shift = max(key.bit_length() - 1 - self.level_bits, 0)
        return key % (1 << shift) == 0

    # Pools and blocks

    def _place_pool(self, start: int, end: int, is_wild: bool = False) -> str:
        """Makes a pool of the bytes from offset START to END: a wilderness or one free block."""
        payload = round_up(self.base + start + self.word, self.unit) - self.base
        sentinel = (self.base + end) // self.unit * self.unit - self.base
        if sentinel - payload < self.block_min:
            return "POOL_TOO_SMALL"
        if sentinel - payload > self.pool_max_bytes:
            return "POOL_TOO_LARGE"
        whole = sentinel - payload
        if is_wild:
            self.pools.append(Pool([], payload, whole, whole))
        else:
            block = Block(payload, whole)
            self.pools.append(Pool([block], sentinel))
            self._list_put(block)
        return "OK"

    def list_wilderness(self) -> None:
        """Makes the wilderness a free block, or loses it if it is too small for one."""
        pool = self.pools[0]
        if pool.wilderness_bytes >= self.block_min:
            block = Block(pool.sentinel, pool.wilderness_bytes)
            pool.blocks.append(block)
            pool.sentinel += pool.wilderness_bytes
            self._list_put(block)
        pool.wilderness_bytes, pool.untouched_bytes = 0, None

    def _move_end(self, pool: Pool, more_bytes: int) -> None:
        """Takes bytes from the wilderness of POOL, or gives some back."""
        pool.sentinel += more_bytes
        pool.wilderness_bytes -= more_bytes
        pool.untouched_bytes = min(pool.untouched_bytes or 0, pool.wilderness_bytes)

    def add_pool(self, start: int, size_bytes: int) -> str:
        """As tau_tlsf_add_pool, for memory at offset START that overlaps nothing."""
        descriptor = round_up(self.base + start, self.word) - self.base
        status = self._place_pool(descriptor + 3 * self.word, start + size_bytes)
        if status == "OK" and len(self.pools) == 2:
            added = self.pools.pop()  # the list of its block has the wilderness before it
            self._list_take(added.blocks[0])
            self.list_wilderness()
            self.pools.append(added)
            self._list_put(added.blocks[0])
        return status

    def _list_put(self, block: Block) -> None:
        block.is_free = True
        block.alignment = 0
        self.lists.setdefault(self.class_of(block.size_bytes), []).insert(0, block)

    def _list_take(self, block: Block) -> None:
        block.is_free = False
        members = self.lists[self.class_of(block.size_bytes)]
        members[:] = [member for member in members if member is not block]

    def _find(self, offset: int) -> tuple[Pool, int]:
        """The pool, and the place in it, of the block at OFFSET, or raises KeyError."""
        for pool in self.pools:
            for index, block in enumerate(pool.blocks):
                if block.payload == offset:
                    return pool, index
        raise KeyError(offset)

    def _used(self, offset: int) -> tuple[Pool, int]:
        pool, index = self._find(offset)
        if pool.blocks[index].is_free:
            raise KeyError(offset)
        return pool, index

    def _neighbor(self, pool: Pool, index: int) -> Block | None:
        """The block at INDEX if it exists and is free."""
        if 0 <= index < len(pool.blocks) and pool.blocks[index].is_free:
            return pool.blocks[index]
        return None

    # Sizes and statistics

    def block_size(self, request_bytes: int, extra_words: int = 0) -> int:
        """S of SPEC for a request."""
        canary_words = 1 if self.check_level >= 2 else 0
        needed = request_bytes + self.word * (1 + canary_words + extra_words)
        return max(round_up(needed, self.unit), self.block_min)

    def usable_size(self, offset: int) -> int:
        """Payload bytes of the used block at OFFSET that belong to its user."""
        pool, index = self._used(offset)
        return self._usable(pool.blocks[index])

    def alignment_of(self, offset: int) -> int:
        """The alignment that the used block at OFFSET was asked with, 0 if the heap's own."""
        pool, index = self._used(offset)
        return pool.blocks[index].alignment

    def visible_size(self, block: Block) -> int:
        """What the walk says of BLOCK: usable bytes if used, else all bytes after the header."""
        return block.size_bytes - self.word if block.is_free else self._usable(block)

    def _usable(self, block: Block) -> int:
        words = 1 + (1 if block.alignment else 0) + (1 if self.check_level >= 2 else 0)
        return block.size_bytes - words * self.word

    @property
    def used_bytes(self) -> int:
        """Blocks handed out, headers included."""
        return sum(size_bytes for _, size_bytes, is_free in self.blocks() if not is_free)

    @property
    def capacity_bytes(self) -> int:
        """All blocks of all pools, headers included."""
        in_rows = sum(block.size_bytes for pool in self.pools for block in pool.blocks)
        return in_rows + self._wilderness_bytes

    @property
    def _wilderness_bytes(self) -> int:
        return self.pools[0].wilderness_bytes

    @property
    def untouched_bytes(self) -> int:
        """The fewest bytes that the wilderness ever had."""
        return self.pools[0].untouched_bytes or 0

    @property
    def largest_free_bytes(self) -> int:
        """A request of this size succeeds, 0 if there is none."""
        classes = [number for number, members in self.lists.items() if members]
        candidates = [self.lists[max(classes)][0]] if classes else []
        if self._wilderness_bytes >= self.block_min:
            candidates.append(Block(self.pools[0].sentinel, self._wilderness_bytes))
        return max(map(self._usable, candidates), default=0)

    def blocks(self) -> list[tuple[int, int, bool]]:
        """(payload, size with header, is free) of every block, pool by pool in address order."""
        return [
            (block.payload, block.size_bytes, block.is_free)
            for pool in self.pools
            for block in self.row(pool)
        ]

    def row(self, pool: Pool) -> list[Block]:
        """The blocks of a pool as the walk visits them: the wilderness is one, if large enough."""
        is_seen = pool.wilderness_bytes >= self.block_min
        return pool.blocks + [Block(pool.sentinel, pool.wilderness_bytes)] * is_seen

    # Operations

    def _search(self, size_bytes: int) -> Block | None:
        """Steps 1 and 2 of malloc; the block is still in its list."""
        first = self.class_of(size_bytes)
        if not self._is_class_start(size_bytes):
            members = self.lists.get(first, [])
            if members and members[0].size_bytes >= size_bytes:
                return members[0]
            first += 1
        for number in sorted(self.lists):
            if number >= first and self.lists[number]:
                return self.lists[number][0]
        return None

    def _split(self, pool: Pool, index: int, size_bytes: int) -> None:
        """Step 3 of malloc: what the used block at INDEX has too much becomes a free block."""
        block = pool.blocks[index]
        if block.size_bytes - size_bytes >= self.block_min:
            self._cut(pool, index, size_bytes)

    def _cut(self, pool: Pool, index: int, size_bytes: int) -> None:
        """Makes what a block has after SIZE_BYTES a free block, merged with a free next."""
        block = pool.blocks[index]
        rest = Block(block.payload + size_bytes, block.size_bytes - size_bytes)
        block.size_bytes = size_bytes
        following = self._neighbor(pool, index + 1)
        if following is not None:
            self._list_take(following)
            rest.size_bytes += following.size_bytes
            del pool.blocks[index + 1]
        pool.blocks.insert(index + 1, rest)
        self._list_put(rest)

    def _refuse(self) -> None:
        self.out_of_memory_count += 1

    def _raise_peak(self) -> None:
        self.peak_used_bytes = max(self.peak_used_bytes, self.used_bytes)

    def malloc(self, request_bytes: int) -> int | None:
        """As tau_tlsf_malloc."""
        if request_bytes == 0:
            return None
        size_bytes = self.block_size(request_bytes)
        block = self._search(size_bytes)
        if block is None:
            block = self._take_wild(0, size_bytes)
            if block is None:
                return self._refuse()
        else:
            self._list_take(block)
            pool, index = self._find(block.payload)
            self._split(pool, index, size_bytes)
        self._raise_peak()
        return block.payload

    def _take_wild(self, gap_bytes: int, size_bytes: int) -> Block | None:
        """Step 4 of malloc: a used block from the wilderness, after a free block of GAP_BYTES."""
        pool = self.pools[0]
        if pool.wilderness_bytes < gap_bytes + size_bytes:
            return None
        block = Block(pool.sentinel + gap_bytes, size_bytes, is_free=False)
        if gap_bytes:
            gap = Block(pool.sentinel, gap_bytes)
            pool.blocks.append(gap)
            self._list_put(gap)
        pool.blocks.append(block)
        self._move_end(pool, gap_bytes + size_bytes)
        return block

    def calloc(self, count: int, size_bytes: int) -> int | None:
        """As tau_tlsf_calloc."""
        if count * size_bytes > self.size_max:
            return self._refuse()
        return self.malloc(count * size_bytes)

    def aligned_alloc(self, alignment: int, request_bytes: int) -> int | None:
        """As tau_tlsf_aligned_alloc."""
        if alignment <= 0 or alignment & (alignment - 1) or request_bytes == 0:
            return None
        if alignment <= self.unit:
            return self.malloc(request_bytes)
        size_bytes = self.block_size(request_bytes, 1)
        block = self._search(size_bytes + alignment + self.block_min - self.unit)
        if block is None:
            start = self.pools[0].sentinel
            block = self._take_wild(self._aligned_in(start, alignment) - start, size_bytes)
            if block is None:
                return self._refuse()
            block.alignment = alignment
            self._raise_peak()
            return block.payload
        self._list_take(block)
        pool, index = self._find(block.payload)
        payload = self._aligned_in(block.payload, alignment)
        if payload != block.payload:
            gap = Block(block.payload, payload - block.payload)
            block.size_bytes -= gap.size_bytes
            block.payload = payload
            pool.blocks.insert(index, gap)
            self._list_put(gap)
            index += 1
        self._split(pool, index, size_bytes)
        block.alignment = alignment
        self._raise_peak()
        return block.payload

    def _aligned_in(self, start: int, alignment: int) -> int:
        """The first aligned offset from START on that leaves no bytes before it, or a block."""
        payload = round_up(self.base + start, alignment) - self.base
        while 0 < payload - start < self.block_min:
            payload += alignment
        return payload

    def free(self, offset: int | None) -> str:
        """As tau_tlsf_free, for an object or None. Raises KeyError otherwise."""
        if offset is None:
            return "OK"
        pool, index = self._used(offset)
        block = pool.blocks[index]
        following = self._neighbor(pool, index + 1)
        if following is not None:
            self._list_take(following)
            block.size_bytes += following.size_bytes
            del pool.blocks[index + 1]
        previous = self._neighbor(pool, index - 1)
        if previous is not None:
            self._list_take(previous)
            previous.size_bytes += block.size_bytes
            del pool.blocks[index]
            block = previous
        if pool.is_wild and block is pool.blocks[-1]:
            pool.blocks.pop()
            self._move_end(pool, -block.size_bytes)
        else:
            self._list_put(block)
        return "OK"

    def realloc(self, offset: int | None, request_bytes: int) -> int | None:
        """As tau_tlsf_realloc, for a pointer that is an object or None."""
        if offset is None:
            return self.malloc(request_bytes)
        if request_bytes == 0:
            self.free(offset)
            return None
        pool, index = self._used(offset)
        block = pool.blocks[index]
        size_bytes = self.block_size(request_bytes, 1 if block.alignment else 0)
        following = self._neighbor(pool, index + 1)
        previous = self._neighbor(pool, index - 1)
        if pool.is_wild and block is pool.blocks[-1]:
            more_bytes = size_bytes - block.size_bytes
            if more_bytes <= pool.wilderness_bytes:
                block.size_bytes = size_bytes
                self._move_end(pool, more_bytes)
                self._raise_peak()
                return offset
            previous = None
        if size_bytes <= block.size_bytes:
            tail = block.size_bytes - size_bytes
            if tail >= self.block_min or (tail >= self.unit and following is not None):
                self._cut(pool, index, size_bytes)
            return offset
        following_bytes = following.size_bytes if following is not None else 0
        if following is not None and block.size_bytes + following_bytes >= size_bytes:
            self._join(pool, index, size_bytes)
            return block.payload
        if (
            previous is not None
            and previous.size_bytes + block.size_bytes + following_bytes >= size_bytes
            and self._keeps_alignment(block, previous.payload)
        ):
            self._list_take(previous)
            block.payload = previous.payload
            block.size_bytes += previous.size_bytes
            del pool.blocks[index - 1]
            self._join(pool, index - 1, size_bytes)
            return block.payload
        fresh = self.aligned_alloc(block.alignment or self.unit, request_bytes)
        if fresh is not None:
            self.free(offset)
        return fresh

    def _keeps_alignment(self, block: Block, payload: int) -> bool:
        return not block.alignment or (self.base + payload) % block.alignment == 0

    def _join(self, pool: Pool, index: int, size_bytes: int) -> None:
        """Gives the used block at INDEX its free next one, if any, then splits it."""
        block = pool.blocks[index]
        following = self._neighbor(pool, index + 1)
        if following is not None:
            self._list_take(following)
            block.size_bytes += following.size_bytes
            del pool.blocks[index + 1]
        self._split(pool, index, size_bytes)
        self._raise_peak()


def round_up(number: int, unit: int) -> int:
    """The lowest multiple of UNIT that is not below NUMBER."""
    return -(-number // unit) * unit
