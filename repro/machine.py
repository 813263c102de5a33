"""What a reproduction says of the machine that measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def first_line(*command: str) -> str:
    """What a command says first; empty if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=REPOSITORY)
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""
