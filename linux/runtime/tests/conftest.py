"""The fixtures of these tests."""

from testing.recorded import build, record, tau
from testing.runtime import bands, plan, run

__all__ = ["bands", "build", "plan", "record", "run", "tau"]
