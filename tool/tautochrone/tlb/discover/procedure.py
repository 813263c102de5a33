"""The procedure of `tau tlb discover`: one for every processor. docs/spec/discover.md.

It stops at the first value that it cannot find, says why, and keeps earlier findings.
"""

import time
from dataclasses import dataclass, field

from tautochrone.tlb.discover.checks import Check, Counting, check_of, checks_of, is_linear
from tautochrone.tlb.discover.directories.search import Sharing, sharing_of
from tautochrone.tlb.discover.index import groups_of, index_of
from tautochrone.tlb.discover.isolation import Isolation, isolation_of
from tautochrone.tlb.discover.meter import Limit, Meter
from tautochrone.tlb.discover.processors.oracle import Oracle, Unknown
from tautochrone.tlb.discover.sets import Curve, block_of, curve_of, levels_of, measured_again
from tautochrone.tlb.discover.sets import Level as LevelSize
from tautochrone.tlb.discover.ways import Level, SafeWays, safe_ways_of, ways_of

LEVEL_TRIES, DIRECTORY_TRIES = 6, 3
PAUSE_SECONDS = 0.05


@dataclass
class Array:
    """A level as found. `unknown`: why the index is missing, if it is."""

    size: LevelSize
    level: Level | None = None
    checks: list[Check] = field(default_factory=list)
    safe: SafeWays | None = None
    unknown: str = ""

    @property
    def is_verified(self) -> bool:
        """Whether there is an index, and all checks of it passed."""
        return self.level is not None and not self.unknown


@dataclass
class Found:
    """A processor as found. `unknown`: why the levels are missing, if they are."""

    curve: Curve | None = None
    arrays: list[Array] = field(default_factory=list)
    sharing: Sharing | None = None
    isolation: Isolation | None = None
    unknown: str = ""
    directory_unknown: str = ""
    calls: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0

    @property
    def is_verified(self) -> bool:
        """Whether a partition may rely on it."""
        return (
            bool(self.arrays)
            and all(each.is_verified for each in self.arrays)
            and self.sharing is not None
            and not self.directory_unknown
            and (self.isolation is None or self.isolation.is_passed)
        )


def discover(oracle: Oracle, seed: int, limit: Limit) -> Found:
    """Find what can be found within that limit."""
    started = time.monotonic()
    meter = Meter(oracle, limit=limit)
    found = Found()
    try:
        found.curve = curve_of(meter)
        for size in levels_of(found.curve, oracle.facts):
            front = 1 << found.arrays[-1].size.block_log2 if found.arrays else 0
            found.arrays.append(_array(meter, size, front, seed))
    except Unknown as error:
        found.unknown = str(error)
    _last_level(meter, found)
    found.calls = meter.calls
    found.cpu_seconds = time.process_time() - meter.cpu_started
    found.wall_seconds = time.monotonic() - started
    return found


def _array(meter: Meter, size: LevelSize, front: int, seed: int) -> Array:
    """A level. Whatever fails is tried again."""
    array = Array(size)
    for attempt in range(LEVEL_TRIES):
        try:
            if attempt:
                array.size = measured_again(meter, size)
            groups = groups_of(meter, block_of(meter, array.size), front, seed + attempt)
            index = index_of(meter, groups)
            array.checks = checks_of(meter, groups, index)
            _require(array.checks)
            array.level = Level(groups, index, ways_of(meter, groups, index), front)
            _count(meter, array)
            if index.sets > 1:
                array.safe = safe_ways_of(meter, array.level)
            array.unknown = ""
            break
        except Unknown as error:
            array.unknown = str(error)
            time.sleep(PAUSE_SECONDS if meter.oracle.facts.is_shared else 0)
    return array


def _count(meter: Meter, array: Array) -> None:
    """Algorithm 1, if misses of the level are counted and the index is of its kind."""
    oracle, level = meter.oracle, array.level
    if level is None or not isinstance(oracle, Counting) or not is_linear(level.index):
        return
    if array.size.number in oracle.counted_levels:
        bits = oracle.facts.page_bits
        check = check_of(oracle, array.size.number, level.index, level.ways.least, bits)
        array.checks.append(check)
        _require([check])


def _require(checks: list[Check]) -> None:
    for check in checks:
        if not check.is_passed:
            raise Unknown(
                f"the check with {check.name} was right {check.right} times of {check.count}"
            )


def _last_level(meter: Meter, found: Found) -> None:
    """Directories and isolation, which need the last level."""
    last = found.arrays[-1].level if found.arrays and found.arrays[-1].is_verified else None
    if last is None:
        found.directory_unknown = "the index of the last level is unknown"
        return
    for _ in range(DIRECTORY_TRIES):
        try:
            sharing = sharing_of(meter, last)
            _require(sharing.checks)
            found.sharing, found.directory_unknown = sharing, ""
            break
        except Unknown as error:
            found.directory_unknown = str(error)
    if found.sharing is not None and last.index.sets > 1:
        try:
            found.isolation = isolation_of(meter, last, found.sharing)
        except Unknown as error:
            found.directory_unknown = str(error)
