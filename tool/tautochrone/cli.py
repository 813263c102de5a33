"""The command `tau`. Each verb is a file in `commands/`, loaded when the verb is called."""

import difflib
import errno
import importlib
import os
import signal
import sys
import threading
import traceback
from typing import Any

import click
from click.shell_completion import CompletionItem

from tautochrone import OUT_OF_MEMORY, __version__
from tautochrone.console import output, signals, terminal
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, TauError

# What `tau --help` says of each, since to load all of them takes longer than most commands.
VERBS = {
    "record": "Run PROGRAM and record each allocation and each free.",
    "import": "Convert a firmware's capture, CSV or heaptrack file to a trace.",
    "translate": "Translate the sizes of a recording into a target's.",
    "info": "Print what TRACE holds: program, duration, live bytes, misuse.",
    "who": "Name the functions and lines that hold the bytes of TRACE.",
    "plan": "Find pools and a heap size that hold all of TRACES.",
    "verify": "Replay every call of TRACES on a target's machine code.",
    "replay": "Replay TRACE on systems; report memory, cost and bounds.",
    "report": "Write a report: one HTML file that needs no network.",
    "run": "Run PROGRAM with its heap in exactly the memory of its plan.",
    "export": "Write the events of TRACE as CSV or Parquet for other tools.",
    "check": "Validate FILE against every rule: a trace, a plan or another.",
    "compose": "Build, run and check applications that share a processor.",
    "tlb": "Give each task TLB sets that no other task evicts.",
    "coldcode": "Keep only the hot code of a kernel in RAM.",
    "doctor": "Check what works on this machine, and how to repair the rest.",
}
EXIT_STOPPED = 130
# If this variable is set, an unexpected exception prints its traceback.
TRACEBACK_VARIABLE = "TAU_TRACEBACK"
NEXT_STEP_OF = {
    errno.ENOENT: "check the path",
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, or write to another disk",
    errno.ENAMETOOLONG: "choose a shorter name",
}


class LazyVerbs(click.Group):
    """Loads a verb's file on demand, so that `tau --help` starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        fitting = [item for item in VERBS.items() if item[0].startswith(incomplete)]
        found = [CompletionItem(verb, help=text) for verb, text in fitting]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]  # `super` parses, which empties ARGS
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            for close in difflib.get_close_matches(word, VERBS, 1):
                error.message += f" Did you mean {close!r}?"
            raise

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"tautochrone.commands.{_module_of(cmd_name)}")
        command: click.Command = module.command
        inner = list(command.commands.values()) if isinstance(command, click.Group) else []
        for each in (command, *inner):
            each.params += [option for option in MANNERS if option not in each.params]
        return command


def _module_of(verb: str) -> str:
    """Return the module's name. `import` is a Python keyword, so its file is `import_`."""
    return "import_" if verb == "import" else verb


def _configure(_context: click.Context, option: click.Parameter, value: Any) -> None:
    """Apply an option of MANNERS, given before or after the verb."""
    if value:
        output.configure(**{str(option.name): value})


# Options of every verb and of `tau` itself.
MANNERS = (
    click.Option(
        ["--color"],
        type=click.Choice(output.COLOR_CHOICES),
        expose_value=False,
        callback=_configure,
        help="When to use colors; auto (default): on a terminal, unless NO_COLOR or FORCE_COLOR"
        " is set.",
    ),
    click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_configure,
        help="Print no notes and no progress on stderr (default: print them).",
    ),
)


@click.command(
    cls=LazyVerbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=list(MANNERS),
)
@click.version_option(__version__, prog_name="tau")
def verbs() -> None:
    """Record what a program does with its memory, plan its heap, replay the plan, report.

    \b
    tau record -o program.tau -- ./program --its arguments
    tau plan program.tau -o plan.toml
    tau replay program.tau --on tlsf,budget --plan plan.toml
    tau report program.tau --plan plan.toml -o report.html

    Results go to stdout, all other output to stderr. Every command has --json.

    \b
    Exit status: 0 done, 1 failed, 2 wrong usage, 3 a limit was exceeded.
    Completion: eval "$(_TAU_COMPLETE=bash_source tau)", or zsh_source, fish_source.
    """


