"""`tau coldcode`: a kernel that keeps only its hot code in RAM."""

from __future__ import annotations

import click

from tautochrone.commands.coldcode import build, plan, profile, replay, run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Record which code a kernel executes, and plan what of it leaves RAM.

    \b
    tau coldcode profile --kernel vmlinux -o boot.taucode -- qemu-system-riscv64 -kernel Image
    tau coldcode plan boot.taucode --kernel vmlinux --map vmlinux.map --ram 300K -o plan.toml
    tau coldcode replay boot.taucode --plan plan.toml
    tau coldcode run

    docs/spec/code_recording.md and docs/spec/code_plan.md define the files.
    """


command.add_command(profile.command, "profile")
command.add_command(plan.command, "plan")
command.add_command(replay.command, "replay")
command.add_command(build.command, "build")
command.add_command(run.command, "run")
