"""What `tau plan` prints of the runs that were recorded, and of those that were not."""

from collections.abc import Iterator

from tautochrone.console.output import percent
from tautochrone.plan.making import Made


def runs_text(made: Made) -> Iterator[str]:
    """Lines on single runs, on each recording left out, and on the margin."""
    spread = made.spread
    if spread is not None:
        plain, planned = spread.plain, spread.planned
        without = f"{plain.least:,} to {plain.most:,} bytes"
        if made.plan.classes:
            with_pools = f"{planned.least:,} to {planned.most:,} bytes with these pools"
            yield f"each run alone needs {with_pools}, {without} without pools"
        else:
            yield f"each run alone needs {without}"
        short = [item for item in spread.left_out if item.short_bytes]
        worst = max((item.short_bytes / item.planned_bytes for item in short), default=0.0)
        yield (
            f"left out in turn: {len(short)} of {len(spread.left_out)} need more than a plan from"
            f" the others has, at most {percent(worst)}"
        )
        if planned.least == planned.most and plain.least == plain.most:
            yield "all runs need the same: they say nothing about runs with other inputs"
    yield made.margin.text()
