"""What follows from the results: the rows of tables, and what the figures draw."""

import json
from typing import Any

from repro.rtmmu.page_costs import CONVENTIONAL, MEASURES, OURS
from repro.rtmmu.tile_table1 import KINDS
from repro.rtmmu.workloads import RESULTS


def derived(results: dict[str, Any]) -> dict[str, Any]:
    """All of it; points of figures as the stages left them in out/."""
    counted, cycles = (by_trace(results[name]["rows"]) for name in ("table1", "tile_table1"))
    bounds = results["tile_table1"]["bounds"]
    found = {
        "table1_rows": counted,
        "tile_rows": cycles,
        "bounds_rows": [
            {"kind": kind, "ours": bounds[OURS][kind], "theirs": bounds[CONVENTIONAL].get(kind)}
            for kind in KINDS
            if kind in bounds[OURS]
        ],
        "gains": gains({row["program"]: row["rv32"]["ratios"] for row in counted}, "_instructions"),
        "tile_gains": gains({row["program"]: row["ratios"] for row in cycles}, ""),
    }
    for measure in ("cycles", MEASURES[0]):
        path = RESULTS.out / f"points_{measure}.json"
        found[f"points_{measure}"] = json.loads(path.read_text()) if path.exists() else None
    return found


def by_trace(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table, the synthetic workload's first."""
    return sorted(rows.values(), key=lambda row: row["program"] != "synthetic")


def gains(ratios: dict[str, Any], suffix: str) -> dict[str, dict[str, float]]:
    """Table I's two gains of each trace."""
    keys = {"free_gain" + suffix: "largest free", "footprint": "footprint"}
    return {
        f"{title}, conventional ÷ ours": {name: row[key] for name, row in ratios.items()}
        for key, title in keys.items()
    }
