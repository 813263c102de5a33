"""Writes the panels to one HTML file that needs no network: it contains Bokeh and all data."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from bokeh.core.validation import silence
from bokeh.core.validation.warnings import MISSING_RENDERERS
from bokeh.embed import components
from bokeh.resources import Resources

from tautochrone.report.figure import Panel, draw

HERE = Path(__file__).parent
silence(MISSING_RENDERERS)  # The figures of a recording without events are empty.


@dataclass(frozen=True)
class Part:
    """A recording's part of a report; `document` is for --json.

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


def page(
    title: str,
    sentences: Sequence[str],
    facts: Mapping[str, str],
    panels: Sequence[Panel],
    plan_toml: str | None,
    provenance: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> str:
    """Return the report as HTML.

    The first of the `sentences` is the headline. `facts` describe the recording, `provenance` how
    the report was made, and `remarks` the gaps. All of them are escaped. `plan_toml` is the plan's
    text, or None.
    """
    models = {panel.name: draw(panel.figure) for panel in panels if panel.figure is not None}
    script, divisions = components(models)
    sections = "".join(
        _section(panel, divisions[panel.name] if panel.name in models else _table(panel))
        for panel in panels
    )
    if plan_toml is not None:
        sections += (
            '<section id="plan"><h2>The plan</h2><details open><summary>plan.toml</summary>'
            f"<pre>{html.escape(plan_toml)}</pre></details></section>"
        )
    made = Template((HERE / "page.html").read_text("utf-8")).substitute(
        title=html.escape(title),
        headline=html.escape(sentences[0]),
        details=html.escape(" ".join(sentences[1:])),
        remarks="".join(f'<p class="remark">{html.escape(remark)}</p>' for remark in remarks),
        facts=_definitions(facts),
        sections=sections,
        provenance=_definitions(provenance),
        style=(HERE / "page.css").read_text("utf-8"),
        behavior=(HERE / "page.js").read_text("utf-8"),
        bokeh=Resources(mode="inline", components=["bokeh"]).render(),
        figures=script,
    )
    # Low surrogates stand for the bytes of a name that is not UTF-8.
    return made.encode("utf-8", "backslashreplace").decode("utf-8")


def _section(panel: Panel, division: str) -> str:
    """Return a panel as HTML. It has a hidden, escaped CSV, which page.js offers for download."""
    return (
        f'<section id="{panel.name}"><h2>{html.escape(panel.title)}</h2>{division}'
        f"<p>{html.escape(panel.caption)}"
        f' <button type="button" data-csv="{panel.name}">CSV</button></p>'
        f'<pre hidden id="csv-{panel.name}">{html.escape(panel.csv())}</pre></section>\n'
    )


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
