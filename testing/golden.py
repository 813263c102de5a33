"""Numbers that are pinned in a checked-in file next to the tests that measure them.

TAU_UPDATE_GOLDEN=1 writes them again after a wanted change, and the change is seen in review.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def pinned(path: Path, measured: Mapping[str, Any]) -> dict[str, Any]:
    """All that PATH holds; if it is to be updated, MEASURED is written there first."""
    golden: dict[str, Any] = {}
    if path.exists():
        golden = json.loads(path.read_text(encoding="utf-8"))
    if os.environ.get("TAU_UPDATE_GOLDEN"):
        golden |= measured
        path.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    return golden
