"""bench/tables says what docs/design/hierarchy.md says of it; small mappings are as computed.

Method: the constant parts are compared with their formulas, mappings with records counted by hand.
"""

import pytest

from bench.tables import run as tables

DENSE_MAX = 1.5  # multiple of five words per mapped page, without the constant part


def test_constant_part_is_a_thirtieth_of_the_direct_form() -> None:
    """Five words a chunk, and the region tree over chunks [P0-7]."""
    for row in tables.sizes():
        if row["pages_log2"] >= 14:
            assert row["hierarchical"] * 30 <= row["direct"]
        chunks = 1 << (row["pages_log2"] - 5)
        assert row["hierarchical"] >= 20 * chunks


@pytest.mark.parametrize("pages", [32, 256, 2048])
def test_dense_mappings_are_in_proportion(pages: int) -> None:
    """One record a chunk, one for page 0 and one after the region."""
    row = tables.mapping_bytes(tables.dense(pages))
    assert row["records"] == pages // 32 + 2
    constant = 2 * tables.RECORD_BYTES
    assert row["records_bytes"] - constant <= DENSE_MAX * row["five_words_bytes"]


def test_worst_case_is_two_records_a_page() -> None:
    """docs/design/hierarchy.md: sparse mappings cost as much as stated."""
    row = tables.mapping_bytes(tables.small_regions(64, 31, 64))
    assert row["records"] == 2 * 64  # the first one ends page 0's chunk
    row = tables.mapping_bytes(tables.sparse(64, 32))
    assert row["records"] == 64 + 2


def test_a_program_takes_less_than_half_of_five_words() -> None:
    """The realistic mapping."""
    assert tables.mapping_bytes(tables.process())["per_five_words"] < 0.5
