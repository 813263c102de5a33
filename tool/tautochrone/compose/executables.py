"""Asks the kernel's own reader whether it would take an executable (kernel/executable.c)."""

from __future__ import annotations

import ctypes

from tautochrone import native

EXECUTABLE_BYTES = 1024  # of struct tau_executable, with room


def refusal(image: bytes, digest: bytes) -> str | None:
    """Why the loader would refuse IMAGE with the base code of this hash; None if it would not."""
    read = native.library("libtau_kernel.so").tau_executable_read
    read.restype = ctypes.c_char_p
    words = ctypes.create_string_buffer(image + bytes(-len(image) % 4) or bytes(4))
    executable = (ctypes.c_uint32 * (EXECUTABLE_BYTES // 4))()
    said = read(executable, words, len(image), digest)
    return None if said is None else str(said.decode())
