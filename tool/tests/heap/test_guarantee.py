"""`tau plan --guarantee`: its arena holds in exactly its bytes, and not only the recorded order."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tautochrone.errors import TauError
from tautochrone.heap.exceeding import exceeded
from tautochrone.heap.guarantee import make_guarantee, with_margin
from tautochrone.heap.limits import load
from tautochrone.heap.planners import bands
from tautochrone.plan.contract import sentence
from tautochrone.plan.file import load_plan
from tautochrone.replay.run import completes, safe_heap
from tautochrone.trace.file import TraceWriter, open_trace
from testing.command import tau
from testing.random_trace import FREE, MALLOC, REALLOC, Event, random_trace, write_events

ROOT = Path(__file__).resolve().parents[3]


def within(plan: object, seed: int, events_count: int) -> list[Event]:
    """Another program of the same limits: any order, sizes anywhere in a band, and realloc."""
    source = random.Random(seed)
    live: dict[int, int] = {}
    free_slots, events, tops = list(range(3000, -1, -1)), [], [size for size, _ in plan.classes]

    def take() -> tuple[int, int] | None:
        band = source.randrange(len(tops))
        below = tops[band - 1] if band else 0
        if list(live.values()).count(band) == plan.classes[band][1]:
            return None
        return band, source.randint(below + 1, tops[band])

    while len(events) < events_count:
        wanted = take()
        if wanted is not None and free_slots and source.random() < 0.6:
            slot = free_slots.pop()
            live[slot] = wanted[0]
            events.append((MALLOC, slot, wanted[1], 0))
        elif live:
            slot = source.choice(list(live))
            if wanted is not None and source.random() < 0.4:
                live[slot] = wanted[0]
                events.append((REALLOC, slot, wanted[1], 0))
            else:
                del live[slot]
                free_slots.append(slot)
                events.append((FREE, slot, 0, 0))
    return events


@pytest.mark.parametrize("layout", ["32", "host"])
@pytest.mark.parametrize("seed", range(1, 5))
def test_any_order_within_the_limits_holds(seed: int, layout: str, tmp_path: Path) -> None:
    """Recorded or not: in the plan's own bytes, checked object by object; not in 16 fewer."""
    trace = random_trace(tmp_path / "a.tau", seed, events=1500, live_max=90)
    plan = make_guarantee([trace], 0.0, layout).plan
    assert completes(trace, "pools", plan.heap_bytes, plan, plan.layout)
    assert not completes(trace, "pools", plan.heap_bytes - 16, plan, plan.layout)
    for other in range(3):
        events = within(plan, 10 * seed + other, 3000)
        write_events(tmp_path / f"{other}.tau", events)
        assert completes(tmp_path / f"{other}.tau", "pools", plan.heap_bytes, plan, plan.layout)


def test_one_object_beyond_a_limit_fails(tmp_path: Path) -> None:
    """Every band's limit is tight: one more object, in an empty heap, is refused."""
    trace = random_trace(tmp_path / "a.tau", 5, events=600, live_max=40, others=False)
    plan = make_guarantee([trace], 0.0, "32").plan
    for size, count in plan.classes:
        events: list[Event] = [(MALLOC, slot, size, 0) for slot in range(count + 1)]
        write_events(tmp_path / "beyond.tau", events)
        assert not completes(tmp_path / "beyond.tau", "pools", plan.heap_bytes, plan, plan.layout)
        write_events(tmp_path / "beyond.tau", events[:-1])
        assert completes(tmp_path / "beyond.tau", "pools", plan.heap_bytes, plan, plan.layout)


