"""`tau compose`: applications that share a tile and do not disturb each other by one cycle."""

import click

from tautochrone.commands.compose import build, check, link, plan, run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Build, run and check applications that share a processor without disturbing each other.

    \b
    tau compose link camera.c -o camera.elf
    tau compose plan camera.elf
    tau compose build system.toml -o out
    tau compose run system.toml
    tau compose check system.toml --neighbors 30

    Each application is linked apart. A file system.toml gives it slots, memory and queues. It runs
    on the simulated tile: an Ibex processor with the composable MMU. `check` runs the system alone
    and with random neighbors, and compares absolute cycles. docs/tutorials/composable-system.md
    goes through an example; docs/spec/system.md defines the file.
    """


for verb, module in (
    ("link", link),
    ("plan", plan),
    ("build", build),
    ("run", run),
    ("check", check),
):
    command.add_command(module.command, verb)
