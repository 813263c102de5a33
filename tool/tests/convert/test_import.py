"""`tau import`: CSV with all its errors, heaptrack against our own counts, refusals."""

import gzip
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from click import UsageError
from click.testing import CliRunner, Result

from tautochrone.commands.import_ import command
from tautochrone.commands.info import command as info
from tautochrone.convert.exporting import export_parquet
from tautochrone.convert.importing import form_of, import_file
from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.trace.abi import of_header
from tautochrone.trace.file import open_trace
from tool.tests.commands.command_samples import target_stream
from tool.tests.trace import trace_model as model

HEADER = "op,id,size,align,time\n"


def run(path: Path, *options: str) -> Result:
    return CliRunner().invoke(command, [str(path), *options], standalone_mode=False)


def import_text(
    tmp_path: Path, text: str | bytes, name: str = "events.csv"
) -> list[tuple[int, ...]]:
    """Import a text; returns the events as rows of (op, slot, size, align_log2, time, flags)."""
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    import_file(path, tmp_path / "out.tau", force=True)
    events = model.read(tmp_path / "out.tau")
    columns = ("op", "slot", "size_bytes", "align_log2", "time_ns", "flags")
    return list(zip(*(events[name].tolist() for name in columns), strict=True))


def test_every_operation_and_column_is_imported(tmp_path: Path) -> None:
    rows = import_text(
        tmp_path,
        "op,id,size,align,time\nmalloc,a,10,,5\ncalloc,b,0,,5\naligned_alloc,c,64,32,6\n"
        "realloc,a,18446744073709551615,,7\nfree,b,,,8\nmalloc,b,3,,9\nfree,0x7f,,,9\n",
    )
    assert rows == [
        (model.MALLOC, 0, 10, 0, 5, 0),
        (model.CALLOC, 1, 0, 0, 5, 0),
        (model.ALIGNED, 2, 64, 5, 6, 0),
        (model.REALLOC, 0, 2**64 - 1, 0, 7, 0),
        (model.FREE, 1, 0, 0, 8, 0),
        (model.MALLOC, 1, 3, 0, 9, 0),
        (model.FREE, form.SLOT_NONE, 0, 0, 9, form.FLAG_UNKNOWN),
    ]


@pytest.mark.parametrize("is_timed", [True, False])
def test_a_trace_says_that_its_time_counts_events(is_timed: bool, tmp_path: Path) -> None:
    """CSV without times, also packed: neither the header nor `tau info` makes seconds of it."""
    text = "op,id,size,time\nmalloc,x,16,0\nfree,x,,9000000000\n"
    if not is_timed:
        text = "op,id,size\nmalloc,x,16\nfree,x,\n"
    path, out = tmp_path / "t.csv.gz", tmp_path / "t.tau"
    path.write_bytes(gzip.compress(text.encode()))
    assert import_file(path, out).timed == is_timed
    with open_trace(out) as reader:
        assert reader.is_timed == is_timed
        assert reader.header.get("clock") == (None if is_timed else form.CLOCK_EVENTS)
    said = CliRunner().invoke(info, [str(out)]).stdout
    assert f"events       2{' in 9.000 s' if is_timed else ''}, 1 thread" in said


