"""A report is one file that a browser draws whole without a network, asking nobody for anything.

Method: a page with every panel is loaded in a headless browser, which keeps a log of its requests
and of its console; a page that does ask, and one that throws, show that the log would tell.
"""

import html
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tautochrone.errors import TauError
from tautochrone.plan.file import Plan, save_plan
from tautochrone.replay.entry import (
    INSTRUCTIONS,
    OURS,
    PEER,
    PLANNED,
    Entry,
    Measure,
    Operation,
    Pages,
)
from tautochrone.report import cost_figures, heap_figures, page, picture
from tautochrone.report.curves import Curves, curves_of
from tautochrone.report.figure import BLUE, HEIGHT_PIXELS, Axis, Figure, mark
from tautochrone.report.svg import NARROW_PIXELS, WIDE_PIXELS, draw
from tautochrone.report.verdict import next_steps, verdict

HOSTILE = 'a</script><img src="http://hostile.invalid/x.png"> & "b"'
PANELS = 6


def entries() -> list[Entry]:
    """Entries of four heaps; one was counted, one did not hold."""
    counted = Measure(INSTRUCTIONS, p999=120, max=149, bound=150)
    malloc = Operation("malloc", 9, (counted,))
    parts = {"live": 1128, "headers": 12, "rounding": 20, "tables": 500, "free": 340}
    return [
        Entry("tlsf", OURS, True, 2000, operations={"malloc": malloc}, heap_parts=parts),
        Entry("budget", PLANNED, True, 1500),
        Entry("glibc", PEER, True, 3000, in_process=True),
        Entry("static", PEER, False, 0),
    ]


def some_curves() -> Curves:
    """Curves of four events."""
    rows = {
        "time_ns": [0, 10, 20, 30],
        "size_bytes": [24, 1000, 104, 0],
        "slot": [0, 1, 2, 1],
        "op": [0, 0, 0, 4],
        "flags": [0, 0, 0, 0],
    }
    events = SimpleNamespace(**{name: np.array(row, np.uint32) for name, row in rows.items()})
    return curves_of([events], events=4, duration_ns=30, slots_count_max=3, class_sizes=(24, 104))


@pytest.fixture
def report() -> str:
    """A page with every panel and hostile text wherever text goes."""
    curves = some_curves()
    panels = [
        heap_figures.live_bytes(curves),
        heap_figures.footprints(entries(), curves.peak_bytes),
        heap_figures.heap_parts(entries(), curves.peak_bytes),
        heap_figures.sizes([(24, 1, 1), (0, 1, 1), (1000, 1, 1)], {24, 104}),
        heap_figures.pools(curves, [(24, 1), (104, 2)]),
        cost_figures.instructions(entries(), "RV32IMC"),
    ]
    assert len(panels) == PANELS
    told = {HOSTILE: HOSTILE}
    said = [HOSTILE, HOSTILE]
    return page.page(HOSTILE, said, told, panels, HOSTILE, told, said, steps=[f"`{HOSTILE}`"])


