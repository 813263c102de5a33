"""`tau compose` from the command line: link, plan, build, run, check, and their refusals."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tautochrone.compose import code, making, planning
from tautochrone.compose.description import read_description
from tautochrone.errors import TauError
from tautochrone.facts import compose_format as facts
from tautochrone.files import search
from testing.command import tau

HERE = Path(__file__).resolve().parent
TAU = [sys.executable, "-m", "tautochrone", "compose"]
SECONDS_MAX = 300
SQUARES = sum(number * number for number in range(40))


def compose(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return tau("compose", *words)


def document(*words: str | Path, code: int = 0) -> dict[str, Any]:
    done = compose(*words, "--json")
    assert done.returncode == code, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """The description of a small system next to its source, to be changed."""
    for path in (HERE / "programs").iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path / "system.toml"


def change(system: Path, *pairs: tuple[str, str]) -> None:
    text = system.read_text(encoding="utf-8")
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    system.write_text(text, encoding="utf-8")


def refusal(system: Path, *pairs: tuple[str, str]) -> str:
    """What `tau compose build` says of the changed system."""
    change(system, *pairs)
    done = compose("build", system)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    return done.stderr


def test_two_programs_linked_apart_run_together(system: Path, tmp_path: Path) -> None:
    """link, plan, build, run: the executable is linked by itself and named by the system."""
    elf = tmp_path / "ping.elf"
    linked = document("link", tmp_path / "ping.c", "-o", elf, "--page-bytes", "1024")
    assert linked["tasks"] == ["ping", "pong"]
    assert compose("link", tmp_path / "ping.c", "-o", elf).returncode == 2  # it exists
    part = tmp_path / "part.toml"
    planned = document("plan", elf, "-o", part)
    assert 'executable = "' in part.read_text() and planned["chosen"]["entries"] <= 8
    change(system, ('sources = ["ping.c"]', 'executable = "ping.elf"'))
    out = tmp_path / "out"
    built = document("build", system, "-o", out)
    assert (out / "system.bin").stat().st_size > 1024
    assert built["applications"][0]["memory_bytes"] >= 2048
    ran = document("run", system, "--epochs", "60")
    assert ran["stopped"] is None and ran["base_sha256"] == linked["base_sha256"]
    tasks = ran["applications"][0]["tasks"]
    assert [len(task["iterations"]) for task in tasks] == [40, 40]
    assert f"sum {SQUARES:08x}" in ran["applications"][0]["output"][0]
    slots = ran["tiles"][0]["slots"]
    assert [slot["owner"] for slot in slots[200:204]] == [
        "loader",
        "ping.ping",
        "idle",
        "ping.pong",
    ]
    assert slots[7]["release_cycle"] == 300_000 + 7 * 3000
    assert all(0 <= slot["interrupt_latency_cycles"] < 200 for slot in slots)
    again = document("run", system, "--epochs", "60")
    assert again == ran


def test_check_finds_nothing_and_a_leak(system: Path) -> None:
    """Neighbors start with the application, and live with it in slots enough to find a leak."""
    found = document("check", system, "--neighbors", "3", "--epochs", "52")
    assert found["largest_difference_cycles"] == 0 and found["first_difference"] is None
    assert found["events_compared"] > 500 and len(found["neighbors"]) >= 3
    (pair,) = found["alive_together"]
    assert pair["slots"] >= found["slots_least"] and "in these runs" in found["not_looked_at"][0]
    words = ("check", system, "--neighbors", "1", "--epochs", "52", "--leak", "load-time")
    leaking = document(*words, code=3)
    assert leaking["first_difference"]["resource"] == "table load"
    assert leaking["largest_difference_cycles"] > 0


def test_too_little_company_is_a_failure(system: Path) -> None:
    """With more slots together asked for than there can be: status 1, the pair and the next step,
    and not a word that no event moved would mean something."""
    change(system, ("ping.c", "short.c"))
    text = (system.parent / "ping.c").read_text()
    (system.parent / "short.c").write_text(text.replace("NUMBERS = 40", "NUMBERS = 2"))
    words = ("check", system, "--neighbors", "1", "--epochs", "22", "--slots", "1000")
    done = compose(*words)
    assert done.returncode == 1 and "too few to show that nothing is shared" in done.stderr
    assert "ping and ~neighbor0 were alive together in" in done.stderr
    assert "--neighbors" in done.stderr


def test_run_says_which_load_is_late(system: Path) -> None:
    """A load that is not finished at its epoch [KRN-6]: run names it, its cycles, and the
    smallest epoch that works; with that one it does, and with the one before it does not."""
    change(system, ("epoch = 12", "epoch = 1"))
    done = compose("run", system, "--epochs", "20")
    assert done.returncode == 1 and "its load ended after its epoch" in done.stdout
    assert "the load of ping takes" in done.stderr and "cycles on tile 0" in done.stderr
    found = re.search(r"give its command epoch = (\d+) or more", done.stderr)
    assert found is not None
    smallest = int(found[1])
    (load,) = document("build", system)["loads"]
    assert smallest <= load["smallest_epoch"] <= 2 * smallest + 2 and load["epoch"] == 1
    said = compose("build", system).stdout
    assert "all fits in memory; 1 load is probably too early" in said
    assert "everything fits" not in said
    assert "but the file says 1" in said and "not looked at: whether each load" in said
    change(system, ("epoch = 1\n", f"epoch = {smallest}\n"))
    assert document("run", system, "--epochs", "30")["late_loads"] == []
    change(system, (f"epoch = {smallest}\n", f"epoch = {smallest - 1}\n"))
    (late,) = document("run", system, "--epochs", "30", code=1)["late_loads"]
    assert late["smallest_epoch"] == smallest and late["cycles"] > 1000


def test_a_start_before_the_kernel_is_ready_is_named(system: Path) -> None:
    """With the least cycle that works; 1,000 less do not."""
    change(system, ("start_cycle = 300_000", "start_cycle = 1000"))
    built = compose("build", system).stdout
    assert "start_cycle 1,000 is too early" in built and "everything fits" not in built
    done = compose("run", system, "--epochs", "2")
    assert done.returncode == 1 and "time.start_cycle 1,000 is before the kernel is" in done.stderr
    (least,) = map(int, re.findall(r"next: give start_cycle = (\d+) or more", done.stderr))
    change(system, ("start_cycle = 1000", f"start_cycle = {least}"))
    assert document("run", system, "--epochs", "2")["least_start_cycle"] is None
    change(system, (f"start_cycle = {least}", f"start_cycle = {least - 1000}"))
    found = document("run", system, "--epochs", "2", code=1)
    assert found["least_start_cycle"] == least


def test_run_says_who_was_stopped(system: Path) -> None:
    """The task that stores to a device is stopped; the other one waits for tokens for ever."""
    source = system.parent / "ping.c"
    text = source.read_text()
    stop = "if (i == 7) *(volatile uint32_t *)0x40000000 = 1;"
    source.write_text(text.replace("*token = i * i;", f"{stop} *token = i * i;"))
    done = document("run", system, "--epochs", "60")
    ping, pong = done["applications"][0]["tasks"]
    assert ping["ended"]["cause"].startswith("store") and ping["ended"]["address"] == 0x40000000
    assert pong["ended"] is None and len(pong["iterations"]) == 7
    human = compose("run", system, "--epochs", "60").stdout
    assert "ping.ping was stopped in cycle" in human and "0x40000000" in human


def test_a_task_that_needs_more_stack_is_stopped_below_it(system: Path) -> None:
    """A frame larger than the stack: the message names the stack, and the other task's data stay.

    Without the guard the frame lay over whatever was below.
    """
    source = system.parent / "ping.c"
    deep = "volatile uint8_t frame[4000]; frame[0] = 1; for (int k = 0; k < 2; k++) frame[k] = 2;"
    text = source.read_text().replace("struct tau_fifo out;", f"{deep} struct tau_fifo out;")
    source.write_text(text)
    done = document("run", system, "--epochs", "22")
    ping, _ = done["applications"][0]["tasks"]
    cause = "store below its stack of 512 bytes (raise it in TAU_TASK)"
    assert ping["ended"]["cause"].startswith(cause)
    assert ping["iterations"] == []
    human = compose("run", system, "--epochs", "22").stdout
    assert "below its stack" in human


def test_use_cases_are_switched_while_others_run(system: Path) -> None:
    """ping stays. The other one comes, goes, and comes again: two lives, whose iterations are kept
    apart. A load whose use case begins too early is late."""
    text = system.read_text().replace('"idle"', '"other.ping", "other.pong"')
    part = text[text.index("[[application]]") : text.index("[[command]]")]
    other = part.replace('"ping"\nsources', '"other"\naddress = 0x80200000\nsources')
    for use_case, applications in (("on", '["other"]'), ("off", "[]")):
        other += f'[[use_case]]\nname = "{use_case}"\napplications = {applications}\n'
    switches = ("on", 2, 20), ("off", 30, 40), ("on", 41, 60), ("off", 70, 71)
    for use_case, arrives, epoch in switches:
        other += f'[[switch]]\nuse_case = "{use_case}"\narrives = {arrives}\nepoch = {epoch}\n'
    other += '[[switch]]\nuse_case = "on"\narrives = 72\nepoch = 73\n'
    system.write_text(text + other)
    done = document("run", system, "--epochs", "80", code=1)
    _, found = done["applications"]
    lives = [each["life"] for each in found["tasks"][0]["iterations"]]
    assert lives.count(1) == lives.count(2) == 40 and len(lives) == 80
    answers = [each["answer"] for each in done["tiles"][0]["commands"]]
    assert answers == ["ready", *["ready", "ended", "unloaded"] * 2, "late"]
    (late,) = done["late_loads"]
    assert late["application"] == "other" and late["epoch"] == 73
    said = compose("run", system, "--epochs", "80")
    assert "tile 0: epoch 41, load other at 60: ready" in said.stdout
    assert f"give its switch epoch = {late['smallest_epoch']} or more" in said.stderr
    assert "memory of use cases" in compose("build", system).stdout
    refused = compose("check", system)
    assert refused.returncode == 1 and "use cases are switched by" in refused.stderr


def test_a_command_behind_the_end_is_noted(system: Path) -> None:
    done = compose("run", system, "--epochs", "10")
    assert done.returncode == 0 and "give --epochs 13 or more" in done.stderr


def test_files_of_the_user_are_kept(system: Path) -> None:
    """`build -o` refuses to replace a file, and writes all or none."""
    out = system.parent / "out"
    out.mkdir()
    (out / "system.bin").write_text("mine")
    done = compose("build", system, "-o", out)
    assert done.returncode == 2 and "exists" in done.stderr
    assert [path.name for path in out.iterdir()] == ["system.bin"]
    assert (out / "system.bin").read_text() == "mine"
    assert compose("build", system, "-o", out, "--force").returncode == 0
    assert (out / "system.bin").stat().st_size > 1024


@pytest.mark.parametrize("role", ["system", "executable", "link to an executable", "source"])
def test_inputs_are_never_replaced(system: Path, role: str) -> None:
    """`build -o .` where an input has the name of an output, with --force: wrong usage, the name,
    and every file of the folder is as it was."""
    folder, taken = system.parent, system.parent / "base.elf"
    if role == "system":
        system = taken = system.rename(folder / "system.bin")
    elif role == "source":
        (folder / "ping.c").rename(taken)
        change(system, ('["ping.c"]', '["base.elf"]\nflags = ["-xc"]'))
    else:
        elf = folder / "ping.elf"
        assert compose("link", folder / "ping.c", "-o", elf).returncode == 0
        elf.rename(taken)
        elf.symlink_to(taken)
        name = "base.elf" if role == "executable" else "ping.elf"
        change(system, ('sources = ["ping.c"]', f'executable = "{name}"'))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = compose("build", system, "-o", folder, "--force")
    assert done.returncode == 2 and f"{taken} and " in done.stderr, done.stderr
    assert "are the same file" in done.stderr
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_signal_ends_the_simulator_too(system: Path, tmp_path: Path) -> None:
    """Nothing is left: no simulator, no folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [*TAU, "run", str(system), "--epochs", "900000"]
    running = subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE
    )
    for _ in range(SECONDS_MAX * 10):
        if list(scratch.glob("*/system.bin")):
            break
        time.sleep(0.1)
    running.terminate()
    assert running.wait(SECONDS_MAX) == 143
    assert not list(scratch.iterdir())
    everyone = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(scratch) not in everyone


