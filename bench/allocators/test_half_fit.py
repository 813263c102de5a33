"""What the documents say of o1heap is what its code takes."""

import pytest

from bench.allocators import half_fit
from bench.commands import ROOT


@pytest.mark.slow
def test_the_documents_paths_of_half_fit_are_those_of_its_code() -> None:
    """The design page of TLSF has the table. Fetches a crate."""
    lines = half_fit.table()
    design = (ROOT / "docs" / "design" / "tlsf.md").read_text()
    for line in lines:
        assert line in design
