"""The root file system of the workload: an ext4 image of 230 MiB, which QEMU puts into memory.

It holds the programs of Debian's port for riscv64, the inputs, and the scripts in image/. The
kernel's command line chooses the work: `work=programs inputs=recorded rounds=5`.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from repro.coldcode.image import inputs, packages
from tautochrone.coldcode.linux import build_cache
from tautochrone.errors import TauError

HERE = Path(__file__).resolve().parent
SCRIPTS = ("init", "programs.sh", "system.sh")
FOLDERS = ("bin", "dev", "proc", "sys", "tmp", "data")
# What the scripts call of busybox.
APPLETS = (
    *("cat chmod chown cp df dmesg echo find head ifconfig ip ln ls md5sum mkdir").split(),
    *("mkfifo mount mv nc netstat ping ping6 poweroff ps rm route sed sh sleep sort stat").split(),
    *("sync tar touch tr truncate umount xargs").split(),
)
IMAGE = "root.img"
IMAGE_BYTES = 230 << 20
UUID = "6c7a4e0e-90f5-4a54-9e64-2b3c1f0d5a11"
TIME = 1_767_225_600  # 2026-01-01, when QEMU's clock starts
ROUNDS = 5


def append(work: str = "programs", of: str = "recorded", rounds: int = ROUNDS) -> str:
    """The words of the kernel's command line. Addresses of programs are not random, so that kernels
    with cold code and without do the same."""
    return f"norandmaps init=/data/init work={work} inputs={of} rounds={rounds}"


def image() -> Path:
    """The image. It is made if needed, from packages that are fetched if needed."""
    root = packages.programs()
    parts = [(root.parent / packages.VERSIONS).read_text()]
    parts += [(HERE / "image" / name).read_text() for name in SCRIPTS]
    parts += [*APPLETS, str(sorted(inputs.SETS.items())), str(inputs.VIDEOS), str(inputs.PICTURES)]
    mark = build_cache.hash_of([*parts, str(IMAGE_BYTES), UUID])
    return build_cache.folder(build_cache.cache_folder(), "workload", mark, _make) / IMAGE


def _make(folder: Path) -> None:
    tree = folder / "tree"
    shutil.copytree(packages.programs(), tree, symlinks=True)
    for name in FOLDERS:
        (tree / name).mkdir(exist_ok=True)
    (tree / "data" / "out").mkdir()
    for name in SCRIPTS:
        shutil.copy(HERE / "image" / name, tree / "data" / name)
        (tree / "data" / name).chmod(0o755)
    for name in APPLETS:
        (tree / "bin" / name).symlink_to("busybox")
    for name in inputs.SETS:
        inputs.make(name, tree / "data" / name)
    _write(tree, folder / IMAGE)
    shutil.rmtree(tree)


def _write(tree: Path, path: Path) -> None:
    """Write an image in which everything has one order and one time.

    Equal content gives an equal image, so that a run repeats to the instruction on any machine.
    """
    script = path.with_suffix(".debugfs")
    script.write_text("".join(f"{line}\n" for line in _commands(tree)))
    options = ["-q", "-t", "ext4", "-O", "^has_journal", "-b", "4096", "-U", UUID]
    options += ["-E", f"root_owner=0:0,hash_seed={UUID},lazy_itable_init=0"]
    _run(["mke2fs", *options, str(path), f"{IMAGE_BYTES >> 10}k"])
    said = _run(["debugfs", "-w", "-f", str(script), str(path)])
    problems = [line for line in said.splitlines() if not line.startswith(("debugfs", "Allocated"))]
    if problems:
        raise TauError("the workload's image cannot be made", said="\n".join(problems))
    script.unlink()


def _commands(tree: Path) -> Iterator[str]:
    """What makes debugfs copy a tree."""
    for path in sorted(tree.rglob("*")):
        name = f"/{path.relative_to(tree)}"
        if path.is_symlink():
            yield f"symlink {name} {path.readlink()}"
        elif path.is_dir():
            yield f"mkdir {name}"
        else:
            yield f"write {path} {name}"
            if path.stat().st_mode & 0o111:
                yield f"set_inode_field {name} mode 0100755"


def _run(command: list[str]) -> str:
    """What a program of e2fsprogs says. Raises TauError if it fails."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    try:
        said = packages.run(command, "e2fsprogs", PATH=path, E2FSPROGS_FAKE_TIME=str(TIME))
    except TauError as error:
        raise TauError("the workload's image cannot be made", said=error.said) from error
    return said.stdout + said.stderr
