"""`tau export`: CSV that comes back as it was, Parquet that holds the same, pipes, full disks."""

import builtins
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from tautochrone.commands.export import command
from tautochrone.convert.exporting import export_csv, export_parquet
from tautochrone.convert.importing import import_file
from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.trace.file import EVENT, TraceWriter, open_trace
from tool.tests.trace import trace_model as model

FORMULAS = ['=HYPERLINK("http://x","y")', "=1", "-1", "@a", "\tb"]


@pytest.mark.parametrize("count", [0, 1, 70_000])
def test_csv_comes_back_as_it_was(tmp_path: Path, count: int) -> None:
    seed = time.time_ns() % 2**32
    print("seed", seed)
    events = model.random_events(seed, count)
    model.write(tmp_path / "a.tau", events)
    assert export_csv(open_trace(tmp_path / "a.tau"), tmp_path / "a.csv") == count
    import_file(tmp_path / "a.csv", tmp_path / "b.tau")
    found = model.read(tmp_path / "b.tau")
    with open_trace(tmp_path / "a.tau") as first, open_trace(tmp_path / "b.tau") as second:
        names = [[("", 0), *reader.sites()] for reader in (first, second)]
    for name, column in events.items():
        if name == "site":  # renumbered in the order of use
            wanted = [names[0][site] for site in column]
            assert [names[1][site] for site in found[name]] == wanted
        else:
            assert np.array_equal(found[name], column), name


def test_odd_module_names_survive(tmp_path: Path) -> None:
    modules = ["a,b", 'say "x"', "+1+", "", "é/ü.so", *FORMULAS, "'", "'a"]
    with TraceWriter(tmp_path / "a.tau", {}) as writer:
        site = np.array([writer.site(name, 2**64 - 1 - n) for n, name in enumerate(modules)])
        slot = np.arange(len(modules))
        writer.append(op=np.zeros(len(modules)), slot=slot, size_bytes=slot, site=site)
    export_csv(open_trace(tmp_path / "a.tau"), tmp_path / "a.csv")
    import_file(tmp_path / "a.csv", tmp_path / "b.tau")
    with open_trace(tmp_path / "b.tau") as reader:
        assert [name for name, _ in reader.sites()] == modules
        offsets = [offset for _, offset in reader.sites()]
    assert offsets == [2**64 - 1 - n for n in range(len(modules))]
    with open(tmp_path / "a.csv", newline="") as file:
        sites = [row["site"] for row in csv.DictReader(file)]
    assert not [site for site in sites if site[0] in "=+-@\t"], "a spreadsheet runs it"


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    events = model.random_events(8, 70_000)
    model.write(tmp_path / "a.tau", events)
    result = CliRunner().invoke(
        command,
        [str(tmp_path / "a.tau"), "-o", str(tmp_path / "a.parquet"), "--json"],
        standalone_mode=False,
    )
    assert json.loads(result.stdout)["format"] == "parquet"
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column_names == list(EVENT.names or ())
    for name, column in events.items():
        assert np.array_equal(table[name].to_numpy(), column), name
    assert b"/lib/module0.so+0x0" in table.schema.metadata[b"sites"]


def test_without_pyarrow_parquet_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.write(tmp_path / "a.tau", model.random_events(8, 10))
    plain = builtins.__import__

    def refuse(name: str, *rest: object, **more: object) -> object:
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(name=name)
        return plain(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(TauError, match="package pyarrow is not installed") as caught:
        export_parquet(open_trace(tmp_path / "a.tau"), tmp_path / "a.parquet")
    assert f"{sys.executable} -m pip install" in (caught.value.next_step or "")
    assert not (tmp_path / "a.parquet").exists()


def test_to_a_pipe_that_closes(tmp_path: Path) -> None:
    model.write(tmp_path / "a.tau", model.random_events(8, 150_000))
    program = f"{sys.executable} -m tautochrone -q export {tmp_path / 'a.tau'}"
    run = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} | head -n 1"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.stdout == "op,id,size,align,time,thread,site,flags\n"
    assert run.stderr == "" and run.returncode == 0


def test_a_full_disk_and_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(8, 10))
    run = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m tautochrone export {path} > /dev/full"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 1 and "disk is full" in run.stderr
    (tmp_path / "a.csv").write_text("precious")
    arguments = [str(path), "-o", str(tmp_path / "a.csv")]
    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert isinstance(result.exception, TauError) and "exists" in result.exception.message
    assert (tmp_path / "a.csv").read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "words", "form"),
    [
        ("a", [], "csv"),
        ("a.csv", [], "csv"),
        ("a.xlsx", ["--format", "csv"], "csv"),
        ("a.xlsx", [], ""),
        ("a.csv.gz", [], ""),
    ],
)
def test_the_suffix_says_the_format(
    tmp_path: Path, name: str, words: list[str], form: str
) -> None:
    """One that is not known is refused, unless --format is given."""
    model.write(tmp_path / "a.tau", model.random_events(8, 10))
    arguments = [str(tmp_path / "a.tau"), "-o", str(tmp_path / name), "--json", *words]
    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    if form:
        assert json.loads(result.stdout)["format"] == form
    else:
        assert isinstance(result.exception, TauError) and not (tmp_path / name).exists()
        assert "supported are .csv and .parquet" in result.exception.message


def test_a_damaged_trace_exports_nothing_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(8, 2 * form.BLOCK_EVENTS_MAX))
    data = bytearray(path.read_bytes())
    data[len(data) * 3 // 4] ^= 1
    path.write_bytes(data)
    with pytest.raises(TauError, match="damaged"):
        export_csv(open_trace(path), tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == [path]
