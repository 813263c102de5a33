"""Writes claims.md: one line for each item of the checklist about the paper, P3-1 to P3-33, G-8
and G-9.

Every figure of ours comes from results/*.json, filled into the sentences of reasons.toml; nothing
is typed.
"""

from __future__ import annotations

import statistics
from typing import Any

from repro import claims_page
from repro.coldcode.measure import HERE, stored
from tautochrone.coldcode.linux.flash import PAGE_BYTES
from tautochrone.coldcode.linux.qemu import NANOSECONDS_PER_INSTRUCTION

STAGES = (
    *("recorded", "profiling", "sweep", "design_space", "goals", "booted", "shown", "baselines"),
    "meta",
)
# What the paper prints.
PAPER = {
    "code_kib": 657,
    "data_kib": 312,
    "static_kib": 978,
    "minimized_code_kib": 581,
    "minimized_static_kib": 867,
    "modules_kib": 718,
    "without_cache_kib": [548, 398],  # T = 100 % and 50 %
    "with_cache_kib": [612, 462],
    "code_with_cache_kib": [324, 174],
    "system_seconds": 7.00,
    "minimized_system_seconds": 7.27,
    "user_seconds": 395.76,
    "loads": 818,
    "load_microseconds": 442,
}
LOAD_SECONDS = PAPER["load_microseconds"] / 1e6
CACHE_FRAMES = 16
OURS, THEIRS = "replayed", "profile-based"
FRAMES = (16, 32, 64)
POLICIES = ("round-robin", "random", "nru")
KIB = 1024
Rows = list[dict[str, Any]]


def reasons() -> dict[str, Any]:
    """The sentences."""
    return claims_page.sentences_of(HERE)


def all_results() -> dict[str, Any]:
    """What is stored, and what follows."""
    results = {stage: stored(stage) for stage in STAGES}
    return results | {"paper": PAPER | paper_percentages(), "derived": derived(results)}


def paper_percentages() -> dict[str, list[float] | float]:
    """[G-8] What the paper's KiB give, where its text states other percentages."""
    static, code = PAPER["static_kib"], PAPER["code_kib"]
    cache = PAPER["with_cache_kib"], PAPER["code_with_cache_kib"]
    reading = PAPER["loads"] * PAPER["load_microseconds"] / 1e6
    return {
        "static_percent": [round(100 * (1 - kib / static), 1) for kib in cache[0]],
        "code_percent": [round(100 * (1 - kib / code), 1) for kib in cache[1]],
        "reading_seconds": reading,
        "reading_part": reading / (PAPER["system_seconds"] + PAPER["user_seconds"]),
        "minimized_slower": PAPER["minimized_system_seconds"] / PAPER["system_seconds"] - 1,
    }


# ---- What follows from results


def seconds_with(loads: float) -> float:
    """Seconds of the kernel with so many loads: instructions of the recorded run, and of each load
    the most that a booted kernel took beside the flash, which takes the paper's time."""
    base = stored("recorded")["works"]["programs"]["system_seconds"]
    point = stored("booted").get("point", {})
    handler = point.get("worst_load_instructions", 0) * NANOSECONDS_PER_INSTRUCTION / 1e9
    return float(base + loads * (LOAD_SECONDS + handler))


def sweep_rows() -> Rows:
    """Figs. 5 and 6: the paper's placements and ours, under NRU."""
    return [
        row
        | {"loads_shown": row["loads"]["nru"], "seconds_shown": seconds_with(row["loads"]["nru"])}
        for row in stored("sweep").get("rows", [])
        if row["planner"] != "link-order"
    ]


def design_rows() -> Rows:
    """Figs. 7 and 8: a row for each placement, number of frames and policy."""
    found = []
    for row in stored("design_space").get("rows", []):
        if row["planner"] not in (OURS, THEIRS) or row["frames"] not in FRAMES:
            continue
        for policy in POLICIES:
            loads = row["programs"][policy]
            found.append(
                {"planner": row["planner"], "frames": row["frames"], "policy": policy}
                | {"loads": loads, "seconds": seconds_with(loads)}
            )
    return found


