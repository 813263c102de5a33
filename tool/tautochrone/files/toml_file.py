"""Reads a TOML file of limited size, with the line of each place for messages."""

import codecs
import tomllib
from pathlib import Path
from typing import Any

from tautochrone.errors import TauError
from tautochrone.files import input_file
from tautochrone.files.schema import Reader
from tautochrone.files.toml_lines import lines_of


FILE_BYTES_MAX = 1 << 20


def read_toml(path: Path, what: str, next_step: str) -> tuple[str, dict[str, Any], Reader]:
    """The text of a file, its document, and a reader of it whose messages name the line.

    Raises TauError as `input_file.read` does, and if the file is larger than FILE_BYTES_MAX or
    not TOML; the next step is `next_step` then.
    """
    data = input_file.read(path, what, FILE_BYTES_MAX)
    if len(data) > FILE_BYTES_MAX:
        raise TauError(f"{path}: larger than {FILE_BYTES_MAX} bytes", next_step)
    try:
        text, document = parsed(data)
    except ValueError as error:
        raise TauError(f"{path}: not TOML: {error}", next_step) from error
    return text, document, Reader(str(path), next_step, lines=lines_of(text))


def parsed(data: bytes) -> tuple[str, dict[str, Any]]:
    """The text and the document of a file's bytes. Raises ValueError with the cause.

    TOML is UTF-8. Some editors put a byte order mark before it, which says nothing.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("it begins with the byte order mark of UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
        return text, tomllib.loads(text)
    except (RecursionError, ValueError) as error:
        raise ValueError(str(error) or type(error).__name__) from error
