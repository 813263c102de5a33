"""The report of `tau compose run`: iterations, slots, set-up, each in absolute cycles."""

from dataclasses import asdict
from typing import Any

from tautochrone import unseen
from tautochrone.compose.code import stacks_of
from tautochrone.compose.run import Run, Slot
from tautochrone.compose.system import System, commands_of, pages_of
from tautochrone.console.terminal import in_one_line
from tautochrone.facts import compose_format as facts

# mcause of the exceptions of user mode.
CAUSES = {
    0: "misaligned fetch",
    1: "fetch from an address that is not its own",
    2: "illegal instruction",
    3: "breakpoint",
    5: "load from an address that is not its own",
    7: "store to an address that is not its own",
    8: "kernel call",
}
ACCESSES = {1: "fetch", 5: "load", 7: "store"}
ANSWERS = {
    "ready": facts.ANSWER_READY,
    "refused": facts.ANSWER_REFUSED,
    "late": facts.ANSWER_LATE,
    "unloaded": facts.ANSWER_UNLOADED,
    "unknown": facts.ANSWER_UNKNOWN,
    "ended": facts.ANSWER_ENDED,
}
STEPS = ("allocate", "bind", "load", "release")


def owner_of(system: System, slot: Slot) -> str:
    """`application.task`, `loader` or `idle`."""
    number, task = slot.owner >> 8, slot.owner & 0xFF
    if number >= len(system.applications):
        return "loader" if number == facts.SLOT_LOADER else "idle"
    application = system.applications[number]
    return f"{application.name}.{application.tasks[task]}"


def release_cycle(system: System, number: int) -> int:
    """The release of slot NUMBER of a tile."""
    return system.start_cycle + number * (system.user_slot_cycles + system.os_slot_cycles)


def slots_document(system: System, run: Run, place: int) -> list[dict[str, Any]]:
    """Each user slot of a tile."""
    return [
        {
            "owner": owner_of(system, slot),
            "release_cycle": release_cycle(system, number),
            "first_cycle": slot.first_cycle,
            "last_cycle": slot.last_cycle,
            "interrupt_latency_cycles": slot.last_cycle
            - release_cycle(system, number)
            - system.user_slot_cycles,
            "misses_fetch": slot.misses_fetch,
            "misses_data": slot.misses_data,
            "dma_words": slot.words_moved,
            "kernel_calls": slot.calls,
        }
        for number, slot in enumerate(run.tiles[place].slots)
    ]


def iterations_document(system: System, run: Run, number: int) -> list[dict[str, Any]]:
    """Each task of an application: its tile, and start and end of each iteration of each life."""
    application = system.applications[number]
    found: dict[int, dict[tuple[int, int], list[int | None]]] = {}
    for tile in run.tiles:
        for mark in tile.marks:
            if mark.application == number:
                task, iteration = mark.value >> 24, mark.value >> 1 & 0x7FFFFF
                cycles = found.setdefault(task, {}).setdefault((mark.life, iteration), [None, None])
                cycles[mark.value & 1] = mark.cycle
    return [
        {
            "task": task,
            "tile": system.tile_of(application, task),
            "ended": ended_document(system, run, number, index),
            "iterations": [
                {
                    "life": life,
                    "iteration": iteration,
                    "start_cycle": cycles[0],
                    "end_cycle": cycles[1],
                }
                for (life, iteration), cycles in sorted(found.get(index, {}).items())
            ],
        }
        for index, task in enumerate(application.tasks)
    ]


def ended_document(system: System, run: Run, number: int, task: int) -> dict[str, Any] | None:
    """How a task ended; None if it still works, waits for its first slot, or waits for others.

    It is inferred: its last slot ended idle, and its last exception was this one.
    """
    application = system.applications[number]
    place = system.tile_of(application, application.tasks[task])
    if place is None:
        return None
    owner = number << 8 | task
    slots = [slot for slot in run.tiles[place].slots if slot.owner == owner]
    last = run.tiles[place].failures.get(owner)
    if last is None or not slots or not slots[-1].is_idle:
        return None
    cause = CAUSES.get(last.cause, f"exception {last.cause}")
    stack_address, stack_bytes = stacks_of(application.executable)[task]
    is_below = 0 < stack_address - last.address <= facts.SIZE_STACK_GUARD_BYTES
    if last.cause in ACCESSES and is_below:
        cause = (
            f"{ACCESSES[last.cause]} below its stack of {stack_bytes:,} bytes (raise it in"
            " TAU_TASK), at address"
        )
    return {
        "cause": cause,
        "address": last.address,
        "pc": last.pc,
        "cycle": last.cycle,
    }


