"""`tau compose run`: simulates a system; iterations, slots and set-up in absolute cycles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.commands.compose.options import EPOCHS, scratch
from tautochrone.commands.options import FILE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_FAILED

if TYPE_CHECKING:
    from tautochrone.compose.system import System


@click.command()
@click.argument("system", type=FILE)
@EPOCHS
@JSON
def command(system: Path, epochs: int, as_json: bool) -> int:
    """Simulate SYSTEM; report iterations, slots and set-up in absolute cycles.

    \b
    tau compose run system.toml
    tau compose run system.toml --epochs 500 --json

    Exit status 1 means that the kernel of a tile stopped, or refused an application.
    """
    from dataclasses import asdict

    from tautochrone.compose import campaign, lateness, making, result, run
    from tautochrone.compose.description import read_description

    description = read_description(system)
    with scratch() as folder:
        made = making.make(description, folder)
        done = run.run_made(folder, made, epochs)

        def again(other: System, longer: int) -> run.Run:
            return run.run_made(folder, campaign.replaced(made, other), longer)

        too_late = lateness.late_loads(made.system, done, epochs, again)
        late_ends = lateness.late_unloads(made.system, done)
        least_start = lateness.least_start(made.system, done, again)
        found: dict[str, Any] = {
            "system": str(system),
            **making.hashes(made, description),
            "simulator": asdict(run.simulator_options()) | {"tiles": len(made.system.slots)},
            "epochs": epochs,
            "stopped": done.stopped,
            "least_start_cycle": least_start,
            "late_loads": [asdict(each) for each in too_late],
            "late_unloads": [asdict(each) for each in late_ends],
            **result.document(made.system, done),
        }
    late = [each for each in (*made.system.commands, *made.system.switches) if each.epoch >= epochs]
    if late:
        output.note(
            f"{output.count(len(late), 'command')} for epoch {late[0].epoch} or later:"
            f" this run has {epochs}",
            f"give --epochs {late[-1].epoch + 1} or more",
        )
    output.emit(as_json, "compose run", found, lambda: result.show(found))
    if least_start is not None:
        output.warn(
            f"{system}: time.start_cycle {made.system.start_cycle:,} is before the kernel is ready",
            f"give start_cycle = {least_start} or more",
        )
    switched = {each.application for each in made.system.switches}
    for each in too_late:
        where = "switch" if each.application in switched else "command"
        output.warn(each.message, f"give its {where} epoch = {each.smallest_epoch} or more")
    for end in late_ends:
        output.warn(end.message, "give its switch a later epoch, or let it arrive earlier")
    is_failed = done.stopped or least_start or found["messages"] or late_ends
    return EXIT_FAILED if is_failed else EXIT_DONE
