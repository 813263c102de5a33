"""`tau coldcode plan` and `replay` on a made kernel: their answers, links and refusals."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tautochrone.coldcode.fragment import PAGE_BYTES, misplaced, read_fragment
from tautochrone.coldcode.kernel import Kernel
from tautochrone.coldcode.link_map import read_link_map
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, EXIT_LIMIT_EXCEEDED, EXIT_USAGE
from tautochrone.plan.file import FILE_BYTES_MAX
from testing.command import tau
from tool.tests.coldcode import made_kernel

PLAN_KEYS = [
    *("threshold", "planner", "frames", "core_bytes", "base_bytes", "swappable_bytes", "pages"),
    *("expected_faults", "lower_bound_faults", "frames_least", "fault_instructions_max"),
]
REPLAY_KEYS = ["placement", "policy", "frames", "faults", "loads", "evictions"]
START = 0x80000000  # where the generated kernel's cold code starts


@dataclass(frozen=True)
class Made:
    """A kernel, its map, and two recordings of it."""

    folder: Path
    kernel: Kernel
    map_path: Path
    recording: Path
    other: Path

    @property
    def inputs(self) -> list[str]:
        """The arguments that name them."""
        names = [str(self.recording), "--kernel", str(self.kernel.path)]
        return [*names, "--map", str(self.map_path)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The kernel and its recordings."""
    folder = tmp_path_factory.mktemp("kernel")
    kernel, map_path = made_kernel.build(folder)
    recordings = [made_kernel.record(kernel, folder / f"{seed}.taucode", seed) for seed in (1, 2)]
    return Made(folder, kernel, map_path, *recordings)


