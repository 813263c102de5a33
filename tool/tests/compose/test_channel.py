"""`tau compose check --channel`: what a sender can tell a receiver, with and without a leak.

The estimator is compared with channels whose capacity is known: equal observations, a copy, a
binary symmetric channel, and independent ones.
"""

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from tautochrone.commands.compose import check
from tautochrone.compose import channel
from tautochrone.compose.channel import ACTS, TIMED, Act, Found
from tautochrone.compose.leaks import LEAKS
from tautochrone.compose.system import Application
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.tile.channel import measured

SENT = {
    "tlb": {"fail", "be loaded"},
    "gate": {"be interrupted", "divide"},
    "load-time": {"be loaded"},
    "kernel-path": {"fail", "be loaded"},
    "one-table": {"touch pages", "fail", "be loaded"},
}


def sent(*words: object) -> Result:
    """The command's answer."""
    line = ["--channel", *map(str, words), "--json"]
    return CliRunner().invoke(check.command, line, standalone_mode=False)


@pytest.mark.parametrize("flips", [0.0, 0.1, 0.5])
def test_a_known_channel_is_measured(flips: float) -> None:
    """1 - H(flips) bits; the interval has it, and only half is chance."""
    dice = random.Random(7)
    bits = [dice.randrange(2) for _ in range(4000)]
    found = measured(((bit, bit ^ (dice.random() < flips)) for bit in bits), 1)
    lost = -sum(p * math.log2(p) for p in (flips, 1 - flips) if p)
    assert found.uses == 4000 and abs(found.bits - (1 - lost)) < 0.02
    assert found.least_bits <= found.bits <= found.most_bits
    assert (found.chance < 0.002) == (flips < 0.5)


def test_many_observations_are_not_a_channel() -> None:
    """Independent ones, nearly as many as uses: what is estimated is said to be chance."""
    dice = random.Random(8)
    found = measured(((dice.randrange(2), dice.randrange(400)) for _ in range(1000)), 1)
    assert found.bits < 0.2 and found.least_bits == 0 and found.chance > 0.01
    assert measured([], 1).bits == 0
    assert measured([(0, 0), (1, 1)], 1).chance == 1  # Any other order carries as much.


@pytest.mark.parametrize("is_there", [True, False])
def test_a_slot_that_is_lost_is_observed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_there: bool
) -> None:
    """A receiver without a slot whenever the bit is 1 learns it. Without any there is no result."""
    part = channel._Part("be interrupted", 200, 1, None)
    seen = {frame: (1, 2) for frame in range(400) if is_there and part.bit(frame) == 0}
    done = SimpleNamespace(stopped=None)
    monkeypatch.setattr(channel, "_application", lambda name, *_: Application(name, tmp_path, ()))
    monkeypatch.setattr(channel, "made_of", lambda *_: None)
    monkeypatch.setattr(channel, "run_made", lambda *_, **__: done)
    monkeypatch.setattr(channel, "_observed", lambda *_: seen)
    base = SimpleNamespace(path=tmp_path)
    if is_there:
        pairs = list(part.sent(channel.SHORT, tmp_path, base, tmp_path))
        assert len(pairs) == 200 and measured(pairs, 1).bits > 0.9
    else:
        with pytest.raises(TauError, match="the receiver had no slot"):
            part.sent(channel.SHORT, tmp_path, base, tmp_path)


@pytest.mark.parametrize("leak", sorted(set(LEAKS) - set(TIMED)))
def test_a_leak_that_is_not_of_time_is_refused(leak: str) -> None:
    """Before anything is built."""
    error = sent(64, "--leak", leak).exception
    assert isinstance(error, TauError) and "does not move cycles between two slots" in str(error)


@pytest.mark.parametrize(
    ("frames", "status"),
    [(64, EXIT_FAILED), pytest.param(576, EXIT_DONE, marks=pytest.mark.slow)],
)
def test_nothing_is_sent_without_a_leak(frames: int, status: int) -> None:
    """All that is observed is equal, so the estimate is exactly 0. In few frames it shows nothing,
    as a sender is loaded too rarely."""
    done = sent(frames)
    assert done.return_value == status, done.output
    found = json.loads(done.stdout)
    assert [act["act"] for act in found["acts"]] == list(ACTS)
    assert all(act["bits"] == 0 and act["observations"] == 1 for act in found["acts"])
    few = "fewer than 16 uses, too few to show anything: fail, be loaded"
    assert found["failure"] == (few if status else None)
    assert ("next: give --channel 576 or more" in done.stderr) == bool(status)


@pytest.mark.parametrize(
    ("uses", "leak", "failure"),
    [(16, None, None), (15, None, "fewer than 16 uses"), (16, "tlb", "the leak tlb is built in")],
)
def test_what_shows_nothing_fails(uses: int, leak: str | None, failure: str | None) -> None:
    """Unless an act is open: a copy of 16 bits is, one of 8 is not."""
    silent = Act("divide", measured([(0, 0), (1, 0)] * uses, 1)), Act(
        "fail", replace(measured([(0, 0)], 1), uses=uses)
    )
    found = Found(leak, 64, 576, silent)
    assert (found.failure or "").startswith(failure or "") and bool(found.failure) == bool(failure)
    few, copy = (measured([(0, 0), (1, 1)] * half, 1) for half in (4, 8))
    assert few.bits == copy.bits == 1
    assert not replace(found, acts=(Act("fail", few),)).open
    assert replace(found, acts=(*silent, Act("fail", copy))).failure is None


@pytest.mark.slow
@pytest.mark.parametrize("leak", TIMED)
def test_each_leak_is_a_channel(leak: str) -> None:
    """More than a tenth of a bit, by the acts that it lets through."""
    done = sent(640, "--leak", leak)
    assert done.return_value == EXIT_LIMIT_EXCEEDED, done.output
    found = json.loads(done.stdout)
    assert set(found["open"]) == SENT[leak]
    assert max(act["bits"] for act in found["acts"]) > 0.5
