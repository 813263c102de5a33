"""`tau verify --elf`: the functions of a linked program are called, if it is built as planned.

Method: the calls of a plan's header are linked with the core for each target, as a firmware does,
once right and once in each wrong way.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.machine.core_build import Build
from tautochrone.plan.file import Plan, load_plan
from tautochrone.targets.build import TARGETS
from tautochrone.verify import firmware
from testing.command import tau_done as tau
from testing.random_trace import random_events, write_events

ROOT = Path(__file__).resolve().parents[3]
HEAP = """
#include <stddef.h>
#include "core/budget.h"
#include "heap_plan.h"
static _Alignas(TAU_PLAN_ALIGNMENT) unsigned char memory[TAU_PLAN_HEAP_BYTES];
static tau_plan_heap *heap;
static int is_ready(void) { return heap != NULL || (heap = tau_plan_init(memory)) != NULL; }
static size_t least(size_t n) { return n == 0 ? 1 : n; }
void *malloc(size_t n) { return is_ready() ? tau_plan_malloc(heap, least(n)) : NULL; }
void *calloc(size_t c, size_t n) {
    return is_ready() ? tau_plan_calloc(heap, c, least(n)) : NULL; }
void *memalign(size_t a, size_t n) {
    return is_ready() ? tau_plan_aligned_alloc(heap, a, least(n)) : NULL; }
void free(void *p) { if (p != NULL) { (void)tau_plan_free(heap, p); } }
void *realloc(void *p, size_t n) { return p == NULL ? malloc(n) : tau_plan_realloc(heap, p, n); }
void *(*const keep[])(size_t) = {malloc};
int _start(void) {
    void *p = realloc(memalign(32, 64), 128);
    free(p);
    free(calloc(1, 4));
    return keep[0](4) != NULL; }
"""
PAYLOAD = """
#include <stddef.h>
void *memset(void *to, int value, size_t n) {
    for (size_t i = 0; i < n; i++) { ((volatile char *)to)[i] = (char)value; }
    return to; }
void *memmove(void *to, const void *from, size_t n) {
    volatile char *a = to; const volatile char *b = from;
    if (a < b) { for (size_t i = 0; i < n; i++) { a[i] = b[i]; } }
    else { for (size_t i = n; i > 0; i--) { a[i - 1] = b[i - 1]; } }
    return to; }
void *memcpy(void *to, const void *from, size_t n) { return memmove(to, from, n); }
"""
# Results that the calls of a wrong heap may have.
HOOKS = """
void idle(void) { __asm__ volatile("wfi"); }
void spin(void) { for (;;) { __asm__ volatile(""); } }
static int is_ready"""
RAM = {"m4": "0x20000000", "rv32": "0x80400000"}
ROM = {"m4": "0x00000000", "rv32": "0x80000000"}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording, its plan, its header and the sources of a heap."""
    folder = tmp_path_factory.mktemp("firmware")
    write_events(folder / "program.tau", random_events(11, 3000), abi="arm")
    words = ("-o", folder / "plan.toml", "--header", folder / "heap_plan.h", "--pools", "always")
    tau("plan", folder / "program.tau", *words)
    (folder / "heap.c").write_text(HEAP)
    (folder / "payload.c").write_text(PAYLOAD)
    return folder