def test_what_a_plan_says(tmp_path: Path) -> None:
    """JSON, file and header agree; the header compiles; a plan of another heap is refused."""
    trace = random_trace(tmp_path / "a.tau", 3, events=800, live_max=50)
    words = ["plan", trace, "--guarantee", "--layout", "32", "--margin", "10%"]
    result = json.loads(tau(*words, "--json", expect=0).stdout)
    plan_path, header = tmp_path / "p.toml", tmp_path / "p.h"
    said = tau(*words, "-o", plan_path, "--header", header, expect=0).stdout
    plan = load_plan(plan_path)
    assert plan.system == "pools" and plan.heap_bytes == result["heap_bytes"]
    assert result["guarantee"] == sentence(plan) and "in any order" in result["guarantee"]
    assert [row["size_bytes"] for row in result["pools"]] == [size for size, _ in plan.classes]
    for row in result["pools"]:
        assert row["count"] == int(row["recorded_peak_count"] * 1.1 + 0.5)
    assert result["optimal_within"] < 0.15  # a small arena, with gaps for alignment
    assert result["measured_heap_bytes"] <= result["heap_bytes"]
    assert f"{result['heap_bytes']:,} bytes" in said and "says nothing about other runs" in said
    assert re.sub(r"\s*// |\s+", " ", header.read_text()).count(sentence(plan)) == 1
    compiler = ["gcc", "-m32", "-std=c17", "-Wall", "-Werror", f"-I{ROOT}", "-fsyntax-only"]
    subprocess.run([*compiler, "-x", "c", header], check=True)
    done = tau("replay", trace, "--on", "pools", "--plan", plan_path, "--json", expect=0)
    assert json.loads(done.stdout)["systems"][0]["footprint_bytes"] <= plan.heap_bytes
    assert "pools" in tau("replay", trace, "--plan", plan_path, expect=0).stdout
    other = tmp_path / "other.toml"
    tau("plan", trace, "--layout", "32", "-o", other, "--pools", "never", expect=0)
    refused = tau("replay", trace, "--on", "pools", "--plan", other, expect=2)
    assert "the plan is for tlsf, not for pools" in refused.stderr
    refused = tau("replay", trace, "--on", "budget", "--plan", plan_path, expect=2)
    assert "the plan is for pools, not for budget" in refused.stderr


def test_recordings_are_held_against_each_other(tmp_path: Path) -> None:
    """Each is left out in turn; the text says which bands it exceeds, and which sizes have none."""
    few = write_events(tmp_path / "few.tau", [(MALLOC, slot, 24, 0) for slot in range(10)])
    many = [(MALLOC, slot, 24, 0) for slot in range(20)] + [(MALLOC, 20, 5000, 0)]
    write_events(tmp_path / "many.tau", many)
    made = make_guarantee([few, tmp_path / "many.tau"], 0.5, "32")
    by_name = {each.name: each for each in made.excesses}
    assert by_name["few.tau"][1:] == (0, 0, 0, 0, 0)
    assert by_name["many.tau"][1:] == (1, 5, 120, 1, 5000)
    said = tau("plan", few, tmp_path / "many.tau", "--guarantee", "--layout", "32", expect=0).stdout
    assert "few.tau: stays within all limits" in said
    assert "many.tau: exceeds 1 band by 8 objects, 192 bytes; has 1 object of up to 5,000" in said


def test_margins_are_whole_objects() -> None:
    """A limit grows to the nearest whole object."""
    given = [bands.Band(8, 1), bands.Band(16, 10), bands.Band(24, 1000)]
    assert [each.count for each in with_margin(given, 0.15)] == [1, 12, 1150]
    assert with_margin(given, 0.0) == tuple(given)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--planner", "greedy"], "--guarantee does not go with --planner"),
        (["--pools", "always"], "--guarantee does not go with --pools"),
        (["--classes-max", "3"], "--guarantee does not go with --classes-max"),
        (["--fixed-input"], "--guarantee does not go with --fixed-input"),
        (["--limit", "100"], "the limit is 100"),
    ],
)
def test_refusals(words: Sequence[str], message: str, tmp_path: Path) -> None:
    """Options that choose pools in another way; an arena above the limit."""
    trace = random_trace(tmp_path / "a.tau", 3, events=100, live_max=9)
    done = tau("plan", trace, "--guarantee", *words)
    assert done.returncode in (2, 3) and message in done.stderr, done.stderr


