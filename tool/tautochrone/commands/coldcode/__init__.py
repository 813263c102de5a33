"""`tau coldcode`: a kernel that keeps only its hot code in RAM."""

import click

from tautochrone.commands.coldcode import build, plan, profile, replay, report, run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Keep only the hot code of a kernel in RAM, and load the rest when it is executed.

    \b
    tau coldcode run --compare
    tau coldcode build --configuration own.config
    tau coldcode profile --kernel vmlinux -o day.taucode -- qemu-system-riscv64 -kernel Image
    tau coldcode plan day.taucode --kernel vmlinux --map vmlinux.map --ram 300K -o plan.toml
    tau coldcode replay day.taucode --plan plan.toml
    tau coldcode report day.taucode --plan plan.toml -o report.html
    tau coldcode run --configuration own.config --plan plan.toml

    The first command does all of it with a kernel and programs of ours. docs/tutorials/cold-code.md
    shows the others. docs/spec/code_recording.md, code_plan.md and code_pager.md define the
    files.
    """


command.add_command(profile.command, "profile")
command.add_command(plan.command, "plan")
command.add_command(replay.command, "replay")
command.add_command(build.command, "build")
command.add_command(run.command, "run")
command.add_command(report.command, "report")
