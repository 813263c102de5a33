"""Bounds are found once for an image in the cache, and again where that would be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tautochrone.machine import kept_bounds
from tautochrone.machine.kept_bounds import kept_bound
from tautochrone.targets.build import cache_folder


class Finder:
    """Counts how often it is asked."""

    def __init__(self, answer: int | None) -> None:
        self.answer, self.calls = answer, 0

    def __call__(self) -> int | None:
        self.calls += 1
        return self.answer


@pytest.fixture
def elf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image's path in an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return cache_folder() / "tlsf-m4-0.elf"


@pytest.mark.parametrize("answer", [129, None])
def test_a_question_is_answered_once(elf: Path, answer: int | None) -> None:
    """None is an answer too: the code has no bound."""
    find = Finder(answer)
    assert [kept_bound(elf, "malloc", find) for _ in range(3)] == [answer] * 3
    assert find.calls == 1
    assert kept_bound(elf, "free", Finder(107)) == 107
    assert kept_bound(elf, "malloc", find) == answer
    assert find.calls == 1


def test_a_damaged_file_is_not_believed(elf: Path) -> None:
    """Every single bit of the kept file is flipped."""
    kept_bound(elf, "malloc", Finder(129))
    path = elf.with_suffix(".bounds")
    good = path.read_bytes()
    for bit in range(8 * len(good)):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        find = Finder(129)
        assert kept_bound(elf, "malloc", find) == 129
        assert find.calls == 1


def test_another_analysis_is_not_believed(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_bound(elf, "malloc", Finder(129))
    monkeypatch.setattr(kept_bounds, "_analysis", lambda: "changed")
    assert kept_bound(elf, "malloc", Finder(130)) == 130


def test_nothing_is_kept_beside_a_users_file(elf: Path, tmp_path: Path) -> None:
    find = Finder(129)
    for _ in range(2):
        assert kept_bound(tmp_path / "firmware.elf", "malloc", find) == 129
    assert find.calls == 2
    assert not (tmp_path / "firmware.bounds").exists()


def test_a_cache_that_cannot_be_written_costs_time_only(
    elf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_bounds.kept_files, "keep", fail)
    assert kept_bound(elf, "malloc", Finder(129)) == 129
