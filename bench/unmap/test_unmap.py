"""The bench of unmap at small size: flat where it must be, linear where it is, and it complains."""

from bench.unmap import run


def test_ours_are_flat_and_the_conventional_way_is_linear() -> None:
    rows = [
        row
        for backend in ("direct", "hierarchical", "conventional")
        for row in run.rows_of(backend, (1, 33, 300), 96)
    ]
    assert run.complaints(rows) == []
    by = {(row["backend"], row["pages"]): row for row in rows}
    for backend in ("direct", "hierarchical"):
        for pages in (1, 33, 300):
            row = by[backend, pages]
            assert row["placements"] == 96
            assert 0 < row["instructions_zbb"] < row["instructions"] <= row["bound_instructions"]
            assert 0 < row["accesses_zbb"] <= row["accesses"] <= row["bound_accesses"]
    linear = [by["conventional", pages]["instructions"] for pages in (1, 33, 300)]
    assert linear[2] > 5 * linear[1] > 15 * linear[0]


def test_the_direct_way_reaches_its_bound() -> None:
    row = run.rows_of("direct", (1,), 96)[0]
    assert row["instructions"] == row["bound_instructions"]


def test_what_is_not_as_it_must_be_is_named() -> None:
    flat = [
        {"backend": "direct", "pages": pages, "instructions": 300, "accesses": 90}
        for pages in (1, 2)
    ]
    assert run.complaints(flat) == []
    assert run.complaints([flat[0], {**flat[1], "instructions": 316}]) == [
        "direct: instructions vary by 1.053"
    ]
    above = {**flat[0], "bound_accesses": 89}
    assert run.complaints([above]) == ["direct, 1 pages: accesses > 89"]
