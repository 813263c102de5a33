"""Signals that end the command, as exceptions: what it began is cleared away first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)


def end(number: int, _: object) -> None:
    """Handle an ending signal: raise KeyboardInterrupt for Ctrl-C, and else SystemExit.

    From then on this process ignores them all: it ends, and a second one must cut neither the
    clearing away nor the message short.
    """
    for each in ENDING_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


@contextlib.contextmanager
def ended_by_exceptions() -> Iterator[None]:
    """Let SIGTERM, SIGHUP and Ctrl-C end this process by exceptions, each handled by `end`.

    A signal that is ignored (nohup) or has a handler keeps it. Only the main thread may do this.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    ours = [number for number, handler in before.items() if handler in _UNTOUCHED]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is end:  # else the signal came, and stays ignored
                signal.signal(number, before[number])
