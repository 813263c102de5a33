"""Results of a reproduction's stages on disk: a file for each stage."""

import functools
import json
from pathlib import Path
from typing import Any

from bench.result_file import write_result

REPOSITORY = Path(__file__).resolve().parents[2]


class Results:
    """What one reproduction stores: `folder` is kept in the repository, `out` is not."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.home = REPOSITORY / "repro" / name
        self.folder = folder or self.home / "results"
        self.out = REPOSITORY / "out" / "repro" / name

    def store(self, stage: str, result: dict[str, Any]) -> None:
        """Write a stage's result."""
        write_result(self.folder / f"{stage}.json", result)

    def stored(self, stage: str) -> dict[str, Any]:
        """A stage's result as it was last measured; an empty dictionary if it never was."""
        path = self.folder / f"{stage}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def all_stored(self) -> dict[str, Any]:
        """The results of all stages by their names."""
        return {path.stem: self.stored(path.stem) for path in sorted(self.folder.glob("*.json"))}


@functools.cache
def results_of(name: str) -> Results:
    """The results of a reproduction; everybody gets the same object."""
    return Results(name)
