"""What follows from the results: the paper's own percentages, ratios, rows of tables, series."""

import statistics
from pathlib import Path
from typing import Any

from repro.engine.claims import sentences_of
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.linux.qemu import NANOSECONDS_PER_INSTRUCTION

# What the paper prints.
PAPER = sentences_of(Path(__file__).parent)["paper_values"]
LOAD_SECONDS = PAPER["load_microseconds"] / 1e6
CACHE_FRAMES = 16
OURS, THEIRS = "replayed", "profile-based"
NAMES = {OURS: "ours", THEIRS: "profile-based", "entry-points": "entry points"}
FRAMES = (16, 32, 64)
POLICIES = ("round-robin", "random", "nru")
BOOTED = {
    "point": "ours, T = 99.9 %",
    "same_ram": "ours, asked for the RAM of the line above",
    "profile_based": "profile-based, T = 99.9 %",
    "small_memory": "ours, T = 99.9 %, in 64 MiB",
}
KIB = 1024
Found = dict[str, Any]


def derived(results: Found) -> Found:
    """All of it."""
    work, space = results["recorded"]["works"]["programs"], placements(results)
    found = {"paper": PAPER | paper_percentages()}
    found |= {"ratios": ratios(results, space), "seeds": seeds(results, space)}
    found |= booted(results["booted"]) | plans(results["goals"], work["system_seconds"])
    found |= figures(results, space) | {"bandwidth": bandwidth(work, space)}
    return found | {"recorded": sizes(results["recorded"], work)}


def placements(results: Found) -> dict[tuple[str, int], Found]:
    """Rows of the design space by placement and frames."""
    return {(row["planner"], row["frames"]): row for row in results["design_space"]["rows"]}


def paper_percentages() -> dict[str, list[float] | float]:
    """[G-8] What the paper's KiB give, where its text states other percentages."""
    static, code = PAPER["static_kib"], PAPER["code_kib"]
    reading = PAPER["loads"] * PAPER["load_microseconds"] / 1e6
    return {
        "static_percent": [round(100 * (1 - kib / static), 1) for kib in PAPER["with_cache_kib"]],
        "code_percent": [round(100 * (1 - kib / code), 1) for kib in PAPER["code_with_cache_kib"]],
        "reading_seconds": reading,
        "reading_part": reading / (PAPER["system_seconds"] + PAPER["user_seconds"]),
        "minimized_slower": PAPER["minimized_system_seconds"] / PAPER["system_seconds"] - 1,
    }


def ratios(results: Found, space: dict[tuple[str, int], Found]) -> Found:
    """Our loads ÷ the paper's placement's, by work and frames; and the bound's."""
    found = {}
    for work, bounds in results["design_space"]["bounds"].items():
        for frames, bound in bounds.items():
            ours, theirs = (
                space[name, int(frames)][work]["round-robin"] for name in (OURS, THEIRS)
            )
            row = {"ours": ours, "theirs": theirs, "ratio": ours / theirs}
            found[f"{work}_{frames}"] = row | {"bound": bound, "bound_ratio": bound / theirs}
    return found


def seeds(results: Found, space: dict[tuple[str, int], Found]) -> Found:
    """Our loads with each seed of the search ÷ the paper's placement's."""
    found = {}
    for frames, works in results["design_space"]["seeds"].items():
        for work, loads in works.items():
            theirs = space[THEIRS, int(frames)][work]["round-robin"]
            found[f"{work}_{frames}"] = {
                "count": len(loads),
                "least": min(loads) / theirs,
                "median": statistics.median(loads) / theirs,
                "most": max(loads) / theirs,
            }
    return found


# ---- Booted kernels


