"""Golden model of kernel/systems/pipeline: the output of its last task."""

from __future__ import annotations

WORD = 2**32
TOKEN_WORDS = 16
SCRATCH_WORDS = 1024
STRIDE_WORDS = 67


def next_number(number: int) -> int:
    """A step of the generator."""
    return (number * 1664525 + 1013904223) % WORD


def token_of(number: int) -> list[int]:
    """Token NUMBER as it enters."""
    words = [next_number(number)]
    while len(words) < TOKEN_WORDS:
        words.append(next_number(words[-1]))
    return words


class Task:
    """One task and its memory."""

    def __init__(self) -> None:
        self.place = 0
        self.scratch = [0] * SCRATCH_WORDS

    def work(self, token: list[int]) -> list[int]:
        """The token as the next task gets it."""
        return [self._changed(word) for word in token]

    def _changed(self, word: int) -> int:
        a, b = word, next_number(word) | 1
        while b:
            a, b = b, a % b
            self.place = (self.place + STRIDE_WORDS) % SCRATCH_WORDS
            self.scratch[self.place] = (self.scratch[self.place] + b) % WORD
        return next_number((word + a + self.scratch[word % SCRATCH_WORDS]) % WORD)


def run(tasks: int, tokens: int) -> list[list[int]]:
    """The tokens that leave the last of TASKS."""
    chain = [Task() for _ in range(tasks)]
    out = []
    for number in range(tokens):
        token = token_of(number)
        for task in chain:
            token = task.work(token)
        out.append(token)
    return out
