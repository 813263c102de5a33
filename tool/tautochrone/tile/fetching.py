"""Fetching ahead on the tile: what code in the window takes where every translation hits.

A bank answers a fetch one cycle after its request, the window two. Ibex asks for at most two words
at a time and keeps three, so code of long instructions waits for its words there, and what a word
costs depends on those before it. This follows Ibex's prefetch buffer from one instruction to the
next:

    after(state, 3, address, 4)        # a load, then an instruction of 4 bytes
    JUMP.after(state, target, 2)       # a jump to an instruction of 2 bytes

Both return the cycles from the first one of an instruction to the first one of the next, and the
state then. docs/design/tile.md says how it is checked.
"""

import functools
from typing import NamedTuple

ANSWER_CYCLES = 2  # From a fetch's request to its word: a hit, and the frame.
ASKED_MOST, KEPT_MOST = 2, 3


class Fetches(NamedTuple):
    """Words at hand from the next instruction's on, and those asked for, the oldest first.

    `asked`: the cycles until each answer, and whether it is still wanted.
    """

    words: int = 0
    asked: tuple[tuple[int, bool], ...] = ()

    def next_cycle(self, asks: bool, takes: bool) -> "Fetches":
        """The state one cycle later, if a word is asked for and one is used up now."""
        is_answered = bool(self.asked) and self.asked[0][0] == 0
        words = self.words + (is_answered and self.asked[0][1]) - takes
        asked = [(cycles - 1, wanted) for cycles, wanted in self.asked[is_answered:]]
        if asks:
            asked.append((ANSWER_CYCLES - 1, True))
        return Fetches(words, tuple(asked))

    @property
    def arrives(self) -> bool:
        """Whether a word that is still wanted comes in this cycle."""
        return bool(self.asked) and self.asked[0] == (0, True)

    @property
    def has_room(self) -> bool:
        """Whether the buffer asks for another word: by its registers, so one late."""
        count = len(self.asked)
        is_full = (self.words >= 2 or count >= 2) and (self.words >= KEPT_MOST or count >= 1)
        return count < ASKED_MOST and not is_full

    def dropped(self) -> "Fetches":
        """As a jump leaves it: all that was asked for comes in vain."""
        return Fetches(0, tuple((cycles, False) for cycles, _ in self.asked))


Step = tuple[int, Fetches]


@functools.cache
def _until_the_next(state: Fetches, busy_cycles: int, is_upper: bool, size: int) -> Step:
    """From a cycle on in which BUSY_CYCLES are left of an instruction. The next one has so many
    bytes, and begins in the upper half of a word or not."""
    cycles = 0
    needed = 2 if is_upper and size == 4 else 1
    while True:
        goes_on = cycles >= busy_cycles - 1 and state.words + state.arrives >= needed
        takes = goes_on and (is_upper or size == 4)
        state = state.next_cycle(state.has_room, takes)
        cycles += 1
        if goes_on:
            return cycles, state


def after(state: Fetches, busy_cycles: int, following: int, size: int) -> Step:
    """After an instruction of so many cycles comes the one at FOLLOWING, of SIZE bytes."""
    return _until_the_next(state, busy_cycles, following % 4 == 2, size)


class Jump(NamedTuple):
    """The target is asked for in that cycle of the instruction, which takes at least two."""

    asks_in_cycle: int

    def after(self, state: Fetches, target: int, size: int) -> Step:
        """As `after`, to TARGET."""
        return self._after(state, target % 4 == 2, size)

    @functools.cache  # noqa: B019  (two of them)
    def _after(self, state: Fetches, is_upper: bool, size: int) -> Step:
        for _ in range(self.asks_in_cycle):
            state = state.next_cycle(state.has_room, False)
        asks = len(state.asked) < ASKED_MOST
        state = state.dropped().next_cycle(asks, False)
        before = self.asks_in_cycle + 1
        cycles, state = _until_the_next(state, 2 - before, is_upper, size)
        return before + cycles, state


JUMP, BRANCH = Jump(0), Jump(1)  # A branch is compared first.
# All that may be asked for when an instruction begins.
ANY = tuple(Fetches(0, asked) for asked in ((), ((0, True),), ((1, True),), ((0, True), (1, True))))
