"""What replay knows of live memory, against a naive list: objects from one byte to 16 MiB."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_overlaps_are_found_at_every_size(tmp_path: Path) -> None:
    program = tmp_path / "content"
    subprocess.run(
        ["gcc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        + ["-D_GNU_SOURCE", "-std=c17", f"-I{ROOT}", "-o", str(program)]
        + [str(ROOT / "tool/tests/replay/random_content.c")]
        + [str(ROOT / "tool/native/replay/content.c")],
        check=True,
    )
    done = subprocess.run(
        [str(program), "30000"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