@pytest.mark.parametrize(
    "text",
    [
        "op,id,size\nmalloc,x,0x10\nfree,x,\n",
        "\ufeffop,id,size\r\nmalloc,x,16\r\n\r\nfree,x,0",
        'size,op,id\n16,malloc,"a,b ""c"""\n,free,"a,b ""c"""\n',
    ],
)
def test_other_spellings(tmp_path: Path, text: str) -> None:
    rows = import_text(tmp_path, text)
    assert rows == [(model.MALLOC, 0, 16, 0, 0, 0), (model.FREE, 0, 0, 0, 1, 0)]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("operation,id,size\n", 'line 1: unknown column "operation"'),
        ("op,size\n", "line 1: the header lacks id"),
        ("op,id,size,size\n", "line 1: the header names size twice"),
        (HEADER + "malloc,1,5\n", "line 2: fewer fields than the header's 5"),
        (HEADER + "malloc,1,5,,1,\n", "line 2: more fields than the header's 5"),
        (HEADER + "malloc,1,5,,1\nmaloc,2,5,,1\n", 'line 3: op "maloc" is not malloc, calloc'),
        (HEADER + "malloc,1,-5,,1\n", 'line 2: size "-5" is not a number of bytes'),
        (HEADER + "malloc,1,,,1\n", 'line 2: size "" is not a number of bytes'),
        (HEADER + "malloc,1,18446744073709551616,,1\n", 'line 2: size "18446744073709551616"'),
        (HEADER + "free,1,x,,1\n", 'line 2: size "x"'),
        (HEADER + "malloc,1,5,3,1\n", 'line 2: align "3" is not a power of two'),
        (HEADER + "aligned_alloc,1,5,,1\n", "line 2: aligned_alloc needs an align"),
        (HEADER + "malloc,1,5,,\n", 'line 2: time "" is not a whole number'),
        (HEADER + "malloc,1,5,,1.5\n", 'line 2: time "1.5" is not a whole number'),
        (HEADER + "malloc,1,5,,9\nmalloc,2,5,,8\n", "line 3: time goes back from 9 to 8"),
        (HEADER + "malloc,,5,,1\n", "line 2: id is empty"),
        (HEADER + "malloc,1,5,,1\ncalloc,1,5,,1\n", "line 3: this id names an object that was not"),
        (HEADER + 'malloc,"1,5,,1\n', "line 2: a quote is not closed"),
        (HEADER + "malloc," + "x" * 70_000 + ",5,,1\n", "line 2: longer than 65536 bytes"),
        ("op,id,size,thread\nmalloc,1,5,1048576\n", 'line 2: thread "1048576"'),
        ("op,id,size,site\nmalloc,1,5,main\n", 'line 2: site "main" is not MODULE'),
        ("op,id,size,flags\nmalloc,1,5,unknown\n", 'line 2: flags "unknown"'),
        ("op,id,size,flags\nfree,1,,lost\n", 'line 2: flags "lost"'),
        ("\n", "line 1: the file is empty"),
        (HEADER + "malloc,1,5,,1\ntouch,1,0,256,1\n", 'line 3: align "256" is not a touch'),
        (HEADER + "malloc,1,5,,1\ntouch,1,0,,1\n", 'line 3: align "" is not a touch'),
        (HEADER + "malloc,1,5,,1\ntouch,1,,1,1\n", 'line 3: size "" is not a number of bytes'),
        (HEADER + "touch,1,0,1,1\n", "line 2: this touches an object that is not alive"),
        (HEADER + "malloc,1,5,,1\ntouch,1,16,1,1\n", "event 1 breaks [TRACE-45] a touch names"),
        ("op,id,size,align,flags\ntouch,1,0,1,unknown\n", 'line 2: flags "unknown"'),
    ],
)
def test_each_malformed_line_is_named(tmp_path: Path, text: str, cause: str) -> None:
    with pytest.raises(TauError) as caught:
        import_text(tmp_path, text)
    assert cause in caught.value.message
    assert not (tmp_path / "out.tau").exists() and not (tmp_path / "out.tau.partial").exists()


def test_misuse_is_flagged_counted_and_its_first_line_told(tmp_path: Path) -> None:
    text = "op,id,size\nmalloc,a,1\nfree,a,\nfree,a,\nfree,a,\nfree,z,\nrealloc,y,7\nfree,y,\n"
    path = tmp_path / "misuse.csv"
    path.write_text(text)
    result = run(path, "-o", str(tmp_path / "out.tau"), "--json")
    document = json.loads(result.stdout)
    assert document["command"] == "import" and document["version"] == 1
    assert (document["double_free_count"], document["double_free_first_line"]) == (2, 4)
    assert (document["unknown_count"], document["unknown_first_line"]) == (2, 6)
    assert "2 double frees, the first in line 4" in result.stderr
    # That the file is incomplete comes first.
    unseen = result.stderr.index("2 frees are of objects that it does not know")
    assert unseen < result.stderr.index("double frees")
    assert "the first of these frees is in line 6; record again" in result.stderr
    events = model.read(tmp_path / "out.tau")
    # A realloc of an unknown object returns an object of a known size.
    assert events["op"].tolist()[-3:] == [model.FREE, model.MALLOC, model.FREE]
    assert events["flags"].tolist() == [0, 0, 4, 4, 1, 1, 0, 0]


def test_a_second_free_is_told_apart_after_many_objects(tmp_path: Path) -> None:
    lines = [f"malloc,o{n},8\nfree,o{n},\n" for n in range(100_000)]
    rows = import_text(tmp_path, "op,id,size\n" + "".join(lines) + "free,o0,\nfree,never,\n")
    assert [row[5] for row in rows[-2:]] == [form.FLAG_DOUBLE_FREE, form.FLAG_UNKNOWN]


