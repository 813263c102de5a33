"""Finds the line of each key and table of a TOML file, for messages.

The standard library's parser does not tell lines. This scan follows headers and keys of a file that
the parser has accepted. A value inside an array or an inline table has the line of its key.
"""

import re

HEADER = re.compile(r"(\[\[?)\s*([\w.\s\"-]+?)\s*\]\]?\s*(#.*)?")
KEY = re.compile(r"([\w\s.\"-]+?)\s*=")


def lines_of(text: str) -> dict[str, int]:
    """The line, from 1, of each place, as schema.Reader spells it: application[1].fifos[0].name."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}  # tables so far of each array of tables
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        header = HEADER.fullmatch(stripped)
        if header:
            table = _place(header[2], counts, is_new=header[1] == "[[")
            found.setdefault(table, number)
        elif key := KEY.match(stripped):
            place = ".".join(_words(key[1]))
            found.setdefault(f"{table}.{place}" if table else place, number)
    return found


def line_of(lines: dict[str, int], place: str) -> int | None:
    """The line of PLACE, or of the nearest thing around it; None if no line is known."""
    while place and place not in lines:
        place = re.sub(r"(\.[^.\[]*|\[[^.\[]*|[^.\[]+)$", "", place)
    return lines.get(place)


def _words(name: str) -> list[str]:
    return [word.strip().strip('"') for word in name.split(".")]


def _place(name: str, counts: dict[str, int], is_new: bool) -> str:
    """The place of a table, with the index of each array of tables on its way."""
    place = ""
    words = _words(name)
    for index, word in enumerate(words):
        place = f"{place}.{word}" if place else word
        if is_new and index == len(words) - 1:
            counts[place] = counts.get(place, 0) + 1
        if place in counts:
            place += f"[{counts[place] - 1}]"
    return place
