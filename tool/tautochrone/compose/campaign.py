"""A system alone, and in many runs with random neighbors in its idle slots.

Each neighbor is linked with a seed of its own, and a load of it adds the time: no two do the same.
A run holds as many as come and go in its epochs.
"""

import functools
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.compose import check, code, leaks, promises
from tautochrone.compose.making import Made, made_of, root, without
from tautochrone.compose.neighborhood import (
    TOO_LATE_EPOCH,
    delay_epochs,
    delayed,
    neighborhood,
    rooms,
)
from tautochrone.compose.run import Run, run_made
from tautochrone.compose.system import IDLE, Application, Fifo, System
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError

SOURCE = "kernel/systems/neighbors/neighbor.c"
TASK = "neighbor"
FIFO = Fifo(TASK, TASK, leaks.NEIGHBOR_FIFO_BYTES)  # To itself.
NEIGHBORS_MAX = 8  # Applications in idle slots of one run.
NEIGHBOR = "~neighbor"  # No name of a user has a ~.
RUNS_MAX = 1_000_000  # Whose seeds differ.
EXTRA_RUNS_MAX = 8
ADDRESS, STRIDE = 0x80200000, 0x100000


@dataclass(frozen=True)
class Request:
    """The request: at least so many neighbors, and so many slots of each pair together.

    `leak` is built into the kernel. With `only`, the system's other applications are company too.
    """

    neighbors: int
    slots_least: int
    seed: int
    epochs: int
    leak: str | None
    only: str | None


@dataclass(frozen=True)
class Campaign:
    """The compared events. `first`: the first difference, with the number of its run.

    `broken`: the first broken promise of each resource. `searched`: what was looked at for them.
    `together`: in how many slots of each tile that they share an application was alive together
    with another one, over all runs. `delay_epochs`: how much later all commands were, so that
    neighbors could come before.
    """

    request: Request
    runs: int = 0
    neighbors: tuple[dict[str, Any], ...] = ()
    events_compared: int = 0
    largest_difference_cycles: int = 0
    first: check.Difference | None = None
    first_run: int | None = None
    together: Mapping[tuple[str, str, int], int] = field(default_factory=dict)
    delay_epochs: int = 0
    extra_runs: int = 0  # Only for slots together.
    broken: tuple[promises.Finding, ...] = ()
    searched: promises.Searched = promises.Searched()
    has_stopped: bool = False

    @property
    def has_found(self) -> bool:
        """Whether an event moved, or a promise was broken."""
        return self.first is not None or bool(self.broken)

    @property
    def short(self) -> tuple[tuple[str, str, int, int], ...]:
        """Each pair with a neighbor, its tile, and the slots together, if these are too few.

        Applications of the system itself meet as it says. They count on a tile without neighbors.
        """
        served = {place for _, other, place in self.together if other.startswith(NEIGHBOR)}
        return tuple(
            (one, other, place, slots)
            for (one, other, place), slots in self.together.items()
            if slots < self.request.slots_least
            and (other.startswith(NEIGHBOR) or place not in served)
        )

    @property
    def failure(self) -> str | None:
        """Why the check has failed although it found nothing; None if it has not."""
        if self.has_found:
            return None
        if not (self.searched.lives and self.searched.frames):
            return "the simulator's record of tables and frames is empty: nothing was searched"
        least = self.request.slots_least
        if self.short:
            one, other, place, slots = min(self.short, key=lambda pair: pair[3])
            return (
                f"{one} and {other} were alive together in {output.count(slots, 'slot')}"
                f" of tile {place}, below {least}: too few to show that nothing is shared"
            )
        if self.request.leak is not None:
            return (
                f"the leak {self.request.leak} is built in and was not found:"
                f" {leaks.not_found(self.request.leak)}"
            )
        return None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "runs_compared": self.runs,
            "neighbors": list(self.neighbors),
            "delay_epochs": self.delay_epochs,
            "alive_together": [
                {"application": one, "other": other, "tile": place, "slots": slots}
                for (one, other, place), slots in self.together.items()
            ],
            "slots_least": self.request.slots_least,
            "events_compared": self.events_compared,
            "largest_difference_cycles": self.largest_difference_cycles,
            "first_difference": {"run": self.first_run, **asdict(self.first)}
            if self.first
            else None,
            "broken_promises": [asdict(each) for each in self.broken],
            "searched": asdict(self.searched),
            "failure": self.failure,
            unseen.KEY: list(unseen.COMPOSE_CHECK),
        }


