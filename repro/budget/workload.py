"""The paper's synthetic workloads [P1-20] [P1-21]: who allocates and frees what, in which order,
from a seed.

The paper fixes the sizes (Table 2) and the largest number of live objects of each size (10), not
the order. Here each step picks one of the sizes with equal probability, then allocates or frees
with probability 1/2 each; at 0 or P_max live objects of that size, the only possible one of the two
is done. A free takes any live object of that size with equal probability. Random numbers come from
SplitMix64, so a seed means the same trace on every machine and Python.
"""

from collections.abc import Iterator, Sequence

from bench.tile.synthetic import splitmix64

# Table 2, bytes [P1-21].
WORKLOADS: dict[str, tuple[int, ...]] = {
    "W1": (131072, 65536, 32768, 16384),
    "W2": (2048, 1024, 512, 256),
    "W3": (81936, 80176, 64032, 49472),
    "W4": (2952, 1978, 1040, 528),
    "W5": (131072, 80176, 1024, 528),
}
LIVE_MAX = 10
STEPS = 20_000
SEEDS = tuple(range(10))

Event = tuple[str, int, int]  # op, id, size in bytes (0 for free)


def events(
    sizes: Sequence[int], seed: int, steps: int = STEPS, live_max: int = LIVE_MAX
) -> Iterator[Event]:
    """The workload as (op, id, size) with op "malloc" or "free"; ids are reused after a free."""
    numbers = splitmix64(seed)

    def below(limit: int) -> int:
        # The bias of the remainder is below 2^-50 for the limits used here.
        return next(numbers) % limit

    live: list[list[int]] = [[] for _ in sizes]
    # The most recently freed id first, so that ids are slots as a trace numbers them.
    spare: list[int] = list(range(len(sizes) * live_max - 1, -1, -1))
    for _ in range(steps):
        chosen = below(len(sizes))
        objects = live[chosen]
        allocates = below(2) == 0
        if len(objects) == live_max:
            allocates = False
        elif not objects:
            allocates = True
        if allocates:
            name = spare.pop()
            objects.append(name)
            yield "malloc", name, sizes[chosen]
        else:
            position = below(len(objects))
            objects[position], objects[-1] = objects[-1], objects[position]
            name = objects.pop()
            spare.append(name)
            yield "free", name, 0


def peak_live_bytes(
    sizes: Sequence[int], seed: int, steps: int = STEPS, live_max: int = LIVE_MAX
) -> int:
    """The largest number of payload bytes live at once: U_max [P1-12]."""
    size_of: dict[int, int] = {}
    live = peak = 0
    for op, name, size in events(sizes, seed, steps, live_max):
        if op == "malloc":
            size_of[name] = size
            live += size
            peak = max(peak, live)
        else:
            live -= size_of.pop(name)
    return peak