@pytest.mark.parametrize("option", ["--limits", "--build"])
def test_an_input_is_not_overwritten(option: str, tmp_path: Path) -> None:
    """Not even with --force."""
    trace = write_events(tmp_path / "a.tau", [(MALLOC, 0, 24, 0)])
    given = tmp_path / "given.toml"
    given.write_text("mine\n")
    done = tau("plan", trace, "--guarantee", option, given, "-o", given, "--force", expect=2)
    assert "are the same file" in done.stderr and given.read_text() == "mine\n"


def test_a_recording_without_objects(tmp_path: Path) -> None:
    """No limits exist then."""
    trace = write_events(tmp_path / "a.tau", [])
    with pytest.raises(TauError, match="have no object"):
        make_guarantee([trace])


def test_a_limit_that_no_memory_holds(tmp_path: Path) -> None:
    """Refused with what to do, not planned with a wrapped sum."""
    trace = write_events(tmp_path / "a.tau", [(MALLOC, 0, 1 << 29, 0), (MALLOC, 1, 1 << 29, 0)])
    with pytest.raises(TauError, match="no memory holds these limits"):
        make_guarantee([trace], 9.0, "32")
    for word_bytes in (4, 8):  # the most that the message states is the core's
        build = bands.Build(word_bytes, 1)
        fits, does_not = (
            build.arena_bytes([bands.Band(build.granule_bytes, count)], build.granule_bytes)
            for count in (bands.UNITS_MAX, bands.UNITS_MAX + 1)
        )
        assert fits > bands.UNITS_MAX * build.granule_bytes and does_not == 0


