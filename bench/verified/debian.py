"""Debian's packages for 32-bit Arm, unpacked without being installed in this system.

    root = unpacked(Path("out/bench/verified/armhf"), PACKAGES)

apt resolves and downloads with a configuration of its own: another architecture, another state and
an empty list of installed packages. So dpkg of this system learns of no other architecture.
"""

import subprocess
from pathlib import Path

SECONDS_MAX = 900
CONFIGURATION = """
APT::Architecture "armhf";
APT::Architectures { "armhf"; };
APT::Sandbox::User "root";
Dir::State "%(folder)s/state";
Dir::State::status "%(folder)s/status";
Dir::Cache "%(folder)s/cache";
Acquire::Languages "none";
Debug::NoLocking "true";
"""


def unpacked(folder: Path, packages: tuple[str, ...]) -> Path:
    """Return a root folder with the files of packages and of all that they depend on.

    Files that an earlier call unpacked are kept. Raises CalledProcessError if apt fails.
    """
    folder = folder.resolve()
    root, done = folder / "root", folder / "packages.txt"
    wanted = "\n".join(sorted(packages))
    if done.exists() and done.read_text() == wanted:
        return root
    for part in ("state/lists/partial", "cache/archives/partial", "root"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    configuration = folder / "apt.conf"
    configuration.write_text(CONFIGURATION % {"folder": folder})
    apt = ["apt-get", "-qq", "-c", str(configuration)]
    # An index that a mirror is just replacing fails; packages come from the others then.
    subprocess.run([*apt, "update"], timeout=SECONDS_MAX, check=False)
    install = ["install", "-y", "--no-install-recommends", "--download-only"]
    subprocess.run([*apt, *install, *packages], timeout=SECONDS_MAX, check=True)
    for archive in sorted((folder / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive, root], timeout=SECONDS_MAX, check=True)
    done.write_text(wanted)
    return root
