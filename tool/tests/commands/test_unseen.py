"""Plans, headers, reports and verifications list everything that they did not look at.

Method: the commands run on a made recording, and their outputs are searched.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tautochrone import unseen
from tautochrone.cli import verbs
from tautochrone.coldcode.linux import build, run
from testing.random_trace import random_events, write_events
from tool.tests.coldcode import code_forge


def said(folder: Path, *words: str) -> str:
    """A command's output on stdout, in a folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        done = CliRunner().invoke(verbs, words, standalone_mode=False, catch_exceptions=False)
    assert not done.exception, done.output
    return done.stdout


def test_heaps(tmp_path: Path) -> None:
    """Plan, header, verification, replay, report and check of one recording."""
    write_events(tmp_path / "program.tau", random_events(5, 200), abi="arm")
    words = ("plan", "program.tau", "-o", "plan.toml", "--header", "plan.h", "--pools", "never")
    assert unseen.told(unseen.HEAP_PLAN) in said(tmp_path, *words)
    assert f"# {unseen.sentence(unseen.HEAP_PLAN)}" in (tmp_path / "plan.toml").read_text()
    header = (tmp_path / "plan.h").read_text()
    assert all(f"//   - {text}\n" in header for text in unseen.HEAP_PLAN)
    verify = ("verify", "plan.toml", "program.tau", "--target", "m4")
    assert unseen.told(unseen.VERIFICATION) in said(tmp_path, *verify)
    assert unseen.told(unseen.REPLAY) in said(tmp_path, "replay", "program.tau", "--on", "tlsf")
    said(tmp_path, "report", "program.tau", "--on", "tlsf", "-o", "report.html")
    assert "; ".join(unseen.REPLAY).replace("'", "&#x27;") in (tmp_path / "report.html").read_text()
    for name, kind in (("program.tau", "trace"), ("plan.toml", "plan")):
        assert unseen.told(unseen.CHECKED[kind]) in said(tmp_path, "check", name)
    for command in (("check", "plan.toml"), verify, ("replay", "program.tau", "--on", "tlsf")):
        document: dict[str, Any] = json.loads(said(tmp_path, *command, "--json"))
        assert document[unseen.KEY]


def test_tiles(tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text(
        '#include "kernel/base/application.h"\nstatic void work(void) { for (;;) {} }\n'
        "TAU_TASK(work, 256);\nTAU_APPLICATION(1, TAU_TASK_OF(work));\n"
    )
    simulate = ("tlb", "simulate", "--geometry", "64x4", "--accesses", "100")
    link = ("compose", "link", "one.c", "--force", "-o", "one.elf")
    for command, texts in ((simulate, unseen.TLB_SIMULATION), (link, unseen.COMPOSE_LINK)):
        assert unseen.told(texts) in said(tmp_path, *command)
        assert json.loads(said(tmp_path, *command, "--json"))[unseen.KEY] == list(texts)


def test_built_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pages.bin").touch()
    made = build.Built(tmp_path)
    monkeypatch.setattr(build, "build", lambda _: made)
    monkeypatch.setattr(run, "sizes_of", lambda _: run.Sizes(1, 2, 3))
    assert unseen.told(unseen.KERNEL_BUILD) in said(tmp_path, "coldcode", "build")
    assert json.loads(said(tmp_path, "coldcode", "build", "--json"))[unseen.KEY]


def test_code(tmp_path: Path) -> None:
    code_forge.write(tmp_path / "boot.taucode")
    checked = said(tmp_path, "check", "boot.taucode")
    assert unseen.told(unseen.CHECKED["code recording"]) in checked
