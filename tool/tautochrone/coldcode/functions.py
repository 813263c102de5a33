"""The functions of a kernel: addresses, sizes, names, and the chunk of a recording that has them.

A function is known by its number, its place in the order of addresses.
"""

from dataclasses import dataclass

import numpy as np

from tautochrone.facts import code_format as form

ROW = np.dtype([("start", "<u8"), ("bytes", "<u4"), ("name_bytes", "<u4")])
NONE = -1


@dataclass(frozen=True)
class Functions:
    """Functions by rising address; none overlap. Code before the first symbol has no name."""

    starts: np.ndarray
    sizes_bytes: np.ndarray
    names: tuple[str, ...]

    def numbers_at(self, addresses: np.ndarray) -> np.ndarray:
        """The number of the function that holds each address, NONE where there is none."""
        if not len(self.starts):
            return np.full(len(addresses), NONE)
        numbers = np.searchsorted(self.starts, addresses, side="right") - 1
        before = np.maximum(numbers, 0)
        is_inside = (numbers >= 0) & (addresses - self.starts[before] < self.sizes_bytes[before])
        return np.where(is_inside, numbers, NONE)

    def payload(self) -> bytes:
        """The payload of a chunk of functions [CODE-7]."""
        encoded = [name.encode("utf-8", "surrogateescape") for name in self.names]
        rows = np.empty(len(encoded), ROW)
        rows["start"], rows["bytes"] = self.starts, self.sizes_bytes
        rows["name_bytes"] = [len(name) for name in encoded]
        return rows.tobytes() + b"".join(encoded)


def functions_of(payload: bytes, count: int) -> Functions:
    """The functions in the payload of a chunk. Raises ValueError if it breaks [CODE-7]."""
    if count > form.FUNCTIONS_MAX or len(payload) < count * form.FUNCTION_BYTES:
        raise ValueError(f"{count} functions do not fit into {len(payload)} bytes")
    rows = np.frombuffer(payload, ROW, count)
    if (rows["name_bytes"] > form.NAME_BYTES_MAX).any():
        raise ValueError("a name is too long")
    ends = np.cumsum(rows["name_bytes"], dtype=np.int64) + count * form.FUNCTION_BYTES
    if len(payload) != (ends[-1] if count else 0):
        raise ValueError("the names do not end where the chunk does")
    sizes = rows["bytes"].astype(np.uint64)
    last = np.iinfo(np.uint64).max - rows["start"]
    if (sizes == 0).any() or (sizes > form.FUNCTION_BYTES_MAX).any() or (sizes > last).any():
        raise ValueError("a function has a size that is not allowed")
    if (rows["start"][1:] < (rows["start"] + sizes)[:-1]).any():
        raise ValueError("functions overlap or are out of order")
    begins = [count * form.FUNCTION_BYTES, *ends.tolist()]
    names = tuple(
        payload[begin:end].decode("utf-8", "surrogateescape")
        for begin, end in zip(begins[:-1], begins[1:], strict=True)
    )
    return Functions(rows["start"].copy(), sizes, names)
