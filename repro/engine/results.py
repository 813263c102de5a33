"""Results of a reproduction's stages on disk: a file for each stage."""

import functools
import json
from pathlib import Path
from typing import Any

from bench.result_file import write_result

REPOSITORY = Path(__file__).resolve().parents[2]


class Results:
    """What one reproduction measures. It is stored in `folder`: `kept`, which the repository keeps,
    or one under `out`. A stage that `folder` does not have is read from `kept`."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.home = REPOSITORY / "repro" / name
        self.kept = self.home / "results"
        self.folder = folder or self.kept
        self.out = REPOSITORY / "out" / "repro" / name

    def store(self, stage: str, result: dict[str, Any]) -> None:
        """Write a stage's result."""
        write_result(self.folder / f"{stage}.json", result)

    def stored(self, stage: str) -> dict[str, Any]:
        """A stage's result as it was last measured; an empty dictionary if it never was."""
        for folder in (self.folder, self.kept):
            path = folder / f"{stage}.json"
            if path.exists():
                return json.loads(path.read_text(encoding="utf-8"))
        return {}

    def all_stored(self) -> dict[str, Any]:
        """The results of all stages by their names."""
        names = {path.stem for each in (self.kept, self.folder) for path in each.glob("*.json")}
        return {name: self.stored(name) for name in sorted(names)}


@functools.cache
def results_of(name: str) -> Results:
    """The results of a reproduction; everybody gets the same object."""
    return Results(name)
