"""Reads a TOML file of limited size, with the line of each place for messages."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tautochrone.errors import TauError
from tautochrone.files import input_file
from tautochrone.files.schema import Reader
from tautochrone.files.toml_lines import lines_of


def read_toml(
    path: Path, what: str, bytes_max: int, next_step: str
) -> tuple[str, dict[str, Any], Reader]:
    """The text of a file, its document, and a reader of it whose messages name the line.

    Raises TauError as `input_file.read` does, and if the file is larger than `bytes_max` or not
    TOML; the next step is `next_step` then.
    """
    data = input_file.read(path, what, bytes_max)
    if len(data) > bytes_max:
        raise TauError(f"{path}: larger than {bytes_max} bytes", next_step)
    try:
        text = data.decode()
        document = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        cause = str(error) or type(error).__name__
        raise TauError(f"{path}: not TOML: {cause}", next_step) from error
    return text, document, Reader(str(path), next_step, lines=lines_of(text))
