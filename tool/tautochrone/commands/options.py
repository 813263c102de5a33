"""Options that several verbs take, each declared once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from tautochrone.facts import geometry_format

PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document."
)
FORCE = click.option("--force", is_flag=True, help="Replace existing outputs.")
SKIP_MISUSE = click.option(
    "--skip-misuse",
    is_flag=True,
    help="Leave out frees that name no live object (default: refuse such a trace).",
)


def geometries_beginning(
    _ctx: click.Context, _param: click.Parameter, word: str
) -> list[CompletionItem]:
    """Complete the name of a processor whose TLBs we know, or of a file."""
    names = [name for name in geometry_format.GEOMETRIES if name.startswith(word)]
    return [*map(CompletionItem, names), CompletionItem(word, type="file")]


class CommandWord(click.types.UnprocessedParamType):
    """A word of a command line that is passed on as it is. The shell completes files."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete it."""
        return [CompletionItem(incomplete, type="file")]


class ProgramName(click.ParamType):
    """A pattern for the names of programs. They have no folders."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The pattern."""
        text = str(value)
        if text in ("", ".", "..") or "/" in text:
            self.fail(f"{text!r} is not the name of a program; write for example cc1", param, ctx)
        return text


# Two options that exclude each other, and why.
Excluded = tuple[str, str, str]
# An option, the options of which it needs one, and why.
Needed = tuple[str, Sequence[str], str]


def refuse_combinations(
    given: Mapping[str, Any], excluded: Sequence[Excluded], needed: Sequence[Needed]
) -> None:
    """Raise UsageError for options that do not go together. GIVEN has their values by name."""
    for first, second, why in excluded:
        if given[first] and given[second]:
            raise click.UsageError(f"{first} and {second} exclude each other{_because(why)}")
    for name, others, why in needed:
        if given[name] and not any(given[other] for other in others):
            raise click.UsageError(f"{name} needs {' or '.join(others)}{_because(why)}")


def _because(why: str) -> str:
    return f": {why}" if why else ""
