"""Paths on the command line."""

import os
from pathlib import Path, PosixPath
from typing import Any

import click
from click.shell_completion import CompletionItem


class FolderPath(PosixPath):
    """A path that was written with a slash at its end."""


class OutputPath(click.ParamType):
    """A file to write. A text that names no file, such as an empty one, is wrong usage. With
    `may_be_folder`, a slash at its end makes it a FolderPath.
    """

    name = "PATH"

    def __init__(self, may_be_folder: bool = False) -> None:
        self.may_be_folder = may_be_folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path."""
        text = os.fspath(value)
        if self.may_be_folder and text.endswith("/"):
            return FolderPath(text)
        if os.path.basename(text) in ("", ".", ".."):
            self.fail(f"{text!r} names no file; write for example ./name", param, ctx)
        return Path(text)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete it."""
        return [CompletionItem(incomplete, type="file")]
