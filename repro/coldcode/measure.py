"""What the stages share: folders, and results on disk."""

from __future__ import annotations

from pathlib import Path

from repro.results import Results

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
_RESULTS = Results("coldcode")
RESULTS, OUT = _RESULTS.folder, _RESULTS.out
store, stored = _RESULTS.store, _RESULTS.stored
