"""Output of every command: results on stdout, all other output on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

from tautochrone.console import terminal

JSON_VERSION = 1
COLOR_CHOICES = ("auto", "always", "never")

# The values of --color and -q for this run.
_settings = {"color": "auto", "quiet": False}


def configure(**settings: Any) -> None:
    """Set --color (one of COLOR_CHOICES) or --quiet for this run."""
    _settings.update(settings)


def is_quiet() -> bool:
    """Whether notes and progress bars are dropped (`tau -q`)."""
    return bool(_settings["quiet"])


def is_colored(stream: IO[str]) -> bool:
    """Whether `stream` gets colors: --color decides, then NO_COLOR, FORCE_COLOR, a terminal."""
    if _settings["color"] != "auto":
        return _settings["color"] == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def style(stream: IO[str], **how: Any) -> AbstractContextManager[None]:
    """Write to `stream` in click's style `how` inside this context, if it is colored."""
    return terminal.style(stream, **how) if is_colored(stream) else nullcontext()


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


def write_data(text: str) -> None:
    """Write a file's text to stdout as it would be in the file: unescaped, in UTF-8."""
    if isinstance(sys.stdout, terminal.Screen):
        sys.stdout.write_data(text)
    else:
        sys.stdout.write(text)


def copy_data(source: IO[bytes]) -> None:
    """Copy a file to stdout, byte for byte."""
    if isinstance(sys.stdout, terminal.Screen):
        sys.stdout.copy_data(source)
    else:
        sys.stdout.flush()
        shutil.copyfileobj(source, sys.stdout.buffer)


def note(text: str, next_step: str | None = None) -> None:
    """Print a note and its next step on stderr, unless `tau -q` was given."""
    if not _settings["quiet"]:
        warn(text, next_step)


def warn(text: str, next_step: str | None = None) -> None:
    """Print a warning and its next step on stderr, also with `tau -q`.

    A line end within a name is escaped, so that the rest of the name cannot look like our message.
    """
    print(terminal.in_one_line(text), file=sys.stderr, flush=True)
    if next_step:
        print(f"  next: {terminal.in_one_line(next_step)}", file=sys.stderr, flush=True)


def count(number: int, noun: str) -> str:
    """Return a number of things, as `1 object` or `1,200 objects`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def span(values: Iterable[int]) -> str:
    """The least and the most of some numbers, as `1,000 to 2,000`; one number if all are equal."""
    numbers = [*values]
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def time_unit(duration_ns: int) -> tuple[str, int]:
    """Return the unit that shows a duration best, and its nanoseconds."""
    for unit, length_ns in (("s", 10**9), ("ms", 10**6)):
        if duration_ns >= length_ns:
            return unit, length_ns
    return "µs", 1000


def duration(duration_ns: int) -> str:
    """Return a duration in the unit that shows it best, as `2.500 s`."""
    unit, length_ns = time_unit(duration_ns)
    return f"{duration_ns / length_ns:,.3f} {unit}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage, with enough digits to compare two."""
    value = 100 * fraction
    if value >= 10:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.2g} %"


def change(now: float, before: float, less: str = "less", more: str = "more") -> str:
    """Return how NOW differs from BEFORE, as `40 % less` or `3.2 % more`: never with a sign.

    BEFORE is above 0."""
    part = now / before - 1
    return f"{percent(abs(part))} {less if part < 0 else more}"
