"""Turns signals that end the command into exceptions, so that it cleans up first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)


def end(number: int, _: object) -> None:
    """Handle an ending signal: raise KeyboardInterrupt for Ctrl-C, and else SystemExit.

    From then on this process ignores all of them, so a second signal interrupts neither the cleanup
    nor the message.
    """
    for each in ENDING_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


@contextlib.contextmanager
def ended_by_exceptions() -> Iterator[None]:
    """Make `end` the handler of SIGTERM, SIGHUP and Ctrl-C.

    A signal that is ignored (nohup) or already has a handler is left alone. Only the main thread
    may call this.
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
            if signal.getsignal(number) is end:  # after a signal, all stay ignored
                signal.signal(number, before[number])


@contextlib.contextmanager
def delayed() -> Iterator[None]:
    """Signals that end the command come after the context."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Interrupt:
    """The first Ctrl-C within the context asks to end a task, the second one ends the command.

    with Interrupt() as interrupt:
        ...  # interrupt.is_asked
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._before: object = None

    def __enter__(self) -> Interrupt:
        self._before = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and self._before in (*_UNTOUCHED, end):
            signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if signal.getsignal(signal.SIGINT) == self._ask:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, _: int, __: object) -> None:
        self.is_asked = True
        signal.signal(signal.SIGINT, self._before)
