"""The source of Linux with the code pager: unpacked from an archive or copied, then changed."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from fnmatch import translate
from pathlib import Path

from tautochrone import native
from tautochrone.coldcode.linux import anchors, build_cache
from tautochrone.errors import TauError
from tautochrone.files import input_file

ARCHIVE = Path("/usr/src/linux-source-6.12.tar.xz")
PACKAGE = "apt install linux-source-6.12"
TARGET = "arch/riscv/coldcode"
# Large, and nothing that a kernel for riscv64 needs: 600 MB of 1.7 GB.
LEFT_OUT = ("drivers/gpu/drm/amd/*.[ch]", "Documentation/*/*", "tools/testing/selftests/*/*")
# Left by a build in the source's own folder, or not source at all.
BUILT = (".git", ".config", "include/config", "include/generated", "arch/*/include/generated")
BUILT += ("*.o", "*.a", "*.ko", "*.cmd")
IS_SOURCE = ("Makefile", "arch/riscv/kernel/vmlinux.lds.S")
# Files of the core that the kernel compiles.
CORE = ("code_cache.[ch]", "ports/sv39_code.[ch]", "page.h", "status.h")
CORE_PRIVATE = ("private/bits.h", "private/check.h", "private/inline.h", "private/code/*.h")
# In the name of a folder make, or the kernel's scripts, would read it as something else.
UNUSABLE = re.compile(r"[^\w/.+@=~-]")
UNPACK_SECONDS_MAX = 1800
SAID_LINES, SAID_BYTES_MAX = 5, 1 << 16


def pager_folder() -> Path:
    """The folder of the kernel's files of ours."""
    folder = native.sources() / "coldcode" / "kernel"
    if not (folder / "anchors.toml").exists():
        step = "reinstall with `pipx install .`, or `make build`"
        raise TauError(f"{folder} is missing from this installation", step)
    return folder


def pager_files() -> dict[str, Path]:
    """Each file that is put into the kernel's TARGET, with its original."""
    pager, core = pager_folder(), native.core_sources()
    files = {str(path.relative_to(pager)): path for path in pager.rglob("*") if path.is_file()}
    for pattern in (*CORE, *CORE_PRIVATE):
        files |= {f"core/{path.relative_to(core)}": path for path in core.glob(pattern)}
    return dict(sorted(files.items()))


def prepared(archive: Path) -> Path:
    """The folder with the changed source; it is made if needed. ARCHIVE may be a source folder."""
    files = pager_files()
    is_folder = archive.is_dir()
    if is_folder:
        refuse_other_folder(archive)
    else:
        step = PACKAGE if archive == ARCHIVE else "name an archive such as linux-source-6.12.tar.xz"
        input_file.check(archive, "archive of the kernel's source", step)
    parts = [folder_hash(archive) if is_folder else build_cache.file_hash(archive), *LEFT_OUT]
    for name, path in files.items():
        parts += [name, path.read_bytes()]

    def make(folder: Path) -> None:
        try:
            (copy if is_folder else unpack)(archive, folder)
            put(folder)
        except TauError:
            shutil.rmtree(folder)  # A disk may be full of it.
            raise

    parent = build_cache.cache_folder()
    if UNUSABLE.search(str(parent)):
        cause = f"the kernel's make cannot build in {parent}: its name has spaces or punctuation"
        raise TauError(cause, "name another folder with XDG_CACHE_HOME")
    return build_cache.folder(parent, "source", build_cache.hash_of(parts), make)


def unpack(archive: Path, folder: Path, names: tuple[str, ...] = ()) -> None:
    """Unpack the archive's folder into FOLDER; only the files NAMES, if any is named."""
    command = ["tar", "--extract", "--file", str(archive), "--directory", str(folder)]
    command += ["--strip-components=1", "--wildcards", "--no-same-owner"]
    command += [f"--exclude=*/{pattern}" for pattern in LEFT_OUT]
    if names:
        # The archive is left as soon as all are there.
        command += ["--occurrence=1", "--no-wildcards-match-slash"]
        command += [f"*/{name}" for name in names]
    with tempfile.TemporaryFile() as file:
        try:
            status = build_cache.run(command, UNPACK_SECONDS_MAX, stderr=file)
        except FileNotFoundError as error:
            raise TauError(f"{error.filename} is not installed", "apt install tar") from error
        except subprocess.TimeoutExpired as error:
            cause = f"tar took over {error.timeout:g} s to unpack {archive}"
            raise TauError(cause, "name an archive on a local disk, or unpack it first") from error
        file.seek(0)
        said = file.read(SAID_BYTES_MAX).decode("utf-8", "replace").strip()
    if status:
        # A line for each of the files.
        said = "\n".join(said.splitlines()[:SAID_LINES])
        step = build_cache.SPACE_STEP if build_cache.NO_SPACE in said else PACKAGE
        raise TauError(f"{archive} cannot be unpacked", step, said=said)


def refuse_other_folder(folder: Path) -> None:
    """Raise TauError if a folder is not the source of Linux, or has the code pager in it."""
    missing = [name for name in IS_SOURCE if not (folder / name).is_file()]
    if missing:
        cause = f"{folder} is not a source of Linux: {missing[0]} is missing"
        raise TauError(cause, "name the folder that has Linux's Makefile, or an archive of it")
    if (folder / TARGET).exists():
        step = "name a source without it: tau adds the pager itself"
        raise TauError(f"{folder} has the code pager in it already", step)


def folder_hash(folder: Path) -> str:
    """The hash of the paths, sizes and times of all files of a source folder, as `make` sees them.

    Reading all contents would take a minute.
    """
    found = [str(folder.resolve())]
    for parent, folders, names in os.walk(folder):
        left_out = _left_out_of(folder)(parent, [*folders, *names])
        folders[:] = sorted(set(folders) - left_out)
        for name in sorted(set(names) - left_out):
            path = Path(parent, name)
            status = path.lstat()
            found.append(f"{path.relative_to(folder)} {status.st_size} {status.st_mtime_ns}")
    return build_cache.hash_of(found)


def copy(source: Path, folder: Path) -> None:
    """Copy a source folder into FOLDER, without built files."""
    left_out = _left_out_of(source)
    try:
        shutil.copytree(source, folder, symlinks=True, ignore=left_out, dirs_exist_ok=True)
    except shutil.Error as error:
        place, _, why = error.args[0][0]
        raise TauError(f"{place} cannot be copied: {why}", "correct the source folder") from error


def _left_out_of(source: Path) -> Callable[[str, list[str]], set[str]]:
    """For a folder in SOURCE and the names in it: the names that are not needed, or were built."""
    is_left_out = re.compile("|".join(map(translate, (*LEFT_OUT, *BUILT)))).match

    def left_out(parent: str, names: list[str]) -> set[str]:
        """As shutil.copytree asks."""
        relative = Path(parent).relative_to(source)
        return {name for name in names if is_left_out(str(relative / name))}

    return left_out


def put(folder: Path) -> None:
    """Put our files and our insertions into the kernel's source in FOLDER."""
    anchors.apply(anchors.read_insertions(pager_folder() / "anchors.toml"), folder)
    for name, path in pager_files().items():
        target = folder / TARGET / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
