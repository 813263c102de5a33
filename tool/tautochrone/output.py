"""What every command prints: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

JSON_VERSION = 1
Item = TypeVar("Item")


def emit(as_json: bool, command: str, result: dict[str, Any], human: Callable[[], None]) -> None:
    """Print `result` as one JSON document (with "version" and "command"), or call `human` to print it for people."""
    if as_json:
        document = {"version": JSON_VERSION, "command": command, **result}
        json.dump(document, sys.stdout, indent=2, sort_keys=False)
        sys.stdout.write("\n")
    else:
        human()


def note(text: str) -> None:
    """Print a line for people on stderr."""
    print(text, file=sys.stderr, flush=True)


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Yield `items` under a progress bar on stderr; silent unless stderr is a terminal and it takes over a second."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    import time

    started = time.monotonic()
    bar: Progress | None = None
    task = None
    done = 0
    try:
        for item in items:
            yield item
            done += 1
            if bar is None and time.monotonic() - started > 1.0:
                bar = Progress(console=Console(stderr=True), transient=True)
                bar.start()
                task = bar.add_task(label, total=total, completed=done)
            elif bar is not None and task is not None:
                bar.update(task, completed=done)
    finally:
        if bar is not None:
            bar.stop()
