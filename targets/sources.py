"""The core's files that each system consists of, in link order.

Names are relative to core/. A build with several systems takes the files of all of them.
"""

from __future__ import annotations

from .heaps import heaps

CORE_FILES = {
    # Heaps of bytes.
    "tlsf": ("tlsf.c",),
    "budget": ("tlsf.c", "budget.c"),
    "pools": ("tlsf.c", "budget.c", "pools.c"),
    "tlb_color": ("tlsf.c", "tlb_color.c"),
    # Tables of pages.
    "vspace": ("vspace.c", "frames.c", "region_tree.c", "validity.c"),
    "hierarchy": ("hierarchy.c", "frames.c", "region_tree.c", "validity.c"),
    "pagetable": ("conventional/pagetable.c", "frames.c"),
    # Blocks of frames.
    "buddy": ("buddy.c",),
    # Frames of cold code.
    "code_cache": ("code_cache.c",),
    # Heaps on pages.
    **{name: heap.files for name, heap in heaps().items()},
    # The port to Sv39, with the linear unmap that it is measured against.
    "sv39": ("ports/sv39.c", "ports/sv39_linear.c", "frames.c"),
    # Cold code on Sv39.
    "sv39_code": ("ports/sv39_code.c", "code_cache.c"),
}
