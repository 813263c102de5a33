"""The embedded kernel, from nothing to the end of a program, as a user's command: network, file
systems and drivers, which the smallest kernel does not have. The program is the tutorial's; ours,
which calls all that the kernel has, gets to its end, too.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.coldcode.linux.build import Wish, build, compiler_tools
from tautochrone.coldcode.linux.initramfs import initramfs
from tautochrone.coldcode.linux.qemu import Boot, boot
from tautochrone.coldcode.linux.root import Root

# One line decides whether `make check` runs this: it builds a kernel, which takes ten minutes.
pytestmark = pytest.mark.slow

TUTORIAL = Path(__file__).resolve().parents[3] / "docs/tutorials/cold-code.md"
SECONDS_MAX = 7200
OUT_OF_RAM_LEAST = 0.84  # less is hot under this program than in repro/coldcode


def test_the_embedded_kernel_runs_with_its_cold_code_in_flash(tmp_path: Path) -> None:
    (program,) = re.findall(r"`init.c`:\n\n```c\n(.*?)```", TUTORIAL.read_text(), re.S)
    (tmp_path / "init.c").write_text(program)
    (tmp_path / "root").mkdir()
    command = [compiler_tools()["compiler"], "-static", "-Os", "init.c", "-o", "root/init"]
    subprocess.run(command, cwd=tmp_path, check=True)
    command = [
        sys.executable,
        "-m",
        "tautochrone",
        "coldcode",
        "run",
        "--configuration",
        "embedded",
    ]
    command += ["--root", str(tmp_path / "root"), "--frames", "16", "--compare", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["outputs_equal"] and found["loads"] > 0 and found["pages"] > 400
    assert found["worst_load_instructions"] <= found["load_instructions_max"] <= 2000
    assert found["worst_fault_instructions"] <= found["fault_instructions_max"] <= 500
    kept = found["resident_text_bytes"] + found["cache_bytes"] + found["pager_bytes"]
    assert 1 - kept / found["text_bytes"] >= OUT_OF_RAM_LEAST
    assert found["system_instructions"] < 1.02 * found["baseline_system_instructions"]


def test_no_call_of_our_first_program_waits_for_ever() -> None:
    """With System V's queues, for example, a call waits for a message that nobody sends."""
    archive = Root(initramfs(compiler_tools()["compiler"]))
    seen = boot(build(Wish("embedded", seconds_max=SECONDS_MAX)), Boot(archive, seconds_max=300))
    assert seen.results