@pytest.mark.parametrize(
    ("largest", "expected"),
    [
        (64, (136, 96 + 96 * 3 // 2 - 7 * 8, 2 * 96 * (1 + 3))),
        (72, (144, 104 + 104 * 3 // 2 - 7 * 8, 2 * 104 * (1 + 4))),  # n rounded down, and up
        (8, (40, 40, 2 * 40)),  # a pool of one size
    ],
)
def test_what_others_need(largest: int, expected: tuple[int, int, int], tmp_path: Path) -> None:
    """Robson's bound and half-fit's, by hand, in a recording whose sizes are not live together."""
    events: list[Event] = [(MALLOC, slot, 8, 0) for slot in range(4)] + [(MALLOC, 4, largest, 0)]
    events += [(FREE, 4, 0, 0), (MALLOC, 5, 40, 0)] if largest > 40 else []
    others = make_guarantee([write_events(tmp_path / "a.tau", events)], 0.0, "32").others
    assert (others.static_bytes, others.any_order_bytes, others.half_fit_bytes) == expected


def test_evidence_counts_as_check_does(tmp_path: Path) -> None:
    """Also an object whose alignment no band has: 1,600 bytes at 64, below a band of 1,608."""
    one = write_events(tmp_path / "one.tau", [(MALLOC, 0, 1608, 0), (3, 1, 64, 6)])
    other = write_events(tmp_path / "other.tau", [(3, 0, 1600, 6), (MALLOC, 1, 16, 0)])
    made = make_guarantee([one, other], 0.0, "32")
    by_name = {each.name: each for each in made.excesses}
    assert by_name["other.tau"][1:] == (0, 0, 0, 1, 1600)
    plan = make_guarantee([one], 0.0, "32").plan
    assert [row.peak_count for row in exceeded(open_trace(other), plan)] == [1]


def test_pools_are_never_smaller_than_they_need(tmp_path: Path) -> None:
    """The smallest heap that replay finds for the plan is the plan's own arena."""
    trace = random_trace(tmp_path / "a.tau", 9, events=900, live_max=60, others=False)
    plan = make_guarantee([trace], 0.0, "32").plan
    assert plan.heap_bytes - 8 <= safe_heap(trace, "pools", plan) <= plan.heap_bytes


def test_a_later_recording_is_held_against_the_plan(tmp_path: Path) -> None:
    """Which limit, by how much, first at which event; objects above all bands; exit status 3."""
    first = write_events(tmp_path / "first.tau", [(MALLOC, slot, 24, 0) for slot in range(10)])
    plan = tmp_path / "p.toml"
    tau("plan", first, "--guarantee", "--layout", "32", "--margin", "20%", "-o", plan, expect=0)
    assert "within all limits of 1 band" in tau("check", plan, first, expect=0).stdout
    later: list[Event] = [(MALLOC, slot, 20, 0) for slot in range(12)]
    later += [(FREE, 3, 0, 0), (MALLOC, 3, 8, 0), (REALLOC, 3, 24, 0), (MALLOC, 12, 24, 0)]
    later += [(REALLOC, 4, 5000, 0)]
    write_events(tmp_path / "later.tau", later)
    result = json.loads(tau("check", plan, tmp_path / "later.tau", "--json", expect=3).stdout)
    assert result["within_limits"] is False
    band, above = result["traces"][0]["exceeded"]
    who = dict(site="", function=None, file=None, line=None)
    assert band == dict(size_bytes=24, limit_count=12, peak_count=13, first_event=15) | who
    assert above == dict(size_bytes=5000, limit_count=0, peak_count=1, first_event=16) | who
    said = tau("check", plan, tmp_path / "later.tau", expect=3).stdout
    assert "13 objects of 1 … 24 bytes at once, the limit is 12; first at event 15" in said
    given = load_plan(plan)
    assert not completes(tmp_path / "later.tau", "pools", given.heap_bytes, given)


def test_a_recording_of_another_machine_is_not_compared(tmp_path: Path) -> None:
    """Its objects have other sizes, so "within all limits" would mean nothing."""
    for name in ("arm", "x86-64"):
        with TraceWriter(tmp_path / f"{name}.tau", {"abi": name}) as writer:
            writer.append(
                op=np.zeros(1, np.uint8),
                slot=np.zeros(1, np.uint32),
                size_bytes=np.full(1, 24, np.uint64),
            )
    folder = tmp_path / "with a space"
    folder.mkdir()
    plan = folder / "p.toml"
    made = tau("plan", tmp_path / "arm.tau", "--guarantee", "-o", plan, expect=0)
    assert f"next: tau verify '{plan}' " in made.stdout
    refused = tau("check", plan, tmp_path / "x86-64.tau", expect=2)
    assert "has sizes of x86-64, and the plan is for the layout 32" in refused.stderr
    assert "within all limits" in tau("check", plan, tmp_path / "arm.tau", expect=0).stdout


def test_a_cut_recording_is_not_within_limits(tmp_path: Path) -> None:
    """Whoever asks only for the exit status learns that events are missing."""
    trace = random_trace(tmp_path / "a.tau", 3, events=3000, live_max=50)
    plan = tmp_path / "p.toml"
    tau("plan", trace, "--guarantee", "--layout", "32", "-o", plan, expect=0)
    tau("check", plan, trace, expect=0)
    cut = tmp_path / "cut.tau"
    cut.write_bytes(trace.read_bytes()[:600])
    done = tau("check", plan, cut, expect=1)
    assert "recovered up to" in done.stderr and "as far as its events are there" in done.stdout
    result = json.loads(tau("check", plan, cut, "--json", expect=1).stdout)
    assert result["within_limits"] is None


def test_the_call_site_that_exceeds_is_named(tmp_path: Path) -> None:
    """The one of the first object beyond the limit, of several."""
    with TraceWriter(tmp_path / "a.tau", {}) as writer:
        sites = [writer.site("/usr/bin/app", 16 * number) for number in range(4)]
        columns = {"op": np.zeros(4, np.uint8), "slot": np.arange(4, dtype=np.uint32)}
        columns |= {"size_bytes": np.full(4, 24, np.uint64), "site": np.array(sites, np.uint32)}
        writer.append(**columns)
    few = write_events(tmp_path / "few.tau", [(MALLOC, slot, 24, 0) for slot in range(2)])
    plan = make_guarantee([few], 0.0, "32").plan
    (found,) = exceeded(open_trace(tmp_path / "a.tau"), plan)
    assert (found.first_event, found.site) == (2, "app+0x20")
    assert exceeded(open_trace(write_events(tmp_path / "no.tau", [])), plan) == []


@pytest.mark.parametrize("seed", range(1, 9))
def test_what_check_says_is_what_replay_does(seed: int, tmp_path: Path) -> None:
    """A recording within all limits completes, and one beyond some does not."""
    trace = random_trace(tmp_path / "a.tau", seed, events=400, live_max=30)
    plan = make_guarantee([trace], 0.0, "32").plan
    other = random_trace(tmp_path / "b.tau", seed + 100, events=150, live_max=4 + seed)
    holds = completes(other, "pools", plan.heap_bytes, plan)
    assert holds == (not exceeded(open_trace(other), plan))


LIMITS = 'format = "tautochrone limits"\nversion = 1\n'


def test_limits_of_the_user_win(tmp_path: Path) -> None:
    """Over recorded ones, by size and by call site, without a margin; groups share their blocks."""
    with TraceWriter(tmp_path / "a.tau", {}) as writer:
        site = writer.site("/usr/bin/app", 0x1234)
        sizes = np.array([24] * 20 + [56, 72] + [2000, 3000], np.uint64)
        writer.append(
            op=np.zeros(24, np.uint8),
            slot=np.arange(24, dtype=np.uint32),
            size_bytes=sizes,
            site=np.array([0] * 20 + [site, site] + [0, 0], np.uint32),
        )
    path = tmp_path / "limits.toml"
    path.write_text(
        LIMITS
        + "[[limit]]\nsize_bytes = 24\ncount = 5\n"
        + '[[limit]]\nsite = "app+0x1234"\ncount = 7\n'
        + '[[limit]]\nname = "a"\nsize_bytes = 2000\ncount = 3\n'
        + '[[limit]]\nname = "b"\nsize_bytes = 3000\ncount = 2\n'
        + '[[exclusive]]\nlimits = ["a", "b"]\n'
    )
    made = make_guarantee([tmp_path / "a.tau"], 0.5, "32", limits=load(path))
    by_size = {row.size_bytes: row for row in made.rows}
    assert (by_size[24].count, by_size[24].recorded, by_size[24].stated) == (5, 20, 5)
    assert by_size[72].count == 7 and by_size[72].recorded == 2
    assert by_size[3000].count == 3  # either three of one or two of the other, never both
    assert made.plan.stated_counts == tuple(row.stated for row in made.rows)
    words = ["plan", tmp_path / "a.tau", "--guarantee", "--layout", "32", "--limits", path]
    result = json.loads(tau(*words, "--json", expect=0).stdout)
    assert [row["stated_count"] for row in result["pools"]] == [row.stated for row in made.rows]
    said = tau(*words, expect=0).stdout
    assert "1 limit below the recorded number" in said and "24 bytes 5 are stated, and 20" in said
    assert "limits that are not stated are 15 % above" in said
    assert "no recording has such an object" not in said
    path.write_text(f"{path.read_text()}[[limit]]\nsize_bytes = 25\ncount = 1\n")
    said = tau(*words, expect=0).stdout
    assert said.count("no recording has such an object") == 1
    assert "limit[4]: no recording has such an object (at most 1 of 25 bytes)" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[limit]]\ncount = 1\n", "limit[0] needs one of size_bytes, type_name and site"),
        ('[[limit]]\nsize_bytes = 8\nsite = "a+0x1"\ncount = 1\n', "limit[0] needs one of"),
        ('[[limit]]\ntype_name = "struct m"\ncount = 1\n', "limit[0]: name with --elf the"),
        ("[[limit]]\nsize_bytes = 0\ncount = 1\n", "expected an integer from 1"),
        ("[[limit]]\nsize_bytes = 8\ncount = -1\n", "expected an integer from 1"),
        ("[[limit]]\nsize_bytes = 8\ncount = 1\n" * 2, "limit[1] contradicts limit[0]"),
        (
            '[[limit]]\nname = "a"\nsize_bytes = 8\ncount = 1\n[[exclusive]]\nlimits = ["b"]\n',
            "exclusive[0]: no limit is called b",
        ),
        (
            '[[limit]]\nsite = "nowhere+0x1"\ncount = 1\n',
            "no recording has an object from nowhere",
        ),
        ("[[limit]]\nsize_bytes = 8\ncount = 4294967295\n", "no memory holds these limits"),
    ],
)
def test_bad_limits(text: str, message: str, tmp_path: Path) -> None:
    """Each is refused with its place and what to do; nothing is written."""
    trace = write_events(tmp_path / "a.tau", [(MALLOC, 0, 24, 0)])
    path = tmp_path / "limits.toml"
    path.write_text(LIMITS + text)
    done = tau("plan", trace, "--guarantee", "--limits", path, "-o", tmp_path / "p.toml")
    assert done.returncode in (1, 2) and message in done.stderr, done.stderr
    assert "next:" in done.stderr and not (tmp_path / "p.toml").exists()


TYPES = """struct message {{ void *next; char text[{}]; }};
typedef struct message message_t; struct tail {{ int count; char text[]; }};
void {}(struct message a, message_t *b, struct tail *c) {{ (void)a, (void)b, (void)c; }}
"""


@pytest.mark.parametrize(
    ("type_name", "text_bytes", "abi", "message"),
    [
        ("struct message", 92, "i386", ""),
        ("message_t", 92, "", ""),
        ("message", 92, "i386", ""),
        ("struct letter", 92, "i386", "limit[0]: the program has no type struct letter"),
        ("message_t", 40, "i386", "message_t has 44 bytes in b.c and 96 bytes in a.c"),
        ("tail", 92, "i386", "tail ends in an array of any length; state size_bytes"),
        ("message", 92, "arm", "is for i386, but a.tau has sizes of arm"),
    ],
)
def test_limits_of_types(
    type_name: str, text_bytes: int, abi: str, message: str, tmp_path: Path
) -> None:
    """A type stands for its size in the debug information of the program that was recorded."""
    objects = []
    for name, size in (("a", 92), ("b", text_bytes)):
        (tmp_path / f"{name}.c").write_text(TYPES.format(size, name))
        line = ["gcc", "-g", "-m32", "-c", f"{name}.c", "-o", f"{name}.o"]
        subprocess.run(line, check=True, cwd=tmp_path)
        objects.append(f"{name}.o")
    subprocess.run(
        ["ld", "-m", "elf_i386", "-e", "a", "-o", "program", *objects], check=True, cwd=tmp_path
    )
    with TraceWriter(tmp_path / "a.tau", {"abi": abi} if abi else {}) as writer:
        columns = {"op": np.zeros(3, np.uint8), "slot": np.arange(3, dtype=np.uint32)}
        writer.append(**columns, size_bytes=np.array([96, 96, 8], np.uint64))
    limit = f'[[limit]]\ntype_name = "{type_name}"\ncount = 7\n'
    (tmp_path / "limits.toml").write_text(LIMITS + limit)
    words = ["plan", tmp_path / "a.tau", "--guarantee", "--layout", "32", "--json"]
    words += ["--limits", tmp_path / "limits.toml", "--elf", tmp_path / "program"]
    done = tau(*words)
    if message:
        assert done.returncode in (1, 2) and message in done.stderr, done.stderr
        return
    assert json.loads(done.stdout)["pools"][-1] == dict(
        size_bytes=96, count=7, recorded_peak_count=2, stated_count=7
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("size_bytes = 8,", "size_bytes = 800,", "the sizes of bands must increase"),
        ("alignment_bytes = 8", "alignment_bytes = 24", "alignment_bytes is not a power of two"),
        ("alignment_bytes = 8", "alignment_bytes = 8192", "an alignment of at most 4,096 bytes"),
        ("recorded_counts = [2, 1]", "recorded_counts = [2]", "a number for each band"),
        ("recorded_counts = [2, 1]", "", "a number for each band"),
        ("[2, 1]\n", "[2, 1]\nstated_counts = [1]\n", "stated_counts must have a number"),
    ],
)
def test_damaged_plans(old: str, new: str, message: str, tmp_path: Path) -> None:
    """Every command that reads a plan refuses it with the rule."""
    events = [(MALLOC, slot, size, 0) for slot, size in enumerate((8, 8, 99))]
    trace = write_events(tmp_path / "a.tau", events)
    plan = tmp_path / "p.toml"
    tau("plan", trace, "--guarantee", "--layout", "32", "--margin", "0%", "-o", plan, expect=0)
    text = plan.read_text()
    assert text.count(old) == 1
    plan.write_text(text.replace(old, new))
    assert message in tau("replay", trace, "--plan", plan, expect=1).stderr
    assert message in tau("check", plan, expect=1).stdout


