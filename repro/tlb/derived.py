"""What follows from the results: sums over all task sets, the rows of tables, series of figures."""

from typing import Any

from repro.tlb import layouts

TITLES = {"figure18": "Fig. 18", "figure20": "Fig. 20"}
Rows = list[dict[str, Any]]


def derived(results: dict[str, Any]) -> dict[str, Any]:
    """All of it."""
    table1, layouts_rows = results["table1"]["sets"], results["layouts"]["sets"]
    figure19 = sorted(results["figure19"]["tasks"].items(), key=lambda item: int(item[0]))
    figure9, random = results["synthetic"]["figure9"], results["bounds"]["random"]
    sets = {"Figs. 9 to 12": figure9}
    sets |= {TITLES.get(name, f"Table I, {name} tasks"): rows for name, rows in table1.items()}
    sets |= {f"Fig. 19, {name} tasks": rows for name, rows in figure19}
    drawn = table1 | {f"{name} tasks": rows for name, rows in figure19}
    return sums(sets) | {
        "tasks_rows": [
            {"set": name, "number": number, **row}
            for name, rows in sets.items()
            for number, row in enumerate(rows, start=1)
        ],
        "layouts_rows": [{"name": name, "in": layouts_rows[name]} for name in layouts.SETS],
        "switches_rows": [
            {"set": name, "policy": policy, "spread": max(row["job_cycles_spread"]), **row}
            for name, policies in results["isolation"]["switches"].items()
            for policy, row in policies.items()
        ],
        "bounds_rows": [
            {"name": name, "bounded": row["tasks"] - row["tasks_without_bound"], **row}
            for name, row in random.items()
        ],
        "silicon_rows": silicon_rows(results["silicon"]),
        "figure6": pages_per_set(results["figure6"]),
        "figure7": {
            f"{name} set": results["synthetic"]["figure7"]["2"][name]["misses"][0]
            for name in ("same", "other")
        },
        "figure9": {
            f"T{number}, {name}": row[name]["by_job"]
            for number, row in enumerate(figure9, start=1)
            for name in ("malloc", "colored")
        },
        "misses": {
            "misses": {
                f"{name}: T{number} {row['program']}": row["malloc"]["median"]
                for name, rows in drawn.items()
                for number, row in enumerate(rows, start=1)
            }
        },
        "layouts": {
            layout: {name: layouts_rows[name][layout]["median"] for name in layouts.SETS}
            for layout in (*layouts.RUNS, "colored")
        },
        "bounds": {name: random[name]["percentiles"] for name in ("colored", "uncolored")},
    }


def sums(sets: dict[str, Rows]) -> dict[str, Any]:
    """Over all task sets: the most misses of a colored job, and tasks that miss without."""
    tasks = [row for rows in sets.values() for row in rows]
    colored = [row["colored"] for row in tasks]
    return {
        "task_sets": len(sets),
        "jobs": sum(each["jobs"] * len(each["cross_evictions"]) for each in colored),
        "colored_most": max(each["job_most"] for each in colored),
        "colored_cross": sum(sum(rows[0]["colored"]["cross_evictions"]) for rows in sets.values()),
        "malloc_missing": sum(row["malloc"]["most"] > 0 for row in tasks),
        "tasks": len(tasks),
    }


def pages_per_set(found: dict[str, Any]) -> dict[str, list[int]]:
    """The most pages in each set with objects of some sizes, and with colors."""
    malloc = {f"malloc, {size} bytes": row["max"] for size, row in found["malloc"].items()}
    return dict([*malloc.items()][:3]) | {"colors": found["colors"]["max"]}


def silicon_rows(found: dict[str, Any]) -> Rows:
    """A victim after an attacker; below it, threads that nobody attacks."""
    attack = found["attack"]
    walks = f"victim after {attack['pages']} pages of "
    ticks = {
        f"{walks}a task with many sets": f"{attack['quiet']} a pass",
        f"{walks}an attacker in {attack['sets']} other sets": f"{attack['other']} a pass",
        f"{walks}its own {attack['sets']} sets": f"{attack['own']} a pass",
    }
    for row in found["threads"]:
        ticks[f"16 threads, no attacker: {row['name']}"] = f"{row['ticks']:.2f} an access"
    return [{"who": who, "ticks": each} for who, each in ticks.items()]
