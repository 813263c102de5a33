"""The command's manners: results on stdout, the rest on stderr, colors on demand, exit statuses.

Method: the command runs in a process of its own, as a user calls it.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

from tautochrone import cli
from tautochrone.cli import verbs
from tautochrone.commands import tlb
from tautochrone.console import bars
from tautochrone.trace.file import TraceWriter
from testing.command import tau

TAU = [sys.executable, "-m", "tautochrone"]
TLB_FILES = Path(tlb.__file__).parent.glob("*.py")
VERBS = (
    "record import translate info who plan verify replay report "
    "run export check compose tlb coldcode doctor"
).split()
VERBS_OF = {
    "coldcode": ["build", "plan", "profile", "replay", "report", "run"],
    "compose": "build check link plan run".split(),
    "tlb": [path.stem for path in sorted(TLB_FILES) if path.stem not in ("__init__", "options")],
}
EVERY_VERB = [(verb,) for verb in VERBS if verb not in VERBS_OF]
EVERY_VERB += [(group, verb) for group, verbs in VERBS_OF.items() for verb in verbs]


def run(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `tau WORDS…` with `variables` in its environment."""
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_COLOR")}
    return tau(*words, env={**plain, **variables})


@pytest.fixture
def missing(tmp_path: Path) -> Path:
    """A file that is not there."""
    return tmp_path / "missing.tau"


def test_help_lists_every_verb_and_begins_with_examples() -> None:
    done = run("--help")
    assert done.returncode == 0
    listed = done.stdout.split("Commands:")[1].split("\n")
    assert [line.split()[0] for line in listed if line.strip()] == VERBS
    assert done.stdout.index("tau record -o") < done.stdout.index("Options:")


@pytest.mark.parametrize("words", EVERY_VERB, ids=" ".join)
def test_each_verb_has_help_and_json(words: tuple[str, ...]) -> None:
    done = run(*words, "--help")
    assert done.returncode == 0 and "--json" in done.stdout and "--quiet" in done.stdout


@pytest.mark.parametrize("group", VERBS_OF)
def test_the_verbs_of_a_group_are_listed(group: str) -> None:
    done = run(group, "--help")
    listed = done.stdout.split("Commands:")[1].split("\n")
    assert [line.split()[0] for line in listed if line.strip()] == VERBS_OF[group]


def test_a_failure_names_its_cause_on_stderr_only(missing: Path) -> None:
    done = run("info", missing)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tau: ") and str(missing) in done.stderr
    assert "Traceback" not in done.stderr


def options_of(group: click.Group) -> Iterator[click.Parameter]:
    """The options of all commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from options_of(command)
        else:
            yield from command.params


def test_no_number_is_nan() -> None:
    """nan is neither below nor above a limit."""
    ranges = [item for item in options_of(verbs) if isinstance(item.type, click.FloatRange)]
    assert len(ranges) > 5
    for item in ranges:
        with pytest.raises(click.BadParameter, match="finite"):
            item.type.convert("nan", item, None)


@pytest.mark.parametrize("words", [("nonsense",), ("info",), ("--color", "sometimes", "info")])
def test_wrong_usage_exits_2(words: tuple[str, ...]) -> None:
    done = run(*words)
    said = r"tau: .*\n  next: `tau.* --help` .*\n"
    assert done.returncode == 2 and re.fullmatch(said, done.stderr), done.stderr


@pytest.mark.parametrize("words", [(), ("tlb",)])
def test_a_command_without_a_verb_shows_its_help(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2 and done.stderr.startswith(" ".join(("Usage: tau", *words)))
    assert "\nCommands:\n" in done.stderr


def test_a_source_tree_that_is_not_built_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli._explain(ModuleNotFoundError("no module", name="tautochrone.targets"))
    said = capsys.readouterr().err
    assert code == 1 and "tautochrone/targets is missing" in said and "next: `make" in said


def test_colors_follow_the_option_then_the_environment(missing: Path) -> None:
    escape = "\x1b["
    assert escape not in run("info", missing).stderr
    assert escape in run("--color", "always", "info", missing, NO_COLOR="1").stderr
    assert escape in run("info", missing, FORCE_COLOR="1").stderr
    assert escape not in run("info", missing, FORCE_COLOR="1", NO_COLOR="1").stderr
    assert escape not in run("--color", "never", "info", missing, FORCE_COLOR="1").stderr


def test_quiet_drops_notes_and_keeps_results(tmp_path: Path) -> None:
    trace = tmp_path / "a.tau"
    with TraceWriter(trace, {}) as writer:
        writer.append(op=np.array([0]), slot=np.array([0]), size_bytes=np.array([8]))
    loud = run("report", trace, "-o", tmp_path / "1.html")
    quiet = run("-q", "report", trace, "-o", tmp_path / "2.html")
    assert "no network" in loud.stderr and quiet.stderr == ""
    assert loud.stdout == quiet.stdout != ""


def test_a_reader_that_has_seen_enough_is_not_a_failure(tmp_path: Path) -> None:
    trace = tmp_path / "a.tau"
    count = 200_000
    with TraceWriter(trace, {}) as writer:
        slots = np.arange(count)
        writer.append(op=np.zeros(count), slot=slots, size_bytes=np.full(count, 8))
    reader, writer_end = os.pipe()
    export = [*TAU, "export", str(trace), "-o", "-"]
    process = subprocess.Popen(export, stdout=writer_end, stderr=subprocess.PIPE, text=True)
    os.close(writer_end)
    os.read(reader, 10)
    os.close(reader)
    _, stderr = process.communicate(timeout=300)
    assert "Traceback" not in stderr and "Exception" not in stderr, stderr


LIBRARIES = ("numpy", "highspy", "capstone")


def test_each_verb_loads_what_it_needs() -> None:
    """Tests fork their commands from a process that has loaded every module. Here one that has
    loaded none of ours forks for each verb, and loads its file before all others. No help loads a
    library, which takes longer than all that is ours."""
    code = f"""
