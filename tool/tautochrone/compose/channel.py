"""A channel through the kernel and its tile, measured: a sender in the slot before a receiver's.

The sender sends a random bit by each act of a small repertoire, and the receiver measures when its
slot begins, and how long its walk takes. An act within a slot sends a bit in each major frame. An
act for a life sends one by each load: the sender is stopped or not, or there or not.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.compose import code
from tautochrone.compose.campaign import ADDRESS, STRIDE
from tautochrone.compose.description import Description
from tautochrone.compose.making import Base, base_of, made_of, root
from tautochrone.compose.neighborhood import LOAD_CYCLES_MAX, MARGIN_EPOCHS
from tautochrone.compose.run import Run, run_made
from tautochrone.compose.system import LOADER, Application, Command, System
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.tile.channel import Channel, measured

FOLDER = "kernel/systems/channel"
ACTS = ("touch pages", "be interrupted", "divide", "fail", "be loaded")
LIVES = ACTS[3:]
SENDER, RECEIVER = "sender", "receiver"
SLOTS = LOADER, f"{SENDER}.{SENDER}", f"{RECEIVER}.{RECEIVER}"
PAGE_BYTES = 1024
SHORT = System((), (), (), 1500, 900, 300_000, 64, 256)
# These move cycles from one slot to the next, or by what a core keeps.
TIMED = ("tlb", "gate", "load-time", "kernel-path", "one-table")
FRAMES_MAX = 20_000  # of one simulation
CHANCE_MOST = 0.01  # that any act seems to be a channel
LIFE_FRAMES = 4  # after the load, in which the receiver measures
COMMANDS_MAX = 250
USES_LEAST = 16  # of each act. With fewer, chance explains even a bit per use.


@dataclass(frozen=True)
class Act:
    """What an act of the sender carries."""

    name: str
    channel: Channel


@dataclass(frozen=True)
class Found:
    """All acts. `leak` is built into the kernel. Fewer frames than the least show nothing."""

    leak: str | None
    frames: int
    frames_least: int
    acts: tuple[Act, ...]

    @property
    def open(self) -> list[Act]:
        """The acts that send something, beyond chance."""
        return [
            each
            for each in self.acts
            if each.channel.bits > 0 and each.channel.chance <= CHANCE_MOST / len(ACTS)
        ]

    @property
    def failure(self) -> str | None:
        """Why the check has failed although nothing was sent; None if it has not."""
        if self.open:
            return None
        rare = [each.name for each in self.acts if each.channel.uses < USES_LEAST]
        if rare:
            return f"fewer than {USES_LEAST} uses, too few to show anything: {', '.join(rare)}"
        if self.leak is not None:
            return f"the leak {self.leak} is built in, and no act sends a bit"
        return None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "major_frames": self.frames,
            "acts": [{"act": each.name, **asdict(each.channel)} for each in self.acts],
            "open": [each.name for each in self.open],
            "failure": self.failure,
            unseen.KEY: list(unseen.COMPOSE_CHANNEL),
        }


def times_of(description: Description | None) -> System:
    """The times and the memory of a described system; of a short one without it."""
    if description is None:
        return SHORT
    return replace(SHORT, **description.tables["time"], **description.tables["memory"])


def refuse(leak: str | None) -> None:
    """Raise TauError for a leak that is not one of time."""
    if leak is not None and leak not in TIMED:
        raise TauError(
            f"the leak {leak} does not move cycles between two slots of a core",
            f"measure one of {', '.join(TIMED)}; `tau compose check --leak {leak}` finds it",
            EXIT_USAGE,
        )


def channels(times: System, folder: Path, frames: int, seed: int, leak: str | None) -> Found:
    """Measure each act for so many major frames, in slots as long as those of TIMES."""
    refuse(leak)
    base, kernel = base_of(folder), code.kernel(root(), folder, leak or "none")
    found = []
    for act in ACTS:
        pairs = list[tuple[int, Any]]()
        for begin in range(0, frames, FRAMES_MAX):
            some = min(FRAMES_MAX, frames - begin)
            part = _Part(act, some, seed + begin & 0xFFFFFFFF, leak)
            pairs += part.sent(times, folder, base, kernel)
        found.append(Act(act, measured(pairs, seed)))
    return Found(leak, frames, USES_LEAST * load_frames_of(times), tuple(found))


def load_frames_of(times: System) -> int:
    """How many major frames each life of a sender takes, with its load."""
    return -(-LOAD_CYCLES_MAX // times.user_slot_cycles) + MARGIN_EPOCHS + LIFE_FRAMES


@dataclass(frozen=True)
class _Part:
    """A simulation of an act."""

    act: str
    frames: int
    seed: int
    leak: str | None

    def sent(
        self, times: System, folder: Path, base: Base, kernel: Path
    ) -> Iterator[tuple[int, Any]]:
        """Each bit with what the receiver measured then."""
        frame_cycles = len(SLOTS) * (times.user_slot_cycles + times.os_slot_cycles)
        flags = (
            f"-DTAU_CHANNEL_ACT={ACTS.index(self.act)}",
            f"-DTAU_CHANNEL_SEED={self.seed}u",
            f"-DTAU_CHANNEL_SLOT_CYCLES={times.user_slot_cycles}u",
            f"-DTAU_CHANNEL_START_CYCLE={times.start_cycle}u",
            f"-DTAU_CHANNEL_FRAME_CYCLES={frame_cycles}u",
        )
        applications = tuple(
            _application(name, ADDRESS + STRIDE * number, flags, base, folder)
            for number, name in enumerate((RECEIVER, SENDER))
        )
        load_frames = load_frames_of(times)
        begin = 2 * load_frames  # The receiver has been loaded, and runs.
        if self.act in LIVES:
            lives = min(self.frames // load_frames, COMMANDS_MAX // 2)
            uses = range(begin, begin + lives * load_frames, load_frames)
        else:
            uses = range(begin, begin + self.frames)
        commands = Command("load", RECEIVER, load_frames), *self._commands(uses)
        slots = (SLOTS,)
        whole = replace(times, applications=applications, slots=slots, commands=commands)
        made = made_of(whole, base, kernel)
        label = f"the sender may {self.act}"
        done = run_made(folder, made, uses.stop + 1, self.leak or "none", label=label)
        if done.stopped:
            raise TauError(f"the kernel stopped: {done.stopped}")
        seen = _observed(whole, done, frame_cycles)
        if not seen:
            raise TauError("the receiver had no slot, so nothing was measured")
        late = LIFE_FRAMES if self.act in LIVES else 0
        # A receiver that gets no slot observes that.
        return ((self.bit(frame), seen.get(frame + late, ())) for frame in uses)

    def bit(self, frame: int) -> int:
        """The bit of a major frame, as sender.c computes it."""
        mixed = (frame ^ self.seed) * 0x9E3779B1 & 0xFFFFFFFF
        return ((mixed ^ mixed >> 15) * 0x85EBCA6B & 0xFFFFFFFF) >> 31

    def _commands(self, uses: range) -> Iterator[Command]:
        """One life after the other; no load begins before the life before it is over."""
        if self.act not in LIVES:
            yield Command("load", SENDER, uses.start)
            return
        for begin in uses:
            end = begin + LIFE_FRAMES + 1
            if self.act == "fail" or self.bit(begin):
                yield Command("load", SENDER, begin, arrival=end - uses.step)
                yield Command("unload", SENDER, end)


def _application(
    name: str, address: int, flags: tuple[str, ...], base: Base, folder: Path
) -> Application:
    source = root() / FOLDER / f"{name}.c"
    executable = code.application(
        root(), name, [source], base.path, folder, flags, PAGE_BYTES, address
    )
    return Application(name, executable, (name,), PAGE_BYTES)


def _observed(system: System, done: Run, frame_cycles: int) -> dict[int, tuple[int, ...]]:
    """What the receiver measured in each major frame: its marks, from the frame's beginning on."""
    found: dict[int, tuple[int, ...]] = {}
    for mark in done.tiles[0].marks:
        if mark.application == system.number(RECEIVER):
            frame, cycle = divmod(mark.cycle - system.start_cycle, frame_cycles)
            found[frame] = (*found.get(frame, ()), cycle)
    return found


def show(found: Found) -> None:
    """Print for people."""
    print(f"{'the sender may':<16} {'uses':>9} {'bits per use':>13} {'95 %':>15} {'by chance':>10}")
    for each in found.acts:
        one = each.channel
        span = f"{one.least_bits:.3f}-{one.most_bits:.3f}"
        print(f"{each.name:<16} {one.uses:>9,} {one.bits:>13.3f} {span:>15} {one.chance:>10.3f}")
    frames = output.count(found.frames, "major frame")
    told = ", ".join(each.name for each in found.open) or "nothing"
    print(f"in {frames} of each, the receiver learns from: {told}")
    print(unseen.told(unseen.COMPOSE_CHANNEL))
