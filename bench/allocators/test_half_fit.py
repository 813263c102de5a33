"""What the documents say of o1heap is what its code takes."""

import pytest

from bench.allocators import half_fit
from bench.commands import ROOT


@pytest.mark.slow
def test_the_documents_paths_of_half_fit_are_those_of_its_code() -> None:
    """The design page of TLSF has the table, README.md two cells of it. Fetches a crate."""
    lines = half_fit.table()
    design = (ROOT / "docs" / "design" / "tlsf.md").read_text()
    for line in lines:
        assert line in design
    without_scan, _, with_scan = (cell.strip() for cell in lines[2].split("|")[2:5])
    row = f"| o1heap 2 (half-fit, crate {half_fit.CRATE_VERSION})"
    stated = f"{row} | {without_scan} | {with_scan} |"
    assert stated in (ROOT / "README.md").read_text()
