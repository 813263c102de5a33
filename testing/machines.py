"""Builds programs for other machines and records them, each machine by its name of `tau record`.

A machine whose packages are missing fails its tests: scripts/setup.sh installs them.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tautochrone.record import emulation
from testing import command

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "linux" / "recorder" / "tests" / "programs"
NAMES = tuple(emulation.TARGETS)
RUN_ON = ("arm64", "riscv64")  # the allocator of `tau run` has words of 64 bits
TIMEOUT_S = 300
COMPILER_VERSION = 12  # the version in scripts/setup.sh
CMAKE_PROCESSORS = {"arm64": "aarch64", "armhf": "arm", "riscv64": "riscv64"}


@dataclass(frozen=True)
class Machine:
    """One machine, with a folder for its builds."""

    name: str
    folder: Path

    @property
    def found(self) -> emulation.Emulation:
        """What records its programs."""
        return emulation.find(self.name)

    def compiler(self, source: str) -> str:
        """The path of its C or C++ compiler."""
        name = f"{self.found.target.triplet}-{'gcc' if source.endswith('.c') else 'g++'}"
        path = shutil.which(name) or shutil.which(f"{name}-{COMPILER_VERSION}")
        assert path is not None, f"{name} is missing: run scripts/setup.sh check"
        return path

    def build(self, source: str, *flags: str, made: str = "") -> Path:
        """Compile one of the recorder's test programs, named with its folder and suffix."""
        out = self.folder / (made or Path(source).stem)
        if not out.exists():
            command = [self.compiler(source), "-O1", "-w", "-fno-builtin-malloc"]
            command += ["-fno-builtin-free", "-o", str(out), str(PROGRAMS / source), *flags]
            subprocess.run([*command, "-pthread"], check=True, timeout=TIMEOUT_S)
        return out

    def cross_build(self, *targets: str) -> Path:
        """Build targets of CMakeLists.txt as the wheel does on that machine; return the folder.

        The machine's libzstd is an empty library: what needs it is linked, not run.
        """
        made = self.folder / "cmake"
        zstd = self.folder / "libzstd.so"
        if not zstd.exists():
            command = [self.found.compiler, "-shared", "-x", "c", os.devnull, "-o", str(zstd)]
            subprocess.run(command, check=True, timeout=TIMEOUT_S)
            (self.folder / "zstd.h").write_bytes(Path("/usr/include/zstd.h").read_bytes())
        configure = [
            *("cmake", "-S", str(ROOT), "-B", str(made), "-G", "Ninja", "-DTAU_TOOL=ON"),
            *("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_SYSTEM_NAME=Linux"),
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DCMAKE_SYSTEM_PROCESSOR={CMAKE_PROCESSORS[self.name]}",
            f"-DCMAKE_C_COMPILER={self.found.compiler}",
            *("-DCMAKE_C_FLAGS=-Werror", f"-DZSTD_LIBRARY={zstd}", f"-DZSTD_INCLUDE={self.folder}"),
        ]
        build = ["cmake", "--build", str(made), "--target", *targets]
        for command in (configure, build):
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
            assert done.returncode == 0, done.stdout + done.stderr
        return made


def tau(*words: object, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, with variables added to the environment."""
    return command.tau(*words, cwd=cwd, env=dict(os.environ) | env, timeout=TIMEOUT_S)