@pytest.fixture(scope="module")
def once(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, its fragment, and next to them its recording and its kernel."""
    folder = tmp_path_factory.mktemp("once")
    document_of("coldcode", "plan", *made.inputs, "-o", folder / "plan.toml")
    shutil.copy(made.recording, folder)
    shutil.copy(made.kernel.path, folder / "vmlinux")
    return folder


@pytest.fixture
def plan(once: Path, tmp_path: Path) -> Path:
    """A plan without anything next to it but its fragment."""
    shutil.copy(once / "plan.lds", tmp_path)
    return Path(shutil.copy(once / "plan.toml", tmp_path))


@pytest.fixture
def together(once: Path, tmp_path: Path) -> Path:
    """A plan with its files next to it."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "plan.toml"


def document_of(*words: str | Path) -> dict[str, Any]:
    """The document that the command prints with --json."""
    done = tau(*words, "--json")
    assert done.returncode == EXIT_DONE, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def refused(*words: str | Path, status: int = EXIT_FAILED) -> str:
    """The message of a command that fails; it must name a next step."""
    done = tau(*words)
    assert done.returncode == status, done.stderr
    assert status == EXIT_USAGE or "next:" in done.stderr, done.stderr
    return done.stderr


def test_a_plan_is_written_and_replayed(made: Made, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    asked = ("--threshold", "0.9", "--frames", "4", "-o", plan)
    planned = document_of("coldcode", "plan", *made.inputs, *asked)
    assert set(PLAN_KEYS) <= set(planned) and planned["frames_least"] == 4
    assert planned["swappable_bytes"] <= planned["pages"] * PAGE_BYTES
    resident = planned["core_bytes"] + planned["base_bytes"]
    assert planned["ram_bytes"] == resident + 4 * PAGE_BYTES
    assert planned["lower_bound_faults"] <= planned["expected_faults"]
    assert plan.stat().st_size < FILE_BYTES_MAX
    answered = document_of("coldcode", "replay", made.recording, "--plan", plan)
    (row,) = answered["replays"]
    assert list(row)[:6] == REPLAY_KEYS
    assert row["placement"] == "replayed" and row["loads"] == planned["expected_faults"]
    assert len(answered["recording_sha256"]) == 64
    assert planned["not_looked_at"] and answered["not_looked_at"]


def test_a_kernel_is_linked_as_planned(made: Made, tmp_path: Path) -> None:
    """Relaxation changes sizes, so the first link may differ; the next one does not."""
    plan = tmp_path / "plan.toml"
    words = [*made.inputs, "--threshold", "0.9", "-o", plan, "--force"]
    for number in range(4):
        document_of("coldcode", "plan", *words)
        text = plan.with_suffix(".lds").read_text()
        _, map_path = made_kernel.build(tmp_path / f"linked{number}", text)
        linked = read_link_map(map_path)
        fragment = read_fragment(plan.with_suffix(".lds"))
        if not misplaced(fragment.pages, linked, START):
            break
        words += ["--sizes", map_path]
    else:
        pytest.fail("the sizes do not settle")
    cold = {piece.name for piece in linked if piece.output == ".text.cold"}
    assert cold == {one.name for page in fragment.pages for one in page}


def test_the_section_is_checked_and_shown(plan: Path) -> None:
    assert tau("check", plan).returncode == EXIT_DONE
    shown = tau("info", plan)
    assert shown.returncode == EXIT_DONE and "placed by replayed" in shown.stdout
    assert document_of("info", plan)["sections"]["code"]["planner"] == "replayed"
    text = plan.read_text()
    plan.write_text(text.replace("frames = 16", "frames = 3"))
    assert "frames" in tau("check", plan).stdout
    plan.write_text(text.replace("frames_least = 4", "frames_least = 20"))
    assert "20 are the least" in tau("check", plan).stdout


def test_pages_of_interrupts_need_frames(made: Made, tmp_path: Path) -> None:
    plan, asked = tmp_path / "plan.toml", ("--interrupt-pages", "3")
    said = refused("coldcode", "plan", *made.inputs, *asked, "--frames", "6", status=EXIT_USAGE)
    assert "can need four, interrupts 3" in said
    planned = document_of("coldcode", "plan", *made.inputs, *asked, "--faults", "9999", "-o", plan)
    assert planned["frames_least"] == 7 <= planned["frames"]
    said = refused("coldcode", "replay", made.recording, "--plan", plan, "--frames", "6",
                   status=EXIT_USAGE)  # fmt: skip
    assert "give 7 to 64 frames" in said
    said = refused("coldcode", "run", "--plan", plan, "--frames", "6", status=EXIT_USAGE)
    assert "give 7 to 64 frames" in said


def test_every_policy_and_number_of_frames_is_replayed(made: Made, tmp_path: Path) -> None:
    plan, other = tmp_path / "plan.toml", tmp_path / "other.toml"
    document_of("coldcode", "plan", *made.inputs, "--threshold", "0.5", "-o", plan)
    document_of("coldcode", "plan", *made.inputs, "--threshold", "0.9", "-o", other)
    asked = ["--plan", plan, "--plan", other, "--frames", "4", "--frames", "8"]
    for policy in ("round-robin", "random", "nru", "aging", "belady"):
        asked += ["--policy", policy]
    rows = document_of("coldcode", "replay", made.other, *asked)["replays"]
    assert len(rows) == 2 * 5 * 2
    for row in rows:
        least = min(
            one["loads"]
            for one in rows
            if (one["plan"], one["frames"]) == (row["plan"], row["frames"])
        )
        assert row["evictions"] == max(row["loads"] - row["frames"], 0) or row["loads"] >= least
        assert row["policy"] != "belady" or row["loads"] == least


def test_a_plan_is_asked_for_by_what_a_user_knows(made: Made) -> None:
    by_paper = document_of("coldcode", "plan", *made.inputs, "--threshold", "0.9", "--frames", "6")
    ram_bytes = by_paper["ram_bytes"]
    by_ram = document_of("coldcode", "plan", *made.inputs, "--ram", str(ram_bytes))
    assert by_ram["ram_bytes"] <= ram_bytes
    assert by_ram["expected_faults"] <= by_paper["expected_faults"]
    by_faults = document_of(
        "coldcode", "plan", *made.inputs, "--faults", str(by_paper["expected_faults"])
    )
    assert by_faults["expected_faults"] <= by_paper["expected_faults"]
    assert by_faults["ram_bytes"] <= ram_bytes
    few = ("--ram", "10K")
    said = refused("coldcode", "plan", *made.inputs, *few, status=EXIT_LIMIT_EXCEEDED)
    assert "the coldest plan takes" in said


def test_equal_input_is_an_equal_plan(made: Made, tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        plan = tmp_path / name / "plan.toml"
        plan.parent.mkdir()
        document_of("coldcode", "plan", *made.inputs, "-o", plan)
        texts.append(plan.read_text() + plan.with_suffix(".lds").read_text())
    assert texts[0] == texts[1]


def test_functions_that_are_kept_stay(made: Made, tmp_path: Path) -> None:
    """All functions of that name; the map of another link is read for its sizes."""
    keep = tmp_path / "keep.txt"
    keep.write_text("f7\nlarge\nasm\n")
    plan = tmp_path / "plan.toml"
    words = ("--keep", keep, "--sizes", made.map_path, "-o", plan)
    document_of("coldcode", "plan", *made.inputs, *words)
    placed = [one.section for page in read_fragment(plan.with_suffix(".lds")).pages for one in page]
    assert not {".text.f7", ".text.large", ".text"} & set(placed) and ".text.f8" in placed


# ---- `tau check` looks at the files next to a plan


def checked(plan: Path) -> str:
    """The only problem that `tau check` prints of a plan."""
    done = tau("check", plan)
    assert done.returncode == EXIT_FAILED and "1 problem" in done.stdout, done.stdout
    return done.stdout


def test_the_files_next_to_a_plan_are_compared(tmp_path: Path, together: Path) -> None:
    done = tau("check", together)
    assert done.returncode == EXIT_DONE and not done.stderr, done.stderr
    assert "plan of cold code, no problems" in done.stdout
    (tmp_path / "vmlinux").rename(tmp_path / "kernel.elf")  # as the recording calls it
    done = tau("check", together)
    assert done.returncode == EXIT_DONE and not done.stderr, done.stderr
    (tmp_path / "kernel.elf").write_text("built anew")
    done = tau("check", together)
    assert done.returncode == EXIT_DONE
    assert "not there to be compared: vmlinux" in done.stderr and "next:" in done.stderr


def test_each_file_that_differs_is_named(made: Made, tmp_path: Path, together: Path) -> None:
    recording, fragment = tmp_path / made.recording.name, together.with_suffix(".lds")
    text, recorded = fragment.read_text(), recording.read_bytes()
    shutil.copy(made.other, recording)
    said = checked(together)
    assert f"{recording} is not the recording that was planned from" in said
    assert "plan again" in said
    recording.write_bytes(recorded)
    fragment.write_text(text[:-20])
    assert f"{fragment} was cut short or changed" in checked(together)
    fragment.unlink()
    assert f"{fragment} is missing: put it next to the plan" in checked(together)
    other = tmp_path / "other.toml"
    document_of("coldcode", "plan", *made.inputs, "--threshold", "0.5", "-o", other)
    shutil.copy(other.with_suffix(".lds"), fragment)
    assert f"{fragment} is not the plan's: its hash is" in checked(together)
    fragment.write_text(text)
    kernel, _ = made_kernel.build(tmp_path / "linked", text)
    shutil.copy(kernel.path, tmp_path / "vmlinux")
    said = checked(together)
    assert f"{tmp_path / 'vmlinux'} is not the plan's kernel" in said and "record" in said
    (tmp_path / "vmlinux").write_text("no kernel")
    assert "vmlinux is not a valid ELF file" in checked(together)


@pytest.mark.parametrize(("key", "value"), [("frames", "65"), ("frames_least", "64"), ("x", "1")])
def test_a_plan_changed_by_hand_is_made_again_by_the_same_verb(
    made: Made, together: Path, key: str, value: str
) -> None:
    lines = [line for line in together.read_text().splitlines() if not line.startswith(f"{key} =")]
    place = next(index for index, line in enumerate(lines) if line.startswith("planner ="))
    lines.insert(place, f"{key} = {value}")
    together.write_text("\n".join(lines) + "\n")
    done = tau("coldcode", "replay", made.recording, "--plan", together)
    assert (done.returncode, done.stdout) == (EXIT_FAILED, "")
    assert "next: make the plan again with `tau coldcode plan`" in done.stderr


def test_a_recording_of_another_kernel_is_a_problem(
    made: Made, tmp_path: Path, together: Path
) -> None:
    """Its hash is the plan's, but the kernel's hash was changed by hand."""
    (tmp_path / "vmlinux").unlink()
    together.write_text(together.read_text().replace(made.kernel.code_sha256, "ab" * 32))
    assert "was recorded on another kernel than the plan's: code" in checked(together)


def test_a_kernel_that_was_linked_as_planned_is_accepted(
    made: Made, tmp_path: Path, together: Path
) -> None:
    """With the symbols that Linux has around its cold code."""
    text = together.with_suffix(".lds").read_text()
    kernel, map_path = made_kernel.build(tmp_path / "linked", text)
    shutil.copy(kernel.path, tmp_path / "vmlinux")
    shutil.copy(map_path, tmp_path / "vmlinux.map")
    moved = misplaced(
        read_fragment(together.with_suffix(".lds")).pages, read_link_map(map_path), START
    )
    done = tau("check", together)
    assert ("was not linked as the plan says" in done.stdout) == bool(moved), done.stdout
    assert done.returncode == (EXIT_FAILED if moved else EXIT_DONE)


# ---- Bad input


def test_an_unknown_function_to_keep_is_refused(made: Made, tmp_path: Path) -> None:
    keep = tmp_path / "keep.txt"
    keep.write_text("f7\nlarg\n")
    said = refused("coldcode", "plan", *made.inputs, "--keep", keep)
    assert "has no function larg\n" in said and "similar names: large" in said
    keep.write_text("".join(f"zz{number}\n" for number in range(5)))
    said = refused("coldcode", "plan", *made.inputs, "--keep", keep)
    assert "zz0, zz1, zz2 and 2 more" in said


def test_two_ways_to_ask_at_once_are_refused(made: Made) -> None:
    ram = ("--ram", "1M")
    for words in ((*ram, "--faults", "1"), (*ram, "--frames", "8"), ("--ram", "x")):
        refused("coldcode", "plan", *made.inputs, *words, status=EXIT_USAGE)
    refused("coldcode", "plan", *made.inputs, "--frames", "3", status=EXIT_USAGE)


@pytest.mark.parametrize("stream", ["-", "/dev/null"])
def test_a_stream_has_no_fragment_next_to_it(made: Made, stream: str) -> None:
    said = refused("coldcode", "plan", *made.inputs, "-o", stream, status=EXIT_USAGE)
    assert "is not a file" in said and not Path(f"{stream}.lds").exists()


def test_a_cut_recording_is_refused(made: Made, tmp_path: Path) -> None:
    cut = tmp_path / "cut.taucode"
    cut.write_bytes(made.recording.read_bytes()[:-40])
    said = refused("coldcode", "plan", cut, *made.inputs[1:])
    assert "cut.taucode" in said


def test_another_kernel_is_refused(made: Made, tmp_path: Path, plan: Path) -> None:
    """Its recording, its ELF file, and its map."""
    text = plan.with_suffix(".lds").read_text()
    kernel, map_path = made_kernel.build(tmp_path / "linked", text)
    recording = made_kernel.record(kernel, tmp_path / "other.taucode", 3)
    assert "another kernel" in refused("coldcode", "replay", recording, "--plan", plan)
    assert "another kernel" in refused("coldcode", "plan", recording, *made.inputs[1:])
    words = [made.recording, "--kernel", made.kernel.path, "--map", map_path]
    assert "map is from another link" in refused("coldcode", "plan", *words)
    assert document_of("coldcode", "replay", recording, "--plan", plan, "--map", map_path)
    words = ["coldcode", "replay", recording, "--plan", plan, "--map", made.map_path]
    assert "no function starts where" in refused(*words)


def test_a_fragment_that_is_not_the_plans_is_refused(
    made: Made, tmp_path: Path, plan: Path
) -> None:
    other, fragment = tmp_path / "other.toml", plan.with_suffix(".lds")
    document_of("coldcode", "plan", *made.inputs, "--threshold", "0.5", "-o", other)
    replay = ("coldcode", "replay", made.recording, "--plan", plan)
    for text, cause in (
        (other.with_suffix(".lds").read_text(), "is not the fragment of"),
        (fragment.read_text()[:-20], "cut short or changed"),
    ):
        fragment.write_text(text)
        assert cause in refused(*replay)
    fragment.unlink()
    said = refused(*replay)
    assert f"{fragment}: no such file" in said
    assert "next: put it next to the plan, or plan again with `tau coldcode plan`" in said


def test_a_plan_that_swaps_what_must_stay_is_refused(made: Made, plan: Path) -> None:
    from tautochrone.coldcode.fragment import fragment_text

    assembly = [one for one in read_link_map(made.map_path) if one.section == ".text"]
    plan.with_suffix(".lds").write_text(fragment_text([assembly]))
    said = refused("coldcode", "replay", made.recording, "--plan", plan)
    assert "must stay in RAM" in said


def test_a_plan_without_code_is_refused(made: Made, plan: Path) -> None:
    said = refused("plan", plan)
    assert "is a plan, not a trace" in said
    assert "without [heap]" in refused("replay", made.recording, "--plan", plan)
