"""Reads JSON that others wrote, and refuses values that cannot be printed as JSON again."""

import json
import math
from typing import Any

DEPTH_MAX = 100


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises ValueError if it is not JSON, is nested deeper than DEPTH_MAX, or has a number that is
    not finite or has thousands of digits.
    """
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {DEPTH_MAX}") from None
    _check_depth(value)
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a finite number")
    return number


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {DEPTH_MAX}")


def _inside(value: Any) -> list[Any]:
    """Return the values directly in an array or object."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
