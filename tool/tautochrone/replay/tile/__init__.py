"""Replays on the simulated tile: `from tautochrone.replay.tile import tile_replay`."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    # On demand, because listing the systems must not load what simulates.
    if name == "tile_replay":
        from tautochrone.replay.tile.tile import tile_replay

        return tile_replay
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
