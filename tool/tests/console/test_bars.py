"""Bars of long tasks are redrawn in place, then removed. Method: our own clock and terminal."""

import io
import re
from types import SimpleNamespace

import pytest

from tautochrone.console import bars

STEERING = re.compile(r"\x1b\[([\d?]*)([A-Za-z])")


class Terminal(io.StringIO):
    """Keeps its lines; the cursor moves as bars move it."""

    encoding = "ascii"

    def __init__(self) -> None:
        super().__init__()
        self.lines, self.row = [""], 0

    def isatty(self) -> bool:
        return True

    def put(self, _descriptor: int, data: bytes) -> None:
        for piece in re.findall(r"\x1b\[[\d?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", data.decode("ascii")):
            steering = STEERING.fullmatch(piece)
            if piece == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif steering and steering[2] == "J":
                self.lines[self.row :] = [""]
            elif steering and steering[2] == "A":
                self.row -= int(steering[1])
            elif piece != "\r" and not steering:
                self.lines[self.row] = piece
        assert self.row == 0


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> tuple[Terminal, SimpleNamespace]:
    """A terminal, and the time."""
    terminal, time = Terminal(), SimpleNamespace(now=0.0)
    monkeypatch.setattr(bars, "sys", SimpleNamespace(stderr=terminal))
    monkeypatch.setattr(bars.os, "write", terminal.put)
    monkeypatch.setattr(bars.time, "monotonic", lambda: time.now)
    return terminal, time


def test_bars_come_after_a_second_and_go(screen: tuple[Terminal, SimpleNamespace]) -> None:
    terminal, time = screen
    with bars.Bar("outer é\x1b[31m") as outer:
        outer.told(1, 4)
        assert terminal.lines == [""]
        time.now = 2.0
        outer.told(1, 4)
        first = f"outer \\xe9\\x1b[31m {'#' * 8}{'.' * 24}  25 % 0:06 left"
        assert terminal.lines == [first, ""]
        with bars.Bar("inner") as inner:
            time.now = 3.0
            inner.told(7, None, "7 M/s")
            assert terminal.lines == [first, "inner 7 M/s", ""]
        assert terminal.lines == [first, ""]
    assert terminal.lines == [""]


def test_a_bar_that_passes_its_estimate_states_no_time(
    screen: tuple[Terminal, SimpleNamespace],
) -> None:
    terminal, time = screen
    with bars.Bar("searching") as bar:
        for now, done, said in ((2.0, 4, "100 % 0:00 left"), (3.0, 5, "longer than estimated")):
            time.now = now
            bar.told(done, 4)
            assert terminal.lines == [f"searching {'#' * 32} {said}", ""]


def test_items_pass_through_and_an_exception_removes_the_bar(
    screen: tuple[Terminal, SimpleNamespace],
) -> None:
    terminal, time = screen
    with pytest.raises(KeyError):
        for item in bars.progress([3, 2, 1], "counting", 3):
            time.now += 2
            if item == 1:
                assert terminal.lines[0].startswith("counting ####")
                raise KeyError
    assert terminal.lines == [""]
