"""The stages of a reproduction, chosen on its command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tautochrone.console.output import note

Stages = Mapping[str, Callable[[], dict[str, Any]]]


def measure(stages: Stages, chosen: Iterable[str], store: Callable[[str, Any], None]) -> None:
    """Measure and store the chosen stages (all if none). Ends the program at an unknown name."""
    names = list(chosen) or list(stages)
    unknown = [name for name in names if name not in stages]
    if unknown:
        sys.exit(f"no stage is called {', '.join(unknown)}; there are {', '.join(stages)}")
    for name in names:
        started = time.monotonic()
        store(name, stages[name]())
        note(f"{name}: {time.monotonic() - started:.0f} s")