def load(folder: Path, text: str) -> dict[str, object]:
    """Load `text` as a page; return its drawings, messages and requests."""
    program = picture.browser()
    assert program, "make check installs chromium"
    (folder / "page.html").write_text(text)
    command = [
        *picture.browser_command(program, folder / "profile"),
        f"--log-net-log={folder / 'net.json'}",
        "--enable-logging=stderr",
        "--dump-dom",
        (folder / "page.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    log = json.loads((folder / "net.json").read_text())
    # The browser's own requests (updates, time) have "not an origin"; a page's have one.
    asked = [event.get("params", {}) for event in log["events"]]
    urls = [one["url"] for one in asked if one.get("initiator", "not an origin") != "not an origin"]
    console = re.findall(r":CONSOLE[:(]\d+\)?\] (.*)", done.stderr)
    body = re.search("<body[^>]*>", done.stdout) or [""]
    return {
        **{name: int(count) for name, count in re.findall(r'data-(\w+)="(\d+)"', body[0])},
        "failed": 'id="failure" hidden' not in done.stdout,
        "requests": [url for url in urls if re.match(r"(https?|wss?):", url)],
        "errors": console,
    }


def test_a_report_draws_everything_and_asks_nobody(tmp_path: Path, report: str) -> None:
    assert load(tmp_path, report) == {
        "drawn": PANELS,
        "failed": False,
        "requests": [],
        "errors": [],
    }


def test_the_check_sees_a_request_and_an_error(tmp_path: Path, report: str) -> None:
    script = '<script src="http://hostile.invalid/y.js"></script>'
    asking = report.replace("</main>", script + "</main>")
    blocked = load(tmp_path, asking)
    assert blocked["requests"] == [] and "hostile.invalid" in str(blocked["errors"])
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", asking)
    assert "http://hostile.invalid/y.js" in load(tmp_path, open_page)["requests"]
    throwing = report.replace("</script>", "nonsense();\n</script>")
    seen = load(tmp_path, throwing)
    assert seen["failed"] and "nonsense" in str(seen["errors"])


def faults(folder: Path, text: str) -> list[str]:
    """What is cut off, overlaps or scrolls in a report at all widths, in the dark and on paper.

    Frames of one page have the widths and the scheme; on paper, the rules of paper are all media's.
    """
    paper = text.replace("@media print", "@media all")
    frames = [(420, "light", text), (800, "light", text), (1400, "dark", text)]
    frames.append((700, "light", paper))
    shown = "".join(
        f'<iframe style="width:{width}px; height:900px; border:0; color-scheme:{scheme}"'
        f' name="{width} {scheme}" srcdoc="{html.escape(page)}"></iframe>'
        for width, scheme, page in frames
    )
    check = (Path(__file__).parent / "boxes.js").read_text("utf-8")
    (folder / "frames.html").write_text(f"<body>{shown}<script>{check}</script></body>")
    program = picture.browser()
    assert program, "make check installs chromium"
    command = [*picture.browser_command(program, folder / "profile"), "--dump-dom"]
    command += ["--window-size=1500,1000", (folder / "frames.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    said = re.search(r'<body data-faults="([^"]*)"', done.stdout)
    assert said, done.stderr
    return list(json.loads(html.unescape(said[1])))


def test_nothing_is_cut_off_or_overlaps(tmp_path: Path, report: str) -> None:
    assert faults(tmp_path, report) == []
    large = report.replace("font: 12px", "font: 24px")
    found = " ".join(faults(tmp_path, large))
    assert "overlaps" in found and "outside" in found
    wide = report.replace("<main>", '<main><p style="width: 1000px">wide</p>')
    assert {fault.split(":")[0] for fault in faults(tmp_path, wide)} >= {"420 light", "800 light"}
    pale = report.replace("--paper: #14181f", "--paper: #fff")
    assert "another scheme" in " ".join(faults(tmp_path, pale))


# No download begins: one that does can stop the browser's clock, and then it never ends.
SAVED = """<script>
HTMLAnchorElement.prototype.click = function () {
  if (!this.download) { throw new Error("a figure without the name of a file"); }
};
URL.createObjectURL = (blob) => {
  blob.text().then((text) => {
    const drawn = new DOMParser().parseFromString(text, "image/svg+xml");
    if (!drawn.querySelector("svg > style + *")) { throw new Error("not a figure: " + text); }
    document.body.dataset.saved = 1 + Number(document.body.dataset.saved || 0);
  });
  return "data:,";
};
for (const button of document.querySelectorAll("p > [data-svg], .small button")) {
  button.click();
}
</script></body>"""


def test_a_button_saves_each_figure_as_a_file(tmp_path: Path, report: str) -> None:
    seen = load(tmp_path, report.replace("</body>", SAVED))
    small = 2  # of the pools
    assert not seen["failed"] and seen["saved"] == PANELS + small


def test_text_of_others_is_escaped(report: str) -> None:
    assert HOSTILE not in report
    assert "http://hostile.invalid" in report
    assert "<img" not in report.split("<body>")[1]


def test_few_bars_are_as_wide_as_the_page() -> None:
    """Only the further figures of a panel are small."""
    panel = heap_figures.footprints(entries(), 1000)
    drawn = page._drawn(panel.figure, "")
    assert 'class="wide"' in drawn and 'class="small"' not in drawn
    assert 'class="small"' in page._drawn(panel.figure, "further")


def test_csv_holds_what_is_drawn() -> None:
    assert heap_figures.footprints(entries(), 1000).csv() == (
        "system,footprint_bytes,footprint_over_peak_live\n"
        "budget,1500,1.5\ntlsf,2000,2.0\nglibc,3000,3.0\n"
    )


def test_instructions_without_counts_make_no_panel() -> None:
    assert cost_figures.instructions(entries()[1:], "m4") is None


def told(*arguments: object) -> str:
    """The verdict as one text; its headline is short."""
    sentences = verdict(*arguments)  # type: ignore[arg-type]
    assert len(sentences[0].split()) <= 20
    return " ".join(sentences)


def test_verdict_says_how_much_and_against_what() -> None:
    assert told(1480, entries(), 1500) == (
        "With the plan, this program needs a heap of 1,500 B (1,500 bytes). That is 1.4 % above its"
        " peak of live bytes: 25 % less than plain TLSF and 50 % less than glibc."
    )
    assert "plain TLSF, this program needs a heap of 2,000 B" in told(1480, entries()[:1], None)
    assert "--on tlsf,glibc" in told(1480, [], None)
    assert "1,600 B, which was not replayed" in told(1480, [], 1600)
    assert "1,600 B, its margin of 10 % included, which was not" in told(1480, [], 1600, 0.1)
    assert told(1480, entries(), 1650, 0.1) == (
        "With the plan, this program needs a heap of 1,650 B (1,650 bytes). That is 11 % above its"
        " peak of live bytes, its margin of 10 % included. The least safe heap for this recording"
        " is 1,500 bytes: 25 % less than plain TLSF and 50 % less than glibc."
    )
    of_three = told(1480, entries(), 1650, 0.1, [1480, 1500, 1400])
    assert "10 % above the highest peak of its 3 recordings, its margin of 10 % incl" in of_three
    assert "margin" not in told(1480, entries()[:1], 1650, 0.1), "the plan was not replayed"
    guaranteed = [replace(each, name=each.name.replace("budget", "pools")) for each in entries()]
    assert told(1480, guaranteed, 1500, 0.15) == (
        "With a heap of 1,500 B (1,500 bytes), no call fails within the plan's limits, in any"
        " order. That is 1.4 % above its peak of live bytes, its margin of 15 % included. Bytes for"
        " the recorded order alone: plain TLSF 2,000 and glibc 3,000; another order can need more."
    )
    assert "exceeds the plan's limits. It needs at least" in told(1480, guaranteed, 1400)
    assert "too small for this recording" in told(1480, entries(), 1400)
    assert "in any order" not in told(1480, entries(), 1500)
    said = "every order of calls within the plan's limits"
    assert said in heap_figures.footprints(guaranteed, 1480).caption
    assert said not in heap_figures.footprints(entries(), 1480).caption
    in_bands = heap_figures.sizes([(20, 1, 1), (100, 1, 1)], {24}, is_banded=True)
    assert in_bands.columns["in_plan"] == [1, 0]
    worse = [replace(entries()[1], footprint_bytes=2100), entries()[0]]
    assert "5.0 % more than plain TLSF" in told(1480, worse, None)


def test_nothing_live_is_not_a_base_for_a_percentage() -> None:
    """A program that allocates nothing still needs a heap: its control block."""
    assert told(0, entries(), 1500) == (
        "With the plan, this program needs a heap of 1,500 B (1,500 bytes). It never holds a byte:"
        " 25 % less than plain TLSF and 50 % less than glibc."
    )


def test_a_missing_browser_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TauError) as raised:
        picture.take(tmp_path / "r.html", tmp_path / "r.png")
    assert raised.value.next_step == "apt install chromium"


@pytest.mark.parametrize("name", ["r.png", "without-ending"])
def test_a_picture_is_small(name: str, tmp_path: Path, report: str) -> None:
    (tmp_path / "r.html").write_text(report)
    picture.take(tmp_path / "r.html", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / name).stat().st_size < 200_000


def test_circles_of_the_sizes_are_not_cut_off() -> None:
    """The largest count, whose circle may be the largest too, has room above it."""
    figure = heap_figures.sizes([(24, 1000, 900), (1000, 1, 1)], {24}).figure
    assert figure is not None and figure.y.start < 1 and figure.y.end > 2 * 1000


def test_of_many_sizes_those_with_most_bytes_are_shown() -> None:
    """A report does not grow with the number of sizes; the caption says what is left out."""
    rows = [(size, 2, 1) for size in range(1, 60_000)]
    assert heap_figures.sizes(rows[:4000], {24}).columns["size_bytes"] == list(range(1, 4001))
    panel = heap_figures.sizes(rows, {24})
    assert panel.columns["size_bytes"] == list(range(56_000, 60_000))
    assert "59,999 different" in panel.caption and "Shown are the 4,000 sizes" in panel.caption
    assert len(page.page("a", [""], {}, [panel], "", {}, [])) < 400_000


def test_the_parts_of_a_heap_are_its_size() -> None:
    """With the margin, that of the plan's heap."""
    heaps = entries()
    parts = {"live": 1128, "headers": 0, "rounding": 22, "tables": 300, "free": 50}
    heaps[1] = replace(heaps[1], heap_parts=parts, plan_heap_bytes=1650)
    columns = heap_figures.heap_parts(heaps, 1128).columns
    sums = [sum(row) for row in zip(*list(columns.values())[1:], strict=True)]
    assert dict(zip(columns["system"], sums, strict=True)) == {
        **{"budget": 1650, "tlsf": 2000, "glibc": 3000}
    }
    assert columns["margin"] == [150, 0, 0] and columns["not known"] == [0, 0, 1872]
    assert heap_figures.heap_parts(heaps[2:], 1128) is None


@pytest.mark.parametrize("width", [NARROW_PIXELS, WIDE_PIXELS])
def test_a_peak_of_one_event_is_drawn(width: int) -> None:
    """Of 5,000 bins, one is higher and one is lower; a figure has a tenth of that in pixels."""
    high = np.full(5000, 50)
    high[3333], high[1234] = 100, 0
    band = {"x": np.arange(5000), "y": high, "low": high}
    drawn = draw(Figure(Axis(), Axis(start=0), [mark("steps", band, low="low", color=BLUE)]), width)
    area, curve = re.findall('d="M([^"]*)"', drawn)[1:3]
    for path in (curve, area.split("L")[1]):
        heights = np.cumsum([int(step) for step in re.findall("v(-?[0-9]+)", path)])
        assert np.ptp([0, *heights]) == round(HEIGHT_PIXELS * 50 / 108), path
    assert len(drawn) < 2500


@pytest.mark.parametrize(
    ("heap_bytes", "layout", "step"),
    [(1500, "host", "tau run "), (1500, "32", "tau verify "), (1400, "32", "tau plan t.tau ")],
)
def test_the_report_says_what_to_do_next(
    heap_bytes: int, layout: str, step: str, tmp_path: Path
) -> None:
    plan, path = Plan((), heap_bytes, "greedy", 0.0, layout=layout), tmp_path / "plan.toml"
    save_plan(plan, path, "a test")
    arguments = (Path("t.tau"), "./a")
    assert step in next_steps(*arguments, path, plan, entries())[0]
    assert "tau replay " in next_steps(*arguments, path, plan, [])[0]
    assert "tau plan t.tau " in next_steps(*arguments, None, None, entries())[0]


def test_each_small_figure_names_its_axes() -> None:
    curves = some_curves()
    small = heap_figures.pools(curves, [(24, 1), (104, 2)]).figure.also
    titles = {(one.x.label, one.y.label) for one in small}
    assert len(small) == 2 and titles == {(curves.x_label, "objects")}
    assert curves.x_label == "time (µs)"


def test_a_table_of_pages_and_costs_has_a_unit_in_each_row() -> None:
    pages = Pages(827, 469.629, 474, 2916, 9, "recorded", 1024, {}, 2048, None)
    entry = replace(entries()[0], name="rtvm", pages=pages)
    columns = cost_figures.table([entry]).columns
    assert columns["operation"] == ["pages mapped", "malloc"]
    assert columns["unit"] == ["pages", "instructions"]
    assert columns["mean"] == [469.6, None]
