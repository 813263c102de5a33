"""A system alone, and in many runs beside random neighbors in its idle slots.

Each neighbor is linked with a seed of its own, and a load of it adds the time: no two do the same.
A run holds as many as come and go in its major frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tautochrone.compose import check, code
from tautochrone.compose.making import Made, made_of, root, without
from tautochrone.compose.neighborhood import neighborhood, rooms
from tautochrone.compose.run import Run, run_made
from tautochrone.compose.system import IDLE, Application, System
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError

SOURCE = "kernel/systems/neighbors/neighbor.c"
TASK = "neighbor"
NEIGHBORS_MAX = 8  # applications in idle slots of one run
ADDRESS, STRIDE = 0x80200000, 0x100000


@dataclass(frozen=True)
class Campaign:
    """What was compared. `first`: the first difference, with the number of its run."""

    runs: int
    neighbors: tuple[dict[str, Any], ...]
    events_compared: int
    largest_difference_cycles: int
    first: check.Difference | None
    first_run: int | None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "runs_compared": self.runs,
            "neighbors": list(self.neighbors),
            "events_compared": self.events_compared,
            "largest_difference_cycles": self.largest_difference_cycles,
            "first_difference": {"run": self.first_run, **asdict(self.first)}
            if self.first
            else None,
        }


def places_of(system: System) -> list[tuple[int, int]]:
    """Tile and slot of each idle slot that gets a neighbor."""
    free = [
        (place, number)
        for number in range(max(map(len, system.slots)))
        for place, slots in enumerate(system.slots)
        if number < len(slots) and slots[number] == IDLE
    ]
    room = min(NEIGHBORS_MAX, code.APPLICATIONS_MAX - len(system.applications))
    return free[: max(room, 0)]


def beside(
    made: Made, folder: Path, places: list[tuple[int, int]], seed: int
) -> tuple[System, dict[str, int]]:
    """The system with a neighbor in each of these slots, without commands; and their tiles."""
    system = made.system
    slots = [list(each) for each in system.slots]
    tiles: dict[str, int] = {}
    applications = list(system.applications)
    for number, (place, slot) in enumerate(places):
        name = f"~neighbor{number}"  # no name of a user has a ~
        executable = code.application(
            root(),
            name,
            [root() / SOURCE],
            made.base.path,
            folder,
            [f"-DTAU_NEIGHBOR_SEED={seed * NEIGHBORS_MAX + number + 1}u"],
            1024,
            ADDRESS + STRIDE * number,
        )
        applications.append(Application(name, executable, (TASK,), 4096, 1024))
        slots[place][slot] = f"{name}.{TASK}"
        tiles[name] = place
    return (
        replace(system, applications=tuple(applications), slots=tuple(map(tuple, slots))),
        tiles,
    )


def campaign(
    made: Made,
    folder: Path,
    neighbors: int,
    seed: int,
    frames: int,
    leak: str,
    only: str | None,
    progress: Callable[[Iterable[int], str], Iterable[int]],
) -> Campaign:
    """Compare runs until NEIGHBORS have come. With ONLY, the system's others are neighbors too."""
    system = made.system
    names = [only] if only else [each.name for each in system.applications]
    for name in names:
        if name not in [each.name for each in system.applications]:
            known = ", ".join(each.name for each in system.applications)
            raise TauError(f"there is no application {name}", f"there are {known}", EXIT_USAGE)
    others = {each.name for each in system.applications} - set(names)
    numbers = [system.number(name) for name in names]
    places = places_of(system)
    if not places and not others:
        raise TauError(
            "no neighbor has a place: there is no idle slot, or no application is left",
            'give a tile of the system a slot "idle", or compare one --application with the others',
        )
    alone = run_made(folder, replaced(made, without(system, others)), frames, leak)
    _refuse_stop(alone, "alone")
    found = Campaign(0, (), 0, 0, None, None)
    company = alone
    if others:
        company = run_made(folder, made, frames, leak)
        _refuse_stop(company, "beside the system's other applications")
        loads = [each for each in system.commands if each.application in others]
        found = _with(found, alone, company, numbers, loads, None)
    free = rooms(system, company)
    for _ in progress(_runs(lambda: bool(places) and len(found.neighbors) < neighbors), "runs"):
        run_seed = seed * 1_000_000 + found.runs
        full, added = beside(made, folder, places, run_seed)
        full = neighborhood(full, added, free, run_seed, frames)
        new = [each for each in full.commands if each.application in added]
        if not any(each.operation == "load" for each in new):
            least = min(each.late_first + 3 * each.load_frames for each in free)
            raise TauError(
                f"no neighbor can come and go within {frames} major frames",
                f"give --major-frames {least} or more",
                EXIT_USAGE,
            )
        done = run_made(folder, replaced(made, full), frames, leak)
        _refuse_stop(done, f"beside the neighbors of seed {run_seed}")
        found = _with(found, alone, done, numbers, new, run_seed)
    return found


def replaced(made: Made, system: System) -> Made:
    """The files of another system with the same kernel and base code."""
    return made_of(system, made.base, made.kernel)


def _runs(goes_on: Callable[[], bool]) -> Iterator[int]:
    number = 0
    while goes_on():
        yield number
        number += 1


def _with(
    found: Campaign,
    alone: Run,
    done: Run,
    applications: list[int],
    commands: list[Any],
    seed: int | None,
) -> Campaign:
    """The campaign with one more run; SEED is None for applications of the system itself."""
    number = found.runs
    verdicts = [check.compare(alone, done, application) for application in applications]
    first = next((each.first for each in verdicts if each.first), None)
    came = tuple(
        {"run": number, "name": each.application, "seed": seed, "major_frame": each.major_frame}
        for each in commands
        if each.operation == "load"
    )
    largest = max(each.largest_difference_cycles for each in verdicts)
    return Campaign(
        found.runs + 1,
        found.neighbors + came,
        found.events_compared + sum(each.events_compared for each in verdicts),
        max(found.largest_difference_cycles, largest),
        found.first or first,
        number if first and not found.first else found.first_run,
    )


def _refuse_stop(run: Run, when: str) -> None:
    if run.stopped:
        raise TauError(
            f"the kernel stopped {when}: {run.stopped}",
            "`tau compose run` shows how far it came",
        )


def show(found: Campaign) -> None:
    """Print for people."""
    print(
        f"{output.count(found.runs, 'run')} beside"
        f" {output.count(len(found.neighbors), 'neighbor')} that came and went:"
        f" {found.events_compared:,} events compared"
    )
    if found.first is None:
        print("no event moved by one cycle, and the output is the same")
        return
    first = found.first
    print(f"first difference: {first.event}, in run {found.first_run}")
    print(f"  alone {_cycle(first.alone)}, beside them {_cycle(first.beside)}")
    print(f"  shared: {first.resource}")
    print(f"largest difference: {found.largest_difference_cycles:,} cycles")


def _cycle(cycle: int | None) -> str:
    return "never" if cycle is None else f"in cycle {cycle:,}"
