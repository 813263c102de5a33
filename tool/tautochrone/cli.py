"""The command `tau`: one file a verb in `commands/`, loaded when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import click

from tautochrone import __version__, output
from tautochrone.errors import EXIT_FAILED, TauError

VERBS = ("record", "import", "info", "plan", "replay", "report", "export", "check", "doctor")
EXIT_STOPPED = 130


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
@click.option(
    "--color",
    type=click.Choice(output.COLOR_CHOICES),
    default="auto",
    help="auto: on a terminal, unless NO_COLOR is set; FORCE_COLOR is honored.",
)
@click.option("-q", "--quiet", is_flag=True, help="No notes and no progress on stderr.")
@click.version_option(__version__, prog_name="tau")
def verbs(color: str, quiet: bool) -> None:
    """Record what a program does with its memory, plan it, replay the plan, report.

    \b
    tau record -o program.tau -- ./program --its arguments
    tau plan program.tau -o plan.toml
    tau replay program.tau --on tlsf,budget --plan plan.toml
    tau report program.tau --plan plan.toml -o report.html

    Results go to stdout, everything else to stderr; each verb has --json. Exit status: 0 done,
    1 failed, 2 wrong usage, 3 a limit was exceeded. Completion: eval "$(_TAU_COMPLETE=bash_source
    tau)" (zsh_source, fish_source).
    """
    output.configure(color, quiet)


def main() -> None:
    """Run the command and turn a TauError into a message with its next step and exit code."""
    try:
        code = verbs.main(prog_name="tau", standalone_mode=False)
    except TauError as error:
        sys.exit(_fail(error.message, error.next_step, error.exit_code))
    except click.exceptions.Abort:
        sys.exit(_fail("stopped", None, EXIT_STOPPED))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of stdout has seen enough (`tau export … | head`); nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(_fail(f"{where}{error.strerror or error}", None, EXIT_FAILED))
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, next_step: str | None, exit_code: int) -> int:
    """Print why on stderr and return `exit_code`."""
    print(output.styled("tau:", sys.stderr, fg="red", bold=True), message, file=sys.stderr)
    if next_step:
        print(f"  next: {next_step}", file=sys.stderr)
    return exit_code