def out_of_ram(point: Found) -> Found:
    """What a booted kernel has out of RAM, and what loading costs it."""
    kept = point["resident_text_bytes"] + point["cache_bytes"] + point["pager_bytes"]
    instructions = point["baseline_system_instructions"]
    system = instructions * NANOSECONDS_PER_INSTRUCTION / 1e9
    more_bytes = point["memory_total_bytes"] - point["baseline_memory_total_bytes"]
    return {
        "code_part": 1 - kept / point["text_bytes"],
        "static_part": 1 - point["static_bytes"] / point["baseline_static_bytes"],
        "kept_kib": kept / KIB,
        "text_kib": point["text_bytes"] / KIB,
        "static_kib": point["static_bytes"] / KIB,
        "baseline_static_kib": point["baseline_static_bytes"] / KIB,
        "more_memory_kib": more_bytes / KIB,
        "system_ratio": point["system_instructions"] / instructions - 1,
        "page_time_part": point["loads"] * LOAD_SECONDS / system,
        "replay_error": point["replayed_loads"] / point["loads"] - 1,
    }


def booted(kernels: Found) -> Found:
    """Kernels next to their replays; other numbers of frames are in order."""
    point, little = kernels["point"], kernels["small_memory"]
    by_frames = dict(sorted(kernels["by_frames"].items(), key=lambda item: int(item[0])))
    titled = [(title, kernels[name]) for name, title in BOOTED.items()]
    titled += [(BOOTED["point"], row) for row in by_frames.values()]
    # Loads per load of the replay: the kernel may have more, or fewer.
    ample = [row["loads"] / row["replayed_loads"] for _, row in titled if row is not little]
    stays = point["resident_text_bytes"] + point["cache_bytes"]
    return {
        "booted": {name: out_of_ram(kernels[name]) for name in BOOTED},
        "replay_errors": {
            frames: out_of_ram(row)["replay_error"] for frames, row in by_frames.items()
        },
        "replay_range": {
            "least": min(ample) - 1,
            "most": max(ample) - 1,
            "little_memory": little["loads"] / little["replayed_loads"],
            "little_memory_error": little["replayed_loads"] / little["loads"] - 1,
        },
        "replay_missing": [row["replayed_loads"] - row["loads"] for row in by_frames.values()],
        "own_replay_missing": [
            row["own_replayed_loads"] - row["loads"] for row in (point, *by_frames.values())
        ],
        "outputs_equal": all(row["outputs_equal"] for _, row in titled),
        "code_part_most": 1 - stays / point["text_bytes"],
        "booted_rows": [{"title": title, **row, "out": out_of_ram(row)} for title, row in titled],
    }


def plans(goals: Found, system_seconds: float) -> Found:
    """What a user asks for, compared with the paper's point."""
    point, same, more = (goals[name] for name in ("point", "same_ram", "more_ram"))
    return {
        "same_ram_ratio": same["loads"] / point["loads"],
        "same_ram_bound_ratio": same["bound"] / point["loads"],
        "page_time": {
            name: row["loads"] * LOAD_SECONDS / system_seconds for name, row in goals.items()
        },
        "more_ram_kib": (more["ram_bytes"] - point["ram_bytes"]) / KIB,
    }


def sizes(recorded: Found, work: Found) -> Found:
    """Table 1."""
    return {
        "text_kib": recorded["text_bytes"] / KIB,
        "data_kib": recorded["data_bytes"] / KIB,
        "executed_part": work["executed_bytes"] / recorded["text_bytes"],
        "system_part": work["system_seconds"] / (work["system_seconds"] + work["user_seconds"]),
    }


def bandwidth(work: Found, space: dict[tuple[str, int], Found]) -> Found:
    """What part of all time is reading pages [P3-30]."""
    total = work["system_seconds"] + work["user_seconds"]
    found: Found = {"total_seconds": total}
    for name, planner in (("ours", OURS), ("theirs", THEIRS)):
        loads = space[planner, CACHE_FRAMES]["programs"]["nru"]
        reading = loads * LOAD_SECONDS
        found[name] = {"loads": loads, "seconds": reading, "part": reading / (total + reading)}
    return found


# ---- Figures and tables


def key_of(part: float) -> str:
    """T as a key, which has no dot."""
    return f"{100 * part:g}".replace(".", "_")