def test_a_heap_that_its_bands_do_not_fit(tmp_path: Path) -> None:
    """A byte fewer or more than tau_pools_init needs is a problem, with both numbers."""
    trace = write_events(tmp_path / "a.tau", [(MALLOC, 0, 99, 0)])
    plan = tmp_path / "p.toml"
    tau("plan", trace, "--guarantee", "--layout", "32", "-o", plan, expect=0)
    assert "no problems" in tau("check", plan, expect=0).stdout
    given, text = load_plan(plan), plan.read_text()
    for more in (-8, 8):
        changed = text
        for name in ("heap_bytes", "shared_bytes"):
            value = getattr(given, name)
            changed = changed.replace(f"\n{name} = {value}\n", f"\n{name} = {value + more}\n")
        plan.write_text(changed)
        said = tau("check", plan, expect=1).stdout
        assert f"heap_bytes is {given.heap_bytes + more}, but the bands and their" in said
        assert f"tables take {given.heap_bytes}" in said


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([(3, 0, 100, 13)], "an alignment of 8,192 bytes; pools have at most 4,096"),
        ([(3, 0, 100, 62)], "an alignment of 1,099,511,627,776 bytes"),
        ([(MALLOC, 0, (1 << 63) - 1, 0)], "a size of 9,223,372,036,854,775,807 bytes"),
        ([(MALLOC, 0, (1 << 30) + 1, 0)], "a size of 1,073,741,825 bytes; pools have at most"),
        ([(MALLOC, 0, 0, 0)], "no object of a byte or more"),
    ],
)
def test_objects_that_pools_do_not_have(
    events: list[Event], message: str, tmp_path: Path
) -> None:
    """Refused with the size or the alignment, not as limits that are too large."""
    trace = write_events(tmp_path / "a.tau", events)
    with pytest.raises(TauError, match=message):
        make_guarantee([trace], 0.0, "32")