def places_of(system: System, names: Collection[str]) -> list[tuple[int, int]]:
    """Tile and slot of each idle slot that gets a neighbor: first those right before one of NAMES.

    Some leaks act from one slot on the next one. If there are more idle slots than neighbors, each
    tile gets one neighbor before another one gets two.
    """

    def is_behind(place: int, number: int) -> bool:
        slots = system.slots[place]
        return slots[(number + 1) % len(slots)].partition(".")[0] in names

    free = [
        (place, number)
        for number in range(max(map(len, system.slots)))
        for place, slots in enumerate(system.slots)
        if number < len(slots) and slots[number] == IDLE
    ]
    room = min(NEIGHBORS_MAX, code.APPLICATIONS_MAX - len(system.applications))
    ranked = sorted(free, key=lambda slot: not is_behind(*slot))
    best = {place: (place, number) for place, number in reversed(ranked)}.values()
    chosen = sorted(ranked, key=lambda slot: slot not in best)[: max(room, 0)]
    return [slot for slot in ranked if slot in chosen]


def key_of(seed: int) -> int:
    """The word that fills the memory of a neighbor: of each seed another one."""
    return (seed * 0x9E3779B1 ^ 0xC3A55A3C) & 0xFFFFFFFF


def neighbor_seeds(places: Sequence[tuple[int, int]], seed: int) -> dict[str, int]:
    """Of each neighbor of a run, by its name."""
    return {f"{NEIGHBOR}{i}": seed * NEIGHBORS_MAX + i + 1 for i in range(len(places))}


def beside(made: Made, folder: Path, places: list[tuple[int, int]], seed: int) -> System:
    """The system with a neighbor in each of these slots, without commands for them."""
    fifos = (FIFO,) if leaks.leaves_room(made.system, places) else ()
    slots = [list(each) for each in made.system.slots]
    applications = list(made.system.applications)
    seeds = neighbor_seeds(places, seed)
    for number, (name, (place, slot)) in enumerate(zip(seeds, places, strict=True)):
        key = key_of(seeds[name])
        flags = [f"-DTAU_NEIGHBOR_SEED={seeds[name]}u", f"-DTAU_NEIGHBOR_KEY={key}u"]
        executable = code.application(
            root(),
            name,
            [root() / SOURCE],
            made.base.path,
            folder,
            [*flags, *(["-DTAU_NEIGHBOR_FIFO"] if fifos else [])],
            1024,
            ADDRESS + STRIDE * number,
        )
        applications.append(Application(name, executable, (TASK,), 4096, 1024, fifos))
        slots[place][slot] = f"{name}.{TASK}"
    return replace(made.system, applications=tuple(applications), slots=tuple(map(tuple, slots)))


def campaign(made: Made, folder: Path, request: Request) -> Campaign:
    """Compare runs until enough neighbors have come, and been alive in enough slots.

    Raises TauError if nothing can be compared, or the leak asked for cannot show.
    """
    system = made.system
    names = [request.only] if request.only else [each.name for each in system.applications]
    _refuse_unknown(system, names)
    others = {each.name for each in system.applications} - set(names)
    places = places_of(system, names)
    _refuse_nothing(request, system, names, places, others)
    leak = request.leak or "none"
    run = functools.partial(run_made, folder, leak=leak, filling=1)
    company = run(made, request.epochs)
    _refuse_stop(company, "with the applications of the file only")
    tiles = {f"{NEIGHBOR}{number}": place for number, (place, _) in enumerate(places)}
    free = rooms(system, company)
    delay = delay_epochs(free, tiles)
    free, epochs = [each.later(delay) for each in free], request.epochs + delay
    own = delayed(system, delay)
    alone = company
    if others or delay:
        alone = run(replaced(made, without(own, others)), epochs)
        _refuse_stop(alone, "alone")
    found = Campaign(request, delay_epochs=delay)
    if others:
        done = run(replaced(made, own), epochs)
        found = _with(found, alone, done, replaced(made, own), names, sorted(others), None)
    while places and _wants_more(found):
        run_seed = request.seed * RUNS_MAX + found.runs
        full = beside(replaced(made, own), folder, places, run_seed)
        full = neighborhood(full, tiles, free, run_seed, epochs)
        _refuse_no_room(full, tiles)
        came = f"{len(found.neighbors)} of {request.neighbors} neighbors so far"
        their = replaced(made, full)
        label = f"run {found.runs + 1} ({came})"
        done = run(their, epochs, label=label, filling=found.runs + 2)
        company_names = [*sorted(others), *sorted(tiles)]
        found = _with(found, alone, done, their, names, company_names, run_seed)
    return found


