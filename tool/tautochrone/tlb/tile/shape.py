"""The TLBs that the tile is simulated with: `16x4`, `16x4+128x4`, `16x4:xor`."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.tile import build
from tautochrone.tlb.geometry import CODE, DATA, Array, Geometry, Structure, geometry_of

POLICIES = ("lru", "plru", "random")
LEVEL = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,2})")
HASHED = ":xor"  # Behind the last level.
SETS_MAX, WAYS_MAX = 1024, 16
SECOND_LEVEL_UNUSED = (128, 4)  # What the unit's parameters are where there is none.
SECOND_LEVEL_CYCLES = 2  # A lookup in the second level.
PAGE_BITS = 18
OWNER_BITS = 4
LATENCIES_MAX = 16
FIRST_LATENCIES = (1, 1)  # Latencies of tables that the unit does not read.


@dataclass(frozen=True)
class Shape:
    """Sets and ways of each level, replacement, the cycles of the page table, and the index.

    A hashed index is the exclusive or of all fields of the page number; otherwise it is the lowest.
    """

    levels: tuple[tuple[int, int], ...]
    policy: str = "lru"
    latency: int = 1
    is_hashed: bool = False

    @property
    def name(self) -> str:
        """As on the command line."""
        levels = "+".join(f"{sets}x{ways}" for sets, ways in self.levels)
        return levels + (HASHED if self.is_hashed else "")

    @property
    def miss_cycles(self) -> int:
        """What a reloaded entry costs at most (hw/tlb/doc/tlb.md). The port is busy meanwhile, so
        that the next word of code comes a cycle later than it would."""
        return self.latency + 1 + (SECOND_LEVEL_CYCLES if len(self.levels) > 1 else 0)

    def geometry(self) -> Geometry:
        """Which set of which array an entry goes to. Safe ways as facts/geometry.toml says."""
        names = ["data", "instructions", "second level"][: len(self.levels) + 1]
        shapes = [self.levels[0], *self.levels]
        arrays = [
            Array(name, sets, ways, self._safe_ways(ways))
            for name, (sets, ways) in zip(names, shapes, strict=True)
        ]
        used = [(DATA, 0), (CODE, 1), *((role, 2) for role in (DATA, CODE) if len(arrays) > 2)]
        structures = [
            Structure(role, 4096, number, self._rows(arrays[number].sets), 0)
            for role, number in used
        ]
        return Geometry(self.name, 4096, "user", "hw/tlb", None, tuple(arrays), tuple(structures))

    def _rows(self, sets: int) -> tuple[int, ...]:
        bits = sets.bit_length() - 1
        end = PAGE_BITS if self.is_hashed else bits
        return tuple(sum(1 << each for each in range(bit, end, bits)) for bit in range(bits))

    def _safe_ways(self, ways: int) -> int:
        safe = {"lru": ways, "plru": ways.bit_length(), "random": 1}
        return min(ways, safe[self.policy])

    def options(self) -> build.Options:
        """The options of the simulator."""
        second = self.levels[1] if len(self.levels) > 1 else SECOND_LEVEL_UNUSED
        values = {
            "Sets": self.levels[0][0],
            "Ways": self.levels[0][1],
            "Levels": len(self.levels),
            "Sets2": second[0],
            "Ways2": second[1],
            "XorIndex": int(self.is_hashed),
            "Replacement": POLICIES.index(self.policy),
            "OwnerBits": OWNER_BITS,
        }
        return build.Options(
            unit="tlb",
            page_bits=PAGE_BITS,
            latencies=(*FIRST_LATENCIES, self.latency),
            unit_parameters=tuple(f"{name}={value}" for name, value in values.items()),
        )

    def simulator(self, training: Sequence[str] | None = None) -> Path:
        """The simulator, built if needed. Raises TauError with the cause if the build fails.

        TRAINING is the command line of a long run, which trains it.
        """
        path = build.simulator(self.options(), training=training)
        assert path is not None
        return path

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, **asdict(self)}


def parsed(text: str, policy: str = "lru", latency: int = 1) -> Shape:
    """The shape that TEXT names. Raises TauError (usage) if it names none that the unit has."""
    levels = []
    for word in text.removesuffix(HASHED).split("+"):
        found = LEVEL.fullmatch(word)
        if found is None:
            raise _wrong(text, f"{word!r} is not a level")
        sets, ways = int(found[1]), int(found[2])
        if sets.bit_count() != 1 or ways.bit_count() != 1:
            raise _wrong(text, f"{word}: sets and ways are powers of two")
        if sets > SETS_MAX or ways > WAYS_MAX:
            raise _wrong(text, f"{word}: at most {SETS_MAX} sets of {WAYS_MAX} ways")
        levels.append((sets, ways))
    if len(levels) > 2:
        raise _wrong(text, f"{len(levels)} levels are more than the unit's two")
    if policy not in POLICIES:
        raise TauError(f"unknown policy {policy}", f"use {', '.join(POLICIES)}", EXIT_USAGE)
    if not 1 <= latency <= LATENCIES_MAX:
        raise TauError(f"a latency of {latency} cycles", f"use 1 to {LATENCIES_MAX}", EXIT_USAGE)
    return Shape(tuple(levels), policy, latency, text.endswith(HASHED))


def geometry_or_shape(text: str, policy: str | None) -> Geometry:
    """The geometry of a shape with a policy (None: lru), or a known one, or a file's."""
    if LEVEL.match(text):
        return parsed(text, policy or POLICIES[0]).geometry()
    if policy is not None:
        raise TauError(f"{text} has its own safe ways", "leave out --policy", EXIT_USAGE)
    return geometry_of(text)


def shape_of(geometry: Geometry, latency: int) -> Shape | None:
    """The LRU shape with the sets of a geometry; None if the unit has none."""
    text = "+".join(f"{each.sets}x{each.ways}" for each in geometry.arrays[1:])
    try:
        shapes = [parsed(text + index, latency=latency) for index in ("", HASHED)]
    except TauError:
        return None
    return next((each for each in shapes if each.geometry().has_sets_of(geometry)), None)


def _wrong(text: str, cause: str) -> TauError:
    return TauError(f"the shape {text!r}: {cause}", "use 16x4, 16x4+128x4, or 16x4:xor", EXIT_USAGE)
