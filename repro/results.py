"""Results of a reproduction's stages on disk: a file for each stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent


class Results:
    """What one reproduction stores: `folder` is kept in the repository, `out` is not."""

    def __init__(self, name: str) -> None:
        self.folder = REPOSITORY / "repro" / name / "results"
        self.out = REPOSITORY / "out" / "repro" / name

    def store(
        self, stage: str, result: dict[str, Any], folder: Path | None = None
    ) -> dict[str, Any]:
        """Write a stage's result, where the repository keeps it or to FOLDER, and return it."""
        folder = folder or self.folder
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(result, indent=1, sort_keys=True)
        (folder / f"{stage}.json").write_text(text + "\n", encoding="utf-8")
        return result

    def stored(self, stage: str, folder: Path | None = None) -> dict[str, Any]:
        """A stage's result as it was last measured; an empty dictionary if it never was."""
        path = (folder or self.folder) / f"{stage}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
