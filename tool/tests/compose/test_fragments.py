"""The bound of fragmentation [KRN-25], on the kernel's own allocator, at random."""

import random

from tautochrone.compose.memory import Memory
from tautochrone.compose.pages import Page

ROUNDS, STEPS, ORDERS, FIRST, FRAMES = 20, 120, 4, 70, 700


def blocks(order: int) -> int:
    """Aligned blocks of an order in the memory."""
    size = 1 << 2 * order
    return (FIRST + FRAMES) // size - -(-FIRST // size)


def test_a_page_is_found_while_a_block_is_not_spoiled() -> None:
    """Pages come and go, of random sizes. Fails if none was refused, or found above the bound."""
    refused = beyond = 0
    for seed in range(ROUNDS):
        print(f"seed {seed}")
        chance = random.Random(seed)
        memory = Memory(FIRST, FRAMES)
        base = 2  # The order of the base code, which the memory has taken.
        taken: dict[str, int] = {}
        for step in range(STEPS):
            if taken and chance.randrange(3) == 0:
                name = chance.choice(sorted(taken))
                memory.unload(name)
                del taken[name]
                continue
            order = chance.randrange(ORDERS)
            spoiled = sum(1 << 2 * max(each - order, 0)
                          for each in (*taken.values(), base))  # fmt: skip
            is_found = memory.load(str(step), [Page(0, order, 1)], 0) is None
            assert is_found or spoiled >= blocks(order), (seed, step, order, taken)
            refused += not is_found
            beyond += is_found and spoiled >= blocks(order)
            if is_found:
                taken[str(step)] = order
    assert refused > 0 and beyond > 0
