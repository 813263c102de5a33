"""The compiled TLB coloring behind the interface of its model, with ctypes. No page is touched."""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from pathlib import Path
from typing import Any

from model.tlb_color.ownership import CODE, DATA, DIRECTORY, ISOLATED, NO_MISS, Partition
from tautochrone.facts import status_format

ROLES = (DATA, DIRECTORY, CODE)
MODES = (ISOLATED, NO_MISS)
U8, U32, WORD, POINTER = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p


def structure(name: str, **fields: Any) -> type[ctypes.Structure]:
    """A structure of C with these fields."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


ARRAY = structure("Array", sets_count=U32, ways=U32, safe_ways=U32)
STRUCTURE = structure(
    "Structure", rows=POINTER, constant=U32, role=U8, page_log2=U8, array=U8
)
GEOMETRY = structure(
    *("Geometry",),
    **{"arrays": POINTER, "structures": POINTER, "arrays_count": U8},
    **{"structures_count": U8, "page_log2": U8},
)
SETS = structure("Sets", owned=POINTER, taken=U32)
WINDOW = structure("Window", start=WORD, size_log2=U8, page_log2=U8)
PRINCIPAL = structure("Principal", sets=POINTER, windows=POINTER, windows_count=U32)
PARTITION = structure("Partition", geometry=POINTER, principals=POINTER, principals_count=U32)
REQUEST = structure(
    "Request", principal=U32, window=U32, pages_count=U32, mode=ctypes.c_int
)
HEAP = structure(
    *("Heap",),
    **{"blocks": POINTER, "lowest": WORD, "span_bytes": WORD, "pages": POINTER},
    **{"page_log2": U32, "object_max_bytes": WORD},
)
RUN = structure("Run", start=WORD, size_bytes=WORD)


def log2(value: int) -> int:
    """The logarithm of a power of two."""
    return value.bit_length() - 1


def bit_words(owned: Collection[int], sets: int) -> list[int]:
    """The sets as words of bits."""
    bits = sum(1 << index for index in owned)
    return [bits >> 32 * word & 0xFFFFFFFF for word in range(-(-sets // 32))]


class Native:
    """A partition in C, made of the model's."""

    def __init__(self, library: Path, partition: Partition) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.tau_tlb_color_next_run.restype = ctypes.c_bool
        self.kept: list[Any] = []  # what C has pointers to
        self.windows = [each.windows for each in partition.principals]
        geometry = partition.geometry
        structures = [
            (
                self._array(WORD, each.rows),
                *(each.constant, ROLES.index(each.role), log2(each.page_bytes), each.array),
            )
            for each in geometry.structures
        ]
        arrays = [(each.sets, each.ways, each.safe_ways) for each in geometry.arrays]
        facts = GEOMETRY(
            *(self._array(ARRAY, arrays), self._array(STRUCTURE, structures)),
            *(len(arrays), len(structures), log2(geometry.page_bytes)),
        )
        principals = []
        for each in partition.principals:
            taken = each.taken or [0] * len(arrays)
            sets = [
                (self._array(U32, bit_words(owned, array.sets)), count)
                for array, owned, count in zip(geometry.arrays, each.sets, taken, strict=True)
            ]
            windows = [
                (window.start, log2(window.size_bytes), log2(window.page_bytes))
                for window in each.windows
            ]
            both = self._array(SETS, sets), self._array(WINDOW, windows)
            principals.append((*both, len(windows)))
        self.kept.append(facts)
        self.partition = PARTITION(
            ctypes.addressof(facts), self._array(PRINCIPAL, principals), len(principals)
        )

    def _array(self, kind: Any, rows: Any) -> int:
        """The address of a C array of these rows."""
        made = (kind * len(rows))(*rows)
        self.kept.append(made)
        return ctypes.addressof(made)

    def check(self) -> str:
        """As tau_tlb_color_check."""
        return status_format.NAMES[self.library.tau_tlb_color_check(ctypes.byref(self.partition))]

    def heap(
        self, number: int, window: int, pages: int, mode: str
    ) -> tuple[str, list[tuple[int, int]]]:
        """As tau_tlb_color_init, and the runs."""
        facts = self.windows[number][window]
        words = facts.size_bytes // facts.page_bytes // 32 + 1
        memory, heap, run = (U32 * words)(), HEAP(), RUN()
        request = REQUEST(number, window, pages, MODES.index(mode))
        status = self.library.tau_tlb_color_init(
            *(ctypes.byref(heap), ctypes.byref(self.partition), ctypes.byref(request)),
            *(memory, WORD(words)),
        )
        runs = []
        while status == 0 and self.library.tau_tlb_color_next_run(
            ctypes.byref(heap), ctypes.byref(run)
        ):
            runs.append((run.start, run.size_bytes))
        return status_format.NAMES[status], runs

    def most_pages(self, number: int, window: int) -> int:
        """The most pages that an isolated heap can have."""
        facts = self.windows[number][window]
        low, high = 0, facts.size_bytes // facts.page_bytes
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.heap(number, window, middle, ISOLATED)[0] == "OK"
            low, high = (middle, high) if fits else (low, middle)
        return low
