"""The command `tau`: one file a verb in `commands/`, loaded when it is called."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click

from tautochrone import __version__
from tautochrone.errors import EXIT_USAGE, TauError

VERBS = ("record", "import", "info", "plan", "replay", "report", "export", "check", "doctor")


class LazyVerbs(click.Group):
    """Finds a verb's file only when it is asked for, so that `tau --help` starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        present = Path(__file__).parent / "commands"
        return [verb for verb in VERBS if (present / f"{_module_of(verb)}.py").exists()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"tautochrone.commands.{_module_of(cmd_name)}")
        return module.command


def _module_of(verb: str) -> str:
    """`import` is a word of the language, so its file is `import_`."""
    return "import_" if verb == "import" else verb


@click.command(cls=LazyVerbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tau")
def verbs() -> None:
    """Record what a program does with its memory, plan it, replay the plan, report.

    \b
    tau record -- ./program --its arguments
    tau plan program.tau -o plan.toml
    tau replay program.tau --on tlsf,budget --plan plan.toml
    tau report program.tau --plan plan.toml -o report.html
    """


def main() -> None:
    """Run the command and turn a TauError into a message with its next step and exit code."""
    try:
        code = verbs.main(standalone_mode=False)
    except TauError as error:
        print(f"tau: {error.message}", file=sys.stderr)
        if error.next_step:
            print(f"  next: {error.next_step}", file=sys.stderr)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        print("tau: stopped", file=sys.stderr)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    sys.exit(code if isinstance(code, int) else 0)