def linked(
    folder: Path,
    target: str,
    name: str,
    core: tuple[str, ...] = (),
    heap: tuple[str, ...] = (),
    every: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Compile and link; `core` and `heap` are more flags of the two, `every` of all files."""
    recipe = TARGETS[target]
    gcc = [recipe.compiler, *recipe.machine, *every, "-Os", "-ffreestanding", "-std=c17"]
    gcc += [f"-I{ROOT}", f"-I{folder}", "-fno-tree-loop-distribute-patterns", "-fno-builtin"]
    objects = []
    sources = [(ROOT / "core/tlsf.c", core), (ROOT / "core/budget.c", core)]
    sources += [(folder / "heap.c", heap), (folder / "payload.c", ())]
    for source, flags in sources:
        objects.append(str(folder / f"{name}-{source.stem}.o"))
        command = [*gcc, *flags, "-c", str(source), "-o", objects[-1]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done
    places = [f"-Wl,-Ttext={ROM[target]}", f"-Wl,-Tdata={RAM[target]}"]
    link = [*gcc, "-nostdlib", "-static", *places, *objects, "-lgcc", "-o", str(folder / name)]
    return subprocess.run(link, capture_output=True, text=True)


@pytest.mark.parametrize("target", ["m4", "rv32"])
def test_a_firmware_as_planned_is_verified(planned: Path, target: str) -> None:
    name = f"{target}.elf"
    done = linked(planned, target, name)
    assert done.returncode == 0, done.stderr
    words = (planned / "plan.toml", planned / "program.tau", "--elf", planned / name)
    said = tau("verify", *words).stdout
    assert f"{name} ({target}), program.tau: " in said and ", 0 refused; stack" in said
    for verb in ("malloc", "calloc", "realloc", "aligned_alloc", "free"):
        row = rf"{verb} +([\d,]+) instructions, bound ([\d,]+) as linked; the header's, .* is \d+"
        counted = re.search(row, said)
        assert counted, said
        most, bound = (int(text.replace(",", "")) for text in counted.groups())
        assert most <= bound
    runs = load_plan(planned / "plan.toml").sections["verified"].runs
    assert name in {run.firmware for run in runs}


@pytest.mark.parametrize("target", ["m4", "rv32"])
def test_a_firmware_with_an_alignment_of_4_is_verified(
    planned: Path, tmp_path: Path, target: str
) -> None:
    """Its objects are at multiples of 4; where the core has another alignment, it is named."""
    for source in ("heap.c", "payload.c"):
        (tmp_path / source).write_text((planned / source).read_text())
    plan, elf = tmp_path / "plan.toml", tmp_path / "aligned.elf"
    words = ("--alignment", 4, "--pools", "always", "-o", plan)
    tau("plan", planned / "program.tau", *words, "--header", tmp_path / "heap_plan.h")
    done = linked(tmp_path, target, elf.name)
    assert "add -DTAU_ALIGNMENT=4 -DTAU_ALIGNMENT_BELOW_MAX=1" in done.stderr
    built = ("-DTAU_ALIGNMENT=4", "-DTAU_ALIGNMENT_BELOW_MAX=1")
    done = linked(tmp_path, target, elf.name, every=built)
    assert done.returncode == 0, done.stderr
    assert linked(planned, target, "other.elf", core=built, heap=built).returncode != 0
    said = tau("verify", plan, planned / "program.tau", "--elf", elf).stdout
    assert f"aligned.elf ({target}), program.tau: " in said and ", 0 refused; stack" in said


@pytest.mark.parametrize(
    ("processor", "name"),
    [("cortex-m0plus", "ARMv6-M"), ("cortex-m23", "ARMv8-M Baseline"), ("cortex-m33", "")],
)
def test_a_firmware_for_another_cortex_m_is_verified(
    planned: Path, processor: str, name: str
) -> None:
    """If its code is longer, it is said that the header's bounds do not hold; its own do."""
    elf = planned / f"{processor}.elf"
    assert linked(planned, "m4", elf.name, every=(f"-mcpu={processor}",)).returncode == 0
    done = tau("verify", planned / "plan.toml", planned / "program.tau", "--elf", elf)
    said = f"is {name} code: the header's bounds, for Cortex-M4, do not hold"
    assert (said in done.stderr) == bool(name)
    assert ("the header's, of the core alone" in done.stdout) == (not name)
    (counted,) = re.findall(r"malloc +(\d+) .* bound (\d+) as linked", done.stdout)
    assert int(counted[0]) <= int(counted[1])
    divides = processor == "cortex-m0plus"  # by a function of libgcc, whose loop is not bounded
    assert ("free has no bound: a loop at __aeabi_uidiv" in done.stderr) == divides
    assert ("verified, but free and realloc without a bound" in done.stdout) == divides


def test_another_build_of_the_core_does_not_link(planned: Path) -> None:
    """The header refers to a constant that only a core of the planned build has."""
    wanted = Build().symbol(32)
    for flags in (("-O2",), ("-DTAU_CHECK_LEVEL=0",), ("-DTAU_CHECK_LEVEL=2",), ("-O0",)):
        done = linked(planned, "m4", "other.elf", core=flags)
        assert done.returncode != 0 and f"undefined reference to `{wanted}'" in done.stderr, flags
    done = linked(planned, "m4", "other.elf", core=("-DTAU_JUNK_FILL=1",))
    assert f"undefined reference to `{wanted}'" in done.stderr
    done = linked(planned, "m4", "other.elf", heap=("-DTAU_CHECK_LEVEL=0",))
    assert "the plan was measured with other options: tau plan --build FILE" in done.stderr
    assert linked(planned, "m4", "right.elf", heap=("-O2",)).returncode == 0, "heap.c is free"


@pytest.mark.parametrize(("own", "others"), [("budget", ["tlsf"]), ("pools", ["budget", "tlsf"])])
def test_a_heap_does_not_link_with_a_core_of_another_build(
    own: str, others: list[str], tmp_path: Path
) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    link = ["gcc", str(tmp_path / "main.c"), "-o", str(tmp_path / "a.out")]
    for name in (own, *others):
        level = "-DTAU_CHECK_LEVEL=1" if name == own else "-DTAU_CHECK_LEVEL=0"
        gcc = ["gcc", "-O2", f"-I{ROOT}", level, "-c", str(ROOT / f"core/{name}.c")]
        subprocess.run([*gcc, "-o", str(tmp_path / f"{name}.o")], check=True)
        link.append(str(tmp_path / f"{name}.o"))
    done = subprocess.run(link, capture_output=True, text=True)
    assert "undefined reference to `tau_tlsf_built_word64_check1_fill0_speed'" in done.stderr


def test_programs_that_are_not_as_planned_are_refused(planned: Path, tmp_path: Path) -> None:
    """Each is named, with the cause and the next step."""
    assert linked(planned, "m4", "right.elf").returncode == 0
    right = (planned / "right.elf").read_bytes()

    def refused(path: Path) -> str:
        before = (planned / "plan.toml").read_bytes()
        words = (planned / "plan.toml", planned / "program.tau", "--elf", path)
        said = tau("verify", *words, expect=1).stderr
        assert "next:" in said and (planned / "plan.toml").read_bytes() == before
        return said

    few_registers = tuple(f"-ffixed-r{number}" for number in (4, 5, 6, 8, 9, 10, 11))
    assert linked(planned, "m4", "slow.elf", core=few_registers).returncode == 0
    assert "instructions, the header says" in refused(planned / "slow.elf")
    assert linked(planned, "m4", "r5.elf", every=("-mcpu=cortex-r5",)).returncode == 0
    assert "not a Cortex-M: it cannot be emulated" in refused(planned / "r5.elf")
    strip = ["arm-none-eabi-strip", str(planned / "right.elf"), "-o", str(tmp_path / "bare.elf")]
    subprocess.run(strip, check=True)
    assert "is stripped" in refused(tmp_path / "bare.elf")
    (tmp_path / "cut.elf").write_bytes(right[: len(right) // 2])
    assert "cut.elf" in refused(tmp_path / "cut.elf")
    assert "64-bit code" in refused(Path(sys.executable).resolve())
    assert "not a valid ELF file" in refused(planned / "heap.c")
    assert "as.elf" in refused(tmp_path / "as.elf")
    renamed = right.replace(Build().symbol(32).encode(), Build(0).symbol(32).encode())
    (tmp_path / "level.elf").write_bytes(renamed)
    assert "built with other options than the plan" in refused(tmp_path / "level.elf")
    (tmp_path / "none.elf").write_bytes(renamed.replace(b"tau_tlsf_built", b"xau_tlsf_built"))
    assert "has no heap of this core" in refused(tmp_path / "none.elf")
    rename = ["arm-none-eabi-objcopy", "--redefine-sym", "malloc=mallok"]
    subprocess.run([*rename, str(planned / "right.elf"), str(tmp_path / "less.elf")], check=True)
    assert "has no function malloc" in refused(tmp_path / "less.elf")
    rename += ["--redefine-sym", "heap=_ZN11tautochrone4plan4madeE"]
    subprocess.run([*rename, str(planned / "right.elf"), str(tmp_path / "cpp.elf")], check=True)
    assert "has its heap by tautochrone.hpp" in refused(tmp_path / "cpp.elf")


@pytest.mark.parametrize(
    ("has", "against"),
    [
        (Build(0), ""),
        (Build(statistics=False), ", without -DTAU_STATISTICS=0"),
        (Build(alignment_bytes=4), ", without -DTAU_ALIGNMENT"),
        (
            Build(alignment_bytes=4, statistics=False),
            ", without -DTAU_ALIGNMENT and -DTAU_STATISTICS=0",
        ),
    ],
)
def test_a_core_with_other_macros_is_told_which(has: Build, against: str) -> None:
    with pytest.raises(TauError) as caught:
        firmware._refuse_other_build(Path("x.elf"), Plan((), 4096, "greedy", 0.0), [has.symbol(32)])
    step = caught.value.next_step
    assert step == f"build the core with check level 1, -Os{against}, or plan again with --build"


@pytest.mark.parametrize("target", ["m4", "rv32"])
def test_a_program_with_other_pools_is_refused(tmp_path: Path, target: str) -> None:
    """They are compared, because objects of a missing pool would crowd the shared region."""
    events = [(0, slot, 40, 0) for slot in range(300)] + [(4, slot, 0, 0) for slot in range(300)]
    trace = write_events(tmp_path / "program.tau", events, abi="arm")
    plan = tmp_path / "plan.toml"
    words = ("-o", plan, "--header", tmp_path / "heap_plan.h", "--pools", "always")
    tau("plan", trace, *words)
    ((size, count),) = load_plan(plan).classes
    (tmp_path / "heap.c").write_text(HEAP)
    (tmp_path / "payload.c").write_text(PAYLOAD)
    assert linked(tmp_path, target, "right.elf").returncode == 0
    assert "verified" in tau("verify", plan, trace, "--elf", tmp_path / "right.elf").stdout
    right, pool = (tmp_path / "right.elf").read_bytes(), struct.pack("<II", size, count)
    assert pool in right
    (tmp_path / "less.elf").write_bytes(right.replace(pool, struct.pack("<II", size, count - 1)))
    said = tau("verify", plan, trace, "--elf", tmp_path / "less.elf", expect=1).stderr
    assert "has other pools than the plan" in said and "next:" in said


@pytest.mark.parametrize(
    ("target", "pools"), [("m4", "always"), ("rv32", "always"), ("m4", "never")]
)
def test_a_program_with_another_plans_header_is_refused(
    tmp_path: Path, target: str, pools: str
) -> None:
    """Its heap is larger than the plan's, so it would serve requests that the plan refuses."""
    trace = write_events(tmp_path / "program.tau", random_events(12, 2000), abi="arm")
    (tmp_path / "heap.c").write_text(HEAP)
    (tmp_path / "payload.c").write_text(PAYLOAD)
    made = ("plan", trace, "--pools", pools, "--fixed-input")
    plan, other, elf = tmp_path / "plan.toml", tmp_path / "other.toml", tmp_path / "other.elf"
    tau(*made, "--margin", "50%", "-o", other, "--header", tmp_path / "heap_plan.h")
    tau(*made, "-o", plan)
    before = plan.read_bytes()
    done = linked(tmp_path, target, elf.name)
    assert done.returncode == 0, done.stderr
    said = tau("verify", plan, trace, "--elf", elf, expect=1).stderr
    assert f"makes its heap in {load_plan(other).heap_bytes:,} bytes" in said and "next:" in said
    assert plan.read_bytes() == before
    tau("verify", other, trace, "--elf", elf)


def test_a_linker_may_leave_out_what_no_recording_calls(planned: Path, tmp_path: Path) -> None:
    """Without realloc and memalign a recording that calls neither is verified, others are not."""
    assert linked(planned, "m4", "right.elf").returncode == 0
    names = ("realloc", "memalign")
    rename = [word for name in names for word in ("--redefine-sym", f"{name}=no_{name}")]
    elf = tmp_path / "less.elf"
    right = planned / "right.elf"
    subprocess.run(["arm-none-eabi-objcopy", *rename, str(right), str(elf)], check=True)
    recording = write_events(tmp_path / "simple.tau", [(0, 0, 40, 0), (4, 0, 0, 0)], abi="arm")
    tau("verify", planned / "plan.toml", recording, "--elf", elf)
    said = tau("verify", planned / "plan.toml", planned / "program.tau", "--elf", elf, expect=1)
    assert "has no function aligned_alloc, realloc, which" in said.stderr


def test_a_program_that_reaches_a_device_is_named(planned: Path) -> None:
    """Memory that it does not have cannot be read; the message has the place and the event."""
    source = (planned / "heap.c").read_text()
    device = "*(volatile unsigned *)0x40010000u = 1u;"
    start = "void *malloc(size_t n) { "
    (planned / "heap.c").write_text(source.replace(start, start + device))
    try:
        assert linked(planned, "m4", "device.elf").returncode == 0
    finally:
        (planned / "heap.c").write_text(source)
    words = (planned / "plan.toml", planned / "program.tau", "--elf", planned / "device.elf")
    said = tau("verify", *words, expect=1).stderr
    assert "device.elf stopped in malloc" in said and "wrote memory that is not there" in said


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("tau_plan_malloc(heap, least(n))", "(idle(), (void *)8)", "waits for an interrupt"),
        ("tau_plan_malloc(heap, least(n))", "(spin(), (void *)8)", "does not return within"),
        (
            "tau_plan_malloc(heap, least(n))",
            "(char *)tau_plan_malloc(heap, n + 8) + 4",
            "handed out a misaligned object",
        ),
    ],
)
def test_a_heap_that_misbehaves_is_never_verified(
    planned: Path, tmp_path: Path, wrong: str, right: str, said: str
) -> None:
    """A halted processor, an endless call, and wrong alignment."""
    for name in ("payload.c", "heap_plan.h"):
        (tmp_path / name).write_bytes((planned / name).read_bytes())
    source = HEAP.replace(wrong, right)
    (tmp_path / "heap.c").write_text(source.replace("static int is_ready", f"{HOOKS}\n\\g<0>", 0))
    (tmp_path / "heap.c").write_text(source.replace("static int is_ready", HOOKS, 1))
    done = linked(tmp_path, "m4", "wrong.elf")
    assert done.returncode == 0, done.stderr
    plan = planned / "plan.toml"
    before = plan.read_bytes()
    words = (plan, planned / "program.tau", "--elf", tmp_path / "wrong.elf")
    assert said in tau("verify", *words, expect=1).stderr
    assert plan.read_bytes() == before


def test_a_plan_that_is_replaced_meanwhile_stays(planned: Path, tmp_path: Path) -> None:
    """The certificate is for the plan that was read, and never goes into another one."""
    from tautochrone.commands.verify import _certify
    from tautochrone.errors import TauError

    path = tmp_path / "plan.toml"
    path.write_bytes((planned / "plan.toml").read_bytes())
    plan = load_plan(path)
    other = path.read_text().replace("margin = 0.08", "margin = 0.07")
    assert other != path.read_text()
    path.write_text(other)
    with pytest.raises(TauError, match="was replaced while it was verified"):
        _certify(path, plan, [])
    assert path.read_text() == other


def test_damaged_programs_are_refused_and_never_a_bug(planned: Path, tmp_path: Path) -> None:
    """Segments too large, too long in the file, or too high; a wrong table of symbols."""
    assert linked(planned, "m4", "right.elf").returncode == 0
    right = (planned / "right.elf").read_bytes()
    segments = struct.unpack_from("<I", right, 28)[0]
    sections, symtab = struct.unpack_from("<I", right, 32)[0], None
    for place in range(sections, len(right) - 39, 40):
        symtab = place if struct.unpack_from("<I", right, place + 4)[0] == 2 else symtab
    assert symtab is not None
    for place, value, said in (
        (segments + 8, 0xFFFFFFF0, "above the last address"),
        (segments + 20, 0x40000000, "more than can be emulated"),
        (segments + 16, 0xFFFFFFF0, "is larger than the file"),
        (symtab + 4, 1, "is stripped"),
    ):
        changed = bytearray(right)
        struct.pack_into("<I", changed, place, value)
        (tmp_path / "bad.elf").write_bytes(changed)
        words = (planned / "plan.toml", planned / "program.tau", "--elf", tmp_path / "bad.elf")
        assert said in tau("verify", *words, expect=1).stderr
