"""Paths on the command line."""

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


class OutputPath(click.ParamType):
    """A file to write. A text that names no file, such as an empty one, is wrong usage."""

    name = "PATH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path."""
        text = os.fspath(value)
        if os.path.basename(text) in ("", ".", ".."):
            self.fail(f"{text!r} names no file; write for example ./name", param, ctx)
        return Path(text)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete it."""
        return [CompletionItem(incomplete, type="file")]
