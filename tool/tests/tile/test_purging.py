"""The ablation on the tile: the real-time MMU's pages, at the page table's cost."""

from pathlib import Path

from tautochrone.replay.tile import tile_replay
from testing.paging_reference import events_with_touches
from testing.random_trace import write_events


def test_it_keeps_what_ours_keeps_and_pays_what_the_table_costs(tmp_path: Path) -> None:
    """Pages and places are ours at every event; the longest calls are pinned."""
    trace = write_events(tmp_path / "t.tau", events_with_touches(73, events=400))
    ours, theirs, found = (
        tile_replay(trace, name, heap_bytes=2048 * 4096)
        for name in ("tile:rtmmu", "tile:pagetable", "tile:pagetable-purging")
    )
    assert ours.placement_hash == theirs.placement_hash == found.placement_hash
    assert found.faults == ours.faults > theirs.faults
    assert found.peak_mapped_pages == ours.peak_mapped_pages
    assert found.mapped_pages.high.tolist() == ours.mapped_pages.high.tolist()
    assert found.mapped_pages.low.tolist() == ours.mapped_pages.low.tolist()
    assert found.calls["malloc"].max_cycles <= ours.calls["malloc"].max_cycles
    maxima = {kind: found.calls[kind].max_cycles for kind in ("malloc", "free", "fault")}
    assert maxima == {"malloc": 301, "free": 463, "fault": 209}
