"""What the documents say holds: links lead somewhere, README's figures are those measured.

tests/test_pages.py runs the commands that they show.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
from sources import tree_files

from tautochrone.tile.cycle_bounds import tile_bounds
from tautochrone.tile.systems import tile_system

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
DESIGN_PAGES, SPEC_PAGES = ROOT / "docs" / "design", ROOT / "docs" / "spec"
# A page of the specification and a section of it, as comments and documents quote them: the comma
# and the name may be on the next line of a comment.
QUOTED_PAGE = re.compile(
    r'docs/(?P<side>design|spec)/(?P<page>\w+)\.md(?:,\s+(?:(?://|#)\s*)?\\?"(?P<section>[^"\\]+))?'
)
# Only the design is about the source's style, written files, and the report's figures.
WITHOUT_SPECIFICATION = {"files", "house", "report", "who"}
WITHOUT_DESIGN = {"bounds"}
PAPERS = ROOT / "docs" / "papers.md"
# README's name of a workload, and repro/rtmmu's.
TILE_ROWS = {
    "a million random actions, a chosen seed": "synthetic",
    "ffmpeg": "ffmpeg",
    "stream counter": "mc",
}


@pytest.mark.parametrize("compiler", [["gcc", "-std=c17"], ["g++", "-std=c++17", "-x", "c++"]])
def test_the_readmes_program_runs(tmp_path: Path, compiler: list[str]) -> None:
    """As C and as C++, linked with the core as C."""
    (code,) = re.findall(r"^```c\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    (tmp_path / "program.c").write_text(code)
    sources = [str(ROOT / "core" / f"{name}.c") for name in ("tlsf", "budget")]
    made = str(tmp_path / "program")
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}", "-c"]
    for command in (
        [*compiler, *flags, "program.c"],
        ["gcc", "-std=c17", *flags, *sources],
        ["gcc", "program.o", "tlsf.o", "budget.o", "-o", made],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert subprocess.run([made]).returncode == 0


def test_links_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document}: {target}"


def test_folders_and_files_that_are_named_exist() -> None:
    folders = "core|model|facts|tool|linux|bench|repro|tests|docs|scripts|hw"
    for document in DOCUMENTS:
        lines = document.read_text().splitlines()
        if document.name == "DESIGN.md":  # tidy.py reads its tables, which have rooms to come.
            lines = [line for line in lines if not line.startswith("|")]
        for name in re.findall(rf"`((?:{folders})/[\w/.]*)`", "\n".join(lines)):
            if Path(name).stem not in ("x", "test_x"):  # CONTRIBUTING's name for any mechanism.
                assert (ROOT / name).exists(), f"{document}: {name}"


def headings(page: Path) -> set[str]:
    """Return the titles in a page, code marks left out."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {title.replace("`", "") for title in found}


def test_quoted_pages_and_sections_exist() -> None:
    """Every docs/spec/x.md, "Section", in code and documents leads to that section."""
    quoted = 0
    for path, text in repository_texts():
        if path == Path(__file__).resolve():
            continue
        for found in QUOTED_PAGE.finditer(text):
            if found["page"] == "x":  # CONTRIBUTING's name for any mechanism.
                continue
            page = ROOT / "docs" / found["side"] / f"{found['page']}.md"
            assert page.exists(), f"{path}: {found.group()}"
            if found["section"]:
                quoted += 1
                section = re.sub(r"\s+(?://|#)?\s*", " ", found["section"])
                assert section in headings(page), f"{path}: {found.group()}"
    assert quoted > 10


def test_no_section_of_the_indexes_is_quoted() -> None:
    """DESIGN.md and SPEC.md only lead to pages; their former sections are quoted nowhere."""
    for path, text in repository_texts():
        for found in re.findall(r'\b(?:DESIGN|SPEC)(?:\.md)?, \\?"[^"]*', text):
            raise AssertionError(f"{path}: {found}")


def test_each_mechanism_has_a_page_on_both_sides() -> None:
    """The same file name in docs/design and docs/spec, and a line in both indexes."""
    designs = {page.stem for page in DESIGN_PAGES.glob("*.md")}
    specifications = {page.stem for page in SPEC_PAGES.glob("*.md")}
    assert designs - specifications == WITHOUT_SPECIFICATION
    assert specifications - designs == WITHOUT_DESIGN
    for index, pages in (("DESIGN.md", designs), ("SPEC.md", specifications)):
        text = (ROOT / index).read_text()
        side = index.removesuffix(".md").lower()
        assert all(f"| [{page}](docs/{side}/{page}.md) |" in text for page in pages), index


def test_each_mechanism_has_a_drawing() -> None:
    """A fenced block without a language is a drawing."""
    for page in DESIGN_PAGES.glob("*.md"):
        assert re.search(r"^```\n", page.read_text(), re.M), f"{page.name} has no drawing"


def repository_texts() -> list[tuple[Path, str]]:
    """Return every text file that git knows, with its text."""
    found = []
    for path in tree_files(ROOT):
        try:
            found.append((path, path.read_text()))
        except UnicodeDecodeError:
            continue  # Pictures and raw records.
    return found


def test_quoted_items_of_the_papers_are_defined() -> None:
    """Every [P0-10] or [G-2], wherever it is quoted, is a line of docs/papers.md."""
    defined = set(re.findall(r"^- \*\*((?:P[0-4]|G)-\d+)\*\*", PAPERS.read_text(), re.M))
    for path, text in repository_texts():
        for item in re.findall(r"\b(?:P[0-4]|G)-\d+\b", text):
            assert item in defined, f"{path.relative_to(ROOT)} quotes {item}"


def test_the_readmes_picture_is_small() -> None:
    assert (ROOT / "docs" / "report.png").stat().st_size < 200_000


def test_the_readmes_cycles_are_those_of_the_tile() -> None:
    """Bounds are computed from the linked program; maxima are those that repro/rtmmu keeps."""
    text = (ROOT / "README.md").read_text()
    operations = ("malloc", "free", "fault")
    bounds = [tile_bounds(tile_system(name)) for name in ("tile:rtmmu", "tile:pagetable")]
    cells = [", ".join(str(bound[kind] or "none") for bound in bounds) for kind in operations]
    assert f"| bound | {' | '.join(cells)} | |" in text
    kept = json.loads((ROOT / "repro/rtmmu/results/tile_table1.json").read_text())["rows"]
    for label, name in TILE_ROWS.items():
        pair = [kept[name]["systems"][system] for system in ("rtvm", "conventional")]
        cells = [
            ", ".join(f"{system[kind]['max_cycles']:,}" for system in pair) for kind in operations
        ]
        cells.append(", ".join(f"{system['peak_mapped_pages']:,}" for system in pair))
        assert f"| {label} | {' | '.join(cells)} |" in text, label


def test_the_readmes_gains_of_other_seeds_are_those_measured() -> None:
    """A chosen seed is not shown without the median and the range of the others."""
    text = " ".join((ROOT / "README.md").read_text().split())
    found = json.loads((ROOT / "repro/rtmmu/results/tried.json").read_text())
    free, pages = (found["spans"][name] for name in ("free_gain_instructions", "footprint"))
    assert f"Of seeds 1 to {found['seeds_count']}, {found['fitting_count']} fit the heap" in text
    spans = [
        f"{span['median']:,.0f} times {word} ({span['min']:,.0f} to {span['max']:,.0f})"
        for span, word in ((free, "cheaper in the median"), (pages, "fewer"))
    ]
    assert spans[0] in text and spans[1] in text, spans