def test_random_csv_imports_as_the_model_says(tmp_path: Path) -> None:
    seed = time.time_ns() % 2**32
    print("seed", seed)
    events = model.random_events(seed, 30_000, misuse=False, sites=0)
    names = ("malloc", "calloc", "realloc", "aligned_alloc", "free", "touch")
    generation: Counter[int] = Counter()
    lines = ["op,id,size,align,time,thread"]
    for now, size, slot, thread, _, op, _, align in model.rows(events):
        generation[slot] += op in (model.MALLOC, model.CALLOC, model.ALIGNED)
        last = str(1 << align) if op == model.ALIGNED else str(align or "")
        lines.append(
            f"{names[op]},object {slot}/{generation[slot]},{size},{last},{now},{thread}"
        )
    for pack in (str.encode, lambda text: gzip.compress(text.encode())):
        (tmp_path / "events.csv.gz").write_bytes(pack("\n".join(lines)))
        import_file(tmp_path / "events.csv.gz", tmp_path / "out.tau", force=True)
        found = model.read(tmp_path / "out.tau")
        for name, column in events.items():
            assert np.array_equal(found[name], column), name


def test_existing_output_is_kept_unless_forced(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "a.tau"
    path.write_text("op,id,size\nmalloc,1,1\n")
    out.write_text("precious")
    refused = run(path, "-o", str(out)).exception
    assert isinstance(refused, TauError) and "exists" in refused.message
    assert out.read_text() == "precious"
    assert run(path, "-o", str(out), "--force").exception is None
    # A failing import leaves the existing file.
    path.write_text("op,id,size\nmalloc,1\n")
    assert isinstance(run(path, "-o", str(out), "--force").exception, TauError)
    assert open_trace(out).totals.events == 1


@pytest.mark.parametrize(
    ("content", "name", "cause"),
    [
        (b"", "a.csv", "is empty"),
        (b'{"dhatFileVersion":2}', "dhat.out.1", "DHAT's: it holds totals without the order"),
        (b"desc: --massif-out\ncmd: x\n", "massif.out.1", "massif's: it holds totals"),
        (b'[{"a": 1}]', "x.json", "JSON"),
        (b"memray\0\1", "x.bin", "memray's"),
        (b"\x7fELF\0\0", "program", "not CSV, not heaptrack"),
    ],
)
def test_what_has_no_order_of_events_is_refused_with_the_reason(
    tmp_path: Path, content: bytes, name: str, cause: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TauError) as caught:
        import_file(path, tmp_path / "out.tau")
    assert cause in caught.value.message


def test_a_trace_is_not_imported_again(tmp_path: Path) -> None:
    model.write(tmp_path / "a.tau", model.random_events(1, 5))
    with pytest.raises(TauError, match="a trace already"):
        form_of(tmp_path / "a.tau")


HEAPTRACK = (
    b"v 10400 3\nx 8 /bin/abc\nX abc --flag\nI 1000 5e298d\n"
    b"m 1 -\nm 1 x 1000 0 100 200 50\nm 5 a b.c 4000 0 100\nt 1010 0\nt 4020 1\nc 2\n"
    b"+ 20 1 aa0\n+ 8 2 bb0\nc 5\n- aa0\nR 5\n- aa0\n+ 10 0 aa0\n+ 11 0 aa0\n- cc0\n"
)


def test_heaptrack_lines(tmp_path: Path) -> None:
    zstd = shutil.which("zstd")
    packers = {"t.raw": lambda b: b, "t.raw.gz": gzip.compress}
    if zstd:
        packers["t.raw.zst"] = lambda b: subprocess.run([zstd], input=b, capture_output=True).stdout
    for name, pack in packers.items():
        ms = 1_000_000
        assert import_text(tmp_path, pack(HEAPTRACK), name) == [
            (model.MALLOC, 0, 0x20, 0, 2 * ms, 0),
            (model.MALLOC, 1, 8, 0, 2 * ms, 0),
            (model.FREE, 0, 0, 0, 5 * ms, 0),
            (model.FREE, form.SLOT_NONE, 0, 0, 5 * ms, form.FLAG_DOUBLE_FREE),
            (model.MALLOC, 0, 0x10, 0, 5 * ms, 0),
            (model.FREE, 0, 0, 0, 5 * ms, 0),  # the address came back: its free was not seen
            (model.MALLOC, 0, 0x11, 0, 5 * ms, 0),
            (model.FREE, form.SLOT_NONE, 0, 0, 5 * ms, form.FLAG_UNKNOWN),
        ]
        with open_trace(tmp_path / "out.tau") as reader:
            assert reader.header["command"] == "abc --flag"
            assert reader.sites() == [("/bin/abc", 0x10), ("a b.c", 0x20)]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (b"+ 20\n", "interpreted file"),
        (b"a 1 2\n", "interpreted file"),
        (b"+ 20 9 aa0\n", "names trace 9 of 2"),
        (b"+ x 1 aa0\n", "not a line of heaptrack's raw format"),
        (b"- aa0 1\n", "not a line of heaptrack's raw format"),
        (b"+ 11111111111111111 1 aa0\n", "not a line"),
        (b"m 99 short\n", "not a line"),
        (b"?\n", "not a line"),
        (b"v 10400 4\n", "format 4 is newer than 3"),
    ],
)
def test_bad_heaptrack_lines_are_named(tmp_path: Path, line: bytes, cause: str) -> None:
    with pytest.raises(TauError) as caught:
        import_text(tmp_path, HEAPTRACK + line, "t.raw")
    assert f"line {HEAPTRACK.count(10) + 1}: " in caught.value.message
    assert cause in caught.value.message


