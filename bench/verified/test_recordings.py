"""Enough recordings of 32-bit programs are made, each whole, sound and for the target's layout."""

import pytest

from bench.commands import ROOT
from bench.verified import recordings, run
from tautochrone.trace import abi
from tautochrone.trace.checking import check_trace


@pytest.mark.slow
def test_the_recordings() -> None:
    """Kept ones are checked as they are; `python -m bench verified --fresh` makes new ones."""
    assert run.BENCH.main([]) == 0
    for one in recordings.recordings():
        assert abi.fits(one["abi"], "32"), one
        assert one["events"] > 0, one
        checked = check_trace(ROOT / one["path"])
        assert not checked.problems, (one["name"], checked.problems)
        assert checked.ending is not None and checked.ending.is_complete, one