def _refuse_unknown(system: System, names: Collection[str]) -> None:
    known = [each.name for each in system.applications]
    for name in names:
        if name not in known:
            raise TauError(
                f"unknown application {name}", f"use one of {', '.join(known)}", EXIT_USAGE
            )


def _refuse_nothing(
    request: Request,
    system: System,
    names: Collection[str],
    places: Collection[tuple[int, int]],
    others: Collection[str],
) -> None:
    if not places and not others:
        raise TauError(
            "no neighbor has a place: the system has no idle slot, or no more application",
            'give a tile of the system a slot "idle", or compare one --application with the others',
        )
    hidden = leaks.cannot_show(request.leak, system, names, places) if request.leak else None
    if hidden is not None:
        raise TauError(
            f"the leak {request.leak} cannot show in {', '.join(sorted(names))}: {hidden}",
            "compare another --application, or change the slots of the file",
        )
    for name in names:
        for place in leaks.tiles_of(system, [name]):
            if not leaks.has_company(system, place, names, places):
                raise TauError(
                    f"no neighbor shares the processor of {name}",
                    f"leave an idle slot on tile {place}",
                )


def _refuse_no_room(full: System, tiles: Mapping[str, int]) -> None:
    if not any(each.application in tiles for each in full.commands):
        raise TauError(
            "the system's own applications leave no memory for a neighbor",
            "raise memory.frame_count, or compare one --application with the others",
        )


def _wants_more(found: Campaign) -> bool:
    """Whether another run is needed: for neighbors, or for slots in which all were alive."""
    if found.has_stopped:
        return False
    if len(found.neighbors) < found.request.neighbors:
        return True
    if found.has_found or not found.short:
        return False
    least = min(slots for *_, slots in found.short)
    runs_left = EXTRA_RUNS_MAX - found.extra_runs
    return runs_left > 0 and least * (1 + runs_left / found.runs) >= found.request.slots_least


def replaced(made: Made, system: System) -> Made:
    """The files of another system with the same kernel and base code."""
    return made_of(system, made.base, made.kernel)


def _with(
    found: Campaign,
    alone: Run,
    done: Run,
    made: Made,
    names: Sequence[str],
    company: Sequence[str],
    seed: int | None,
) -> Campaign:
    """The campaign with one more run; SEED is None for applications of the system itself."""
    number = found.runs
    system = made.system
    verdicts = [check.compare(alone, done, system.number(name)) for name in names]
    first = next((each.first for each in verdicts if each.first), None)
    came = tuple(
        {"run": number, "name": each.application, "seed": seed, "epoch": each.epoch}
        for each in system.commands
        if each.operation == "load" and each.application in company
        if each.epoch != TOO_LATE_EPOCH or not each.application.startswith(NEIGHBOR)
    )
    broken, searched = _promises(found, alone, done, made, names, seed, verdicts)
    if first is not None and first.resource == check.UNEXPLAINED and broken:
        first = replace(first, resource=broken[0].resource)
    together = dict(found.together)
    for one, other in itertools.product(names, company):
        pair = system.number(one), system.number(other)
        for place in set(leaks.tiles_of(system, [one])) & set(leaks.tiles_of(system, [other])):
            slots = check.slots_together(system, done, place, *pair)
            together[one, other, place] = together.get((one, other, place), 0) + slots
    was_enough = len(found.neighbors) >= found.request.neighbors
    return replace(
        found,
        runs=number + 1,
        extra_runs=found.extra_runs + was_enough,
        neighbors=found.neighbors + came,
        events_compared=found.events_compared + sum(each.events_compared for each in verdicts),
        largest_difference_cycles=max(
            found.largest_difference_cycles, *(each.largest_difference_cycles for each in verdicts)
        ),
        first=found.first or first,
        first_run=number if first and not found.first else found.first_run,
        together=together,
        broken=_first_of_each((*found.broken, *broken)),
        searched=searched,
        has_stopped=done.stopped is not None,
    )


