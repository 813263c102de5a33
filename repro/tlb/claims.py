"""Writes claims.md: one line for each item of the checklist about the paper, P4-1 to P4-27.

Every figure of ours comes from results/*.json, filled into the sentences of reasons.toml; nothing
is typed.
"""

from __future__ import annotations

from typing import Any

from repro import claims_page
from repro.tlb import layouts
from repro.tlb.measure import HERE, stored

STAGES = (
    *("figure6", "discover", "isolation", "synthetic", "table1", "figure19", "layouts", "bounds"),
    "shown",
    "meta",
)
# Measured by a bench on a machine that has such a TLB; no stage here measures it again.
RECORDED = ("silicon",)


def reasons() -> dict[str, Any]:
    """The sentences."""
    return claims_page.sentences_of(HERE)


def all_results() -> dict[str, Any]:
    """What is stored, and what follows."""
    results = {stage: stored(stage) for stage in (*STAGES, *RECORDED)}
    return results | {"derived": derived(results)}


def derived(results: dict[str, Any]) -> dict[str, Any]:
    """Over all task sets: the most misses of a colored job, and the mean misses by task."""
    sets = {**results["table1"].get("sets", {})}
    figure19 = results["figure19"].get("tasks", {})
    sets |= {f"figure19-{name}": rows for name, rows in figure19.items()}
    if rows := results["synthetic"].get("figure9"):
        sets["figure9"] = rows
    tasks = [row for rows in sets.values() for row in rows]
    if not tasks:
        return {}
    jobs = sum(row["colored"]["jobs"] * len(row["colored"]["cross_evictions"]) for row in tasks)
    return {
        "task_sets": len(sets),
        "jobs": jobs,
        "colored_most": max(row["colored"]["job_most"] for row in tasks),
        "colored_cross": sum(sum(rows[0]["colored"]["cross_evictions"]) for rows in sets.values()),
        "malloc_missing": sum(row["malloc"]["most"] > 0 for row in tasks),
        "tasks": len(tasks),
    }


def by_number(item: tuple[str, Any]) -> int:
    """The order of task sets that are called by their number of tasks."""
    return int(item[0])


def rows_of(name: str, rows: list[dict[str, Any]]) -> list[str]:
    """A line for each task."""
    lines = []
    for number, row in enumerate(rows, start=1):
        colored, malloc = row["colored"], row["malloc"]
        cells = [
            f"{name}, T{number}",
            row["program"],
            f"{colored['job_most']}",
            f"{malloc['median']:.2f} ({malloc['least']:.2f} … {malloc['most']:.2f})",
            f"{malloc['deviation']:.2f}",
            f"{malloc['job_most']}",
            f"{colored['cycles_least']:,} … {colored['cycles_most']:,}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def table_lines(results: dict[str, Any]) -> list[str]:
    """Misses of the data TLB by task."""
    lines = [
        "| task | program | colored, most | malloc, median of seeds (range) | σ | most of a job"
        " | cycles of a colored job |",
        "|---" * 7 + "|",
    ]
    lines += rows_of("Figs. 9 to 12", results["synthetic"].get("figure9", []))
    titles = {"figure18": "Fig. 18", "figure20": "Fig. 20"}
    for name, rows in results["table1"].get("sets", {}).items():
        lines += rows_of(titles.get(name, f"Table I, {name} tasks"), rows)
    for name, rows in sorted(results["figure19"].get("tasks", {}).items(), key=by_number):
        lines += rows_of(f"Fig. 19, {name} tasks", rows)
    return lines


def layout_lines(found: dict[str, Any]) -> list[str]:
    """Each task set in other places."""
    names = [*layouts.RUNS, "colored"]
    lines = ["| task set | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for name in layouts.SETS if found else ():
        rows = [found[name][layout] for layout in names]
        cells = [f"{row['median']:g} ({row['least']} … {row['most']})" for row in rows]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return lines


def switch_lines(found: dict[str, Any]) -> list[str]:
    """Coloring beside forgetting and beside one heap."""
    lines = [
        "| task set | policy | misses | cross evictions | way through the kernel, most | cycles of"
        " all jobs | spread of a job, most |",
        "|---" * 7 + "|",
    ]
    for name, policies in found.items():
        for policy, row in policies.items():
            lines.append(
                f"| {name} | {policy} | {row['misses']:,} | {row['cross_evictions']:,} |"
                f" {row['entry_cycles_max']:,} | {row['job_cycles']:,} |"
                f" {max(row['job_cycles_spread']):,} |"
            )
    return lines


def bounds_lines(found: dict[str, Any]) -> list[str]:
    """Bound ÷ longest response of random task sets."""
    lines = [
        "| task sets | how many | tasks with a bound, without | jobs | least | median | most |",
        "|---" * 7 + "|",
    ]
    for name, row in found.items():
        bounded = row["tasks"] - row["tasks_without_bound"]
        lines.append(
            f"| {name} | {row['sets']:,} | {bounded:,}, {row['tasks_without_bound']:,} |"
            f" {row['jobs']:,} | {row['least']:.3f} | {row['median']:.3f} | {row['most']:.2f} |"
        )
    return lines


def silicon_lines(found: dict[str, Any]) -> list[str]:
    """A victim after an attacker; below it, threads that nobody attacks."""
    attack = found["attack"]
    walks = f"{attack['pages']} pages of "
    rows = [
        (f"victim after {walks}a task with many sets", f"{attack['quiet']} a pass"),
        (
            f"victim after {walks}an attacker in {attack['sets']} other sets",
            f"{attack['other']} a pass",
        ),
        (f"victim after {walks}its own {attack['sets']} sets", f"{attack['own']} a pass"),
        *(
            (f"16 threads, no attacker: {name}", f"{ticks:.2f} an access")
            for name, ticks in found["threads"].items()
        ),
    ]
    return ["| who walks | ticks |", "|---|---|", *(f"| {who} | {what} |" for who, what in rows)]


def text_now() -> str:
    """claims.md from what is stored."""
    sentences, results = reasons(), all_results()
    switches = results["isolation"].get("switches", {})
    return claims_page.page(
        "TLB coloring (P4)",
        "python -m repro.tlb.run",
        sentences,
        results,
        (
            ("Misses by task", sentences["table"], table_lines(results)),
            (
                "The same tasks in other places",
                sentences["layouts"],
                layout_lines(results["layouts"].get("sets", {})),
            ),
            ("Coloring and forgetting", sentences["switches"], switch_lines(switches)),
            (
                "Bounds and responses",
                sentences["bounds"],
                bounds_lines(results["bounds"].get("random", {})),
            ),
            ("On silicon", sentences["silicon"], silicon_lines(results["silicon"])),
        ),
    )


def write() -> None:
    """Write claims.md from what is stored."""
    (HERE / "claims.md").write_text(text_now(), encoding="utf-8")


def verdict() -> str:
    """How many items have which verdict."""
    return claims_page.verdict(reasons())