def main() -> None:
    """Run the command; turn whatever stops it into a message, a next step and an exit code."""
    terminal.open_streams()
    if not os.environ.get(TRACEBACK_VARIABLE):
        # A failure during cleanup changes no result.
        sys.unraisablehook = threading.excepthook = lambda _: None
    try:
        try:
            if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # of __main__
                signal.signal(signal.SIGINT, signal.default_int_handler)
            with signals.ended_by_exceptions():  # temporary folders are removed
                code = verbs.main(prog_name="tau", standalone_mode=False)
                sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            code = _explain(error)
            try:
                sys.stdout.flush()
            except (terminal.ReaderGone, TauError):
                pass  # a failure is already reported
    except KeyboardInterrupt:
        code = EXIT_STOPPED  # while the message was printed
    sys.exit(code if isinstance(code, int) else EXIT_DONE)


def _explain(error: BaseException) -> int:
    """Print the error that stopped the command on stderr; return its exit code."""
    match error:
        case TauError():
            return _fail(error.message, error.next_step, error.exit_code, error.said)
        case click.exceptions.NoArgsIsHelpError():
            error.show(file=sys.stderr)  # the help text
            return error.exit_code
        case click.UsageError():
            named = error.ctx.command_path if error.ctx else "tau"
            message = terminal.in_one_line(error.format_message()).rstrip(".")
            step = f"`{named} --help` shows how to call it"
            if message.endswith("is a directory"):
                step = "name one of the files in it"
            return _fail(message[:1].lower() + message[1:], step, error.exit_code)
        case click.ClickException():
            return _fail(terminal.in_one_line(error.format_message()), None, error.exit_code)
        case ModuleNotFoundError() if (error.name or "").startswith("tautochrone."):
            missing = error.name.replace(".", "/")
            return _fail(
                f"this source tree is not built: {missing} is missing",
                "`make build` installs the command, `make native` builds the tree",
                EXIT_FAILED,
            )
        case ModuleNotFoundError():
            from tautochrone import installation

            return _explain(installation.missing(str(error.name)))
        case click.exceptions.Abort() | KeyboardInterrupt():
            return _fail("stopped", None, EXIT_STOPPED)
        case terminal.ReaderGone():
            return EXIT_DONE  # the reader closed the pipe, which is not an error
        case MemoryError():
            return _fail(*OUT_OF_MEMORY, EXIT_FAILED)
        case OSError():
            where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            step = NEXT_STEP_OF.get(error.errno or 0, "check the path and its permissions")
            return _fail(f"{where}{error.strerror or error}", step, EXIT_FAILED)
    return _confess(error)


def _confess(error: BaseException) -> int:
    """Report a bug of ours, with the next step."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error, file=sys.stderr)
    verb = next((word for word in sys.argv[1:] if word in VERBS), "")
    name = f"tau {verb}".rstrip()
    cause = str(error).split("\n")[0] or "no message"
    return _fail(
        f"`{name}` has a bug: {type(error).__name__}: {cause}",
        "`tau check FILE` says whether its input is damaged; please report the command line, "
        f"the input and what {TRACEBACK_VARIABLE}=1 adds to this message",
        EXIT_FAILED,
    )


def _fail(message: str, next_step: str | None, exit_code: int, said: str = "") -> int:
    """Print the cause on stderr and return `exit_code`; see output.warn, TauError for `said`."""
    with output.style(sys.stderr, fg="red", bold=True):
        print("tau:", end="", file=sys.stderr)
    output.warn(f" {message}")
    for line in said.splitlines():
        output.warn(f"  {line}")
    if next_step:
        output.warn(f"  next: {next_step}")
    return exit_code
