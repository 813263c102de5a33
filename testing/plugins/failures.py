"""A plugin of pytest: the name of a test that fails is printed as it fails, not only at the end."""

import pytest


class Names:
    """Prints them through the terminal's reporter."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report a test's set-up, call or end. With several processes, the first one is called."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"failed: {report.nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    """Register it, but not in the workers of pytest-xdist, which have no terminal."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Names(config), "tautochrone-failures")
