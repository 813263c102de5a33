"""Progress bars: a line on stderr for each long task, redrawn in place and removed at its end."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from tautochrone.console import output, terminal

AFTER_SECONDS = 1.0
REDRAWN_AFTER_SECONDS = 0.1
WIDTH = 32
# A line that is too long is cut at the edge of the terminal, so that each bar has one line.
CUT, WRAP = "\x1b[?7l", "\x1b[?7h"
CLEAR_BELOW = "\r\x1b[J"
Item = TypeVar("Item")

_lock = threading.Lock()
_shown: list[Bar] = []


class Bar:
    """The bar of a task. It appears after a second, on a terminal, unless `tau -q` was given.

    with Bar("reading a.csv") as bar:
        bar.told(done_bytes, total_bytes)
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.started = time.monotonic()
        self.drawn = self.started + AFTER_SECONDS - REDRAWN_AFTER_SECONDS
        self.line = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            if self in _shown:
                _shown.remove(self)
                _draw()

    def told(self, done: float, total: float | None = None, more: str = "") -> None:
        """Move the bar to `done` of `total`, None if that is not known; `more` stands behind it.

        A `total` may be an estimate: once more is done, no time is stated.
        """
        now = time.monotonic()
        if now - self.drawn < REDRAWN_AFTER_SECONDS or output.is_quiet() or not sys.stderr.isatty():
            return
        self.drawn = now
        words = [self.label]
        is_longer = total is not None and done > total > 0
        if is_longer:
            words.append(f"{'#' * WIDTH} longer than estimated")
        elif total:
            share = done / total
            words.append(f"{'#' * round(share * WIDTH):.<{WIDTH}} {100 * share:3.0f} %")
        words.append(more)
        if total and done and not is_longer:
            minutes, seconds = divmod(round((now - self.started) * max(total / done - 1, 0)), 60)
            words.append(f"{minutes}:{seconds:02} left")
        with _lock:
            self.line = terminal.in_one_line(" ".join(filter(None, words)))
            if self not in _shown:
                _shown.append(self)
            _draw()


def _draw() -> None:
    """Draw all bars anew; the cursor stays at the first one, where other output goes."""
    lines = "".join(f"{bar.line}\n" for bar in _shown)
    up = f"\x1b[{len(_shown)}A" if _shown else ""
    text = f"{CLEAR_BELOW}{CUT}{lines}{WRAP}{up}"
    with suppress(OSError):
        os.write(terminal.STDERR, text.encode(sys.stderr.encoding, "backslashreplace"))


def progress(
    items: Iterable[Item], label: str, total: int | None = None
) -> Generator[Item]:
    """Yield `items` under a bar. `total` is the number of items, None if it is not known."""
    with Bar(label) as bar:
        for done, item in enumerate(items, 1):
            yield item
            bar.told(done, total)
