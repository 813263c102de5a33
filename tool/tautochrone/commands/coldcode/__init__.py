"""`tau coldcode`: a kernel that keeps only its hot code in RAM."""

from __future__ import annotations

import click

from tautochrone.commands.coldcode import profile


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Record which code a kernel executes, to decide what can leave its RAM.

    \b
    tau coldcode profile --kernel vmlinux -o boot.taucode -- qemu-system-riscv64 -kernel Image
    tau info boot.taucode

    docs/spec/code_recording.md defines the file.
    """


command.add_command(profile.command, "profile")
