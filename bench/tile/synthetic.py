"""The paper's synthetic workload [P0-35]: a million random actions, from a seed.

The paper fixes the probabilities (allocate 10 %, free 10 %, read 40 %, write 40 %) and says that
"we either decided the size of the allocation, which allocation has to be deallocated or the address
of the access". It does not say how; here each is the plainest choice there is:

- the size is uniform over 1 ... SIZE_MAX_BYTES,
- the freed object is uniform over the live ones,
- the address is uniform over the bytes of all live objects.

Allocating and freeing being equally likely, the number of live objects is a random walk that is
reflected at 0: that is what makes Fig. 7b's arcs and drops. Only SIZE_MAX_BYTES and the seed are
chosen to meet the paper's Fig. 7b; tried.py measures other seeds, sizes and distributions. Random
numbers come from SplitMix64, so a seed means the same trace on every machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tautochrone.facts import trace_format
from tautochrone.trace.file import TraceWriter

ACTIONS = 1_000_000
# Where the parts of [0, 1) end; the rest accesses. A trace's touches do not tell reads from writes,
# which are equally likely.
ALLOCATE, FREE = 0.1, 0.2
SIZE_MAX_BYTES = 4 << 20
SEED = 64
GRANULE_BYTES = trace_format.GRANULE_BYTES
DRAWS_AT_ONCE = 1 << 16
MALLOC, FREED, TOUCH = trace_format.OP_MALLOC, trace_format.OP_FREE, trace_format.OP_TOUCH


@dataclass(frozen=True)
class Choice:
    """How sizes and addresses are drawn."""

    size_max_bytes: int = SIZE_MAX_BYTES
    sizes: str = "uniform"  # or "log-uniform": every power of two as often as every other
    addresses: str = "bytes"  # or "objects": every object as often as every other

    def size_of(self, drawn: float) -> int:
        """A size for a number from [0, 1)."""
        if self.sizes == "uniform":
            return 1 + int(drawn * self.size_max_bytes)
        return int(self.size_max_bytes**drawn)


PLAIN = Choice()


class Event(NamedTuple):
    """An action's part of a trace; `bytes` is a malloc's size or a touch's offset."""

    op: int
    slot: int
    bytes: int
    accesses: int  # so far, which is the time of the trace


def splitmix64(seed: int) -> Iterator[int]:
    """Random numbers of 64 bits: the same everywhere."""
    step, state = 0x9E3779B97F4A7C15, seed
    while True:
        z = np.arange(1, DRAWS_AT_ONCE + 1, dtype=np.uint64) * np.uint64(step) + np.uint64(state)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        yield from (z ^ (z >> np.uint64(31))).tolist()
        state = (state + DRAWS_AT_ONCE * step) % 2**64


def draws(seed: int) -> Iterator[float]:
    """Numbers from [0, 1), 53 bits each."""
    return ((number >> 11) * 2.0**-53 for number in splitmix64(seed))


def events(seed: int, actions: int = ACTIONS, by: Choice = PLAIN) -> Iterator[Event]:
    """The workload with every access; slots are reused after a free, last freed first.

    An action that is not possible because nothing is live allocates.
    """
    draw = draws(seed).__next__
    live: list[tuple[int, int]] = []  # slot, size
    spare: list[int] = []
    accesses = 0
    for _ in range(actions):
        choice = draw()
        if choice < ALLOCATE or not live:
            size = by.size_of(draw())
            slot = spare.pop() if spare else len(live)
            live.append((slot, size))
            yield Event(MALLOC, slot, size, accesses)
        elif choice < FREE:
            place = int(draw() * len(live))
            slot, _size = live[place]
            live[place] = live[-1]
            live.pop()
            spare.append(slot)
            yield Event(FREED, slot, 0, accesses)
        else:
            while True:  # until an object is chosen by its share of the live bytes
                slot, size = live[int(draw() * len(live))]
                if by.addresses == "objects" or draw() * by.size_max_bytes < size:
                    break
            accesses += 1
            offset = int(draw() * size)
            yield Event(TOUCH, slot, offset - offset % GRANULE_BYTES, accesses)


def first_touches(stream: Iterator[Event]) -> Iterator[Event]:
    """The same without accesses to granules that were accessed before, as a recorder writes it."""
    touched: dict[int, set[int]] = {}
    for event in stream:
        if event.op == MALLOC:
            touched[event.slot] = set()
        elif event.op == TOUCH:
            if event.bytes in touched[event.slot]:
                continue
            touched[event.slot].add(event.bytes)
        yield event


def write(path: Path, seed: int, stream: Iterator[Event]) -> Path:
    """Write a trace with these events to PATH and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = np.array(list(stream), np.uint64).reshape(-1, 4)
    op, slot, size_bytes, accesses = columns.T
    reads = int(accesses[-1]) // 2 if len(accesses) else 0
    header = {
        "command": ["bench/tile/synthetic.py", str(seed)],
        "clock": "accesses",
        "granule_bytes": GRANULE_BYTES,
        "accesses": {
            "heap_loads": reads,
            "heap_stores": int(accesses[-1]) - reads if len(accesses) else 0,
            "other_loads": 0,
            "other_stores": 0,
        },
    }
    with TraceWriter(path, header) as writer:
        writer.append(
            op=op,
            slot=slot,
            size_bytes=size_bytes,
            time_ns=accesses,
            align_log2=np.where(op == TOUCH, 1, 0),
        )
    return path
