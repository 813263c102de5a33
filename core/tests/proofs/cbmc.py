"""CBMC 6.6, a model checker for C: fetched from Debian trixie into build/cbmc, never installed.

    cbmc = fetch()                        # once; later calls find it there
    verdict = cbmc.prove(source, "prove_find", ["-DX"], seconds_max=300)
    verdict.holds, verdict.failed, verdict.goals

Debian 12 has no CBMC and its C library is too old for trixie's, so the packages are unpacked next
to each other and run by their own loader. They are fetched by apt, with its own lists and caches
under build/cbmc, and with this machine's mirror, keys and proxy. It checks the packages' signatures
as always. The command `python core/tests/proofs/cbmc.py` only fetches, and prints where.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "cbmc"
SUITE = "trixie"
PACKAGES = ("cbmc", "libc6", "libgcc-s1", "libstdc++6", "minisat", "zlib1g")
VERSION = "6.6"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
FETCH_SECONDS_MAX = 600
RESULT_LINE = re.compile(r"^\[(\S+)\] (.*): (SUCCESS|FAILURE|UNKNOWN|ERROR)$", re.MULTILINE)
# Goals in addition to the asserts: everything that C leaves undefined and these sources could do.
CHECKS = (
    "--no-standard-checks",
    "--bounds-check",
    "--pointer-check",
    "--undefined-shift-check",
    "--signed-overflow-check",
    "--div-by-zero-check",
    "--unwinding-assertions",
)


class CbmcMissing(Exception):
    """CBMC cannot be had; the message says why and what to do."""


class NoVerdict(Exception):
    """CBMC ended without one: too long, or the source is not C."""


@dataclass(frozen=True)
class Verdict:
    """Result of a proof: `goals` properties, and the texts of those that do not hold."""

    goals: int
    failed: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether all do."""
        return self.goals > 0 and not self.failed


@dataclass(frozen=True)
class Cbmc:
    """An unpacked CBMC."""

    root: Path

    def command(self, program: str = "cbmc") -> list[str]:
        """How to call one of its programs."""
        libraries = self.root / "usr" / "lib" / f"{os.uname().machine}-linux-gnu"
        loader = next(libraries.glob("ld-linux*.so.*"))
        return [str(loader), "--library-path", str(libraries), str(self.root / "usr/bin" / program)]

    def replaced(
        self, source: Path, arguments: list[str], calls: dict[str, str], made: Path
    ) -> Path:
        """Compile SOURCE with calls of some functions replaced by calls of others, into MADE."""
        compiled = made.with_suffix(".compiled")
        replaced = [word for pair in calls.items() for word in ("--replace-calls", ":".join(pair))]
        for command in (
            [*self.command("goto-cc"), "-m32", *arguments, "-o", str(compiled), str(source)],
            [*self.command("goto-instrument"), *replaced, str(compiled), str(made)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise NoVerdict(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return made

    def prove(
        self, source: Path, function: str, arguments: list[str], seconds_max: int
    ) -> Verdict:
        """Run one proof: 32-bit words and pointers, as on the target. Raises NoVerdict."""
        command = [*self.command(), "--32", *CHECKS, "--function", function, *arguments]
        try:
            done = subprocess.run(
                [*command, str(source)],
                capture_output=True,
                text=True,
                timeout=seconds_max,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NoVerdict(f"{function}: none in {seconds_max} s") from error
        results = RESULT_LINE.findall(done.stdout)
        ended = "VERIFICATION SUCCESSFUL" in done.stdout or "VERIFICATION FAILED" in done.stdout
        if not ended or not results:
            raise NoVerdict(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        failed = tuple(f"{name}: {text}" for name, text, word in results if word != "SUCCESS")
        if ("VERIFICATION SUCCESSFUL" in done.stdout) != (not failed):
            raise NoVerdict(f"the verdict is not the goals':\n{done.stdout[-3000:]}")
        return Verdict(len(results), failed)


def changed_core(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the core in FOLDER in which OLD, once in FILE, is NEW."""
    core = folder / "core"
    ignored = shutil.ignore_patterns("__pycache__", "*.py", "ports", "test_*")
    shutil.copytree(ROOT / "core", core, ignore=ignored)
    text = (core / file).read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
    (core / file).write_text(text.replace(old, new))
    return core


def _mirror() -> str:
    """The address of the mirror that this machine's apt takes Debian's packages from."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(CODENAME)"]
    try:
        done = subprocess.run(
            [*asked, "Identifier: Packages"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise CbmcMissing(f"apt-get does not say where packages come from: {error}") from error
    rows = [line.split() for line in done.stdout.splitlines()]
    ours = [row[0] for row in rows if len(row) >= 2 and row[1] == "Debian"]
    plain = [address for address in ours if "security" not in address]
    if not plain:
        raise CbmcMissing("apt knows no mirror of Debian: run apt-get update, or build CBMC 6.6")
    return plain[0]


def _apt(folder: Path) -> dict[str, str]:
    """The environment in which apt uses FOLDER for all that it keeps."""
    for name in ("state/lists/partial", "cache/archives/partial", "sources", "packages"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").write_text("")
    signed = f"Signed-By: {KEYS}\n" if KEYS.exists() else ""
    (folder / "sources" / "suite.sources").write_text(
        f"Types: deb\nURIs: {_mirror()}\nSuites: {SUITE}\nComponents: main\n{signed}"
    )
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": folder / "sources",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": os.environ.get("USER", "root"),
        "Acquire::Languages": "none",
    }
    lines = [f'{name} "{value}";' for name, value in settings.items()]
    (folder / "apt.conf").write_text("\n".join(lines) + "\n")
    return {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}


def fetch(folder: Path = FOLDER) -> Cbmc:
    """CBMC in FOLDER, fetched if it is not there. Raises CbmcMissing."""
    cbmc = Cbmc(folder / "root")
    if not (folder / "complete").exists():
        for name in ("apt-get", "dpkg-deb"):
            if shutil.which(name) is None:
                raise CbmcMissing(f"no {name} here: the proofs need Debian's package tools")
        environment = _apt(folder)
        packages = folder / "packages"
        steps = [["apt-get", "-qq", "update"], ["apt-get", "-qq", "download", *PACKAGES]]
        try:
            for step in steps:
                subprocess.run(
                    step,
                    cwd=packages,
                    env=environment,
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=FETCH_SECONDS_MAX,
                )
            for package in sorted(packages.glob("*.deb")):
                subprocess.run(["dpkg-deb", "-x", package, cbmc.root], check=True)
        except subprocess.TimeoutExpired as error:
            raise CbmcMissing(f"{error.cmd} took more than {FETCH_SECONDS_MAX} s") from error
        except subprocess.CalledProcessError as error:
            raise CbmcMissing(
                f"Debian {SUITE}'s cbmc cannot be fetched; is there a network?\n"
                f"{' '.join(map(str, error.cmd))}: {error.stderr}"
            ) from error
        (folder / "complete").touch()
    done = subprocess.run([*cbmc.command(), "--version"], capture_output=True, text=True)
    if not done.stdout.startswith(VERSION):
        raise CbmcMissing(f"not {VERSION}: {done.stdout}{done.stderr}; remove {folder}")
    return cbmc


if __name__ == "__main__":
    try:
        print(" ".join(fetch().command()))
    except CbmcMissing as cause:
        sys.exit(str(cause))
