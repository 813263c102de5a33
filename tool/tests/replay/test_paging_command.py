"""`tau replay` and `tau report` of systems on pages: their output and their refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tautochrone.commands import replay, report
from tautochrone.console import output
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.replay.paging import page_replay
from tautochrone.replay import entry
from tautochrone.report import comparison
from testing.paging_reference import PAGE, TOUCH, events_with_touches
from testing.random_trace import MALLOC, random_trace, write_events

COUNTED = [
    f"{statistic}_{unit}{suffix}"
    for statistic in ("max", "p999", "bound")
    for unit in ("instructions", "accesses")
    for suffix in ("", "_zbb")
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A recording with touches."""
    return write_events(tmp_path / "t.tau", events_with_touches(51, events=3000))


def called(command: object, *words: str | Path) -> Result:
    """Call a command; a TauError comes through."""
    return CliRunner().invoke(
        command, [str(word) for word in words], standalone_mode=False, catch_exceptions=False
    )


def test_json_has_the_measures_of_the_replay(trace: Path) -> None:
    done = called(replay.command, trace, "--on", "rtvm,conventional", "--json")
    document = json.loads(done.stdout)
    assert document["touches"] > 500 and document["touch"] == "recorded"
    ours, theirs = document["systems"]
    assert (ours["name"], theirs["name"]) == ("rtvm", "conventional")
    for system in (ours, theirs):
        found = page_replay(trace, system["name"])
        assert system["peak_mapped_pages"] == found.peak_mapped_pages
        assert system["mean_mapped_pages"] == pytest.approx(found.mean_mapped_pages, abs=1e-3)
        assert system["faults"] == found.faults == system["operations"]["fault"]["count"]
        assert system["footprint_bytes"] == PAGE * system["peak_mapped_pages"]
        assert max(system["mapped_pages"]["max"]) == system["peak_mapped_pages"]
        for kind in ("malloc", "free", "fault"):
            calls = system["operations"][kind]
            assert set(COUNTED) <= calls.keys()
            assert calls["max_accesses"] == found.calls[kind].max_accesses
            assert calls["p999_instructions"] == found.calls[kind].p999_instructions
            assert max(calls["by_size"]["instructions"]) == calls["max_instructions"]
    assert ours["operations"]["free"]["bound_instructions"] > 0
    assert ours["operations"]["free"]["grows"] is None
    assert theirs["operations"]["free"]["bound_instructions"] is None
    assert theirs["operations"]["free"]["grows"] == "linear"


def test_json_is_the_same_each_time(trace: Path) -> None:
    words = (trace, "--on", "rtvm,conventional-mapped", "--json")
    assert called(replay.command, *words).stdout == called(replay.command, *words).stdout


def test_the_table_names_what_has_no_bound(trace: Path) -> None:
    done = called(replay.command, trace, "--on", "conventional,rtvm,tlsf")
    assert "linear" in done.stdout
    assert "With pages returned at once" in done.stdout
    assert "tlsf holds the trace" in done.stdout


def test_a_trace_without_touches_is_said_to_have_none(tmp_path: Path) -> None:
    output.configure(color="auto", quiet=False)
    plain = random_trace(tmp_path / "p.tau", 5, events=200)
    done = called(replay.command, plain, "--on", "rtvm")
    assert "holds no accesses" in done.stderr and "--touch all" in done.stderr
    assert "holds no accesses" not in done.stdout
    assert "holds no" not in called(replay.command, plain, "--on", "rtvm", "--touch", "all").stderr
    assert "holds no" not in called(replay.command, plain, "--on", "tlsf").stderr


