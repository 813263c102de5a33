"""Heaps on the simulated tile, an Ibex core with a memory management unit, counted in cycles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tautochrone.machine.core_build import Build
from tautochrone.errors import TauError
from tautochrone.replay.entry import (
    CONVENTIONAL,
    CYCLES,
    LINEAR,
    OURS,
    Entry,
    Measure,
    Operation,
    Scatter,
    Simulation,
)
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.system import Options, State, System
from tautochrone.replay.systems.paged import (
    ALWAYS_SHOWN,
    FOLLOWS,
    entry_of,
    pages_of,
    refuse_layout,
    space_of,
)
from tautochrone.tile.systems import PAIRS, PREFIX, Pair, parsed

if TYPE_CHECKING:
    from tautochrone.replay.tile import TileAccesses, TileCalls


@dataclass(frozen=True)
class Tile(System):
    """A heap on the tile (replay/tile.py); its name has the unit and the configuration."""

    name: str
    role: str
    about: str
    follows: ClassVar[frozenset[str]] = FOLLOWS | {"cycles_max"}
    is_parallel: ClassVar[bool] = True
    targets: ClassVar[tuple[str, ...]] = ("tile",)

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) for a layout of other than 32-bit code."""
        refuse_layout(self.name, options)

    def prepare(self) -> None:
        """Build the simulator, which takes half a minute."""
        from tautochrone.tile.systems import simulator, tile_system

        simulator(tile_system(self.name))

    def run(self, trace: OpenTrace, options: Options) -> Entry:
        """Replay in the simulator; every number is exact and the same in every run."""
        from dataclasses import replace

        from tautochrone.replay.tile import CYCLES_MAX, tile_replay

        done = tile_replay(
            *(trace, self.name, *space_of(options, self.role), options.paged_check_level),
            *(options.skip_misuse, options.touch_all, options.cycles_max or CYCLES_MAX),
        )
        shown = {
            kind: calls for kind, calls in done.calls.items() if calls.count or kind in ALWAYS_SHOWN
        }
        is_bounded = self._is_bounded(options.paged_check_level)
        operations = {
            kind: _operation(kind, each, self._bound(kind) if is_bounded else None, is_bounded)
            for kind, each in {**shown, **done.accesses}.items()
        }
        entry = entry_of(done, self.role, pages_of(done, options.touch_all), operations)
        told = Simulation(done.cycles, done.start_cycles, done.counters)
        return replace(entry, simulation=told)

    def _is_bounded(self, check_level: int) -> bool:
        """Whether bounds are known for the processor; checks make other code."""
        from tautochrone.tile import cycle_bounds
        from tautochrone.tile.systems import tile_system

        return tile_system(self.name).config == cycle_bounds.CONFIG and check_level == 0

    def _bound(self, operation: str) -> int | None:
        """The bound of an operation or of an access, in cycles."""
        from tautochrone.tile.cycle_bounds import tile_bound
        from tautochrone.tile.systems import tile_system

        return tile_bound(tile_system(self.name), operation)

    def bounds(self, target: str, build: Build) -> Iterable[tuple[str, str, int | None]]:
        """The bounds in cycles; the target is the tile itself."""
        from tautochrone.tile.cycle_bounds import tile_bounds
        from tautochrone.tile.systems import tile_system

        for operation, bound in tile_bounds(tile_system(self.name)).items():
            yield operation, CYCLES, bound

    def state(self, build: bool) -> State:
        """Return whether its simulator is built or can be built."""
        from tautochrone.tile.systems import (
            BUILD_COMMAND,
            buildable,
            simulator,
            tile_system,
        )

        try:
            found = simulator(tile_system(self.name), build)
            if found is None:
                buildable()
        except TauError as error:
            return State(False, error.message, error.next_step)
        if found is None:
            detail = "simulator not built; the first replay builds it"
            return State(False, detail, BUILD_COMMAND)
        return State(True, "simulator built")


def _operation(
    kind: str, each: TileCalls | TileAccesses, bound: int | None, is_bounded: bool
) -> Operation:
    """Calls, faults or accesses with all of their costs."""
    mean = each.mean_cycles
    costs = (None if mean is None else round(mean, 2), each.p999_cycles, each.max_cycles, bound)
    by_size = each.by_size()
    return Operation(
        kind,
        each.count,
        (Measure(CYCLES, *costs),),
        grows=LINEAR if is_bounded and bound is None else None,
        by_size=None if by_size is None else Scatter(*by_size),
        histogram=each.histogram(),
    )


def named(name: str) -> Tile | None:
    """The system for a name with a configuration; None if it is not on the tile."""
    found = parsed(name)
    return None if found is None else Tile(name, _role(found[0]), _about(found[0]))


def _role(pair: Pair) -> str:
    return CONVENTIONAL if pair.heap.is_conventional else OURS


def _about(pair: Pair) -> str:
    return f"on the simulated tile, in cycles: {pair.heap.about_of(pair.name)}"


SYSTEMS = tuple(Tile(PREFIX + pair.name, _role(pair), _about(pair)) for pair in PAIRS)
