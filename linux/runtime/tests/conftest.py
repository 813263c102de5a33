"""The fixtures of these tests."""

from testing.recorded import build, tau
from testing.runtime import plan, run

__all__ = ["build", "plan", "run", "tau"]
