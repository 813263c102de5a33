"""Runs the command on damaged files and hostile words, in forks of a process that has all loaded.

    python tool/tests/commands/command_fuzzer.py FOLDER SEED MUTANTS

prints every finding with the words that lead to it, and exits 1 if there is one. A finding is a
traceback, the message of an unforeseen fault, a signal, too much processor time, a raw control
character in the output, an exit status that nothing states, or a failure without a message.
"""

import json
import os
import random
import re
import resource
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from tautochrone import cli
from tautochrone.console import output
from tool.tests.commands import command_samples

BATCH = 40
CPU_SECONDS_MAX = 10  # it is to end early
WALL_SECONDS_MAX = 600
MEMORY_BYTES_MAX = 6 << 30
FILE_BYTES_MAX = 1 << 28
STATUSES = {0, 1, 2, 3, 125, 126, 127}
FAULT_MARKS = ("Traceback", "has a bug: ", "Exception ignored", "WARNING:", "ERROR:")
RAW_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
FILE = "{file}"
# `tau import` recognizes them by their names.
NAMES = {"packed csv": "mutant.csv.gz", "fragment": "worn.lds"}
KERNEL_INPUTS = "--threshold 0.9 --frames 4 -o out.toml --force"
# The commands that get each kind of file.
COMMANDS = {
    "trace": (
        f"info {FILE}",
        f"info {FILE} --json",
        f"who {FILE}",
        f"who {FILE} --left --json",
        f"who {FILE} --lifetimes --elf host.elf",
        f"who {FILE} --misuse",
        f"check {FILE}",
        f"check {FILE} --json",
        f"export {FILE}",
        f"export {FILE} -o out.parquet --force",
        f"plan {FILE} --skip-misuse -o - --planner greedy",
        f"plan {FILE} --json --layout host --planner exact",
        f"replay {FILE} --on tlsf,kingsley,static --skip-misuse --json",
        f"translate {FILE} --from host.elf --to target.elf -o out.tau --keep-others --trust-types",
        f"replay {FILE} --on tlsf --heap 4096",
        f"replay {FILE} --on kingsley --events 7 --skip-misuse",
    ),
    "plan": (
        f"check {FILE}",
        f"check {FILE} --json",
        f"replay program.tau --skip-misuse --on budget --plan {FILE} --heap 100000",
        f"verify {FILE} program.tau --skip-misuse --target m4",
        f"run --plan {FILE} -- true",
    ),
    "limits": (
        f"check {FILE}",
        f"info {FILE} --json",
        f"plan program.tau --skip-misuse --guarantee --limits {FILE}",
    ),
    "guaranteed plan": (
        f"check {FILE}",
        f"check {FILE} program.tau --json",
        f"info {FILE}",
        f"replay program.tau --skip-misuse --on pools --plan {FILE}",
        f"verify {FILE} program.tau --skip-misuse --target m4",
        f"run --plan {FILE} -- true",
    ),
    "program": (
        f"translate program.tau --from {FILE} --to target.elf -o out.tau --keep-others",
        f"translate program.tau --from host.elf --to {FILE} -o out.tau --json --trust-types",
        f"who lines.tau --elf {FILE} --json",
    ),
    "kernel": (
        f"coldcode plan kernel.taucode --kernel {FILE} --map kernel.map {KERNEL_INPUTS}",
        f"report kernel.taucode --kernel {FILE} --map kernel.map -o out.html --force",
    ),
    "link map": (
        f"coldcode plan kernel.taucode --kernel kernel.elf --map {FILE} {KERNEL_INPUTS}",
        f"coldcode plan kernel.taucode --kernel kernel.elf --map kernel.map --sizes {FILE}"
        " --threshold 0.9",
        f"coldcode replay kernel.taucode --plan code.toml --map {FILE} --json",
    ),
    "code recording": (
        f"check {FILE}",
        f"info {FILE} --json",
        f"coldcode plan {FILE} --kernel kernel.elf --map kernel.map {KERNEL_INPUTS}",
        f"coldcode replay {FILE} --plan code.toml",
    ),
    "code plan": (
        f"check {FILE}",
        f"coldcode replay kernel.taucode --plan {FILE} --frames 8",
    ),
    "fragment": (
        "check worn.toml",
        "coldcode replay kernel.taucode --plan worn.toml --policy belady --json",
    ),
    "kept functions": (
        f"coldcode plan kernel.taucode --kernel kernel.elf --map kernel.map --keep {FILE}"
        " --threshold 0.9",
    ),
    "tasks": (
        f"check {FILE}",
        f"tlb plan {FILE} --geometry tile-16x4 -o out.toml --header out.h --force",
        f"tlb plan {FILE} --geometry zen4 --json",
        f"tlb plan {FILE} --geometry tile-16x4 --linker-scripts scripts --force",
    ),
    "geometry": (
        f"check {FILE} --json",
        f"tlb plan tasks.toml --geometry {FILE}",
        f"tlb simulate --geometry {FILE} --accesses 2000 --tasks 3",
        f"tlb discover --on {FILE} --cpu-seconds 0.5",
    ),
    "TLB plan": (
        f"check {FILE}",
        f"replay program.tau --skip-misuse --on budget --plan {FILE}",
        "coldcode plan kernel.taucode --kernel kernel.elf --map kernel.map"
        f" --with {FILE} {KERNEL_INPUTS}",
        f"run --plan {FILE} -- true",
    ),
    "system": (f"check {FILE}", f"check {FILE} --json"),
    "application": (
        f"compose plan {FILE}",
        f"compose plan {FILE} --page-bytes 4096 -o out.toml --force --json",
    ),
    "firmware": (
        f"verify firmware.toml firmware.tau --target m4 --elf {FILE}",
        f"verify firmware.toml firmware.tau --elf {FILE} --json",
        f"who lines.tau --elf {FILE}",
    ),
    "replay": (f"report program.tau --replay {FILE} -o out.html --force",),
    **{
        kind: (f"import {FILE} -o out.tau --force", f"import {FILE} -o out.tau --force --json")
        for kind in ("csv", "packed csv", "heaptrack", "accesses", "target", "recording", "parquet")
    },
}
DATA_VERBS = ("export", "report")
DRAWN = (f"report {FILE} -o out.html --force", f"report program.tau --plan {FILE} -o - ")
DRAWN_PART = 0.02
# How often a kind comes up. Drawing a replay takes a hundred times as long as most others.
WEIGHTS = {"replay": 0.4, "trace": 3.0, "firmware": 0.4}
HOSTILE_WORDS = (
    *("", "-", ".", "..", "/", "--", "-q", "--json", "-o", "--on", "--plan", "--force", "--heap"),
    *("--margin", "--limit", "--events", "--on=", "--layout", "--planner", "--raw", "--color"),
    *("tlsf", "kingsley", "budget", "tile:", "tile:rtmmu:x", ",", "tlsf,,", "10%", "-1", "0"),
    *("1e999999%", "9" * 5000, "99999999999999999999", "nan", "inf", "1/0", "\u202e", "é"),
    *("program.tau", "plan.toml", "replay.json", "no.tau", "\udcff\x1b[31m", "x\n", "y" * 300),
)


