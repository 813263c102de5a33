"""Draws a picture of a report with a headless browser."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.targets import limited

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_SECONDS = 120


def browser() -> str | None:
    """Return the path of a browser that can run headless, None if there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def browser_command(program: str, profile: Path) -> list[str]:
    """Return the command that runs `program` without a screen, a network or the user's profile."""
    return [
        program,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=20000",
    ]


def take(report: Path, picture: Path, width: int = 900, height: int = 1380) -> None:
    """Draw the top `height` pixels of `report` into the PNG file `picture`,."""
    program = browser()
    if program is None:
        raise TauError(
            "--picture needs a browser that runs headless, and none is installed",
            "apt install chromium",
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        raw = Path(folder) / "raw.png"
        command = [
            *browser_command(program, Path(folder) / "profile"),
            f"--screenshot={raw}",
            f"--window-size={width},{height}",
            report.resolve().as_uri(),
        ]
        try:
            # All of the browser's processes: those that live on write into its profile.
            limited.run(command, TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise TauError(f"{program} took over {TIMEOUT_SECONDS} s to draw {report}") from None
        if not raw.exists():
            raise TauError(f"{program} made no picture of {report}", f"open {report} to see why")
        shutil.copyfile(raw, picture)
