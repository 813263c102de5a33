"""What every command prints: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, TypeVar

import click

JSON_VERSION = 1
COLOR_CHOICES = ("auto", "always", "never")
Item = TypeVar("Item")

# What `tau --color … -q` set for this run.
_settings = {"color": "auto", "quiet": False}


def configure(color: str, quiet: bool) -> None:
    """Set for this run when to color (one of COLOR_CHOICES) and whether notes are dropped."""
    _settings.update(color=color, quiet=quiet)


def is_quiet() -> bool:
    """Tell whether notes and progress bars are dropped: `tau -q`."""
    return bool(_settings["quiet"])


def is_colored(stream: IO[str]) -> bool:
    """Tell whether `stream` gets colors: --color first, then NO_COLOR, FORCE_COLOR, a terminal."""
    if _settings["color"] != "auto":
        return _settings["color"] == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def styled(text: str, stream: IO[str], **style: Any) -> str:
    """Return `text` in click's `style` (fg="red", bold=True) if `stream` is colored, else as is."""
    return click.style(text, **style) if is_colored(stream) else text


def emit(
    as_json: bool, command: str, result: dict[str, Any], human: Callable[[], None]
) -> None:
    """Print `result` as one JSON document with "version" and "command", or call `human`."""
    if as_json:
        document = {"version": JSON_VERSION, "command": command, **result}
        json.dump(document, sys.stdout, indent=2, sort_keys=False)
        sys.stdout.write("\n")
    else:
        human()


def note(text: str) -> None:
    """Print a line for people on stderr; `tau -q` drops it."""
    if not _settings["quiet"]:
        print(text, file=sys.stderr, flush=True)


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Yield `items` under a progress bar on stderr.

    Silent unless stderr is a terminal and it takes over a second. `total` is the number of items,
    None if it is not known.
    """
    if _settings["quiet"] or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    started = time.monotonic()
    bar: Progress | None = None
    task = None
    try:
        for done, item in enumerate(items, 1):
            yield item
            if bar is not None and task is not None:
                bar.update(task, completed=done)
            elif time.monotonic() - started > 1.0:
                bar = Progress(console=Console(stderr=True), transient=True)
                bar.start()
                task = bar.add_task(label, total=total, completed=done)
    finally:
        if bar is not None:
            bar.stop()
