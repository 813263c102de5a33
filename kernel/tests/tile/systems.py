"""Common parts of tests of small systems: executables of one source, and runs of short slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tautochrone.compose import check, code
from tautochrone.compose.run import Run, run
from tautochrone.compose.system import Application, System, system_file

ROOT = Path(__file__).resolve().parents[3]
SYSTEMS = ROOT / "kernel/systems"
USER_SLOT, OS_SLOT, START = 3_000, 800, 200_000
FRAMES = 192  # what the buddy has, unless a test says otherwise


class Builder:
    """Builds executables into a folder, each once, and runs systems of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = code.base_code(ROOT, folder)
        self.built: dict[str, Path] = {}

    def executable(
        self, source: str, flags: Sequence[str] = (), page_bytes: int = 1024, place: int = 0
    ) -> Path:
        """An application of SOURCE, linked PLACE MiB after where applications begin."""
        name = "-".join([Path(source).stem, *flags, str(page_bytes), str(place)])
        name = name.replace("/", "_")
        if name not in self.built:
            self.built[name] = code.application(
                ROOT,
                name,
                [SYSTEMS / source],
                self.base,
                self.folder,
                flags,
                page_bytes,
                0x80100000 + (place << 20),
            )
        return self.built[name]

    def metronome(self, name: str = "metronome") -> Application:
        """The real-time application that others must not disturb."""
        return Application(name, self.executable("metronome/metronome.c"), ("main",), 1024, 1024)

    def content(self, system: System) -> bytes:
        """The system file."""
        return system_file(system, code.base_bytes(self.base), code.base_hash(self.base))

    def run(
        self,
        system: System,
        major_frames: int,
        leak: str = "none",
        content: bytes | None = None,
    ) -> Run:
        """Run a system for so many major frames; a tile that stops fails the test."""
        slots = major_frames * len(system.slots[0])
        done = run(
            self.folder,
            code.kernel(ROOT, self.folder, leak),
            self.content(system) if content is None else content,
            len(system.slots),
            system.start_cycle + slots * (system.user_slot_cycles + system.os_slot_cycles),
            dma_turns=leak != "dma",
        )
        assert "cycle limit" in done.messages, done.console[-2000:] + done.messages
        return done


def assert_unmoved(alone: Run, beside: Run, application: int, events_min: int = 200) -> None:
    """Fail if one of more than EVENTS_MIN events of an application moved by one cycle."""
    verdict = check.compare(alone, beside, application)
    assert verdict == check.Verdict(verdict.events_compared, 0, None)
    assert verdict.events_compared > events_min


def with_commands(system: System, *names: str) -> System:
    """The system with the commands of these applications only."""
    return replace(
        system,
        commands=tuple(command for command in system.commands if command.application in names),
    )
