"""facts/*.toml and hw/tile/configs.toml: constants, and schemas of files.

`trace_format.OP_FREE` is `free` in table `op` of facts/trace.toml. A file is read when the first of
its names is asked for; a name that it lacks is an AttributeError, a missing file a TauError.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tautochrone import native

Table = dict[str, Any]


class Facts:
    """The names of one file, which `names_of` makes of its tables."""

    def __init__(self, file: str, names_of: Callable[[Table], Table]) -> None:
        self._file = file
        self._names_of = names_of

    def __getattr__(self, name: str) -> Any:
        """Called for a missing attribute: for every name until the file is read."""
        if not name.startswith("_") and "_is_read" not in vars(self):
            vars(self).update(self._names_of(_read(self._file)), _is_read=True)
            return getattr(self, name)
        raise AttributeError(f"{self._file} has no {name}")


def _read(file: str) -> Table:
    import tomllib

    return tomllib.loads(native.file(file).read_text(encoding="utf-8"))


def _constants(tables: Table) -> Table:
    """Every value, and the tables. A value in a table has the table's name as a prefix."""
    found = dict(tables)
    for name, table in tables.items():
        if isinstance(table, dict):
            found |= {f"{name}_{key}": value for key, value in table.items()}
    return {name.upper(): value for name, value in found.items()}


def _answers(table: str, tables: Table) -> Table:
    """The numbers by name, NAMES in their order, and what each number means."""
    rows = [(name.upper(), number, meaning) for name, (number, meaning) in tables[table].items()]
    return {
        **{name: number for name, number, _ in rows},
        "NAMES": tuple(name for name, _, _ in rows),
        "MEANING": {number: meaning for _, number, meaning in rows},
    }


# ---- Schemas, as tautochrone.files.schema reads them; facts/plan.toml says how one is written ----


@functools.cache
def _types() -> Table:
    return _read("facts/types.toml")


def _rows(table: Table) -> Table:
    """The facts of a table's rows by their keys; numbers of the table itself stay."""
    return {
        key.removesuffix("?"): value
        if isinstance(value, int)
        else _fact(value) | ({"optional": True} if key.endswith("?") else {})
        for key, value in table.items()
    }


def _fact(row: Any) -> Table:
    """The values that a key may have."""
    if isinstance(row, str):
        return {"type": row} if row in ("text", "truth") else _fact(_types()[row])
    if isinstance(row, list) and isinstance(row[0], str):
        return {"type": "text", "values": row}
    if isinstance(row, list):
        kind = "fraction" if isinstance(row[0], float) else "integer"
        return {"type": kind, "least": row[0], "most": row[1]}
    if "of" in row:
        return _fact(row["of"]) | {key: value for key, value in row.items() if key != "of"}
    return {"type": "table", **_rows(row)}


def _plan(tables: Table) -> Table:
    """FORMAT and VERSION; each table of SECTIONS is one of a plan, TRACE is once per recording."""
    sections = {name: _rows(table) for name, table in tables.items() if isinstance(table, dict)}
    trace = sections.pop("trace")
    names = {"FORMAT": tables["format"], "VERSION": tables["version"]}
    return names | {"SECTIONS": sections, "TRACE": trace}


def _document(tables: Table) -> Table:
    return {"DOCUMENT": _rows(tables)}


def _geometry(tables: Table) -> Table:
    return _document(tables["document"]) | {"GEOMETRIES": tables["geometry"]}


abi_format = Facts("facts/abi.toml", _constants)
code_format = Facts("facts/code.toml", _constants)
compose_format = Facts("facts/compose.toml", _constants)
config_format = Facts("hw/tile/configs.toml", lambda tables: {"CONFIGS": tables})
fault_format = Facts("facts/status.toml", functools.partial(_answers, "fault"))
geometry_format = Facts("facts/geometry.toml", _geometry)
plan_format = Facts("facts/plan.toml", _plan)
replay_format = Facts("facts/replay.toml", _constants)
status_format = Facts("facts/status.toml", functools.partial(_answers, "status"))
system_format = Facts("facts/system.toml", _document)
limits_format = Facts("facts/limits.toml", _document)
tasks_format = Facts("facts/tasks.toml", _document)
tile_format = Facts("facts/tile.toml", _constants)
trace_format = Facts("facts/trace.toml", _constants)