def test_a_truncated_executable_is_refused(system: Path, tmp_path: Path) -> None:
    elf = tmp_path / "ping.elf"
    assert compose("link", tmp_path / "ping.c", "-o", elf).returncode == 0
    content = elf.read_bytes()
    for size in (len(content) - 300, len(content) // 2, 60):
        elf.write_bytes(content[:size])
        done = compose("plan", elf)
        assert done.returncode in (0, 1) and "bug" not in done.stderr, done.stderr


def test_a_note_cut_short_is_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every size of the note's segment: `plan` has an answer, and never fails by itself."""
    base = making.base_of(tmp_path)
    monkeypatch.setattr(making, "base_of", lambda _: base)
    source = HERE / "programs/ping.c"
    elf = code.application(making.root(), "ping", [source], base.path, tmp_path)
    content = bytearray(elf.read_bytes())
    (headers,) = struct.unpack_from("<I", content, 28)
    note = headers + 3 * 32  # after code, data and stacks
    kind, size_bytes = (struct.unpack_from("<I", content, note + at)[0] for at in (0, 16))
    assert kind == 4
    answers = set()
    for size in range(size_bytes + 4):
        struct.pack_into("<I", content, note + 16, size)
        elf.write_bytes(content)
        try:
            answers.add(len(planning.plan(elf, None).tasks))
        except TauError as error:
            answers.add(error.message.partition(": ")[2])
    assert answers == {2, "it has no note that lists its tasks",
                       "its note lists no tasks, or too many"}  # fmt: skip
    # The whole note behind a cut one of every size, in a table of headers at the end of the file.
    struct.pack_into("<I", content, note + 16, size_bytes)
    struct.pack_into("<I", content, 28, len(content))
    struct.pack_into("<H", content, 44, 5)
    for size in range(16 + 4 * facts.NOTE_HEAD_WORDS):
        cut = bytearray(content[note : note + 32])
        struct.pack_into("<I", cut, 16, size)
        elf.write_bytes(content + cut + content[headers : note + 32])
        assert len(planning.plan(elf, None).tasks) == 2, size


def test_a_name_of_a_file_of_ours_is_refused(system: Path) -> None:
    """`build -o` writes base.elf and kernel-none.elf; system.bin is no name of an executable."""
    text = system.read_text().replace("ping.p", "NAME.p").replace('application = "ping"',
                                                                  'application = "NAME"')
    text = text.replace('"ping"\nsources', '"NAME"\nsources')
    for name in ("base", "kernel", "kernel-none"):
        system.write_text(text.replace("NAME", name))
        said = f"application[0].name: the name {name} is taken"
        assert said in compose("build", system).stderr
    system.write_text(text.replace("NAME", "system"))
    assert document("build", system)["applications"][0]["name"] == "system"


def test_paths_sources_and_compilers_are_named(system: Path) -> None:
    said = refusal(system, ('["ping.c"]', '["pong.c"]'))
    assert "system.toml:18: application[0].sources: pong.c does not exist" in said
    assert said.count("application[0].sources") == 1
    (system.parent / "pong.c").write_text("this is not C\n")
    said = compose("build", system).stderr
    assert "ping cannot be compiled" in said and "pong.c:1:1: error" in said


def test_a_pattern_that_searches_too_much_is_named(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "ENTRIES_MAX", 1)
    change(system, ('["ping.c"]', '["*.c"]'))
    with pytest.raises(TauError, match=r":18: application\[0\].sources: \*.c: more than 1 files"):
        making.inputs_of(read_description(system))


def test_a_missing_header_of_picolibc_names_picolibc(tmp_path: Path) -> None:
    """A header of nobody's is not said to be picolibc's."""
    source = tmp_path / "one.c"
    for header, step in (
        ("math.h", '  next: add libraries = ["picolibc"] to it, or --library picolibc to'),
        ("no/such_header.h", ""),
    ):
        source.write_text(f"#include <{header}>\n")
        done = compose("link", source, "-o", tmp_path / "one.elf")
        assert done.returncode == 1 and f"error: {header}" in done.stderr
        assert step in done.stderr and ("picolibc" in done.stderr) == bool(step)


@pytest.mark.parametrize(
    ("more", "call", "said", "step"),
    [
        ('flags = ["-lm"]', "", "the linker cannot find -lm", 'add libraries = ["picolibc"]'),
        ('flags = ["-lown"]', "", "the linker cannot find -lown", 'libraries = ["PATH/libown.a"]'),
        ("", "void *malloc(int); malloc(1);", "need __heap_end, __heap_start,", "do without"),
        ('libraries = ["picolibc"]', "int puts(char *); puts(0);", "need stdout,", "do without"),
        ("ar", "", "libping.a is not a source", 'add libraries = ["libping.a"]'),
    ],
)
def test_what_cannot_be_linked_says_what_to_do(
    system: Path, more: str, call: str, said: str, step: str
) -> None:
    source = system.parent / "ping.c"
    source.write_text(source.read_text().replace("uint32_t sum = 0;", f"uint32_t sum = 0; {call}"))
    sources = 'sources = ["ping.c"]'
    if more == "ar":
        (system.parent / "libping.a").write_bytes(b"!<arch>\n")
        change(system, (sources, 'sources = ["ping.c", "libping.a"]'))
    else:
        change(system, (sources, f"{sources}\n{more}"))
    done = compose("build", system)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    message, next_step = done.stderr.split("\n  next: ")
    assert said in message and step in next_step and "ld:" not in message


def test_an_executable_for_smaller_pages_is_refused_with_both_ways_out(system: Path) -> None:
    """It is linked for 4 KiB, the description says 16 KiB. Each way that is named works; so does
    an output with the base code's name."""
    folder = system.parent
    words = "link", folder / "ping.c", "-o", folder / "base.elf", "--force", "--page-bytes"
    assert compose(*words, "4096").returncode == 0
    old = 'sources = ["ping.c"]\ntasks = ["ping", "pong"]\npage_bytes = 1024'
    new = 'executable = "base.elf"\ntasks = ["ping", "pong"]\npage_bytes = 16384'
    said = refusal(system, (old, new))
    assert "next: its segments are linked for pages of 4,096 bytes: give round_bytes = 4096" in said
    assert "or link it with --page-bytes 16384" in said
    change(system, (new, f"{new}\nround_bytes = 4096"))
    assert compose("build", system).returncode == 0
    change(system, ("\nround_bytes = 4096", ""))
    assert compose(*words, "16384").returncode == 0
    assert compose("build", system).returncode == 0


def test_an_executable_without_tasks_gets_advice_that_helps(system: Path) -> None:
    """A source without TAU_APPLICATION: the next step is not the command that was just run."""
    source = system.parent / "ping.c"
    source.write_text(source.read_text().partition("TAU_APPLICATION(")[0])
    linked = compose("link", source, "-o", system.parent / "ping.elf").stderr
    built = compose("build", system).stderr
    for said in (linked, built):
        assert "it has no note that lists its tasks" in said and "TAU_APPLICATION" in said
        assert "tau compose link" not in said


def test_a_stack_of_an_odd_size_names_the_parameter(system: Path) -> None:
    """A stack of 500 bytes: `link` says which parameter is wrong, and what to do."""
    source = system.parent / "ping.c"
    text = source.read_text()
    assert "TAU_TASK(ping, 512)" in text
    source.write_text(text.replace("TAU_TASK(ping, 512)", "TAU_TASK(ping, 500)"))
    done = compose("link", source, "-o", system.parent / "ping.elf")
    assert done.returncode == 1
    assert "stack_bytes of TAU_TASK must be a multiple of 16" in done.stderr
    assert "next: correct it in the source and link again" in done.stderr


def test_paths_of_flags_sources_and_libraries_start_from_the_file(system: Path) -> None:
    """[SYS-10]: an include folder, a source, and an archive, from another working folder; and a
    source by its absolute path."""
    folder = system.parent
    (folder / "include").mkdir()
    (folder / "include/own.h").write_text("int extra(void);\n")
    (folder / "extra.c").write_text('#include "own.h"\nint extra(void) { return 7; }\n')
    tools = "riscv64-unknown-elf-"
    compiled = [f"{tools}gcc", "-march=rv32imc", "-mabi=ilp32", "-Iinclude", "-c", "extra.c"]
    subprocess.run([*compiled, "-o", "extra.o"], cwd=folder, check=True)
    subprocess.run([f"{tools}ar", "rc", "libextra.a", "extra.o"], cwd=folder, check=True)
    source = folder / "ping.c"
    call = "tau_system_page_print_hex(sum + extra())"
    text = source.read_text().replace("tau_system_page_print_hex(sum)", call)
    source.write_text('#include "own.h"\n' + text)
    more = 'flags = ["-Iinclude"]\nlibraries = ["libextra.a"]'
    change(system, ('sources = ["ping.c"]', f'sources = ["{source}"]\n{more}'))
    assert document("build", system)["applications"][0]["name"] == "ping"
    elf = folder / "linked.elf"
    words = ("link", source, "-I", folder / "include", "-l", folder / "libextra.a", "-o", elf)
    assert document(*words)["tasks"] == ["ping", "pong"]
    change(system, ("libextra.a", "libother.a"))
    said = compose("build", system).stderr
    assert "application[0].libraries" in said and "library " in said and "does not exist" in said


def test_a_file_that_is_not_an_executable_is_refused(system: Path) -> None:
    shutil.copy("/bin/true", system.parent / "true.elf")
    said = refusal(system, ('sources = ["ping.c"]', 'executable = "true.elf"'))
    assert "system.toml:18: application[0].executable: ping: it is not an ELF32 executable" in said
    change(system, ("true.elf", "missing.elf"))
    assert "missing.elf: no such file" in compose("build", system).stderr


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ((('tasks = ["ping", "pong"]', 'tasks = ["ping"]'), ('"ping.pong"', '"idle"'),
          ('reader = "pong"', 'reader = "ping"')), "writer and reader are the same"),
        ((("frame_count = 256", "frame_count = 16"),), "ping does not fit on tile 0"),
        ((("frame_count = 256", "frame_count = 131008"), ("frame_first = 64", "frame_first = 65")),
         "cannot hand out 131073 KiB"),
        ((("page_bytes = 1024\n\n[[app", "page_bytes = 1024\nentries = 3\n[[app"),),
         "entries: ping needs"),
        ((("os_slot_cycles = 1000", "os_slot_cycles = 600"),), "too few for this kernel"),
        ((("page_bytes = 1024\n\n[[c", "page_bytes = 1024\nchannel = true\n[[c"),),
         "a DMA channel leads to the other tile"),
        ((("page_bytes = 1024\n\n[[app", "page_bytes = 1024\nmemory_bytes = 1024\n[[app"),),
         ".memory_bytes: ping needs"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(
    system: Path, pairs: tuple[tuple[str, str], ...], said: str
) -> None:
    assert said in refusal(system, *pairs)


@pytest.mark.parametrize("address", ["0", "x", "0x80100001", "0xA0000000"])
def test_an_impossible_address_is_wrong_usage(system: Path, address: str) -> None:
    words = ("link", system.parent / "ping.c", "-o", system.parent / "a.elf", "--address", address)
    done = compose(*words)
    assert done.returncode == 2 and "no application can begin" in done.stderr
    assert not (system.parent / "a.elf").exists()


def test_a_system_without_an_idle_slot_has_no_neighbors(system: Path) -> None:
    change(system, ('"idle", "ping.pong"', '"ping.pong"'))
    done = compose("check", system, "--neighbors", "1")
    assert done.returncode == 1 and "idle slot" in done.stderr
