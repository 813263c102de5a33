"""Compiles sources for the tile, each once: an object's name has a hash of all that it is made of.

Objects are kept in the user's cache, with the compiler's warnings and the stack usage.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.targets import kept_files
from tautochrone.targets.build import TARGETS, cache_folder, compiler_of, compiler_version, run
from tautochrone.targets.libraries import library_of_header

INCLUDED_BYTES = re.compile(r'\.incbin\s+\\?"([^"\\]+)')
SUFFIXES = "the names of sources end in .c or .S"
NextStep = Callable[[str | None], str | None]


@dataclass(frozen=True)
class Object:
    """A compiled source: its file, the compiler's warnings, and the frames of its functions."""

    path: Path
    warnings: str
    stack_usage: str


def compiled(
    source: Path,
    root: Path,
    flags: Sequence[str] = (),
    folder: Path | None = None,
    name: str = "",
    library_step: NextStep = lambda library: None,
) -> Object:
    """Compile a source with -O2, or take its object from the cache.

    ROOT holds core/, kernel/ and targets/. Paths in FLAGS start from FOLDER. Raises TauError with
    what the compiler said of NAME (default: the source's name); LIBRARY_STEP words the next step if
    a header of a library is missing.
    """
    command = [compiler_of("tile"), *TARGETS["tile"].machine, *TARGETS["tile"].flags, f"-I{root}"]
    command += ["-O2", *flags, "-c", str(source)]
    kept = cache_folder() / f"{source.stem}-tile-{_key(command, root, folder)}.o"
    notes = kept.with_suffix(".json")
    if not (kept_files.is_whole(kept) and kept_files.is_whole(notes)):
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            made = Path(scratch) / f"{source.stem}.o"
            done = run([*command, "-o", str(made)], folder=folder)
            if done.returncode != 0:
                step = library_step(library_of_header("tile", done.stderr))
                raise TauError(f"{name or source.name} cannot be compiled", step, said=done.stderr)
            if not made.exists():  # the compiler left it to the linker
                step = library_step(source.name) if source.suffix == ".a" else SUFFIXES
                raise TauError(f"{source.name} is not a source", step)
            usage = made.with_suffix(".su")
            said = [done.stderr, usage.read_text("utf-8") if usage.exists() else ""]
            told = made.with_suffix(".json")
            told.write_text(json.dumps(said), "utf-8")
            kept_files.keep(told, notes)
            kept_files.keep(made, kept)
    return Object(kept, *json.loads(notes.read_text("utf-8")))


def _key(command: Sequence[str], root: Path, folder: Path | None) -> str:
    """A name for all that an object is made of, if it can be made.

    The preprocessed text has the places of lines, because warnings name them.
    """
    seen = run([*command, "-E"], folder=folder)
    digest = hashlib.sha256("\0".join((compiler_version("tile"), *command)).encode())
    digest.update(seen.stdout.encode())
    for name in INCLUDED_BYTES.findall(seen.stdout):
        places = [place / name for place in (folder or Path(), root)]
        digest.update(b"".join(path.read_bytes() for path in places if path.is_file()))
    return digest.hexdigest()[:32]
