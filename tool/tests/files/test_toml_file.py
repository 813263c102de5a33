"""A byte order mark before our TOML files: accepted if it is UTF-8's, else named."""

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tautochrone.compose.description import read_description
from tautochrone.errors import TauError
from tautochrone.plan.file import Plan, load_any_plan, plan_text
from tautochrone.tlb.geometry import read_geometry
from tautochrone.tlb.tasks import read_tasks
from tool.tests.tlb.task_files import HEAD, task
from tool.tests.tlb.test_geometry import GOOD as GEOMETRY

ROOT = Path(__file__).resolve().parents[3]
SYSTEM = (ROOT / "kernel/systems/jpeg/system.toml").read_text(encoding="utf-8")
PLAN = plan_text(Plan((), 64, "greedy", 0.0), "a test")
FILES: list[tuple[Callable[[Path], Any], str]] = [
    (read_tasks, HEAD + task("a")),
    (read_geometry, GEOMETRY),
    (read_description, SYSTEM),
    (load_any_plan, PLAN),
]


@pytest.mark.parametrize(("reader", "text"), FILES)
def test_a_byte_order_mark_of_utf_8_says_nothing(
    tmp_path: Path, reader: Callable[[Path], Any], text: str
) -> None:
    """And lines are counted as without it."""
    path = tmp_path / "a.toml"
    path.write_bytes(codecs.BOM_UTF8 + text.encode())
    reader(path)
    path.write_bytes(codecs.BOM_UTF8 + b"wrong = 1\n" + text.encode())
    with pytest.raises(TauError, match=r"a\.toml(:1)?: wrong is unknown"):
        reader(path)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize(("reader", "text"), FILES)
def test_utf_16_is_named(
    tmp_path: Path, reader: Callable[[Path], Any], text: str, mark: bytes
) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(mark + text.encode("utf-16-le"))
    with pytest.raises(TauError, match="byte order mark of UTF-16; save it as UTF-8"):
        reader(path)