def figures(results: Found, space: dict[tuple[str, int], Found]) -> Found:
    """Figs. 4 to 8 in numbers, as series, and as the rows of tables."""
    recorded, point = results["recorded"], results["booted"]["point"]
    base = recorded["works"]["programs"]["system_seconds"]
    handler = point["worst_load_instructions"] * NANOSECONDS_PER_INSTRUCTION / 1e9

    def seconds_with(loads: float) -> float:
        """The kernel's time: the recorded run's instructions, and for each load the most that a
        booted kernel took in addition to the flash, which takes the paper's time."""
        return float(base + loads * (LOAD_SECONDS + handler))

    static, cache = recorded["static_bytes"], CACHE_FRAMES * PAGE_BYTES + point["pager_bytes"]
    cold = {row["part"]: static - row["page_bytes"] for row in results["sweep"]["sizes"]}
    swept: dict[tuple[str, int], dict[float, int]] = {}
    for row in results["sweep"]["rows"]:
        swept.setdefault((row["planner"], row["frames"]), {})[row["part"]] = row["loads"]["nru"]
    named = {
        f"{name}, {frames}": swept[planner, frames]
        for planner, name in sorted(NAMES.items(), key=lambda item: item[1])
        for frames in FRAMES
    }
    policies = {
        policy: {
            f"{NAMES[planner]}, {frames}": space[planner, frames]["programs"][policy]
            for planner in (OURS, THEIRS)
            for frames in FRAMES
        }
        for policy in POLICIES
    }
    theirs = [space[THEIRS, frames]["programs"] for frames in FRAMES]
    return {
        "figures": {
            "without": {key_of(part): value / KIB for part, value in cold.items()},
            "with": {key_of(part): (value + cache) / KIB for part, value in cold.items()},
            "with_part": {key_of(part): 1 - (cold[part] + cache) / static for part in cold},
            "loads": {
                name: {
                    str(frames): {key_of(part): n for part, n in swept[name, frames].items()}
                    for frames in FRAMES
                }
                for name in (*NAMES, "link-order")
            },
            "policy_with_fewest": [min(POLICIES, key=each.__getitem__) for each in theirs],
            "held_at_64": [theirs[-1]["round-robin"] == theirs[-1]["pages_touched"]],
            "thousand_loads_part": seconds_with(1000) / seconds_with(0) - 1,
        },
        "figure4": {
            "cold code out of RAM": by_percent(cold),
            "and a cache of 16 frames": by_percent({part: cold[part] + cache for part in cold}),
            "all code in RAM": by_percent(dict.fromkeys(cold, static)),
        },
        "figure5": {name: by_percent(row) for name, row in named.items()},
        "figure6": {
            name: by_percent({part: seconds_with(loads) for part, loads in row.items()})
            for name, row in named.items()
        },
        "figure7": policies,
        "figure8": {
            policy: {group: seconds_with(loads) for group, loads in row.items()}
            for policy, row in policies.items()
        },
        "thresholds_rows": thresholds_rows(results["sweep"]["rows"], named),
        "design_rows": design_rows(results["design_space"]),
    }


def by_percent(points: dict[float, float]) -> list[tuple[str, float]]:
    """Points of a line over T, the largest first."""
    return [(f"{100 * part:g} %", points[part]) for part in sorted(points, reverse=True)]


def thresholds_rows(rows: list[Found], named: Found) -> list[Found]:
    """Loads by T, placement and frames; what stays in RAM is the same for all."""
    resident: dict[float, int] = {}
    for row in rows:
        resident.setdefault(row["part"], row["resident_bytes"])
    return [
        {"percent": 100 * part, "ram_kib": size / KIB}
        | {"loads": {name: loads[part] for name, loads in named.items()}}
        for part, size in resident.items()
    ]


def design_rows(space: Found) -> list[Found]:
    """Loads at T = 99.9 %, by placement, frames and policy; below them the bound of each frames."""
    bounds = [
        {"planner": "*bound*", "frames": frames}
        | {work: {"belady": row[str(frames)], "round-robin": row[str(frames)]}
           for work, row in space["bounds"].items()}
        for frames in FRAMES
    ]  # fmt: skip
    for row in bounds:
        row["programs"] = {"belady": row["programs"]["belady"]}
    return [*space["rows"], *bounds]
