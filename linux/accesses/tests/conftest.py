"""The fixtures of these tests."""

from testing.recorded import build, record, tau

__all__ = ["build", "record", "tau"]
