"""The findings, as JSON, as a table of a geometry, and for people.

docs/spec/discover.md, [DISC-24] ... [DISC-27].
"""

from typing import Any

from tautochrone import unseen
from tautochrone.console.terminal import in_one_line
from tautochrone.facts import geometry_format
from tautochrone.files.schema import table_lines
from tautochrone.tlb.discover.linear import lowest
from tautochrone.tlb.discover.procedure import Array, Found
from tautochrone.tlb.discover.processors.oracle import Facts
from tautochrone.tlb.geometry import DATA, DIRECTORY

NAMES = (("first level",), ("first level", "second level"))
UNKNOWN = "unknown"
VERIFIED, MEASURED, BOUNDED = "verified", "measured", "bounded"  # confidences
Value = dict[str, Any]


def known(value: Any, confidence: str) -> Value:
    """A value with its source."""
    return {"value": value, "source": "timing", "confidence": confidence}


def unknown(why: str) -> Value:
    """No value."""
    return {"value": UNKNOWN, "why": why}


def document_of(found: Found, facts: Facts) -> dict[str, Any]:
    """All of it. `geometry` is the table of a geometry, None unless it is verified."""
    names = NAMES[max(0, len(found.arrays) - 1)]
    why = found.unknown
    return {
        "processor": facts.name,
        "unit": facts.unit,
        "page_bytes": facts.page_bytes,
        "page_bits_tested": facts.page_bits,
        "is_verified": found.is_verified,
        "unknown": [text for text in (why, *_causes(found)) if text],
        "arrays": [_array(name, each) for name, each in zip(names, found.arrays, strict=False)],
        "structures": _structures(found, facts, names),
        "costs": _costs(found),
        "checks": _checks(found, names),
        "notes": list(facts.notes),
        unseen.KEY: list(unseen.TLB_DISCOVERY),
        "calls": found.calls,
        "cpu_seconds": round(found.cpu_seconds, 3),
        "wall_seconds": round(found.wall_seconds, 3),
        "geometry": _geometry(found, facts, names) if found.is_verified else None,
    }


def _causes(found: Found) -> list[str]:
    causes = [each.unknown for each in found.arrays]
    if found.arrays and found.directory_unknown not in causes:
        causes.append(found.directory_unknown)
    if found.isolation is not None and not found.isolation.is_passed:
        causes.append("the check of isolation failed")
    return causes


def _array(name: str, array: Array) -> dict[str, Any]:
    level = array.level
    if level is None or array.unknown:
        entries = {"least": 1 << (array.size.block_log2 - 1), "most": None}
        values = {key: unknown(array.unknown) for key in ("sets", "ways", "safe_ways")}
        return {"name": name, "entries": known(entries, BOUNDED), **values}
    sets, ways = level.index.sets, level.ways
    confidence = MEASURED if ways.least == ways.most else BOUNDED
    interval = {"least": ways.least, "most": ways.most}
    entries = {key: sets * count for key, count in interval.items()}
    found: dict[str, Any] = {
        "name": name,
        "entries": known(entries, confidence),
        "sets": known(sets, VERIFIED),
        "ways": known(interval, confidence),
        "safe_ways": unknown("nobody can own a part of a fully associative array"),
    }
    if array.safe is not None:
        found["safe_ways"] = known(array.safe.count, MEASURED)
        found["safe_ways"] |= {
            "observed": array.safe.observed,
            "misses_with_one_more": array.safe.misses,
        }
    return found


def _structures(found: Found, facts: Facts, names: tuple[str, ...]) -> list[dict[str, Any]]:
    structures: list[dict[str, Any]] = []
    for name, array in zip(names, found.arrays, strict=False):
        rows = unknown(array.unknown)
        if array.level is not None and not array.unknown:
            rows = known([f"{each:#x}" for each in array.level.index.rows], VERIFIED)
        structures.append(
            {"role": DATA, "array": name, "page_bytes": facts.page_bytes, "rows": rows}
        )
    if facts.directory_bits is None or not found.arrays:
        return structures
    structures.append(
        {
            "role": DIRECTORY,
            "array": names[-1],
            "page_bytes": facts.page_bytes << facts.directory_bits,
            **_directory(found),
        }
    )
    return structures


def _directory(found: Found) -> dict[str, Any]:
    sharing = found.sharing
    if sharing is None:
        values = {key: unknown(found.directory_unknown) for key in ("is_shared", "rows")}
        return {**values, "constant": unknown(found.directory_unknown)}
    shared = {**known(bool(sharing.rows), VERIFIED), "control": sharing.control}
    if not sharing.rows:
        none = unknown("they are not in this array")
        return {"is_shared": shared, "rows": none, "constant": none}
    rows = [f"{each:#x}" for each in sharing.rows]
    return {
        "is_shared": shared,
        "rows": known(rows, VERIFIED),
        "constant": known(sharing.constant, VERIFIED),
    }