def footprints() -> dict[str, list[tuple[float, float]]]:
    """Fig. 4: code and data by T, without a cache and with one of 16 frames."""
    recorded, pager = stored("recorded"), stored("booted").get("point", {}).get("pager_bytes", 0)
    cache = CACHE_FRAMES * PAGE_BYTES + pager
    rows = stored("sweep")["sizes"]
    static = recorded["static_bytes"]
    without = [(row["part"], static - row["page_bytes"]) for row in rows]
    return {
        "cold code out of RAM": without,
        "and a cache of 16 frames": [(part, value + cache) for part, value in without],
        "all code in RAM": [(part, static) for part, _ in without],
    }


def loads_of(results: dict[str, Any], planner: str, frames: int, work: str) -> int | None:
    """Loads of a placement at T = 99.9 % under round robin."""
    for row in results["design_space"].get("rows", []):
        if (row["planner"], row["frames"]) == (planner, frames):
            return int(row[work]["round-robin"])
    return None


def ratios(results: dict[str, Any]) -> dict[str, Any]:
    """Loads of ours ÷ those of the paper's placement, by work and frames; and of the bound."""
    found: dict[str, Any] = {}
    for work, bounds in results["design_space"].get("bounds", {}).items():
        for frames in bounds:
            ours, theirs = (loads_of(results, name, int(frames), work) for name in (OURS, THEIRS))
            if not ours or not theirs:
                continue
            found[f"{work}_{frames}"] = {
                "ours": ours,
                "theirs": theirs,
                "ratio": ours / theirs,
                "bound": bounds[frames],
                "bound_ratio": bounds[frames] / theirs,
            }
    return found


def seeds(results: dict[str, Any]) -> dict[str, Any]:
    """Loads of ours with each seed of its search ÷ those of the paper's placement."""
    found: dict[str, Any] = {}
    for frames, works in results["design_space"].get("seeds", {}).items():
        for work, loads in works.items():
            theirs = loads_of(results, THEIRS, int(frames), work)
            found[f"{work}_{frames}"] = {
                "count": len(loads),
                "least": min(loads) / theirs,
                "median": statistics.median(loads) / theirs,
                "most": max(loads) / theirs,
            }
    return found


def out_of_ram(point: dict[str, Any]) -> dict[str, Any]:
    """What a booted kernel has out of RAM, and what loading costs it."""
    kept = point["resident_text_bytes"] + point["cache_bytes"] + point["pager_bytes"]
    instructions = point["baseline_system_instructions"]
    system = instructions * NANOSECONDS_PER_INSTRUCTION / 1e9
    return {
        "code_part": 1 - kept / point["text_bytes"],
        "static_part": 1 - point["static_bytes"] / point["baseline_static_bytes"],
        "kept_kib": kept / KIB,
        "text_kib": point["text_bytes"] / KIB,
        "static_kib": point["static_bytes"] / KIB,
        "baseline_static_kib": point["baseline_static_bytes"] / KIB,
        "more_memory_kib": (point["memory_total_bytes"] - point["baseline_memory_total_bytes"])
        / KIB,
        "system_ratio": point["system_instructions"] / instructions - 1,
        "page_time_part": point["loads"] * LOAD_SECONDS / system,
        "replay_error": point["replayed_loads"] / point["loads"] - 1,
    }


