"""The core's structures as ctypes sees them, field by field as its headers have them."""

from __future__ import annotations

import ctypes


class TlsfStatistics(ctypes.Structure):
    """struct tau_tlsf_statistics."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "capacity_bytes",
            "used_bytes",
            "peak_used_bytes",
            "free_bytes",
            "largest_free_bytes",
            "out_of_memory_count",
            "control_bytes",
        )
    ]


class BudgetStatistics(ctypes.Structure):
    """struct tau_budget_statistics."""

    _fields_ = [
        ("shared", TlsfStatistics),
        ("dedicated_bytes", ctypes.c_size_t),
        ("control_bytes", ctypes.c_size_t),
        ("classes_count", ctypes.c_size_t),
    ]


class BudgetClass(ctypes.Structure):
    """struct tau_budget_class."""

    _fields_ = [("size_bytes", ctypes.c_uint32), ("count", ctypes.c_uint32)]


class BudgetClassStatistics(ctypes.Structure):
    """struct tau_budget_class_statistics."""

    _fields_ = [
        (name, ctypes.c_uint32) for name in ("size_bytes", "count", "used_count", "peak_used_count")
    ]
