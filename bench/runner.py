"""Runs one bench: it measures, prints, writes out/bench/NAME.json, and complains.

    python -m bench FOLDER [--quick] [OPTIONS] [WORD …]

Exit status 1 if it cannot be measured, 3 if something is not as it must be; each complaint is a
line on stderr.
"""

import argparse
import operator
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.commands import OUT, ROOT
from bench.result_file import write_result
from tautochrone.errors import TauError

FAILED, BAD = 1, 3
TABLES = ROOT / "bench" / "tables.toml"
Given = argparse.Namespace


@dataclass(frozen=True)
class Bench:
    """A bench. `measure` gets the command line (`quick`, `words` and OPTIONS) and a scratch
    `folder` on the disk, and returns the result. `lines` are printed below the tables of
    tables.toml, and `complaints` are judged besides its limits."""

    name: str
    measure: Callable[[Given], Any]
    lines: Callable[[Any], Iterable[str]] = lambda _: ()
    complaints: Callable[[Any], Iterable[str]] = lambda _: ()
    options: Mapping[str, Any] = field(default_factory=dict)  # Names, with argparse's settings.

    def printed(self, result: Any) -> list[str]:
        """All lines."""
        shown = [
            line
            for each in tables_of(self.name).get("table", ())
            for line in table(rows_at(result, each["rows"]), each["columns"])
        ]
        return [*shown, *self.lines(result)]

    def judged(self, result: Any) -> list[str]:
        """All complaints."""
        broken = []
        for limit in tables_of(self.name).get("limit", ()):
            for word, is_beyond in (("least", operator.lt), ("most", operator.gt)):
                for row in rows_at(result, limit["rows"]):
                    value, first = row[limit["value"]], [*row.values()][0]
                    if word in limit and is_beyond(value, limit[word]):
                        told = f"{first}: {limit['value']} {value:g}, {word} {limit[word]:g}"
                        broken.append(told)
        return [*broken, *self.complaints(result)]

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Measure, write, print and complain; the exit status."""
        parser = argparse.ArgumentParser(prog=f"bench {self.name}", allow_abbrev=False)
        parser.add_argument("--quick", action="store_true", help="few of everything")
        parser.add_argument("words", nargs="*", help="what to measure (default: all)")
        for name, settings in self.options.items():
            parser.add_argument(name, **settings)
        given = parser.parse_args(arguments)
        OUT.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(prefix=f"{self.name}-", dir=OUT) as name:
                given.folder = Path(name)
                result = self.measure(given)
        except TauError as error:
            print(f"{self.name}: {error.message} ({error.next_step or '-'})", file=sys.stderr)
            return FAILED
        path = OUT / f"{self.name}.json"
        write_result(path, result)
        for line in self.printed(result):
            print(line)
        wrong = self.judged(result)
        for complaint in wrong:
            print(f"{self.name}: {complaint}", file=sys.stderr)
        print(path.relative_to(ROOT), file=sys.stderr)
        return BAD if wrong else 0


def tables_of(name: str) -> dict[str, Any]:
    """A bench's part of tables.toml."""
    return dict(tomllib.loads(TABLES.read_text(encoding="utf-8")).get(name, {}))


def rows_at(result: Any, key: str) -> list[dict[str, Any]]:
    """The rows at a key of the result. A row of an object by name has that as its `name`."""
    value = result[key] if key else result
    if isinstance(value, list):
        return value
    if not any(isinstance(each, dict) for each in value.values()):
        return [{"name": name, "value": each} for name, each in value.items()]
    return [*named(value, "")]


def named(value: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Rows of objects in objects, by all of their names."""
    if all(isinstance(each, dict) for each in value.values()):
        for key, each in value.items():
            yield from named(each, f"{name} {key}".strip())
    else:
        yield {"name": name, **value}


def table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> list[str]:
    """Lines of a table: COLUMNS are formats such as "{malloc:.1f}" by their heads. A cell of which
    something is missing is empty. The first column is at the left, numbers are at the right."""
    lines = [[*columns], *([cell(form, row) for form in columns.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if place else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def cell(form: str, row: Mapping[str, Any]) -> str:
    """A cell of a table."""
    try:
        return form.format(**row)
    except (KeyError, IndexError, TypeError):
        return ""


def reached(
    found: Mapping[str, float], must: Mapping[str, float], least: Collection[str] = ()
) -> dict[str, bool]:
    """Which limits hold: those named in LEAST are lower limits, the others upper ones."""
    return {
        name: found[name] >= limit if name in least else found[name] <= limit
        for name, limit in must.items()
    }


def conditions() -> dict[str, Any]:
    """Other load on the machine."""
    return {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