def by_rising_frames(booted: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernels with other numbers of frames; names in a stored result are in order as words."""
    rows = booted.get("by_frames", {})
    return [rows[frames] for frames in sorted(rows, key=int)]


def by_threshold(results: dict[str, Any], planner: str, frames: int) -> dict[float, int]:
    """Loads under NRU by T."""
    return {
        row["part"]: row["loads"]["nru"]
        for row in results["sweep"].get("rows", [])
        if (row["planner"], row["frames"]) == (planner, frames)
    }


def derived(results: dict[str, Any]) -> dict[str, Any]:
    """All that is computed from several figures."""
    found: dict[str, Any] = {"ratios": ratios(results), "seeds": seeds(results)}
    booted, goals = results["booted"], results["goals"]
    if booted:
        names = ("point", "same_ram", "profile_based", "small_memory")
        found["booted"] = {name: out_of_ram(booted[name]) for name in names}
        rows = (*(booted[name] for name in names), *booted["by_frames"].values())
        found["replay_errors"] = {
            frames: out_of_ram(row)["replay_error"] for frames, row in booted["by_frames"].items()
        }
        # Of loads for each one of replay: the kernel may have more, or fewer.
        little = booted["small_memory"]
        ample = [row["loads"] / row["replayed_loads"] for row in rows if row != little]
        found["replay_range"] = {
            "least": min(ample) - 1,
            "most": max(ample) - 1,
            "little_memory": little["loads"] / little["replayed_loads"],
            "little_memory_error": little["replayed_loads"] / little["loads"] - 1,
        }
        found["replay_missing"] = [
            row["replayed_loads"] - row["loads"] for row in by_rising_frames(booted)
        ]
        replayed = (booted["point"], *by_rising_frames(booted))
        found["own_replay_missing"] = [row["own_replayed_loads"] - row["loads"] for row in replayed]
        found["outputs_equal"] = all(row["outputs_equal"] for row in rows)
        point = booted["point"]
        stays = point["resident_text_bytes"] + point["cache_bytes"]
        found["code_part_most"] = 1 - stays / point["text_bytes"]
    if goals:
        point, same, more = (goals[name] for name in ("point", "same_ram", "more_ram"))
        found["same_ram_ratio"] = same["loads"] / point["loads"]
        found["same_ram_bound_ratio"] = same["bound"] / point["loads"]
        found["page_time"] = {
            name: row["loads"]
            * LOAD_SECONDS
            / results["recorded"]["works"]["programs"]["system_seconds"]
            for name, row in goals.items()
        }
        found["more_ram_kib"] = (more["ram_bytes"] - point["ram_bytes"]) / KIB
    if results["sweep"]:
        found["figures"] = figures(results)
    if results["recorded"]:
        found["bandwidth"] = bandwidth(results)
        found["recorded"] = sizes(results["recorded"])
    return found


def sizes(recorded: dict[str, Any]) -> dict[str, Any]:
    """Table 1."""
    work = recorded["works"]["programs"]
    return {
        "text_kib": recorded["text_bytes"] / KIB,
        "data_kib": recorded["data_bytes"] / KIB,
        "executed_part": work["executed_bytes"] / recorded["text_bytes"],
        "system_part": work["system_seconds"] / (work["system_seconds"] + work["user_seconds"]),
    }


def figures(results: dict[str, Any]) -> dict[str, Any]:
    """Figs. 4 to 7 in numbers."""
    static = results["recorded"]["static_bytes"]
    drawn = footprints()
    with_cache = dict(drawn["and a cache of 16 frames"])
    without = dict(drawn["cold code out of RAM"])
    design = design_rows()
    fewest = [
        min(
            (row for row in design if (row["planner"], row["frames"]) == (THEIRS, frames)),
            key=lambda row: int(row["loads"]),
        )["policy"]
        for frames in FRAMES
    ]
    space = results["design_space"].get("rows", [])
    at_64 = [row["programs"] for row in space if (row["planner"], row["frames"]) == (THEIRS, 64)]
    return {
        "without": {key_of(part): value / KIB for part, value in without.items()},
        "with": {key_of(part): value / KIB for part, value in with_cache.items()},
        "with_part": {key_of(part): 1 - value / static for part, value in with_cache.items()},
        "loads": {
            name: {
                str(frames): {
                    key_of(part): loads
                    for part, loads in by_threshold(results, name, frames).items()
                }
                for frames in FRAMES
            }
            for name in (OURS, THEIRS, "entry-points", "link-order")
        },
        "policy_with_fewest": fewest,
        "held_at_64": [row["round-robin"] == row["pages_touched"] for row in at_64],
        "thousand_loads_part": seconds_with(1000) / seconds_with(0) - 1,
    }


def key_of(part: float) -> str:
    """T as a key, which has no dot."""
    return f"{100 * part:g}".replace(".", "_")


def bandwidth(results: dict[str, Any]) -> dict[str, Any]:
    """What part of all time is reading pages [P3-30]."""
    work = results["recorded"]["works"]["programs"]
    total = work["system_seconds"] + work["user_seconds"]
    found = {}
    for name, planner in (("ours", OURS), ("theirs", THEIRS)):
        for row in results["design_space"].get("rows", []):
            if (row["planner"], row["frames"]) == (planner, CACHE_FRAMES):
                reading = row["programs"]["nru"] * LOAD_SECONDS
                found[name] = {
                    "loads": row["programs"]["nru"],
                    "seconds": reading,
                    "part": reading / (total + reading),
                }
    return found | {"total_seconds": total}


# ---- The page


def threshold_lines(results: dict[str, Any]) -> list[str]:
    """Loads by T, placement and frames."""
    names = {OURS: "ours", THEIRS: "profile-based", "entry-points": "entry points"}
    columns = [(planner, frames) for planner in names for frames in FRAMES]
    heads = [f"{names[planner]}, {frames}" for planner, frames in columns]
    lines = ["| T | RAM, KiB | " + " | ".join(heads) + " |", "|---" * (len(heads) + 2) + "|"]
    rows = results["sweep"].get("rows", [])
    for part in dict.fromkeys(row["part"] for row in rows):
        cells = [by_threshold(results, planner, frames)[part] for planner, frames in columns]
        resident = next(row["resident_bytes"] for row in rows if row["part"] == part)
        numbers = " | ".join(f"{cell:,}" for cell in cells)
        lines.append(f"| {100 * part:g} % | {resident / KIB:,.0f} | {numbers} |")
    return lines


def design_lines(results: dict[str, Any]) -> list[str]:
    """Loads at T = 99.9 %, by placement, frames and policy."""
    policies = ("round-robin", "random", "nru", "aging", "belady")
    lines = [
        "| placement | frames | " + " | ".join(policies) + " | held out | system |",
        "|---" * (len(policies) + 4) + "|",
    ]
    for row in results["design_space"].get("rows", []):
        cells = [row["programs"][policy] for policy in policies]
        cells += [row[work]["round-robin"] for work in ("held_out", "system")]
        numbers = " | ".join(f"{cell:,}" for cell in cells)
        lines.append(f"| {row['planner']} | {row['frames']} | {numbers} |")
    for frames in FRAMES:
        bounds = results["design_space"].get("bounds", {})
        if bounds:
            cell = f"{bounds['programs'][str(frames)]:,}"
            others = " | ".join(f"{bounds[work][str(frames)]:,}" for work in ("held_out", "system"))
            dashes = " | ".join(["–"] * (len(policies) - 1))
            lines.append(f"| *bound* | {frames} | {dashes} | {cell} | {others} |")
    return lines


def booted_lines(results: dict[str, Any]) -> list[str]:
    """Booted kernels beside their replays."""
    lines = [
        "| kernel | rounds | frames | loads | replayed | code out of RAM | static | system"
        " instructions |",
        "|---" * 8 + "|",
    ]
    booted = results["booted"]
    titles = {
        "point": "ours, T = 99.9 %",
        "same_ram": "ours, asked for the RAM of the line above",
        "profile_based": "profile-based, T = 99.9 %",
        "small_memory": "ours, T = 99.9 %, in 64 MiB",
    }
    rows = [(title, booted[name]) for name, title in titles.items() if booted]
    rows += [("ours, T = 99.9 %", row) for row in by_rising_frames(booted)]
    for title, row in rows:
        out = out_of_ram(row)
        cells = [title, str(row["executed_by"]["rounds"]), str(row["frames"])]
        cells += [f"{row['loads']:,}", f"{row['replayed_loads']:,}"]
        cells += [f"{out['code_part']:.1%}", f"{out['static_part']:.1%}"]
        lines.append("| " + " | ".join([*cells, f"{out['system_ratio']:+.2%}"]) + " |")
    return lines


def text_now() -> str:
    """claims.md from what is stored."""
    sentences, results = reasons(), all_results()
    return claims_page.page(
        "Cold code of Linux (P3)",
        "python -m repro.coldcode.run",
        sentences,
        results,
        (
            ("Loads by T", sentences["thresholds"], threshold_lines(results)),
            ("Loads at T = 99.9 %", sentences["design"], design_lines(results)),
            ("Booted kernels", sentences["booted"], booted_lines(results)),
        ),
    )


def write() -> None:
    """Write claims.md from what is stored."""
    (HERE / "claims.md").write_text(text_now(), encoding="utf-8")


def verdict() -> str:
    """How many items have which verdict."""
    return claims_page.verdict(reasons())