def _first_of_each(broken: Sequence[promises.Finding]) -> tuple[promises.Finding, ...]:
    """The first finding of each resource."""
    firsts: dict[str, promises.Finding] = {}
    for each in broken:
        firsts.setdefault(each.resource, each)
    return tuple(firsts.values())


def _promises(
    found: Campaign,
    alone: Run,
    done: Run,
    made: Made,
    names: Sequence[str],
    seed: int | None,
    verdicts: Sequence[check.Verdict],
) -> tuple[list[promises.Finding], promises.Searched]:
    """What one more run broke, by time, and all that was searched."""
    keys = {
        name: key_of(each)
        for name, each in neighbor_seeds(NEIGHBORS_MAX * [(0, 0)], seed or 0).items()
        if name in {each.name for each in made.system.applications}
    }
    broken = []
    if done.stopped:
        broken.append(promises.Finding(f"a tile stopped: {done.stopped}", "availability"))
    in_run, searched = promises.findings(made.system, done, made.base.content, keys, names)
    broken += in_run
    memories = 0
    for name, verdict in zip(names, verdicts, strict=True):
        number = made.system.number(name)
        difference, compared = promises.memory_difference(alone, done, number, verdict.until_cycle)
        broken += [replace(difference, what=f"{name}: {difference.what}")] if difference else []
        memories += compared
    searched += promises.Searched(memories=memories)
    return broken, found.searched + searched


def _refuse_stop(run: Run, when: str) -> None:
    if run.stopped:
        raise TauError(
            f"the kernel stopped {when}: {run.stopped}",
            "`tau compose run` shows how far it came",
        )


def show(found: Campaign) -> None:
    """Print for people."""
    print(
        f"{output.count(found.runs, 'run')} with"
        f" {output.count(len(found.neighbors), 'neighbor')} that came and went:"
        f" {found.events_compared:,} events compared"
    )
    if found.delay_epochs:
        epochs = output.count(found.delay_epochs, "epoch")
        print(f"all commands of the file are {epochs} later, so that neighbors start with them")
    for (one, other, place), slots in found.together.items():
        count = output.count(slots, "slot")
        print(f"{one} and {other} were alive together in {count} of tile {place}")
    searched = found.searched
    print(
        f"{output.count(searched.lives, 'load')} of applications:"
        f" tables, {searched.frames:,} frames and {searched.memories:,} memories compared,"
        f" {output.count(searched.probes, 'probe')} of rights,"
        f" {output.count(searched.late_loads, 'late load')};"
        f" {searched.slots_run:,} of {searched.slots_promised:,} promised slots run"
    )
    if found.failure is None and not found.has_found:
        print("no event moved by one cycle, and the output is the same")
        print("no application reached or found what is not its own")
    for each in found.broken:
        print(f"broken promise of {each.resource}: {each.what}")
    if found.first is not None:
        first = found.first
        print(f"first difference: {first.event}, in run {found.first_run}")
        alone, there = (_value(first, value) for value in (first.alone, first.beside))
        print(f"  alone {alone}, with them {there}")
        print(f"  shared: {first.resource}")
        print(f"largest difference: {output.count(found.largest_difference_cycles, 'cycle')}")
    print(unseen.told(unseen.COMPOSE_CHECK))


def _value(difference: check.Difference, value: int | None) -> str:
    if value is None:
        return "never"
    return f"{value:,}" if difference.is_count else f"in cycle {value:,}"
