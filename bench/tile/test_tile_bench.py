"""The bench of the tile complains about each limit that is broken."""

from bench.tile import run


def unmapped(*cycles: int) -> list[dict[str, object]]:
    """Rows of our unmap."""
    return [
        {"system": "tile:rtmmu", "pages": 1 << power, "cycles": number}
        for power, number in enumerate(cycles)
    ]


def synthetic(malloc_ours: int, malloc_theirs: int, load_ours: int = 3) -> list[dict[str, object]]:
    """A row of each system; both of ours are equal."""
    cycles = {system: (malloc_ours, load_ours) for system in run.OURS}
    cycles["tile:pagetable"] = (malloc_theirs, 3)
    return [
        {
            "system": system,
            "actions": 10,
            "operations": {
                "malloc": {"max_cycles": malloc},
                "load": {"max_cycles": load},
                "store": {"max_cycles": 3},
            },
        }
        for system, (malloc, load) in cycles.items()
    ]


def test_complaints() -> None:
    good = {"unmap": unmapped(400, 420), "synthetic": synthetic(125, 100)}
    assert run.complaints(good) == []
    assert "varies" in run.complaints({**good, "unmap": unmapped(400, 421)})[0]
    assert "a load takes 4" in run.complaints({**good, "synthetic": synthetic(125, 100, 4)})[0]
    assert "slowest malloc" in run.complaints({**good, "synthetic": synthetic(126, 100)})[0]