@dataclass(frozen=True)
class Outcome:
    """How one run ended, and its output."""

    code: int
    stdout: bytes
    stderr: bytes


def limit() -> None:
    """Limit this process: a run that hangs, or takes all memory or disk, ends by a signal."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + CPU_SECONDS_MAX
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(WALL_SECONDS_MAX)


def run(words: list[str]) -> Outcome:
    """Run `tau WORDS` in this process, whose standard streams it takes."""
    streams = [Path(".stdout"), Path(".stderr")]
    for descriptor, path in enumerate([Path(os.devnull), *streams]):
        flags = os.O_RDWR if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    sys.argv = ["tau", *words]
    output.configure(color="auto", quiet=False)
    code = 0
    try:
        cli.main()
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 1
    except BaseException:
        sys.__excepthook__(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return Outcome(code, *(path.read_bytes() for path in streams))


def finding(outcome: Outcome, is_data: bool = False) -> str | None:
    """An outcome's defect, or None. `is_data`: stdout is a file's text."""
    said = outcome.stderr.decode("utf-8", "replace")
    for mark in FAULT_MARKS:
        if mark in said:
            return f"{mark}: {said.strip()[-300:]}"
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if not (is_data and name == "stdout") and (found := RAW_CONTROL.search(text)):
            return f"raw {found.group()!r} on {name}"
    if outcome.code not in STATUSES:
        return f"exit status {outcome.code}: {said.strip()[-300:]}"
    if outcome.code not in (0, 3) and not said and not outcome.stdout:
        return f"exit status {outcome.code} without a word"
    return None


def ended(status: int) -> str | None:
    """The defect in how a process ended, by its wait status, or None."""
    if not os.WIFSIGNALED(status):
        return None if status == 0 else f"ended with wait status {status}"
    name = signal.Signals(os.WTERMSIG(status)).name
    return f"took too long ({name})" if name in ("SIGXCPU", "SIGALRM") else f"killed by {name}"


class Fuzzer:
    """Makes mutants from a seed and judges them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.source = random.Random(seed)
        self.samples = command_samples.samples(folder)
        (folder / "replay.json").write_bytes(self.samples["replay"])
        (folder / "mutant.lds").write_bytes(self.samples["fragment"])

    def findings(self, count: int, kinds: tuple[str, ...] = (*COMMANDS, "words")) -> list[str]:
        """Run as many mutants; return the findings. Each finding's file stays in the folder.

        A child runs BATCH mutants. If one ends it, the next child goes on after that one.
        """
        found, number = [], 0
        while number < count:
            end = min(number + BATCH, count)
            child = os.fork()
            if child == 0:
                try:
                    self._batch(range(number, end), kinds)
                    os._exit(0)
                finally:
                    os._exit(1)
            _, status = os.waitpid(child, 0)
            log = json.loads((self.folder / ".log").read_text())
            now = log["found"]
            wrong = ended(status)
            if wrong is not None:
                now.append(self._kept(log["number"], log["words"], wrong))
                end = log["number"] + 1
            for line in now:
                print(line, flush=True)
            found += now
            number = end
        return found

    def _batch(self, numbers: range, kinds: tuple[str, ...]) -> None:
        """Run mutants in this process; the log names the findings and the running one."""
        os.chdir(self.folder)
        found: list[str] = []
        weights = [WEIGHTS.get(kind, 1.0) for kind in kinds]
        for number in numbers:
            self.source.seed(f"{self.seed} {number}")
            words = self._mutant(self.source.choices(kinds, weights)[0])
            while words:
                log = {"number": number, "words": words, "found": found}
                Path(".log").write_text(json.dumps(log))
                limit()
                outcome = run(words)
                wrong = finding(outcome, is_data=words[0] in DATA_VERBS)
                if wrong is not None:
                    found.append(self._kept(number, words, wrong))
                is_imported = words[0] == "import" and outcome.code == 0
                words = ["info", "out.tau"] if is_imported else []
        Path(".log").write_text(json.dumps(log))

    def _kept(self, number: int, words: list[str], wrong: str) -> str:
        """Keep the file of a finding; returns the finding as a line."""
        for name in {"mutant", *NAMES.values()} & set(words):
            shutil.copy(self.folder / name, self.folder / f"finding-{number}")
        return f"finding-{number}: {words}: {wrong}"

    def _mutant(self, kind: str) -> list[str]:
        """Write the file of one mutant; returns the words of its command."""
        if kind == "words":
            count = self.source.randrange(0, 5)
            verb = self.source.choice([*list(cli.VERBS)[1:], "--color", "-q"])
            return [verb, *self.source.choices(HOSTILE_WORDS, k=count)]
        path = self.folder / NAMES.get(kind, "mutant")
        command_samples.damage(self.source, kind, self.samples[kind], path)
        if kind == "fragment":
            # Its plan names it, so that its content is looked at.
            digest = path.read_bytes().split(b"\n")[0].split()[-2:][0]
            plan = re.sub(b'(?<=fragment_sha256 = ").*(?=")', digest, self.samples["code plan"])
            (self.folder / "worn.toml").write_bytes(plan)
        lines = COMMANDS[kind]
        if kind in ("trace", "plan") and self.source.random() < DRAWN_PART:
            lines = DRAWN[:1] if kind == "trace" else DRAWN[1:]
        if self.source.random() < 0.03:
            lines = COMMANDS[self.source.choice(list(COMMANDS))]  # a file of another kind
        return [word.replace(FILE, path.name) for word in self.source.choice(lines).split()]


def load_everything() -> None:
    """Import what a command would, once for all mutants."""
    import click
    import pyarrow.parquet  # noqa: F401

    from tautochrone.convert import exporting, importing  # noqa: F401
    from tautochrone.heap import plan, profile  # noqa: F401
    from tautochrone.heap.planners import exact, greedy, replayed  # noqa: F401
    from tautochrone.replay import document, run  # noqa: F401
    from tautochrone.report import cost_figures, heap_figures, page  # noqa: F401
    from tautochrone.trace import checking  # noqa: F401
    from tautochrone.translate import making as translating  # noqa: F401
    from tautochrone.who import holders, places  # noqa: F401

    context = click.Context(cli.verbs)
    for verb in cli.VERBS:
        cli.verbs.get_command(context, verb)


def main() -> int:
    """Fuzz as the command line says."""
    folder, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    print(f"seed {seed}, {count} mutants", flush=True)
    load_everything()
    findings = Fuzzer(folder, seed).findings(count)
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
