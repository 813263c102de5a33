"""Each reproduction says what its results say; the engine measures, fills in and draws as it tells.

Method: rules for every folder are tried on the checked-in results, the rest on a small reproduction
of two stages.
"""

import json
import operator
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.result_file import text_of
from repro.engine import claims, figures, sentences, shown
from repro.engine.reproduction import Reproduction
from repro.engine.results import REPOSITORY, Results

ITEMS = {
    "budget": [f"P1-{number}" for number in range(1, 29)],
    "coldcode": [*(f"P3-{number}" for number in range(1, 34)), "G-8", "G-9"],
    "composable": [f"P2-{number}" for number in range(1, 28)],
    "rtmmu": [f"P0-{number}" for number in range(1, 46)],
    "tlb": [f"P4-{number}" for number in range(1, 28)],
}
# Ticks of bench/runtime/colors.py on one machine.
SILICON = {"tlb": {"silicon"}}
# 64 frames do not hold all cold code here, which the paper's do.
NOES = {"coldcode": 1}
LOADED = ("<script src=", "<link ")


@pytest.fixture(params=ITEMS)
def made(request: pytest.FixtureRequest) -> Reproduction:
    """Each reproduction of a paper."""
    return Reproduction(request.param)


def test_claims_have_every_item_and_are_not_stale(made: Reproduction) -> None:
    """Each item of the checklist has its line, in order, and every figure comes from results/."""
    items, text = made.sentences["item"], made.claims_text()
    assert [item["id"] for item in items] == ITEMS[made.stored.home.name]
    if "verdicts" in made.sentences:
        assert {item["verdict"] for item in items} <= {*made.sentences["verdicts"]}
    assert (made.stored.home / "claims.md").read_text(encoding="utf-8") == text
    assert sentences.MISSING not in text
    assert text.count("**no**") == NOES.get(made.stored.home.name, 0)


def test_every_stage_is_stored_a_row_a_line(made: Reproduction) -> None:
    stored = made.stored.all_stored()
    by_hand = {*made.sentences.get("by_hand", ())} | SILICON.get(made.stored.home.name, set())
    assert stored.keys() == {*made.stages([]), "meta"} | by_hand
    for stage, result in stored.items():
        path = made.stored.folder / f"{stage}.json"
        assert path.read_text(encoding="utf-8") == text_of(result) + "\n", stage


def test_groups_of_tests_hold_and_name_what_is_there(made: Reproduction) -> None:
    groups = made.sentences.get("tests", {})
    stored = made.stored.stored("shown")
    assert stored.keys() == groups.keys() and all(group["holds"] for group in stored.values())
    for group, words in groups.items():
        assert stored[group]["command"] == f"pytest {words}"
        for path in (word for word in shlex.split(words) if "/" in word):
            assert (REPOSITORY / path).exists(), path