def test_limited_objects_keep_their_alignment(tmp_path: Path) -> None:
    """A limit of the size that was asked for holds for aligned objects; the plan holds them."""
    events: list[Event] = [(3, 0, 100, 6), (3, 1, 100, 6), (MALLOC, 2, 104, 0), (MALLOC, 3, 160, 0)]
    trace = write_events(tmp_path / "a.tau", events)
    path = tmp_path / "limits.toml"
    path.write_text(LIMITS + "[[limit]]\nsize_bytes = 100\ncount = 3\n")
    made = make_guarantee([trace], 0.0, "32", limits=load(path))
    assert made.plan.alignment_bytes == 64
    assert sum(row.count for row in made.rows) <= 2 * 3 + 1
    assert exceeded(open_trace(trace), made.plan) == []
    assert completes(trace, "pools", made.plan.heap_bytes, made.plan)


def test_a_limit_of_a_size_is_of_no_other_size(tmp_path: Path) -> None:
    """Objects of 96 bytes stay recorded next to a limit of 89, which lies in the same band."""
    trace = write_events(tmp_path / "a.tau", [(MALLOC, slot, 96, 0) for slot in range(54)])
    path = tmp_path / "limits.toml"
    path.write_text(LIMITS + "[[limit]]\nsize_bytes = 89\ncount = 60\n")
    (row,) = make_guarantee([trace], 0.0, "32", limits=load(path)).rows
    assert row == (96, 54 + 60, 54, 60)


