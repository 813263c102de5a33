"""Options that several verbs of `tau compose` take."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tautochrone.console import signals

EPOCHS = click.option(
    "--epochs",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="How long the tiles run. In an epoch each tile has whole rounds of its slots.",
)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the moment; also for the temporary files of compilers. Signals remove it."""
    before = os.environ.get("TMPDIR")
    with (
        signals.ended_by_exceptions(),
        tempfile.TemporaryDirectory(prefix="tau-compose-", ignore_cleanup_errors=True) as made,
    ):
        os.environ["TMPDIR"] = made
        try:
            yield Path(made)
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before