def _costs(found: Found) -> dict[str, Value]:
    """Ticks: an access that hits, and what a miss adds."""
    none = unknown(found.unknown or "the level is unknown")
    access = found.curve
    costs = {"access": known(round(access.costs[0], 2), MEASURED) if access else none}
    names = ["second_level"] if len(found.arrays) > 1 else []
    for name, array in zip([*names, "walk"], found.arrays, strict=False):
        is_known = array.level is not None and not array.unknown
        costs[name] = known(round(array.level.ways.walk, 2), MEASURED) if is_known else none
    if found.sharing is not None and found.sharing.miss_walks is not None:
        walk = found.arrays[-1].level.ways.walk
        costs["directory"] = known(round(found.sharing.miss_walks * walk, 2), MEASURED)
    return costs


def _checks(found: Found, names: tuple[str, ...]) -> list[dict[str, Any]]:
    checks = [
        {
            "name": check.name,
            "array": name,
            "right": check.right,
            "count": check.count,
            "margin": round(check.margin, 3),
            "is_passed": check.is_passed,
        }
        for name, each in zip(
            (*names, names[-1]),
            (*(array.checks for array in found.arrays), _sharing_checks(found)),
            strict=False,
        )
        for check in each
    ]
    if found.isolation is not None:
        isolation = found.isolation
        checks.append(
            {
                "name": "isolation",
                "array": names[-1],
                "other_sets_walks": round(isolation.elsewhere_walks, 3),
                "same_set_ratio": round(isolation.same_ratio, 3),
                "tries": isolation.tries,
                "is_passed": isolation.is_passed,
            }
        )
    return checks


def _sharing_checks(found: Found) -> list[Any]:
    return found.sharing.checks if found.sharing is not None else []


def _geometry(found: Found, facts: Facts, names: tuple[str, ...]) -> dict[str, Any]:
    """As facts/geometry.toml defines it. Rows that have bits of directories are the first, so that
    a range of sets has pages of all their values."""
    arrays, structures = [], []
    order: list[int] = []
    directory = 1 << (facts.directory_bits or 0)
    for name, array in zip(names, found.arrays, strict=True):
        level = array.level
        assert level is not None
        rows = level.index.rows
        order = list(range(len(rows)))
        if facts.directory_bits is not None and found.sharing is not None and found.sharing.rows:
            order.sort(key=lambda bit: lowest(rows[bit]) < directory)
        safe = array.safe.count if array.safe is not None else 1
        arrays.append(
            {"name": name, "sets": 1 << len(rows), "ways": level.ways.least, "safe_ways": safe}
        )
        structures.append(
            {
                "role": DATA,
                "page_bytes": facts.page_bytes,
                "array": name,
                "rows": [f"{rows[bit]:#x}" for bit in order],
            }
        )
    sharing = found.sharing
    if sharing is not None and sharing.rows and facts.directory_bits is not None:
        structures.append(
            {
                "role": DIRECTORY,
                "page_bytes": facts.page_bytes << facts.directory_bits,
                "array": names[-1],
                "rows": [f"{sharing.rows[bit]:#x}" for bit in order],
                "constant": sum(
                    (sharing.constant >> bit & 1) << place for place, bit in enumerate(order)
                ),
            }
        )
    return {
        "format": geometry_format.DOCUMENT["format"]["values"][0],
        "version": geometry_format.DOCUMENT["version"]["most"],
        "page_bytes": facts.page_bytes,
        "source": "measured",
        "reference": in_one_line(f"tau tlb discover: timing on {facts.name}"),
        "array": arrays,
        "structure": structures,
    }


def toml_of(table: dict[str, Any]) -> str:
    """The file of a geometry."""
    return "\n".join([*table_lines(table, geometry_format.DOCUMENT), ""])


def show(document: dict[str, Any]) -> None:
    """Print for people."""
    print(f"{document['processor']}: {'verified' if document['is_verified'] else 'not verified'}")
    for array in document["arrays"]:
        words = [f"{key} {_text(array[key]['value'])}" for key in ("entries", "sets", "ways")]
        words.append(f"safe ways {_text(array['safe_ways']['value'])}")
        print(f"{array['name']}: {', '.join(words)}")
    for structure in document["structures"]:
        rows = structure["rows"]["value"]
        text = " ".join(rows) or "none" if isinstance(rows, list) else rows
        if structure["role"] == DIRECTORY and structure["is_shared"]["value"] is False:
            text = "not in it"
        elif structure["role"] == DIRECTORY and isinstance(rows, list):
            text += f", exclusive or {structure['constant']['value']}"
        print(f"{structure['role']} in {structure['array']}: rows {text}")
    costs = (f"{name} {_text(cost['value'])}" for name, cost in document["costs"].items())
    print(f"costs in ticks: {', '.join(costs)}")
    passed = sum(each["is_passed"] for each in document["checks"])
    left_out = "" if document["is_verified"] else "; unknown values could not be checked"
    print(f"checks passed: {passed} of {len(document['checks'])}{left_out}")
    print(
        f"{document['calls']:,} walks, {document['cpu_seconds']:.2f} CPU seconds,"
        f" {document['wall_seconds']:.2f} s"
    )
    print(unseen.told(unseen.TLB_DISCOVERY))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        least, most = value["least"], value["most"]
        return f"{least:,}" if least == most else f"{least:,} to {_text(most)}"
    return f"{value:,}" if isinstance(value, int) else str("more" if value is None else value)
