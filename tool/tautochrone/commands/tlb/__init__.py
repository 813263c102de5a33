"""`tau tlb`: TLB sets of their own for tasks. Each verb is a file here."""

import importlib
from pathlib import Path

import click

VERBS = ("check", "discover", "plan", "run", "simulate")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Give each task TLB sets of its own, so that no task evicts another's translations.

    \b
    tau tlb plan tasks.toml --geometry tile-16x4 -o plan.toml
    tau tlb run tasks.toml --on 16x4 --plan plan.toml

    A file tasks.toml has the tasks: periods, and the bytes of heap, stack, globals and code.
    docs/tutorials/tlb-sets.md goes through an example; docs/spec/tasks.md defines the file.
    """


present = {path.stem for path in Path(__file__).parent.iterdir()}
for verb in VERBS:
    if verb in present:
        module = importlib.import_module(f"tautochrone.commands.tlb.{verb}")
        command.add_command(module.command, verb)
