"""The records that a tile's mailbox leaves (hw/tile/doc/mailbox.md)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

LAYOUT = struct.Struct("<4IQ2I")
TYPES = ("<u4", "<u4", "<u4", "<u4", "<u8", "<u4", "<u4")


class Record(NamedTuple):
    """A result of the program, or an event that the hardware saw.

    `tag`, `value`, `sent` and `faults` mean what the channel says.
    """

    channel: int
    tag: int
    cycles: int
    value: int
    at_cycle: int
    sent: int
    faults: int


def records_of(content: bytes) -> list[Record]:
    """The records in a tile's results, in order."""
    return list(map(Record._make, LAYOUT.iter_unpack(content)))


def columns_of(content: bytes) -> np.ndarray:
    """The same as an array with the fields of Record."""
    import numpy as np

    kind = np.dtype(list(zip(Record._fields, TYPES, strict=True)))
    return np.frombuffer(content, dtype=kind)
