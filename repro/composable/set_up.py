"""What loading an application costs, by the memory's state and without virtual memory [P2-24].

Applications that only hold memory come and go, so that the one that is measured is loaded into
each state of a small memory: every subset of them, and random walks, which leave other orders in
the buddy's lists. Where the memory is too full or too fragmented for its pages, it is refused.
All of it happens in one slot of the loader that does not end, so each stopwatch runs without a
break.
"""

import functools
import random
import statistics
from pathlib import Path
from typing import Any

from tautochrone.tile.build import Options
from repro.composable.applications import BUILT, PROGRAMS, base, printed, simulated
from repro.composable import figure10
from repro.composable.forms import application
from repro.engine.results import REPOSITORY
from tautochrone.compose import code
from tautochrone.compose.run import FRAME_BITS
from tautochrone.compose.system import Application, Command, System, pages_of
from tautochrone.console.output import note
from tautochrone.targets.build import link

FILLERS_BYTES = (512, 1024, 2560, 3584, 7680, 15872)
FILLER_ADDRESS, FILLER_STRIDE = 0x80200000, 0x100000
FRAMES = 152  # All of them fit, if nothing is fragmented.
NEVER = 1 << 20  # A major frame that does not come: loaded applications do not run.
SLOT_CYCLES = 100_000_000
WALKS, WALK_STEPS = 2, 48
# Enough for all commands: the simulation ends then.
CYCLES_PER_SET_UP, CYCLES_PER_COMMAND = 330_000, 90_000
REFUSED = "application 0 is refused: no frames"
STEPS = ("allocate", "bind", "load")


@functools.cache
def filler(number: int) -> Application:
    """An application of FILLERS_BYTES[NUMBER] bytes of data."""
    name = f"filler{number}"
    flags = [f"-DTAU_FILLER_BYTES={FILLERS_BYTES[number]}u"]
    address = FILLER_ADDRESS + FILLER_STRIDE * number
    sources = [PROGRAMS / "filler.c"]
    made = code.application(REPOSITORY, name, sources, base(), BUILT, flags, 4096, address)
    return Application(name, made, ("main",), 4096, 1024)


def measured_application() -> Application:
    """The decoder, in pages of 16 KiB down to 1 KiB."""
    made = application(figure10.decoder(figure10.QUICK_IMAGES[0], 100), 16384)
    return Application("decoder", made.executable, ("main",), 16384, 1024)


def system(commands: list[Command]) -> System:
    """All applications, and the loader's commands."""
    fillers = tuple(filler(number) for number in range(len(FILLERS_BYTES)))
    applications = (measured_application(), *fillers)
    slots = ("loader", *(f"{each.name}.main" for each in applications))
    return System(
        applications, (slots,), tuple(commands), user_slot_cycles=SLOT_CYCLES, frame_count=FRAMES
    )


def toggled(resident: set[str], name: str) -> Command:
    """Load an application that is absent, unload one that is there."""
    if name in resident:
        resident.remove(name)
        return Command("unload", name, 0)
    resident.add(name)
    return Command("load", name, NEVER)


def set_up() -> list[Command]:
    """Load the measured application, and unload it."""
    return [Command("load", "decoder", NEVER), Command("unload", "decoder", 0)]


def every_subset(fillers: int) -> list[Command]:
    """Each subset once: from one to the next, one application comes or goes."""
    resident: set[str] = set()
    commands = set_up()
    for step in range(1, 2**fillers):
        number = (step & -step).bit_length() - 1
        commands += [toggled(resident, f"filler{number}"), *set_up()]
    return commands


def walk(seed: int, fillers: int, steps: int) -> list[Command]:
    """Random applications come and go; now and then the measured one is loaded."""
    chance = random.Random(seed)
    resident: set[str] = set()
    commands: list[Command] = []
    for _ in range(steps):
        for _ in range(chance.randrange(1, 4)):
            commands.append(toggled(resident, f"filler{chance.randrange(fillers)}"))
        commands += set_up()
    return commands


def states(commands: list[Command]) -> tuple[list[dict[str, int]], int]:
    """The steps of each set-up of the measured application, and how many were refused."""
    made = system(commands)
    loads = sum(each.operation == "load" and each.application == "decoder" for each in commands)
    cycles = made.start_cycle + CYCLES_PER_SET_UP * loads + CYCLES_PER_COMMAND * len(commands)
    run = simulated(made, cycles=cycles, is_refusal_allowed=True)
    found: list[dict[str, int]] = []
    for step, value, spent in run.tiles[0].set_up:
        if step == 0:
            found.append({"application": value})
        if step < len(STEPS):
            found[-1][STEPS[step]] = spent
    own = [state for state in found if state["application"] == 0]
    refused = run.console.count(REFUSED)
    if len(own) + refused != loads or any(step not in own[-1] for step in STEPS):
        raise RuntimeError(f"{len(own)} set-ups of {loads}, {refused} refused: {run.messages}")
    return [state | {"whole": sum(state[step] for step in STEPS)} for state in own], refused


def without(executable: Path) -> int:
    """The cycles of a loader that knows no virtual memory.

    Its loops begin at words: one that begins inside a word fetches once more in each turn.
    """
    image = executable.read_bytes()
    digest = code.base_hash(base())
    words = ",".join(f"{int.from_bytes(digest[i : i + 4], 'little')}u" for i in range(0, 32, 4))
    program = link(
        "tile",
        REPOSITORY,
        [PROGRAMS / "plain_loader.c", "kernel/slots/executable.c"],
        BUILT / "plain_loader.elf",
        [
            "-O2",
            "-falign-loops=4",
            f"-DTAU_IMAGE_BYTES={len(image) + -len(image) % 4}u",
            f"-DTAU_BASE_HASH={words}",
        ],
    )
    padded = BUILT / "plain_image.bin"
    padded.write_bytes(image + bytes(-len(image) % 4))
    options = Options(unit="composable", frame_bits=FRAME_BITS, special_frames=True)
    return int(printed(program, options, "--image", f"{padded}@0"))


def measure(fillers: int = len(FILLERS_BYTES), walks: int = WALKS) -> dict[str, Any]:
    """Best, typical and worst state, next to the plain loader."""
    note("set-up: every subset")
    every, refused = states(every_subset(fillers))
    for seed in range(walks):
        note(f"set-up: walk {seed}")
        more, refusals = states(walk(seed, fillers, WALK_STEPS))
        every += more
        refused += refusals
    whole = [state["whole"] for state in every]
    decoder = measured_application()
    plain = without(decoder.executable)
    orders = [page.order for page in pages_of(system([]), decoder, 0) if page.kind == 0]
    typical = statistics.median(whole)
    return {
        "subsets": 2**fillers,
        "states": len(every),
        "refused": refused,
        "frames": FRAMES,
        "pages_by_order": {str(order): orders.count(order) for order in sorted(set(orders))},
        "best_cycles": min(whole),
        "typical_cycles": typical,
        "worst_cycles": max(whole),
        "worst_over_best": max(whole) / min(whole),
        "plain_cycles": plain,
        "typical_over_plain": typical / plain,
        "worst_over_plain": max(whole) / plain,
        "steps": {
            step: {
                "least_cycles": min(state[step] for state in every),
                "most_cycles": max(state[step] for state in every),
            }
            for step in STEPS
        },
    }


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(fillers=2, walks=0)
