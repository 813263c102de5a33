"""Writes the panels to one HTML file that needs no network: it contains all drawings and data."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

from tautochrone.report.figure import SMALL_HEIGHT_PIXELS, Figure, Panel
from tautochrone.report.svg import NARROW_PIXELS, SMALL_PIXELS, WIDE_PIXELS, draw

HERE = Path(__file__).parent
PLAN, MADE = ("plan", "The plan"), ("made", "How this report was made")


@dataclass(frozen=True)
class Part:
    """A recording's part of a report; `document` is for --json. `steps` say what to do next.

    `inputs` are the files that were read without being named on the command line.
    """

    title: str
    sentences: Sequence[str]
    facts: Mapping[str, str]
    panels: Sequence[Panel]
    provenance: Mapping[str, str]
    remarks: Sequence[str]
    document: Mapping[str, Any]
    inputs: Sequence[Path] = ()
    steps: Sequence[str] = ()


def page(
    title: str,
    sentences: Sequence[str],
    facts: Mapping[str, str],
    panels: Sequence[Panel],
    plan_toml: str | None,
    provenance: Mapping[str, str],
    remarks: Sequence[str] = (),
    steps: Sequence[str] = (),
) -> str:
    """Return the report as HTML.

    The first of the `sentences` is the headline; `steps` say what to do next. `facts` describe the
    recording, `provenance` how the report was made, and `remarks` the gaps. All of them are
    escaped. `plan_toml` is the plan's text, or None.
    """
    sections = "".join(map(_section, panels))
    chapters = [(panel.name, panel.title) for panel in panels]
    if plan_toml is not None:
        sections += (
            f'<section id="{PLAN[0]}"><h2>{PLAN[1]}</h2><details><summary>plan.toml</summary>'
            f"<pre>{html.escape(plan_toml)}</pre></details></section>"
        )
        chapters.append(PLAN)
    made = Template((HERE / "page.html").read_text("utf-8")).substitute(
        title=html.escape(title),
        headline=_prose(sentences[0]),
        details=_items(map(_prose, sentences[1:])),
        steps=f'<ol class="steps">{_items(map(_prose, steps))}</ol>' if steps else "",
        remarks="".join(f'<p class="remark">{_prose(remark)}</p>' for remark in remarks),
        contents=_items(
            f'<a href="#{name}">{html.escape(title)}</a>' for name, title in [*chapters, MADE]
        ),
        facts=_definitions(facts),
        sections=sections,
        provenance=_definitions(provenance),
        style=(HERE / "page.css").read_text("utf-8"),
        behavior=(HERE / "page.js").read_text("utf-8"),
    )
    # Low surrogates stand for the bytes of a name that is not UTF-8.
    return made.encode("utf-8", "backslashreplace").decode("utf-8")


def _prose(text: str) -> str:
    """Return a text with its commands in the type of commands."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(text))


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{text}</li>" for text in texts)


def _section(panel: Panel) -> str:
    """Return a panel as HTML. It has a hidden, escaped CSV, which page.js offers for download."""
    figure = panel.figure
    shown, kinds = (_table(panel), ("CSV",)) if figure is None else ("", ("CSV", "SVG"))
    if figure is not None:
        drawn = [replace(figure, title=figure.title or panel.title), *figure.also]
        names = ["", *(f"{panel.name}-{number}" for number in range(1, len(drawn)))]
        shown = f'<div class="figures">{"".join(map(_drawn, drawn, names))}</div>'
    buttons = " ".join(_button(kind, panel.name) for kind in kinds)
    lines = f'<dl class="lines">{_definitions(panel.lines)}</dl>' if panel.lines else ""
    return (
        f'<section id="{panel.name}"><h2>{html.escape(panel.title)}</h2>{shown}{lines}'
        f"<p>{html.escape(panel.caption)} {buttons}</p>"
        f'<pre hidden id="csv-{panel.name}">{html.escape(panel.csv())}</pre></section>\n'
    )


def _drawn(figure: Figure, name: str) -> str:
    """Return a figure as drawn for wide and for narrow pages, of which page.css shows one.

    A figure with a `name` is a further one of its panel: it has a caption of its own, and is drawn
    once if it is small.
    """
    widths = {"wide": WIDE_PIXELS, "narrow": NARROW_PIXELS}
    if name and figure.height <= SMALL_HEIGHT_PIXELS:
        widths = {"small": SMALL_PIXELS}
    caption = f"{html.escape(figure.title)} {_button('SVG', name)}"
    caption = f"<figcaption>{caption}</figcaption>" if name else ""
    return "".join(
        f'<figure class="{kind}">{caption}{draw(figure, pixels)}</figure>'
        for kind, pixels in widths.items()
    )


def _button(kind: str, name: str) -> str:
    """Return the button that saves a panel's numbers or a figure."""
    return f'<button type="button" data-{kind.lower()}="{name}">{kind}</button>'


def _table(panel: Panel) -> str:
    """Return a panel's columns as an HTML table, with numbers aligned to the right."""
    kinds = [
        ' class="number"' if any(isinstance(value, int | float) for value in column) else ""
        for column in panel.columns.values()
    ]
    names = (html.escape(name) for name in panel.columns)
    head = "".join(f"<th{kind}>{name}</th>" for kind, name in zip(kinds, names, strict=True))
    rows = "".join(
        "<tr>" + "".join(map(_cell, kinds, row)) + "</tr>"
        for row in zip(*panel.columns.values(), strict=True)
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'


def _cell(kind: str, value: Any) -> str:
    """Return a cell: numbers with thousands separators, None as empty."""
    text = f"{value:,}" if isinstance(value, int | float) else html.escape(str(value or ""))
    return f"<td{kind}>{text}</td>"


def _definitions(pairs: Mapping[str, str]) -> str:
    """Return pairs as the content of a description list."""
    return "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
        for name, value in pairs.items()
    )
