"""The fixtures of these tests."""

from testing.recorded import build, record, tau
from testing.runtime import plan, run

__all__ = ["build", "plan", "record", "run", "tau"]
