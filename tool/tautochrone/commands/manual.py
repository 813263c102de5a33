"""Manual pages from the help of each command: `python -m tautochrone.commands.manual FOLDER`.

The build of the package writes them to share/man/man1 of the environment.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tautochrone import __version__, cli

WIDTH = 72


def pages() -> dict[str, str]:
    """The text of each page by its file's name: tau.1, tau-record.1, …, tau-tlb-plan.1."""
    return dict(_pages_of(click.Context(cli.verbs, info_name="tau")))


def _pages_of(context: click.Context) -> Iterator[tuple[str, str]]:
    command = context.command
    yield f"{context.command_path.replace(' ', '-')}.1", "\n".join(_page(context)) + "\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _pages_of(click.Context(inner, info_name=name, parent=context))


def _page(context: click.Context) -> Iterator[str]:
    command, name = context.command, context.command_path.replace(" ", "-")
    help_text = inspect.cleandoc(command.help or "")
    yield f'.TH "{name.upper()}" 1 "" "tautochrone {__version__}"'
    yield from (".SH NAME", rf"{_roff(name)} \- {_roff(help_text.split('.')[0])}")
    yield from (".SH SYNOPSIS", f".B {_roff(context.command_path)}")
    yield _roff(" ".join(command.collect_usage_pieces(context)))
    yield ".SH DESCRIPTION"
    for paragraph in help_text.split("\n\n"):
        yield from _paragraph(paragraph)
    yield ".SH OPTIONS"
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and isinstance(param, click.Option):
            yield from (".TP", f".B {_roff(record[0])}", _roff(record[1]))
    formatter = click.HelpFormatter(width=WIDTH)
    if isinstance(command, click.Group):
        command.format_commands(context, formatter)
    command.format_epilog(context, formatter)
    if formatter.getvalue():
        yield from (".SH NOTES", ".nf", _roff(formatter.getvalue().strip()), ".fi")


def _paragraph(text: str) -> Iterator[str]:
    """A paragraph of click's: lines after a backspace stay as they are."""
    is_kept = text.startswith("\b\n")
    yield from (".PP", *([".nf"] if is_kept else []), _roff(text.removeprefix("\b\n")))
    if is_kept:
        yield ".fi"


def _roff(text: str) -> str:
    r"""Text as roff shows it: with \ and - as they are, and no line that begins a request."""
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text.replace("\\", r"\e").replace("-", r"\-"))


def main() -> None:
    """Write all pages into the folder of the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
