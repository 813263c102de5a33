"""Programs of Debian's port for riscv64, with the libraries that they load; no root is needed.

A private root of apt has its own folders. The archive's address comes from the machine's own apt.
The keyring is Debian's, so that apt checks packages. Nothing is installed.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tautochrone.coldcode.linux import build_cache
from tautochrone.errors import TauError

RELEASE = "trixie"
SUITES = (RELEASE, "stable")  # two names of one release: while a mirror updates, one may be broken
PACKAGES = ("ffmpeg", "libjpeg-turbo-progs", "libopenjp2-tools", "busybox-static")
PROGRAMS = ("cjpeg", "djpeg", "opj_compress", "opj_decompress", "ffmpeg", "busybox")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
LIBRARIES = ("usr/lib/riscv64-linux-gnu", "usr/lib")
LOADER = "usr/lib/ld-linux-riscv64-lp64d.so.1"
VERSIONS = "packages.json"
SECONDS_MAX = 1800
# Folders that Debian's packages expect to be links, which the package of the base system makes.
LINKS = {"lib": "usr/lib", "bin": "usr/bin", "sbin": "usr/sbin"}


def programs() -> Path:
    """The folder of a root file system with PROGRAMS and their libraries. It is fetched if needed.

    VERSIONS next to it names each package that a file is from, its version and SHA-256.
    """
    mark = build_cache.hash_of([RELEASE, *PACKAGES, *PROGRAMS])
    return build_cache.folder(build_cache.cache_folder(), "programs", mark, _make) / "root"


def versions() -> dict[str, dict[str, str]]:
    """The packages that the programs and libraries are from."""
    text = (programs().parent / VERSIONS).read_text(encoding="utf-8")
    return dict(json.loads(text))


def _make(folder: Path) -> None:
    apt, unpacked = folder / "apt", folder / "unpacked"
    owners: dict[str, Path] = {}
    for package in _fetched(apt):
        listed = _run(["dpkg-deb", "--contents", str(package)])
        names = [line.split(None, 5)[5].split(" -> ")[0] for line in listed.splitlines()]
        owners |= {name.removeprefix("./"): package for name in names}
        _run(["dpkg-deb", "--extract", str(package), str(unpacked)])
    root = folder / "root"
    used = set()
    for name in sorted(_closure(unpacked)):
        # The loader looks into one folder only, since a cache of names is missing.
        there = root / (f"{LIBRARIES[0]}/{Path(name).name}" if ".so" in name else name)
        there = root / name if name == LOADER else there
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(unpacked / name, there)
        used |= {owners[_real_name(unpacked, name)]}
    for link, target in LINKS.items():
        (root / target).mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target)
    found = {_field(package, "Package"): _described(package) for package in used}
    (folder / VERSIONS).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    shutil.rmtree(apt)
    shutil.rmtree(unpacked)


# ---- apt


def _fetched(folder: Path) -> list[Path]:
    """The packages, and all that they depend on."""
    address = _archive()
    for part in ("etc", "state/lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "state" / "status").touch()
    config = folder / "apt.conf"
    config.write_text(_config(folder))
    problem: TauError | None = None
    for suite in SUITES:
        source = f"deb [arch=riscv64 signed-by={KEYRING}] {address} {suite} main\n"
        (folder / "sources.list").write_text(source)
        try:
            _apt(config, "update", "--error-on=any")
        except TauError as error:
            problem = error
            continue
        codename = _apt(config, "indextargets", "--format", "$(CODENAME)").split()
        if RELEASE in codename:
            _apt(config, "install", "--yes", "--download-only", *PACKAGES)
            return sorted((folder / "cache" / "archives").glob("*.deb"))
    raise problem or TauError(f"the archive of this machine's apt has no {RELEASE}")


def _archive() -> str:
    """The address of Debian's archive that this machine uses."""
    wanted = ["Created-By: Packages", "Origin: Debian", "Label: Debian", "Component: main"]
    found = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted]).split()
    if not found:
        step = "run `apt-get update` on a machine with Debian's archive"
        raise TauError("this machine's apt knows no archive of Debian", step)
    return found[0]


def _config(folder: Path) -> str:
    """Folders of our own; of the machine's configuration only how to reach an archive."""
    reach = _run(["apt-config", "dump", "Acquire::http", "Acquire::https"])
    return f"""{reach}
Dir "{folder}";
Dir::State "state";
Dir::State::status "status";
Dir::Cache "cache";
Dir::Etc "etc";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
APT::Architecture "riscv64";
APT::Architectures {{ "riscv64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
"""


def _apt(config: Path, *words: str) -> str:
    return _run(["apt-get", "--quiet", *words], APT_CONFIG=str(config))


def run(command: list[str], package: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a command of a package of Debian says. Raises TauError with its words if it fails."""
    environment = {**os.environ, "LC_ALL": "C", **variables}
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": SECONDS_MAX}
    try:
        done = subprocess.run(command, text=True, env=environment, **options)
    except FileNotFoundError as error:
        raise TauError(f"{command[0]} is not installed", f"apt install {package}") from error
    except subprocess.TimeoutExpired as error:
        raise TauError(f"{command[0]} did not end within {error.timeout:g} s") from error
    if done.returncode:
        said = (done.stdout + done.stderr)[-4000:]
        raise TauError(f"{' '.join(command[:3])} failed", "try again later", said=said)
    return done


def _run(command: list[str], **variables: str) -> str:
    return run(command, "apt dpkg", **variables).stdout


def _field(package: Path, name: str) -> str:
    return _run(["dpkg-deb", "--field", str(package), name]).strip()


def _described(package: Path) -> dict[str, str]:
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    return {"version": _field(package, "Version"), "sha256": digest}


# ---- What the programs load


def _closure(unpacked: Path) -> set[str]:
    """The programs, the loader, and all libraries that they name, by path."""
    found = {LOADER}
    waiting = [f"usr/bin/{name}" for name in PROGRAMS]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += [_library(unpacked, needed) for needed in _needed(unpacked / name)]
    return found


def _needed(path: Path) -> Iterator[str]:
    """The libraries that an ELF file names."""
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, DynamicSection):
                for tag in section.iter_tags("DT_NEEDED"):
                    yield tag.needed


def _library(unpacked: Path, name: str) -> str:
    for folder in LIBRARIES:
        if (unpacked / folder / name).exists():
            return f"{folder}/{name}"
    subfolders = sorted((unpacked / LIBRARIES[0]).glob(f"*/{name}"))
    if not subfolders:
        raise TauError(f"no package has the library {name}", "report this as a bug")
    return str(subfolders[0].relative_to(unpacked))


def _real_name(unpacked: Path, name: str) -> str:
    """The path in the package: the file behind links."""
    return str((unpacked / name).resolve().relative_to(unpacked.resolve()))