import importlib, os, sys
import click
for words in map(str.split, sys.argv[1:]):
    if os.fork() == 0:
        name = ".".join(words).replace("import", "import_")
        importlib.import_module(f"tautochrone.commands.{{name}}")
        verbs = importlib.import_module("tautochrone.cli").verbs
        verbs.main([*words, "--help"], "tau", standalone_mode=False)
        sys.exit(sys.modules.keys() & {LIBRARIES} or 0)
    assert os.wait()[1] == 0, words
"""
    verbs = [*VERBS_OF, *map(" ".join, EVERY_VERB)]
    done = subprocess.run([sys.executable, "-c", code, *verbs], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: tau") == len(verbs)


@pytest.mark.parametrize("words", ["--help", "--version", "run -- true"])
def test_scripted_commands_start_without_libraries(words: str) -> None:
    """And `tau --help` loads no verb."""
    code = f"""
import atexit, sys
from tautochrone import cli
atexit.register(lambda: print(*sys.modules))
sys.argv = "tau {words}".split()
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "click" in loaded and not loaded & set(LIBRARIES)
    verbs = {name for name in loaded if name.startswith("tautochrone.commands.")}
    assert verbs <= {"tautochrone.commands.run", "tautochrone.commands.options"}


# What reads plans, recordings and debug information.
OF_PLANS = ("elftools", *(f"tautochrone.{name}" for name in "heap machine plan tlb who".split()))


def at_its_fork(*words: str) -> tuple[set[str], int]:
    """The modules that a command has loaded and the bytes that it has read when it forks its
    program, which is its first child."""
    code = f"""
import sys
from pathlib import Path
from tautochrone import cli
def hook(event, _):
    if event in ("os.fork", "subprocess.Popen"):
        read_bytes = Path("/proc/self/io").read_text().split()[1]
        print(event, read_bytes, *sys.modules, flush=True)
sys.addaudithook(hook)
sys.argv = ["tau", *{words!r}]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    event, read_bytes, *modules = line.split()
    assert event == "os.fork"
    return set(modules), int(read_bytes)


@pytest.mark.parametrize("verb", ["run", "record"])
def test_a_program_starts_without_what_its_start_does_not_need(verb: str, tmp_path: Path) -> None:
    """Neither modules, nor more of the program's file than its headers and names."""
    program, more_bytes = tmp_path / "true", 64 << 20
    words = (verb, *(("-o", tmp_path / "t.tau", "--force") if verb == "record" else ()))
    shutil.copy(shutil.which("true"), program)
    modules, read_bytes = at_its_fork(*map(str, words), "--", str(program))
    assert "tautochrone.run.launch" in modules or "tautochrone.record.launch" in modules
    assert not modules & {*LIBRARIES, *OF_PLANS}
    os.truncate(program, program.stat().st_size + more_bytes)
    _, of_larger_bytes = at_its_fork(*map(str, words), "--", str(program))
    assert of_larger_bytes < read_bytes + more_bytes / 8


