"""A user's own limits for a plan of bands, and how recordings exceed them.

A limit says how many objects of one size, or of one call site, are alive at most. It wins over
the recordings: its objects leave them, and every band with one of its sizes has so many blocks
more. Of limits that exclude each other, only the largest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from tautochrone.errors import TauError
from tautochrone.facts import limits_format
from tautochrone.files import toml_file
from tautochrone.heap.objects import Objects
from tautochrone.trace.file import TraceReader

NEXT_STEP = "write [[limit]] tables with count, and with size_bytes, type_name or site"


@dataclass(frozen=True)
class Limit:
    """At most `count` objects of `size_bytes`, or from `site`, are alive.

    If there is a `type_name`, it stood for the size.
    """

    name: str
    size_bytes: int | None
    site: str | None
    count: int
    type_name: str = ""

    def told(self) -> str:
        """The limit in words."""
        what = f"of {self.size_bytes:,} bytes" if self.site is None else f"from {self.site}"
        what += f" ({self.type_name})" if self.type_name else ""
        return f"at most {self.count:,} {what}"


@dataclass(frozen=True)
class Limits:
    """Limits, and groups of them whose objects are never alive together, by place in `limits`.

    Every limit is in one group; most are alone in it.
    """

    limits: tuple[Limit, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()


def load(path: Path, size_of: Callable[[str], int] | None = None) -> Limits:
    """Read a file of limits. `size_of` gives a type's bytes, or raises ValueError with the cause.

    Raises TauError with the line, for contradictions too.
    """
    _, document, reader = toml_file.read_toml(path, "limits", NEXT_STEP)
    table = reader.table("", document, limits_format.DOCUMENT)
    limits: list[Limit] = []
    for index, row in enumerate(table["limit"]):
        place = f"limit[{index}]"
        size, site, type_name = row.get("size_bytes"), row.get("site"), row.get("type_name", "")
        if (size, site, type_name or None).count(None) != 2:
            raise reader.fail(f"{place} needs one of size_bytes, type_name and site", place=place)
        try:
            size = (size_of or _needs_program)(type_name) if type_name else size
        except ValueError as error:
            raise reader.fail(f"{place}: {error}", place=place) from error
        if site is not None:
            site = PurePath(site).name  # `tau export` writes the module's path
        limits.append(Limit(row.get("name") or place, size, site, row["count"], type_name))
        for other in limits[:-1]:
            if other.name == limits[-1].name:
                raise reader.fail(f"{place}: the name {other.name} is there twice", place=place)
            if (other.size_bytes, other.site) == (size, site):
                both = f"{other.told()}, and {limits[-1].told()}"
                raise reader.fail(f"{place} contradicts {other.name}: {both}", place=place)
    return Limits(tuple(limits), _groups(reader, limits, table.get("exclusive", [])))


def _groups(
    reader: toml_file.Reader, limits: Sequence[Limit], rows: Sequence[dict[str, list[str]]]
) -> tuple[tuple[int, ...], ...]:
    """The places of limits in each group. Raises TauError for an unknown or repeated name."""
    places = {limit.name: place for place, limit in enumerate(limits)}
    groups, taken = [], set()
    for index, row in enumerate(rows):
        where = f"exclusive[{index}]"
        for name in row["limits"]:
            if name not in places:
                raise reader.fail(f"{where}: no limit is called {name}", place=where)
            if name in taken:
                raise reader.fail(f"{where}: {name} is in another group or twice", place=where)
            taken.add(name)
        groups.append(tuple(places[name] for name in row["limits"]))
    groups += [(place,) for name, place in places.items() if name not in taken]
    return tuple(filter(None, groups))


def _needs_program(name: str) -> int:
    raise ValueError(f"name with --elf the program that has the type {name}")


def site_names(reader: TraceReader) -> list[str]:
    """The call sites of a recording, MODULE+0xOFFSET; site number s of an event is entry s - 1."""
    return [f"{PurePath(module).name}+{offset:#x}" for module, offset in reader.sites()]


class Matched:
    """Which limit each object of the recordings falls under, gathered while they are read.

    An object falls under the limit of its call site, else under the limit of the size that was
    asked for. `keys` has each limit's sizes as bands count them, `alignments` the largest alignment
    of each of these sizes. `seen` has the names of limits that some object falls under.
    """

    def __init__(self, limits: Limits, granule_bytes: int) -> None:
        self.limits = limits
        self.granule_bytes = granule_bytes
        self.keys: list[set[int]] = [set() for _ in limits.limits]
        self.alignments: dict[int, int] = {}
        self.seen: set[str] = set()
        for limit, keys in zip(limits.limits, self.keys, strict=True):
            if limit.size_bytes is not None:
                keys.add(self._rounded(limit.size_bytes))
                self.alignments[self._rounded(limit.size_bytes)] = granule_bytes

    def _rounded(self, size_bytes: int) -> int:
        return -(-size_bytes // self.granule_bytes) * self.granule_bytes

    def excluded(self, reader: TraceReader, objects: Objects) -> np.ndarray:
        """Whether each object is limited, so that its recorded number does not count."""
        found = np.zeros(len(objects.number), bool)
        names = site_names(reader) if self.limits.limits else []
        pairs = list(zip(self.limits.limits, self.keys, strict=True))
        for limit, keys in sorted(pairs, key=lambda pair: pair[0].site is None):
            if limit.size_bytes is not None:
                mine = objects.asked_bytes == limit.size_bytes
            else:
                numbers = [index + 1 for index, name in enumerate(names) if name == limit.site]
                mine = np.isin(objects.site, numbers)
            mine &= objects.makes & ~found
            found |= mine
            if mine.any():
                self.seen.add(limit.name)
            for alignment in np.unique(objects.alignment_bytes[mine]).tolist():
                new = mine & (objects.alignment_bytes == alignment)
                for key in np.unique(objects.size_bytes[new]).tolist():
                    keys.add(key)
                    self.alignments[key] = max(alignment, self.alignments.get(key, 0))
        return found

    def refuse_unseen(self) -> None:
        """Raise TauError for a site that no recording has: nothing says which sizes it asks for."""
        for limit, keys in zip(self.limits.limits, self.keys, strict=True):
            if not keys:
                raise TauError(
                    f"{limit.name}: no recording has an object from {limit.site}",
                    "name a call site as `tau export` writes it to CSV, without an apostrophe in"
                    " front: MODULE+0xOFFSET, or +0xADDRESS in a firmware; or limit its size",
                )

    def more(self, sizes_bytes: np.ndarray) -> np.ndarray:
        """[low, high]: how many blocks a band from one size to another needs for the limits."""
        count = len(sizes_bytes)
        more = np.zeros((count, count), np.int64)
        for group in self.limits.groups:
            most = np.zeros((count, count), np.int64)
            for place in group:
                has = np.isin(sizes_bytes, list(self.keys[place])).astype(np.int64)
                before = np.concatenate([[0], np.cumsum(has)])
                is_in = before[None, 1:] > before[:-1, None]
                most = np.maximum(most, np.where(is_in, self.limits.limits[place].count, 0))
            more += np.triu(most)
        return more
