"""Consequences of a caller's faults at each check level: inject_tlsf, 32-bit words.

`python -m core.tests.injection.test_injection` prints the tables of tlsf.md in docs/design and
docs/spec.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest

from core.tests.kit.core_build import ROOT, Build, build_program, run_program
from testing.golden import pinned

GOLDEN = Path(__file__).with_name("injection_golden.json")
LEVELS = (0, 1, 2)
TRIALS_QUICK = 40
TRIALS = 1120
RUN_SECONDS_MAX = 600
OUTCOMES = ("detected", "crashed", "damaged", "skipped", "unnoticed")
FREES = "free of addresses"  # how the lines of the second kind begin
# At level 1 a dead header is believed where its neighbors' dead words agree with it.
BELIEVED_AT_LEVEL_1 = "merged, freed twice"


@cache
def counts(level: int, trials: int) -> dict[str, list[int]]:
    """The numbers of each line that inject_tlsf prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(Build(32, level), "inject_tlsf", Path(folder))
        output = run_program(program, ["1", str(trials)], RUN_SECONDS_MAX)
    rows = (line.split(" | ") for line in output.splitlines())
    return {name: [int(number) for number in numbers] for name, *numbers in rows}


def faults(level: int, trials: int) -> dict[str, dict[str, int]]:
    """How many trials of each kind of fault had each outcome."""
    return {
        name: dict(zip(OUTCOMES, numbers, strict=True))
        for name, numbers in counts(level, trials).items()
        if not name.startswith(FREES)
    }


def faults_table(trials: int = TRIALS) -> list[str]:
    """The lines of the design page's table."""
    heads = " | ".join(f"level {level}" for level in LEVELS)
    lines = [f"| fault: {' / '.join(OUTCOMES)} | {heads} |", "|---" * (len(LEVELS) + 1) + "|"]
    for name in faults(0, trials):
        cells = (" / ".join(map(str, faults(level, trials)[name].values())) for level in LEVELS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def frees_table(trials: int = TRIALS) -> list[str]:
    """The lines of the specification's table of frees of addresses that are not objects."""
    lines = ["| the objects' bytes are | tried | level 1 accepts | level 2 accepts |"]
    lines.append("|---|---|---|---|")
    for name, numbers in counts(1, trials).items():
        if not name.startswith(FREES):
            continue
        (tried, accepted), (tried_again, accepted_at_2) = numbers, counts(2, trials)[name]
        assert tried == tried_again
        content = name.removeprefix(f"{FREES}, contents ")
        lines.append(f"| {content} | {tried:,} | {accepted:,} | {accepted_at_2:,} |")
    return lines


def check_outcomes(trials: int) -> None:
    """Level 0 crashes and damages; from level 1 on no fault in a block's own words does."""
    for level in LEVELS:
        for name, outcomes in faults(level, trials).items():
            assert sum(outcomes.values()) == trials
            harm = outcomes["crashed"] + outcomes["damaged"]
            assert (outcomes["detected"] == 0) == (level == 0)
            assert (harm > 0) == (level == 0) or (level, name) == (1, BELIEVED_AT_LEVEL_1)
    assert all(row[1] == 0 for name, row in counts(2, trials).items() if name.startswith(FREES))


def test_few_faults_come_to_what_is_pinned() -> None:
    """After a wanted change: TAU_UPDATE_GOLDEN=1."""
    check_outcomes(TRIALS_QUICK)
    measured = {f"level {level}": counts(level, TRIALS_QUICK) for level in LEVELS}
    assert measured == pinned(GOLDEN, measured)


@pytest.mark.slow
def test_the_documents_say_what_all_faults_come_to() -> None:
    """docs/design/tlsf.md, "What the checks do not see", and docs/spec/tlsf.md, "Checks"."""
    check_outcomes(TRIALS)
    for side, lines in (("design", faults_table()), ("spec", frees_table())):
        text = (ROOT / "docs" / side / "tlsf.md").read_text()
        for line in lines:
            assert line in text, f"docs/{side}/tlsf.md does not have: {line}"


if __name__ == "__main__":
    print("\n".join(faults_table()), "\n".join(frees_table()), sep="\n\n")
