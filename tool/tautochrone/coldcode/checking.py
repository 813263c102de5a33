"""Checks a whole code recording: the rules of its format, and whether there is a steady state."""

from __future__ import annotations

from pathlib import Path

from tautochrone.coldcode.chunks import DamagedError
from tautochrone.coldcode.recording import read


def problems_of(path: Path) -> list[DamagedError]:
    """What is wrong with a recording; empty if it is sound and can be planned from."""
    try:
        recording = read(path)
    except DamagedError as error:
        return [error]
    if recording.marker_time is None and recording.settings.marker is not None:
        name = recording.settings.said("marker") or f"{recording.settings.marker:#x}"
        cause = f"{name} was not executed, so there is no steady state"
        step = "let QEMU run longer, or choose a function that the kernel calls when it has booted"
        return [DamagedError("marker", cause, step)]
    if not recording.blocks["steady"].any():
        cause = "no code of the kernel was executed in steady state"
        return [DamagedError("blocks", cause, "let QEMU run longer")]
    return []
