"""Fig. 5 in this machine's layout, where the system's allocators live; half of the seeds."""

from typing import Any

from repro.budget import workload
from repro.budget.figure5 import measured


def measure() -> dict[str, Any]:
    """The same table."""
    return measured("host", workload.SEEDS[:5])
