"""Calls of calls_code_cache.c in model/code_cache.py."""

from __future__ import annotations

from core.tests.kit.replay import Replay
from model.code_cache import POLICIES, CodeCache

ACTIONS = ("retry", "load", "replace")


class CodeCacheReplay(Replay):
    """Which frame each policy takes, which page leaves, and every status."""

    expected = "\n".join(
        [
            "fault OK PAGE_OUTSIDE PAGE_PINNED",
            "drop OK FRAME_OUTSIDE FRAME_FREE",
            "pin OK PAGE_OUTSIDE PAGE_PINNED PAGE_MAPPED",
            *(f"{policy} {' '.join(ACTIONS)}" for policy in POLICIES),
        ]
    )

    def line_I(self, pages: int, frames: int, least: int, policy: int, seed: int) -> None:
        """A cache is made."""
        self.cache = CodeCache(pages, frames, least, POLICIES[policy], seed)
        assert self.cache.status() == "OK"

    def line_F(self, page: int, status: int, action: int, frame: int, evicted: int) -> None:
        """A fault: to the frame, and to the page that leaves."""
        answer, found = self.cache.fault(page)
        self.expect("fault", answer, status)
        if found is not None:
            assert (found.action, found.frame) == (ACTIONS[action], frame)
            assert found.evicted is None or found.evicted == evicted
            self.seen[f"{self.cache.policy} {found.action}"] += 1

    def line_U(self, *words: int) -> None:
        """Frames were used."""
        bits = sum(word << 32 * place for place, word in enumerate(words))
        self.cache.use({frame for frame in range(32 * len(words)) if bits >> frame & 1})

    def line_A(self) -> None:
        """A period ends."""
        self.cache.age()

    def line_D(self, frame: int, status: int) -> None:
        """A frame is emptied."""
        self.expect("drop", self.cache.drop(frame), status)

    def line_P(self, page: int, status: int) -> None:
        """A page is pinned."""
        self.expect("pin", self.cache.pin(page), status)
