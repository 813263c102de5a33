"""The lines that messages name: of headers and keys, else of the nearest enclosing item."""

import pytest

from tautochrone.files.toml_lines import line_of, lines_of

TEXT = """\
format = "x"
[time]
user = 1 # a comment

[[tile]]
slots = [
    "a",
]
[[tile]]
slots = []
[[application]]
name = "one"
[[application.fifos]]
writer = "a"
[[application.fifos]]
writer = "b"
[[application]]
name = "two"
fifos = [{ writer = "c" }]
[[application]]
[[application.fifos]]
"wri ter" = "d"
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("format", 1),
        ("time", 2),
        ("time.user", 3),
        ("time.other", 2),
        ("tile[0]", 5),
        ("tile[0].slots[0]", 6),
        ("tile[1].slots", 10),
        ("application[0].fifos[0].writer", 14),
        ("application[0].fifos[1].writer", 16),
        ("application[1].name", 18),
        ("application[1].fifos[0].writer", 19),
        ("application[2].fifos[0]", 21),
        ("application[2].fifos[0].wri ter", 22),
        ("application[1].other", 17),
        ("application[9].name", None),
        ("nothing", None),
        ("", None),
    ],
)
def test_places_have_their_lines(place: str, line: int | None) -> None:
    assert line_of(lines_of(TEXT), place) == line


def test_lines_end_as_toml_says() -> None:
    """Not at what Python takes for the end of a line: form feeds and Unicode's separators."""
    assert lines_of("# a\x85b\u2028c\x0cd\r\nkey = 1\n") == {"key": 2}