def test_recordings_are_held_against_each_other_with_limits(tmp_path: Path) -> None:
    """In either order, each limit counts its own objects; modules may have their paths."""
    few = write_events(tmp_path / "few.tau", [(MALLOC, slot, 24, 0) for slot in range(3)])
    many = write_events(tmp_path / "many.tau", [(MALLOC, slot, 24, 0) for slot in range(20)])
    none = write_events(tmp_path / "none.tau", [])
    path = tmp_path / "limits.toml"
    path.write_text(LIMITS + "[[limit]]\nsize_bytes = 24\ncount = 20\n")
    made = make_guarantee([few, many], 0.0, "32", limits=load(path))
    assert [each[1:] for each in made.excesses] == [(0, 0, 0, 0, 0)] * 2
    said = tau("plan", few, none, "--guarantee", "--layout", "32", expect=0).stdout
    assert "few.tau: has 3 objects of up to 24 bytes in no band" in said
    assert "none.tau: stays within all limits" in said


@pytest.mark.parametrize("module", ["app", "/usr/bin/app"])
@pytest.mark.parametrize("is_site_first", [False, True])
def test_a_call_site_goes_before_a_size(
    is_site_first: bool, module: str, tmp_path: Path
) -> None:
    """In either order, each limit counts its own objects; also with the path of a module."""
    with TraceWriter(tmp_path / "a.tau", {}) as writer:
        site = writer.site("/usr/bin/app", 0x1234)
        writer.append(
            op=np.zeros(5, np.uint8),
            slot=np.arange(5, dtype=np.uint32),
            size_bytes=np.full(5, 24, np.uint64),
            site=np.array([site] * 5, np.uint32),
        )
    limits = ["size_bytes = 24\ncount = 2\n", f"site = '{module}+0x1234'\ncount = 7\n"]
    path = tmp_path / "limits.toml"
    given = limits[::-1] if is_site_first else limits
    path.write_text(LIMITS + "".join(f"[[limit]]\n{each}" for each in given))
    (row,) = make_guarantee([tmp_path / "a.tau"], 0.0, "32", limits=load(path)).rows
    assert (row.count, row.recorded, row.stated) == (9, 5, 9)


def test_a_later_object_that_no_pool_aligns(tmp_path: Path) -> None:
    """A block of 48 bytes may lie at a multiple of 32 by chance; the plan does not promise it."""
    few = write_events(tmp_path / "few.tau", [(MALLOC, 0, 48, 0), (3, 1, 128, 6)])
    plan = make_guarantee([few], 0.0, "32").plan
    later = write_events(tmp_path / "later.tau", [(3, 0, 32, 5), (MALLOC, 1, (1 << 63) - 1, 0)])
    (above,) = exceeded(open_trace(later), plan)
    assert (above.limit_count, above.peak_count, above.size_bytes) == (0, 2, (1 << 63) - 1)
    other = write_events(tmp_path / "other.tau", [(3, 0, 8, 4)])  # 16 at 16: in the block of 48
    assert exceeded(open_trace(other), plan) == []