LOADED = ("signal", "click", "tautochrone.console.output", "tautochrone.commands")


@pytest.mark.parametrize("module", LOADED)
def test_ctrl_c_while_modules_load_ends_without_a_traceback(module: str) -> None:
    """The process interrupts itself when it looks for one of the modules that it loads first."""
    code = f"""
import os, runpy, sys
class Interrupt:
    def find_spec(name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), {int(signal.SIGINT)})
sys.argv = ["tau", "info", "missing.tau"]
sys.meta_path.insert(0, Interrupt)
runpy.run_module("tautochrone", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode in (-signal.SIGINT, 130) and "Traceback" not in done.stderr, done


@pytest.mark.parametrize("kibibytes", range(6000, 13000, 1000))
def test_a_limit_of_data_is_named(kibibytes: int) -> None:
    """Python starts with less; with the largest one a command runs."""
    words = ["bash", "-c", f'ulimit -d {kibibytes}; exec "$@"', "bash", *TAU, "--version"]
    done = subprocess.run(words, capture_output=True, text=True)
    is_named = done.stderr.startswith("tau: not enough memory\n  next: close other")
    assert done.returncode == 0 or (is_named and "RLIMIT_DATA" in done.stderr), done


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_temporary_folder(number: signal.Signals, tmp_path: Path) -> None:
    """A command that holds one is ended by a signal."""
    code = """
import sys, tempfile, time
from tautochrone import cli
from tautochrone.commands import check
def hold(_):
    with tempfile.TemporaryDirectory():
        print("ready", flush=True)
        time.sleep(60)
check.check_file = hold
sys.argv = ["tau", "check", "/dev/null"]
cli.main()
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(number)
    assert (process.returncode, list(tmp_path.iterdir())) == (128 + number, [])


def test_completion_is_offered() -> None:
    assert "_tau_completion" in run(_TAU_COMPLETE="bash_source").stdout


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("tau re", "record replay report"),
        ("tau replay a.tau --on tlsf,bu", "tlsf,budget"),
        ("tau report a.tau --on k", "kingsley"),
        ("tau tlb simulate --geometry cv", "cva6 FILE"),
        ("tau tlb plan --geometry cv", "cva6 FILE"),
        ("tau tlb discover --on cv", "cva6 FILE"),
        ("tau plan a.tau -o b", "FILE"),
        ("tau record ./b", "FILE"),
        ("tau record --only x -- gcc -c b", "FILE"),
        ("tau run --plan p.toml -- ./b", "FILE"),
    ],
)
def test_words_are_completed(line: str, completed: str) -> None:
    count = len(line.split()) - 1
    said = run(_TAU_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(count)).stdout
    assert said == "".join(
        f"file,{line.split()[-1]}\n" if word == "FILE" else f"plain,{word}\n"
        for word in completed.split()
    )


def test_each_command_has_a_manual_page_with_its_options(tmp_path: Path) -> None:
    """Every line that begins like a request is one of ours; a real page shows what --help shows."""
    words = [("tau",), *(("tau", group) for group in VERBS_OF), *(("tau", *w) for w in EVERY_VERB)]
    subprocess.run([sys.executable, "-m", "tautochrone.commands.manual", tmp_path], check=True)
    assert {path.stem for path in tmp_path.iterdir()} == {"-".join(each) for each in words}
    for each in words:
        text = (tmp_path / f"{'-'.join(each)}.1").read_text()
        requests = set(re.findall(r"(?m)^[.'](\w+)", text))
        assert requests <= {"TH", "SH", "B", "PP", "TP", "nf", "fi"}, each
        shown = run(*each[1:], "--help").stdout.partition("\nOptions:")[2]
        options = re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", shown)
        assert "--help" in options
        is_leaf = each[1:] in EVERY_VERB
        assert ("--json" in options) == is_leaf, each  # `tau --help` says so of every command
        page = text.replace("\\-", "-")
        assert all(re.search(rf"(?m)^\.B .*{option}\b", page) for option in options), each


def test_progress_yields_everything_and_is_silent_off_a_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert list(bars.progress(range(5), "counting", 5)) == [0, 1, 2, 3, 4]
    assert capfd.readouterr() == ("", "")