def test_cut_and_damaged_packed_files_are_refused(tmp_path: Path) -> None:
    packed = subprocess.run(["zstd"], input=HEAPTRACK * 1, capture_output=True, check=True).stdout
    for data, name in ((packed[:-9], "t.raw.zst"), (gzip.compress(HEAPTRACK)[:-9], "t.raw.gz")):
        with pytest.raises(TauError, match="cut|damaged"):
            import_text(tmp_path, data, name)
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 0xFF
    with pytest.raises(TauError):
        import_text(tmp_path, bytes(damaged), "t.raw.zst")


def test_a_raw_recording_of_our_own_recorder(tmp_path: Path) -> None:
    tau = [sys.executable, "-m", "tautochrone"]
    subprocess.run(
        [*tau, "record", "--raw", "--no-children", "-o", tmp_path / "a.raw", "--", "ls", "/"],
        check=True,
        capture_output=True,
        timeout=300,
    )
    assert form_of(tmp_path / "a.raw") == "recorder"
    imported = import_file(tmp_path / "a.raw", tmp_path / "a.tau")
    with open_trace(tmp_path / "a.tau") as reader:
        assert reader.totals.events == imported.events > 10
        assert reader.header["command"][0] == "ls"


def test_heaptrack_of_a_real_program_equals_our_own_count(tmp_path: Path) -> None:
    program = ["awk", "BEGIN{for (i = 0; i < 5000; i++) a[i % 700] = a[i % 700] i}"]
    subprocess.run(
        ["heaptrack", "--raw", "-o", tmp_path / "h", *program],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    path = tmp_path / "h.raw.zst"
    text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout.decode()
    live: dict[str, int] = {}
    asked: Counter[int] = Counter()
    now = peak = 0
    for fields in map(str.split, text.splitlines()):
        if fields[0] == "+":
            asked[int(fields[1], 16)] += 1
            live[fields[3]] = int(fields[1], 16)
            now += live[fields[3]]
        elif fields[0] == "-":
            now -= live.pop(fields[1])
        peak = max(peak, now)
    imported = import_file(path, tmp_path / "h.tau")
    assert imported.events > 100 and imported.implied_frees == 0
    assert imported.unknown_count == imported.double_free_count == 0
    with open_trace(tmp_path / "h.tau") as reader:
        assert reader.totals.peak_live_bytes == peak and reader.totals.end_live_bytes == now
        assert {size: count for size, count, _ in reader.sizes()} == dict(asked)
        assert "awk" in reader.header["command"]


@pytest.mark.parametrize("abi", ["", "arm", "x86-64"])
def test_the_abi_of_a_file_without_machine_is_as_stated(tmp_path: Path, abi: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("op,id,size\nmalloc,a,1\n")
    run(path, "-o", str(tmp_path / "a.tau"), *(["--abi", abi] if abi else []))
    with open_trace(tmp_path / "a.tau") as reader:
        assert of_header(reader.header) == abi
    export_parquet(open_trace(tmp_path / "a.tau"), tmp_path / "a.parquet")
    schema = parquet.read_table(tmp_path / "a.parquet").schema
    assert schema.metadata[b"abi"] == abi.encode()


def test_an_abi_cannot_be_stated_of_a_file_that_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "capture.bin"
    path.write_bytes(target_stream(random.Random(1)))
    refused = run(path, "-o", str(tmp_path / "a.tau"), "--abi", "arm").exception
    assert isinstance(refused, TauError) and "names its own machine" in refused.message
    assert "without --abi" in (refused.next_step or "")
    assert not (tmp_path / "a.tau").exists()
    assert run(path, "-o", str(tmp_path / "a.tau")).exception is None
    with open_trace(tmp_path / "a.tau") as reader:
        assert of_header(reader.header) == "arm"
    refused = run(path, "-o", str(tmp_path / "a.tau"), "--abi", "vax").exception
    assert isinstance(refused, UsageError) and "'vax' is not one of 'x86-64'" in str(refused)
