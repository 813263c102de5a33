"""A plugin of pytest: compilers for bare targets go through ccache, if it is there.

Hundreds of tests build the same files of the kernel and of the core, each in a folder of its own.
A test that has a cache folder of its own builds its simulators with the files that others compiled.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

COMPILERS = ("riscv64-unknown-elf-gcc", "arm-none-eabi-gcc")


def pytest_configure(config: pytest.Config) -> None:
    """Put a folder of links to ccache before PATH; ccache finds the compilers behind it."""
    cache = shutil.which("ccache")
    if cache is None or hasattr(config, "workerinput"):  # xdist's workers inherit both
        return
    folder = Path(tempfile.mkdtemp(prefix="compilers-"))
    config.add_cleanup(lambda: shutil.rmtree(folder))
    for name in COMPILERS:
        if shutil.which(name):
            (folder / name).symlink_to(cache)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    asked = subprocess.run([cache, "-k", "cache_dir"], capture_output=True, text=True, check=True)
    os.environ.setdefault("CCACHE_DIR", asked.stdout.strip())
