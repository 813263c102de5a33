"""The commands' words for RAM: less or more than without cold code, and never with two signs.

Method: plans and results with more and with less RAM, made by hand, and a plan of a made kernel for
more frames than it has code.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tautochrone import unseen
from tautochrone.commands.coldcode import plan, run
from tautochrone.console import output
from tautochrone.plan.code import CodePlan, Recorded, told
from tool.tests.coldcode import made_kernel

TWO_SIGNS = re.compile(r"[-\N{MINUS SIGN}][\d.,]+ (?:bytes|%)")
KIB = 1024


def code_plan(frames: int) -> CodePlan:
    """A plan that keeps 40 KiB of 100 KiB, and frames."""
    numbers = (frames, 4, 10 * KIB, 30 * KIB, 60 * KIB, 15, 9, 5, None)
    recordings = (Recorded("day.taucode", "0" * 64),)
    return CodePlan(0.9, "replayed", "nru", *numbers, "1" * 64, "2" * 64, recordings)


def result(pager_bytes: int) -> dict[str, Any]:
    """What a run found that keeps 40,000 of 100,000 bytes, and the pager's."""
    sizes = {"text_bytes": 100_000, "resident_text_bytes": 40_000, "cache_bytes": 16_384}
    counted = {"faults": 1, "loads": 1, "replayed_loads": 1, "marks_missing": ["counters_show"]}
    instructions = {"system_instructions": 99, "baseline_system_instructions": 100}
    instructions |= {"outputs_equal": True}
    return sizes | counted | instructions | {"pager_bytes": pager_bytes, "pager": []}


def test_a_change_is_less_or_more() -> None:
    assert output.change(60, 100) == "40 % less"
    assert output.change(140.5, 100) == "40 % more" and output.change(100, 100) == "0 % more"
    assert output.change(99, 100, less="fewer") == "1.0 % fewer"


@pytest.mark.parametrize(("frames", "said"), [(5, "40 % less"), (25, "40 % more")])
def test_a_plan_says_whether_it_takes_more(frames: int, said: str) -> None:
    lines = "\n".join(told(code_plan(frames)))
    assert said in lines and not TWO_SIGNS.search(lines)


@pytest.mark.parametrize(
    ("pager_bytes", "said"),
    [(3_616, "out of RAM: +40,000 bytes \\(40 %\\)"), (84_116, "more in RAM: +40,500 bytes")],
)
def test_a_run_says_whether_it_takes_more(
    capsys: pytest.CaptureFixture[str], pager_bytes: int, said: str
) -> None:
    run._print(result(pager_bytes))
    lines = capsys.readouterr().out
    assert re.search(said, lines) and "1.0 % fewer" in lines and not TWO_SIGNS.search(lines)


def test_a_run_says_what_was_not_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    run._print(result(3_616))
    said = capsys.readouterr().out
    assert unseen.told(unseen.KERNEL_RUN) in said
    assert "no counters_show, so more is replayed" in said


def test_a_plan_that_takes_more_ram_is_called_that(tmp_path: Path) -> None:
    """The made kernel has 33 KiB of code, 32 frames are 128 KiB."""
    kernel, map_path = made_kernel.build(tmp_path)
    recording = made_kernel.record(kernel, tmp_path / "1.taucode", 1)
    words = [str(recording), "--kernel", str(kernel.path), "--map", str(map_path)]
    for frames, is_said in ((32, True), (4, False)):
        done = CliRunner().invoke(plan.command, [*words, "--frames", str(frames)])
        assert done.exit_code == 0
        assert ("more RAM than the kernel without it" in done.stderr) == is_said, done.stderr
        assert ("% more" in done.stdout) == is_said and not TWO_SIGNS.search(done.stdout)
