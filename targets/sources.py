"""The source files that each system consists of, in link order.

Names are relative to the root. A build with several systems takes the files of all of them.
"""

from __future__ import annotations

from .heaps import heaps

CORE_FILES = {
    # Heaps of bytes.
    "tlsf": ("core/tlsf.c",),
    "budget": ("core/tlsf.c", "core/budget.c"),
    "pools": ("core/tlsf.c", "core/budget.c", "core/pools.c"),
    "tlb_color": ("core/tlsf.c", "core/tlb_color.c"),
    # Tables of pages.
    "vspace": ("core/vspace.c", "core/frames.c", "core/region_tree.c", "core/validity.c"),
    "hierarchy": ("core/hierarchy.c", "core/frames.c", "core/region_tree.c", "core/validity.c"),
    "pagetable": ("peers/conventional/pagetable.c", "core/frames.c"),
    # Blocks of frames.
    "buddy": ("core/buddy.c",),
    # Frames of cold code.
    "code_cache": ("core/code_cache.c",),
    # Heaps on pages.
    **{name: heap.files for name, heap in heaps().items()},
    # The port to Sv39, with the linear unmap that it is measured against.
    "sv39": ("core/ports/sv39.c", "core/ports/sv39_linear.c", "core/frames.c"),
    # Cold code on Sv39.
    "sv39_code": ("core/ports/sv39_code.c", "core/ports/sv39_code_ages.c", "core/code_cache.c"),
}
