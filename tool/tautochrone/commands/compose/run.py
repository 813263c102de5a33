"""`tau compose run`: simulates a system; iterations, slots and set-up in absolute cycles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tautochrone.commands.compose.options import FILE, FRAMES, JSON, scratch
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_FAILED


@click.command()
@click.argument("system", type=FILE)
@FRAMES
@JSON
def command(system: Path, major_frames: int, as_json: bool) -> int:
    """Simulate SYSTEM; report iterations, slots and set-up in absolute cycles.

    \b
    tau compose run system.toml
    tau compose run system.toml --major-frames 500 --json

    Exit status 1 means that the kernel of a tile stopped, or refused an application.
    """
    from dataclasses import asdict

    from tautochrone.compose import campaign, lateness, making, result, run
    from tautochrone.compose.description import read_description

    description = read_description(system)
    with scratch() as folder:
        made = making.make(description, folder)
        done = run.run_made(folder, made, major_frames)
        too_late = []
        if done.stopped is not None and run.TOO_LATE in done.stopped:
            too_late = lateness.late_loads(
                made.system,
                lambda other, frames: run.run_made(folder, campaign.replaced(made, other), frames),
            )
        _, options = run.simulator_of(len(made.system.slots))
        found: dict[str, Any] = {
            "system": str(system),
            **making.hashes(made, description),
            "simulator": options,
            "major_frames": major_frames,
            "stopped": done.stopped,
            "late_loads": [asdict(each) for each in too_late],
            **result.document(made.system, done),
        }
    late = [each for each in made.system.commands if each.major_frame >= major_frames]
    if late:
        output.note(
            f"{output.count(len(late), 'command')} for major frame {late[0].major_frame} or later:"
            f" this run has {major_frames}",
            f"give --major-frames {late[-1].major_frame + 1} or more",
        )
    output.emit(as_json, "compose run", found, lambda: result.show(found))
    for each in too_late:
        output.warn(each.message, f"give its command major_frame = {each.smallest_frame} or more")
    return EXIT_FAILED if done.stopped or found["messages"] else EXIT_DONE