def set_up_document(system: System, run: Run, number: int) -> list[dict[str, Any]]:
    """Each load of an application: cycles of its steps, other slots between them included."""
    application = system.applications[number]
    loads: list[dict[str, Any]] = []
    for place, tile in enumerate(run.tiles):
        orders = [page.order for page in pages_of(system, application, place)]
        for step, owner, cycles in tile.set_up:
            if owner != number:
                continue
            if STEPS[step] == "allocate":
                mix = {str(order): orders.count(order) for order in sorted(set(orders))}
                loads.append({"tile": place, "pages_by_order": mix})
            if loads:
                loads[-1][f"{STEPS[step]}_cycles"] = cycles
    return loads


def commands_document(system: System, run: Run, place: int) -> list[dict[str, Any]]:
    """Each command that a tile's loader has answered."""
    names = {code: name for name, code in ANSWERS.items()}
    pairs = zip(commands_of(system, place), run.tiles[place].answers, strict=False)
    return [
        {
            **asdict(command),
            "answer": names[answer.code],
            "life": answer.life,
            "cycle": answer.cycle,
            "cycles": answer.cycles,
        }
        for command, answer in pairs
    ]


def document(system: System, run: Run) -> dict[str, Any]:
    """All of it."""
    return {
        "applications": [
            {
                "name": application.name,
                "tasks": iterations_document(system, run, number),
                "set_up": set_up_document(system, run, number),
                "output": run.output(number),
            }
            for number, application in enumerate(system.applications)
        ],
        "tiles": [
            {
                "slots": slots_document(system, run, place),
                "commands": commands_document(system, run, place),
            }
            for place in range(len(run.tiles))
        ],
        "messages": run.kernel_lines(),
        unseen.KEY: list(unseen.COMPOSE_RUN),
    }


def show(found: dict[str, Any]) -> None:
    """Print for people."""
    print(f"{'task':<24} {'tile':>4} {'iterations':>10} {'first start':>13} {'last end':>13}")
    for application in found["applications"]:
        for task in application["tasks"]:
            done = [each for each in task["iterations"] if each["end_cycle"] is not None]
            first = f"{task['iterations'][0]['start_cycle']:,}" if task["iterations"] else "-"
            last = f"{done[-1]['end_cycle']:,}" if done else "-"
            name = f"{application['name']}.{task['task']}"
            print(f"{name:<24} {task['tile']:>4} {len(done):>10} {first:>13} {last:>13}")
    for application in found["applications"]:
        for task in application["tasks"]:
            if task["ended"]:
                print(_ended(f"{application['name']}.{task['task']}", task["ended"]))
    for place, tile in enumerate(found["tiles"]):
        latency = max((each["interrupt_latency_cycles"] for each in tile["slots"]), default=0)
        print(
            f"tile {place}: {len(tile['slots']):,} slots;"
            f" interrupts came at most {latency} cycles late"
        )
        for each in tile["commands"]:
            if each["arrival"]:
                print(
                    f"tile {place}: epoch {each['arrival']}, {each['operation']}"
                    f" {each['application']} at {each['epoch']}: {each['answer']}"
                )
    for application in found["applications"]:
        for line in application["output"]:
            print(f"{application['name']}: {in_one_line(line.partition(': ')[2])}")
    for line in found["messages"]:
        print(line)
    if found["stopped"]:
        print("the tile has stopped")
    print(unseen.told(unseen.COMPOSE_RUN))


def _ended(name: str, ended: dict[str, Any]) -> str:
    """One line for people."""
    when = f"in cycle {ended['cycle']:,}"
    if ended["cause"] == CAUSES[8]:
        return f"{name} has ended, or waits, since a kernel call {when}"
    where = f"{ended['address']:#x}" if "address" in ended["cause"] else ""
    return f"{name} was stopped {when}: {ended['cause']} {where} (pc {ended['pc']:#x})"
