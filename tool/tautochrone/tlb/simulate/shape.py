"""A TLB of one array, named by its shape: `16x4`, or `128x12:xor`."""

from __future__ import annotations

import re

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import geometry_format
from tautochrone.tlb.geometry import CODE, DATA, Array, Geometry, Structure, geometry_of

PAGE_BYTES = 4096
SHAPE = re.compile(r"(\d+)x(\d+)(:\w+)?", re.ASCII)
NEXT_STEP = "a shape is SETSxWAYS, as 16x4, or SETSxWAYS:xor"


def geometry_or_shape(text: str) -> Geometry:
    """Return a known geometry, that of a file, or that of a shape. Raises TauError."""
    return _shape(text) if SHAPE.fullmatch(text) else geometry_of(text)


def _shape(text: str) -> Geometry:
    """One array for data and code; safe for one live entry of a set, as with any replacement.

    `:xor` is the exclusive or of the two lowest fields of the page number.
    """
    matched = SHAPE.fullmatch(text)
    assert matched is not None
    sets, ways = (_limited(text, key, matched[place]) for place, key in ((1, "sets"), (2, "ways")))
    if sets.bit_count() != 1:
        raise TauError(f"{text}: {sets} sets are not a power of two", NEXT_STEP, EXIT_USAGE)
    if matched[3] not in (None, ":xor"):
        raise TauError(f"{text}: there is no index {matched[3][1:]}", NEXT_STEP, EXIT_USAGE)
    bits = sets.bit_length() - 1
    mask = 1 | (1 << bits if matched[3] else 0)
    rows = tuple(mask << bit for bit in range(bits))
    structures = tuple(Structure(role, PAGE_BYTES, 0, rows, 0) for role in (DATA, CODE))
    array = Array(text, sets, ways, 1)
    return Geometry(text, PAGE_BYTES, "user", "named by its shape", None, (array,), structures)


def _limited(text: str, key: str, digits: str) -> int:
    limits = geometry_format.DOCUMENT["array"][key]
    least, most = limits["least"], limits["most"]
    if len(digits) > len(str(most)) or not least <= int(digits) <= most:
        cause = f"{text}: {key} are {digits}, expected an integer from {least} to {most}"
        raise TauError(cause, NEXT_STEP, EXIT_USAGE)
    return int(digits)
