"""What the stages share: folders, and results on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
RESULTS = HERE / "results"
OUT = REPOSITORY / "out" / "repro" / "composable"


def store(stage: str, result: dict[str, Any], folder: Path = RESULTS) -> dict[str, Any]:
    """Write a stage's result, where the repository keeps it or to FOLDER, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, sort_keys=True)
    (folder / f"{stage}.json").write_text(text + "\n", encoding="utf-8")
    return result


def stored(stage: str, folder: Path = RESULTS) -> dict[str, Any]:
    """A stage's result as it was last measured; an empty dictionary if it never was."""
    path = folder / f"{stage}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