def test_the_report_has_every_figure_and_needs_no_network(
    made: Reproduction, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Points that a stage leaves in out/ are made up here."""
    monkeypatch.setattr(made.stored, "out", tmp_path)
    drawn = {"malloc": [[8, 200, 0]], "free": [[8, 90, 1]], "pages": [[0, 1, 2], [5, 3, 4]]}
    for measure in ("cycles", "instructions"):
        points = {"rtvm": drawn, "conventional": drawn}
        (tmp_path / f"points_{measure}.json").write_text(json.dumps(points))
    names = [panel["name"] for panel in made.sentences["panel"]]
    assert [panel.name for panel in made.panels()] == names
    html = made.report_html()
    assert all(f'id="{name}"' in html for name in names)
    assert not any(word in html for word in LOADED)


def values_at(found: Any, keys: list[str]) -> list[Any]:
    """All values at a path, in which `*` stands for every key."""
    if not keys:
        return [found]
    items = found if isinstance(found, dict) else {str(i): each for i, each in enumerate(found)}
    chosen = items.values() if keys[0] == "*" else [items[keys[0]]]
    return [value for each in chosen for value in values_at(each, keys[1:])]


def test_results_keep_their_limits(made: Reproduction) -> None:
    """`[[limit]]` of reasons.toml: what `is`, or is at `least` or `most`, a number or the values at
    another path."""
    results = made.results()
    for limit in made.sentences.get("limit", ()):
        values = values_at(results, limit["at"].split("."))
        assert values, limit
        for word, holds in (("is", operator.eq), ("least", operator.ge), ("most", operator.le)):
            wanted = limit.get(word, values)
            if word != "is" and isinstance(wanted, str):
                wanted = values_at(results, wanted.split("."))
            wanted = wanted if isinstance(wanted, list) else [wanted] * len(values)
            assert all(map(holds, values, wanted)), limit


# ---- A reproduction of two stages

REASONS = """
title = "Small"
conditions = "{meta.conditions.tile}"
columns = { ours = "ours", verdict = "verdict" }
verdicts = ["shown", "differs"]
paper = "A. Author"
stages = ["one", "two"]
limits = ["one: {one.count}", ["two", "more: {one.count|,}"]]
table = ["a table", "of {two.rows|count} rows"]
[[item]]
id = "P9-1"
title = "First"
ours = ["{one.count|,} and {two.rows|count}", "A note.", "Another one."]
verdict = "shown"
[[section]]
title = "Table"
sentence = "table"
printed = true
rows = "two.rows"
columns = { name = "{name}", "σ" = "{size|,.1f?–}" }
[[section]]
title = "Limits"
list = "limits"
[machine]
tile = "a tile"
[[panel]]
name = "bars"
title = "Bars"
caption = "{one.count}"
draw = "bars"
series = "derived.bars"
x = "group"
y = "sizes"
[[panel]]
name = "lines"
title = "Lines"
caption = "-"
draw = "lines"
series = "derived.lines"
x = "T"
y = "loads"
dashes = true
levels = [3, "one.count"]
"""
ONE = {"count": 1500}
TWO = {"rows": [{"name": "a", "size": 2}, {"name": "b", "size": None}]}
PAGE = """\
# Small: each item, theirs and ours

Made by `python -m repro small` from `results/` and `reasons.toml`; not edited.

Conditions: a tile

| item | ours | verdict |
|---|---|---|
| P9-1 First | 1,500 and 2 (more in the notes) | shown |

## Notes

- **P9-1, ours.** A note. Another one.

## Table

a table

- of 2 rows

| name | σ |
|---|---|
| a | 2.0 |
| b | – |

## Limits

- one: 1500
- two
  - more: 1,500
"""


SERIES = {
    "bars": {"x": {"g": 1, "h": 2}, "y": {"g": 3}},
    "lines": {"a, 16": [("99 %", 2), ("50 %", 3)], "a, 32": [("99 %", 1)]},
}
FILES = {
    "one": SimpleNamespace(measure=lambda: ONE, quick=lambda: {"count": 1}),
    "two": SimpleNamespace(measure=lambda: TWO),
    "derived": SimpleNamespace(derived=lambda _: SERIES),
}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    """Two stages, of which the first has a quick form."""
    reproduction = Reproduction("small")
    monkeypatch.setattr(reproduction, "module", FILES.__getitem__)
    stored = reproduction.stored = Results("small", tmp_path / "small" / "results")
    stored.home, stored.out = tmp_path / "small", tmp_path / "out"
    stored.kept = stored.folder
    stored.home.mkdir()
    (stored.home / "reasons.toml").write_text(REASONS, encoding="utf-8")
    return reproduction


@pytest.mark.parametrize("chosen", [[], ["two"], ["two", "one"]])
def test_the_chosen_stages_are_stored(small: Reproduction, chosen: list[str]) -> None:
    """All if none is; and what the numbers depend on."""
    small.measure(small.stages(chosen), small.stored)
    stored = small.stored.all_stored()
    assert stored.keys() == {*(chosen or ["one", "two"]), "meta"}
    assert all(stored[name] == FILES[name].measure() for name in chosen)
    assert stored["meta"]["conditions"].keys() >= {"tile", "machine", "commit", "python"}


def test_an_unknown_stage_ends_before_any_is_measured(small: Reproduction) -> None:
    with pytest.raises(SystemExit, match="no stage is called three; there are one, two"):
        small.main(["one", "three"])
    assert not small.stored.all_stored()


def test_a_misspelled_option_measures_nothing(small: Reproduction) -> None:
    """It would take hours, and then the results would lie elsewhere."""
    with pytest.raises(SystemExit, match="no option is called --recrod; there are --record, --w"):
        small.main(["--recrod", "one"])
    assert not small.stored.all_stored()


def test_a_quick_run_leaves_what_is_checked_in(small: Reproduction) -> None:
    small.main(["--quick"])
    assert not small.stored.all_stored()
    kept = small.stored.out / "quick" / "results" / "one.json"
    assert json.loads(kept.read_text()) == {"count": 1}


def test_only_a_run_that_records_changes_what_is_checked_in(small: Reproduction) -> None:
    """Any other is shown beside the stored results of the stages that it leaves out."""
    small.main(["--record"])
    (small.stored.kept / "one.json").write_text('{"count": 7}')
    before = {path: path.read_bytes() for path in small.stored.home.rglob("*.*")}
    small.main(["one"])
    assert {path: path.read_bytes() for path in small.stored.home.rglob("*.*")} == before
    assert (small.stored.out / "claims.md").read_text(encoding="utf-8") == PAGE
    assert not (small.stored.out / "results" / "two.json").exists()
    assert small.results()["one"] == ONE and small.results()["two"] == TWO


def test_the_page_and_the_report_are_written(
    small: Reproduction, capsys: pytest.CaptureFixture[str]
) -> None:
    small.main(["--record"])
    (small.stored.home / "claims.md").unlink()
    small.main(["--write"])
    assert (small.stored.home / "claims.md").read_text(encoding="utf-8") == PAGE
    assert "A. Author" in (small.stored.out / "report.html").read_text(encoding="utf-8")
    said = capsys.readouterr().out
    assert "1 shown, 0 differs" in said
    assert "| b | – |" in said and "## Limits" not in said


def test_bars_and_lines_have_their_numbers(small: Reproduction) -> None:
    """A group without a bar is None; a panel whose results are not there is left out."""
    bars, lines = small.panels()
    assert dict(bars.columns) == {"group": ["g", "h"], "x": [1, 2], "y": [3, None]}
    assert lines.columns["T"] == ["99 %", "50 %", "99 %"] and lines.columns["loads"] == [2, 3, 1]
    looks = [one.options["dash"] for one in lines.figure.marks if one.glyph == "line"]
    assert looks[0] != looks[1]
    assert [*figures.panels(small.sentences, {}, small.module)] == []


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("{a.0|.3f}", "not measured"),
        ("{x.none|,?none: it loops}", "none: it loops"),
        ("{x.zero|,?–}", "0"),
        ("{x.split, not mapped|list} {x.split, not mapped.0|,} {x.b|yes}", "1,500, 2 1,500 **no**"),
        ("{x.c|above}", "jq +1.4 %"),
    ],
)
def test_a_place_is_filled_in(sentence: str, text: str) -> None:
    """A figure that is not there is never shown."""
    found = {"split, not mapped": [1500, 2], "b": False, "c": {"jq": 1.014}, "none": None}
    assert sentences.filled(sentence, {"x": found | {"zero": 0}}) == text


def test_a_verdict_can_be_a_sentence() -> None:
    assert claims.verdict({"verdict": "{one.count}"}, {"one": ONE}) == "1500"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def test_a(): pass\ndef test_b(): pass\n", (2, 0, 0, True)),
        ("def test_a(): pass\ndef test_b(): assert 0\n", (1, 1, 0, False)),
        ("import pytest\ndef test_a(): pytest.skip('x')\n", (0, 0, 1, False)),
        ("", (0, 0, 0, False)),
        ("import nothing_of_this_name\ndef test_a(): pass\n", (0, 1, 0, False)),
    ],
)
def test_what_tests_show_is_counted(
    tmp_path: Path, text: str, found: tuple[int, int, int, bool]
) -> None:
    """A claim holds if tests of its group ran and all of them passed."""
    path = tmp_path / "test_claim.py"
    path.write_text(text)
    result = shown.run_groups({"group": str(path)})["group"]
    assert tuple(result[name] for name in ("passed", "failed", "skipped", "holds")) == found
