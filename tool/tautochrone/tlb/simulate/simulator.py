"""The simulator of TLBs: any geometry, five replacement policies, evictions by whom.

The work is done in tool/native/tlb; docs/spec/tlb_color.md, [CLR-14] ... [CLR-16], defines it.
"""

from __future__ import annotations

from types import TracebackType

import numpy as np
import numpy.typing as npt

from tautochrone import native
from tautochrone.declarations import Library, Struct
from tautochrone.errors import TauError
from tautochrone.tlb.geometry import CODE, DATA, DIRECTORY, Geometry

POLICIES = ("lru", "plru", "nru", "random", "adversarial")  # enum tau_tlb_policy
ROLES = (DATA, DIRECTORY, CODE)  # enum tau_tlb_role
SEED_MAX = 0xFFFF
ENTRIES_MAX = 1 << 22
Numbers = npt.NDArray[np.uint64]


def _in_c(library: Library, geometry: Geometry) -> Struct:
    arrays = [(each.sets, each.ways) for each in geometry.arrays]
    structures = [
        (
            tuple(each.rows),
            *(each.constant, each.array),
            *(ROLES.index(each.role), each.page_bytes.bit_length() - 1),
        )
        for each in geometry.structures
    ]
    return library.struct("tau_tlb_geometry")(
        library.array("tau_tlb_array", arrays),
        library.array("tau_tlb_structure", structures),
        *(len(arrays), len(structures), geometry.page_bytes.bit_length() - 1),
    )


class Simulator:
    """TLBs of a geometry, empty at first. Owners are 0 ... owners − 1; 1 ≤ seed ≤ SEED_MAX.

    The caller closes it, or uses it as a context.
    """

    def __init__(
        self,
        geometry: Geometry,
        policy: str,
        seed: int,
        owners: int,
        library: Library | None = None,
    ) -> None:
        entries = sum(array.sets * array.ways for array in geometry.arrays)
        if entries > ENTRIES_MAX:
            raise TauError(
                f"{geometry.name} has {entries:,} entries; at most {ENTRIES_MAX:,} are simulated",
                "simulate smaller arrays",
            )
        self.geometry, self.owners = geometry, owners
        self._library = library or native.library()
        numbers = POLICIES.index(policy), seed, owners
        self._handle = self._library.tau_tlb_simulator_new(
            _in_c(self._library, geometry), *numbers
        )
        if not self._handle:
            raise TauError("there is not enough memory for these TLBs", "simulate smaller arrays")

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give its memory back."""
        self._library.tau_tlb_simulator_delete(self._handle)
        self._handle = None

    def run(
        self,
        owners: npt.ArrayLike,
        addresses: npt.ArrayLike,
        page_bytes: int | None = None,
        role: str = DATA,
    ) -> None:
        """Access the pages at `addresses` in order, each by its owner."""
        by = np.ascontiguousarray(owners, np.uint32)
        at = np.ascontiguousarray(addresses, np.uint64)
        assert by.shape == at.shape
        page_log2 = (page_bytes or self.geometry.page_bytes).bit_length() - 1
        accesses = self._library.struct("tau_tlb_accesses")(
            *(by, at, by.size, ROLES.index(role), page_log2)
        )
        is_run = self._library.tau_tlb_simulator_run(self._handle, accesses)
        assert is_run, "an unknown owner, or pages that no structure translates"

    def misses(self) -> Numbers:
        """The walks of each owner so far."""
        counts = self._library.tau_tlb_simulator_misses(self._handle)
        return np.ctypeslib.as_array(counts, (self.owners,)).copy()

    def lookups(self) -> Numbers:
        """[structure, 0]: lookups that hit so far; [structure, 1]: those that missed."""
        counts = self._library.tau_tlb_simulator_lookups(self._handle)
        return np.ctypeslib.as_array(counts, (len(self.geometry.structures), 2)).copy()

    def evictions(self) -> Numbers:
        """[by, of]: evictions so far, in arrays that have sets to own."""
        counts = self._library.tau_tlb_simulator_evictions(self._handle)
        return np.ctypeslib.as_array(counts, (self.owners, self.owners)).copy()