def test_a_limit_of_frames_gives_exit_status_3(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 64 * PAGE, 0), *((TOUCH, 0, k * PAGE, 1) for k in range(64))]
    path = write_events(tmp_path / "t.tau", events)
    done = called(replay.command, path, "--on", "rtvm", "--frames", "30")
    assert done.return_value == EXIT_LIMIT_EXCEEDED
    assert "no frame left" in done.stdout and "at event" in done.stdout
    assert called(replay.command, path, "--on", "rtvm", "--frames", "100").return_value == 0


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--on", "rtvm", "--layout", "host"), "32-bit"),
        (("--on", "tlsf", "--frames", "10"), "tlsf cannot follow --frames"),
        (("--on", "rtvm,rtmv"), "no system is called"),
        (("--on", "rtvm", "--heap", "4096"), "at least 2"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error(
    trace: Path, words: tuple[str, ...], cause: str
) -> None:
    with pytest.raises(TauError, match=cause) as raised:
        called(replay.command, trace, *words)
    assert raised.value.exit_code == EXIT_USAGE


# ---- thinning ----


def test_a_scatter_is_thinned_without_losing_a_maximum() -> None:
    source = np.random.default_rng(3)
    sizes = np.floor(2 ** source.uniform(0, 20, 50_000)).astype(np.uint32)
    costs = (100 + source.integers(0, 200, 50_000)).astype(np.uint32)
    costs[777], sizes[777] = 5000, 3
    kept_sizes, kept_costs = entry.thinned(sizes, costs)
    assert len(kept_sizes) == len(kept_costs) <= entry.POINTS_MAX
    assert kept_costs.max() == 5000
    assert set(zip(kept_sizes, kept_costs, strict=True)) <= set(zip(sizes, costs, strict=True))
    octaves = np.floor(np.log2(sizes.astype(float)))
    for octave in range(20):
        in_octave = np.floor(np.log2(kept_sizes.astype(float))) == octave
        assert kept_costs[in_octave].max() == costs[octaves == octave].max()


def test_the_smallest_sizes_are_thinned_together() -> None:
    """A free of nothing has size 0; it is in the step of size 1, without a warning of numpy."""
    with np.errstate(all="raise"):
        sizes, costs = entry.thinned(np.array([0, 1, 2]), np.array([5, 9, 4]), points_max=0)
    assert (sizes.tolist(), costs.tolist()) == ([1, 2], [9, 4])


def test_a_curve_is_made_coarser_without_losing_a_maximum() -> None:
    numbers = np.random.default_rng(4).integers(0, 1000, 2000)
    coarse = entry.curve_of(np.arange(2000) * 5, numbers, numbers + 7)
    assert len(coarse["event"]) == 500
    assert coarse["max"] == (numbers.reshape(500, 4).max(axis=1) + 7).tolist()
    assert coarse["min"] == numbers.reshape(500, 4).min(axis=1).tolist()
    one_too_many = np.arange(entry.BINS_MAX + 1)
    assert len(entry.curve_of(one_too_many, one_too_many, one_too_many)["event"]) < entry.BINS_MAX
    few = entry.curve_of(np.arange(3), numbers[:3], numbers[:3])
    assert few == {"event": [0, 1, 2], "min": few["max"], "max": numbers[:3].tolist()}


# ---- the report ----


def test_the_report_shows_both_systems(trace: Path, tmp_path: Path) -> None:
    found = tmp_path / "pages.json"
    found.write_text(called(replay.command, trace, "--on", "rtvm,conventional", "--json").stdout)
    out = tmp_path / "r.html"
    done = called(report.command, trace, "--replay", found, "-o", out, "--json")
    document = json.loads(done.stdout)
    assert {"mapped-pages", "malloc-by-size", "free-by-size"} <= set(document["panels"])
    assert "footprints" not in document["panels"]
    assert "With pages returned at once" in document["verdict"]
    text = out.read_text()
    assert "no bound, as the cost grows with the pages returned" in text
    assert "conventional,0," in text  # its curve's CSV


def test_the_report_replays_on_pages_itself(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    done = called(report.command, trace, "--on", "tlsf,rtvm", "-o", out, "--json")
    document = json.loads(done.stdout)
    assert {"footprints", "mapped-pages"} <= set(document["panels"])
    assert "needs a heap" in document["verdict"] and "rtvm maps at most" in document["verdict"]
    assert "holds no accesses" not in out.read_text()


def test_the_report_says_when_nothing_was_touched(tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    plain = random_trace(tmp_path / "p.tau", 6, events=200)
    called(report.command, plain, "--on", "rtvm", "-o", out)
    assert "The recording holds no accesses" in out.read_text()


@pytest.mark.parametrize("lost", ["mapped_pages", "faults", "event", "instructions"])
def test_a_replay_that_lacks_something_is_refused(trace: Path, tmp_path: Path, lost: str) -> None:
    found = tmp_path / "pages.json"
    document = json.loads(called(replay.command, trace, "--on", "rtvm", "--json").stdout)
    system = document["systems"][0]
    if lost == "event":
        system["mapped_pages"]["event"].pop()
    elif lost == "instructions":
        del system["operations"]["free"]["by_size"]["instructions"]
    else:
        del system[lost]
    found.write_text(json.dumps(document))
    with pytest.raises(TauError, match="not output of `tau replay --json`"):
        called(report.command, trace, "--replay", found, "-o", tmp_path / "r.html")


def test_the_next_command_keeps_the_options_that_were_given(trace: Path) -> None:
    words = ("--frames", "2000", "--touch", "all", "--events", "900")
    told = called(replay.command, trace, "--on", "rtvm", *words).stdout.splitlines()[-1]
    kept = "--frames 2000 --touch all --events 900"
    assert told == f"next: tau report {trace} --on rtvm,conventional {kept} -o report.html"


def paged(name: str, role: str, pages: int, heap_pages: int, free: int) -> entry.Entry:
    """An entry of a heap on pages; only what the sentence reads is not empty."""
    curve: dict[str, list[int]] = {"event": [], "min": [], "max": []}
    mapped = entry.Pages(pages, 1.0, 1, 0, 0, "recorded", 1, curve, heap_pages)
    cost = entry.Measure(entry.INSTRUCTIONS, max=free)
    calls = {"free": entry.Operation("free", 1, (cost,))}
    return entry.Entry(name, role, True, 4096, operations=calls, pages=mapped)


@pytest.mark.parametrize(
    ("theirs", "sentence"),
    [
        (
            (9, 8, 460),
            "With pages returned at once, the heap maps at most 3 pages instead of 9 (3.00 times"
            " fewer); its slowest free takes 500 instructions instead of 460 (8.7 % more).",
        ),
        (
            (3, 8, 550),
            "With pages returned at once, the heap maps at most 3 pages instead of 3 (equally"
            " many); its slowest free takes 500 instructions instead of 550 (9.1 % fewer).",
        ),
        (
            (9, 262144, 460),
            "rtvm maps at most 3 pages, conventional maps at most 9 pages, in heaps of different"
            " sizes.",
        ),
    ],
)
def test_heaps_are_compared_in_equal_room_only(
    theirs: tuple[int, int, int], sentence: str
) -> None:
    ours = paged("rtvm", entry.OURS, 3, 8, 500)
    other = paged("conventional", entry.CONVENTIONAL, *theirs)
    assert comparison.pages_sentence([ours, other]) == sentence


def test_the_report_names_the_other_recording_of_a_sentence(trace: Path, tmp_path: Path) -> None:
    """A sentence on another recording's pages must not look like one on the report's."""
    found, other = tmp_path / "pages.json", random_trace(tmp_path / "other.tau", 5, events=200)
    found.write_text(called(replay.command, trace, "--on", "rtvm,conventional", "--json").stdout)
    words = ("--replay", found, "--json", "--force", "-o", tmp_path / "r.html")
    for shown, beginning in (
        (trace, "With pages returned at once, the heap maps at most"),
        (other, "In another recording (t.tau): with pages returned at once, the heap maps at most"),
    ):
        done = called(report.command, shown, *words)
        assert json.loads(done.stdout)["sentences"][-1].startswith(beginning)
    first = ("--events", "900")
    words = (trace, "--on", "rtvm,conventional", *first, "--json")
    found.write_text(called(replay.command, *words).stdout)
    words = (trace, *first, "--replay", found, "--json", "--force", "-o", tmp_path / "r.html")
    assert "another recording" not in called(report.command, *words).stdout
