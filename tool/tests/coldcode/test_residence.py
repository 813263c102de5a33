"""Code that stays in RAM because it would be loaded most often [CPLAN-25], by its definition."""

import random

import numpy as np
import pytest

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.pieces import Code
from tautochrone.coldcode.residence import Splits, order_of
from testing.cold_problems import code_of, random_code

SEEDS = range(40)


def naive_order(code: Code, frames: int) -> list[int]:
    """From the text of the rule."""
    left = [int(n) for n in np.flatnonzero(code.coldest) if code.most[n] > 0]
    all_bytes = sum(int(code.sizes_bytes[n]) for n in left)
    order: list[int] = []
    while left:
        queue: list[int] = []
        misses = dict.fromkeys(left, 0)
        for piece in code.touches.tolist():
            if piece in misses and piece not in queue:
                misses[piece] += 1
                queue.append(piece)
                while sum(code.sizes_bytes[n] for n in queue) > frames * PAGE_BYTES:
                    queue.pop(0)
        ranks = sorted(left, key=lambda n: -misses[n])
        chosen = 0
        while ranks and chosen < max(all_bytes // 48, 1):
            chosen += int(code.sizes_bytes[ranks[0]])
            order.append(ranks.pop(0))
        left = sorted(ranks)
    return order


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_is_as_its_definition(seed: int) -> None:
    code = random_code(seed)
    for frames in (1, 3):
        assert order_of(code, frames).tolist() == naive_order(code, frames)


@pytest.mark.parametrize("seed", range(5))
def test_misses_are_counted_again_for_each_part(seed: int) -> None:
    """A piece is exactly one part here."""
    touches = random.Random(seed).choices(range(48), k=1000)
    code = code_of([192] * 48, touches)
    assert order_of(code, 1).tolist() == naive_order(code, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_as_much_stays_as_fits(seed: int) -> None:
    code = random_code(seed)
    splits = Splits(code, 1)
    residents = [code.resident_bytes(split.is_cold) for split in splits]
    assert residents == sorted(residents, reverse=True) and len(splits) == len(residents)
    assert splits.fitting(residents[-1] - 1) is None
    for room in range(residents[-1], residents[0] + PAGE_BYTES, 1000):
        found = splits.fitting(room)
        assert found is not None
        assert code.resident_bytes(found.is_cold) == max(one for one in residents if one <= room)
        kept = code.block_counts[~found.is_cold].sum() / code.block_counts.sum()
        assert found.part == pytest.approx(kept)


def test_what_is_executed_often_but_at_once_leaves() -> None:
    """The drawing of docs/design/code_plan.md, with pieces of a page and one frame."""
    code = code_of([PAGE_BYTES] * 3, [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 2, 1, 2, 1, 2])
    assert order_of(code, 1).tolist() == [1, 0, 2]
    one_stays = Splits(code, 1).fitting(PAGE_BYTES)
    assert one_stays is not None and one_stays.is_cold.tolist() == [True, False, True]
    assert one_stays.part == 0.25
