"""The command that `plan/again.py` prints makes the same plan: its options and files are kept.

Method: plans of several kinds, with files in their options and a space in a name, are made again
by that command in another folder. The new file must equal the old one byte for byte.
"""

import shlex
from pathlib import Path

import pytest

from tautochrone.plan.again import again
from tautochrone.plan.file import load_plan
from testing.command import tau
from testing.random_trace import random_trace

LIMITS = 'format = "tautochrone limits"\nversion = 1\n[[limit]]\nsize_bytes = 24\ncount = 99\n'
BUILD = "check_level = 0\n"


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--pools never --margin 12.5%",
        "--planner greedy --classes-max 3 --header plan.h",
        "--build 'a build.toml' --fixed-input",
        "--guarantee --margin 3%",
        "--guarantee --limits 'my limits.toml' --build 'a build.toml' --header h.h",
    ],
)
def test_the_plan_is_made_again(options: str, tmp_path: Path) -> None:
    """Also with one more recording, which lies elsewhere."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    trace = random_trace(folder / "a trace.tau", 3, events=300, live_max=20)
    (folder / "my limits.toml").write_text(LIMITS)
    (folder / "a build.toml").write_text(BUILD)
    plan = folder / "plan.toml"
    words = shlex.split(options)
    tau("plan", trace.name, "--layout", "32", *words, "-o", plan.name, cwd=folder, expect=0)
    before = plan.read_bytes()
    system = load_plan(plan).system
    command = shlex.split(again(plan, load_plan(plan)))
    assert command[0] == "tau" and str(folder / trace.name) in command
    plan.write_bytes(before + b"\n")
    tau(*command[1:], cwd=tmp_path, expect=0)
    assert plan.read_bytes() == before
    more = random_trace(tmp_path / "b.tau", 4, events=100, live_max=20)
    command = shlex.split(again(plan, load_plan(plan), [more, folder / trace.name]))
    tau(*command[1:], cwd=tmp_path, expect=0)
    now = load_plan(plan)
    assert [each.name for each in now.traces] == ["a trace.tau", "b.tau"]
    assert (now.system == "pools") == (system == "pools")
    assert ("--header" in again(plan, now)) == ("--header" in options)


def test_another_recording_of_the_same_name_is_not_taken_for_the_plans(tmp_path: Path) -> None:
    """The plan's own one is gone, or lies elsewhere."""
    folder = tmp_path / "tuesday"
    folder.mkdir()
    trace = random_trace(tmp_path / "run.tau", 3, events=300, live_max=20)
    other = random_trace(folder / "run.tau", 4, events=300, live_max=20)
    plan = tmp_path / "plan.toml"
    tau("plan", trace, "--layout", "32", "-o", plan, expect=0)
    assert again(plan, load_plan(plan), [other]).startswith(f"tau plan {trace} {other} ")
    trace.unlink()
    assert again(plan, load_plan(plan), [other]).startswith(f"tau plan run.tau {other} ")
    other.rename(trace)
    assert again(plan, load_plan(plan)).startswith("tau plan run.tau ")


def test_a_plan_without_its_comment_keeps_its_contract(tmp_path: Path) -> None:
    """The comments of a file may be gone, or anything."""
    trace = random_trace(tmp_path / "a.tau", 3, events=300, live_max=20)
    plan = tmp_path / "plan.toml"
    tau("plan", trace, "--layout", "32", "--guarantee", "-o", plan, expect=0)
    lines = plan.read_text().splitlines(keepends=True)
    expected = f"tau plan {trace} --guarantee -o {plan} --force"
    for comment in ("", "# Made by x: tau plan a.tau 'open\n", "# Made by x: tau tlb plan y\n"):
        plan.write_text(comment + "".join(line for line in lines if not line.startswith("#")))
        assert again(plan, load_plan(plan)) == expected


@pytest.mark.parametrize(
    "told",
    ["--header /etc/passwd", "-o /etc/shadow", "--header", "--limits -o", "--force", "b.tau"],
)
def test_a_comment_names_no_file_elsewhere(told: str, tmp_path: Path) -> None:
    """Nor another output: the line is printed to be pasted."""
    trace = random_trace(tmp_path / "a.tau", 3, events=300, live_max=20)
    plan = tmp_path / "plan.toml"
    tau("plan", trace, "--layout", "32", "--guarantee", "-o", plan, expect=0)
    rest = [line for line in plan.read_text().split("\n") if not line.startswith("#")]
    plan.write_text("\n".join([f"# Made by x: tau plan a.tau --guarantee {told}", *rest]))
    expected = f"tau plan {trace} --guarantee -o {plan} --force"
    assert again(plan, load_plan(plan)) == expected


def test_a_name_is_not_read_as_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose names begin with a dash, in the current folder."""
    monkeypatch.chdir(tmp_path)
    random_trace(tmp_path / "-a.tau", 3, events=300, live_max=20)
    tau("plan", "./-a.tau", "--layout", "32", "-o", "./-p.toml", cwd=tmp_path, expect=0)
    plan = Path("-p.toml")
    command = again(plan, load_plan(plan))
    assert command.startswith("tau plan ./-a.tau ") and " -o ./-p.toml --force" in command
