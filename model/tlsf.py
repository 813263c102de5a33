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
        status = self._place_pool(control + control_bytes, size_bytes)
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

    def _place_pool(self, start: int, end: int) -> str:
        """Makes a pool of the bytes from offset START to END."""
        payload = round_up(self.base + start + self.word, self.unit) - self.base
        sentinel = (self.base + end) // self.unit * self.unit - self.base
        if sentinel - payload < self.block_min:
            return "POOL_TOO_SMALL"
        if sentinel - payload > self.pool_max_bytes:
            return "POOL_TOO_LARGE"
        block = Block(payload, sentinel - payload)
        self.pools.append(Pool([block], sentinel))
        self._list_put(block)
        return "OK"

    def add_pool(self, start: int, size_bytes: int) -> str:
        """As tau_tlsf_add_pool, for memory at offset START that overlaps nothing."""
        descriptor = round_up(self.base + start, self.word) - self.base
        return self._place_pool(descriptor + 3 * self.word, start + size_bytes)

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
        return sum(size_bytes for _, size_bytes, _ in self.blocks())

    @property
    def largest_free_bytes(self) -> int:
        """A request of this size succeeds, 0 if there is none."""
        classes = [number for number, members in self.lists.items() if members]
        if not classes:
            return 0
        return self._usable(self.lists[max(classes)][0])

    def blocks(self) -> list[tuple[int, int, bool]]:
        """(payload, size with header, is free) of every block, pool by pool in address order."""
        return [
            (block.payload, block.size_bytes, block.is_free)
            for pool in self.pools
            for block in pool.blocks
        ]

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
            return self._refuse()
        self._list_take(block)
        pool, index = self._find(block.payload)
        self._split(pool, index, size_bytes)
        self._raise_peak()
        return block.payload

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
            return self._refuse()
        self._list_take(block)
        pool, index = self._find(block.payload)
        payload = round_up(self.base + block.payload, alignment) - self.base
        while 0 < payload - block.payload < self.block_min:
            payload += alignment
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
