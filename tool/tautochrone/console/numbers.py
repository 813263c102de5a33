"""Numbers on the command line."""

from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A number in a range. click compares only, and nothing is below or above nan."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if number - number != 0:
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number
