"""The plan: how a heap is divided, in a file that the tool, the core and people read.

A plan file is TOML; SPEC.md, "The plan", has its rules. Loading is strict: what is unknown, out of
bounds, or does not add up is refused with its place.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tautochrone import __version__
from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError
from tautochrone.facts import plan_format
from tautochrone.facts.trace_format import MAGIC
from tautochrone.files import input_file, output_file

FORMAT = plan_format.FORMAT
VERSION = plan_format.VERSION
FILE_BYTES_MAX = plan_format.FILE_BYTES_MAX
CLASSES_MAX = plan_format.HEAP_CLASSES_MOST
SIZE_BYTES_MAX = plan_format.HEAP_CLASSES_SIZE_BYTES_MOST
COUNT_MAX = plan_format.HEAP_CLASSES_COUNT_MOST
HEAP_BYTES_MAX = plan_format.HEAP_HEAP_BYTES_MOST
EVENTS_MAX = plan_format.TRACE_EVENTS_MOST
MARGIN_MAX = 10.0
PLANNERS = ("replayed", "greedy", "exact", "exhaustive")
ALIGNMENT_BYTES = {"32": 8, "host": 16}  # TAU_ALIGNMENT of core/config.h in each layout
RESERVED_TABLES = ("pages", "tlb", "code")
NEXT_STEP = "make the plan anew with `tau plan`"


class PlanClass(NamedTuple):
    """One dedicated region: `count` buckets for objects of `size_bytes`."""

    size_bytes: int
    count: int


@dataclass(frozen=True)
class PlanTrace:
    """A recording that a plan was made from; what `tau info` says of it.

    `incomplete` says why events are missing from it; empty if none are known to be.
    """

    name: str
    sha256: str
    events: int
    peak_live_bytes: int
    incomplete: str = ""


@dataclass(frozen=True)
class Plan:
    """A heap's division.

    Heap_bytes = dedicated_bytes + shared_bytes, `margin` (a fraction) included.
    """

    classes: tuple[PlanClass, ...]
    heap_bytes: int
    planner: str
    optimal_within: float
    margin: float = 0.0
    layout: str = "32"
    traces: tuple[PlanTrace, ...] = field(default=())

    @property
    def dedicated_bytes(self) -> int:
        """All buckets."""
        return sum(bucket_bytes(item.size_bytes, self.layout) * item.count for item in self.classes)

    @property
    def shared_bytes(self) -> int:
        """The rest of the heap: the shared region and every control structure."""
        return self.heap_bytes - self.dedicated_bytes


def bucket_bytes(size_bytes: int, layout: str) -> int:
    """What a bucket for objects of `size_bytes` takes.

    The size rounded up to the layout's alignment.
    """
    alignment = ALIGNMENT_BYTES[layout]
    return -(-size_bytes // alignment) * alignment


def with_margin(measured_bytes: int, margin: float, layout: str) -> int:
    """[PLAN-6] The measured heap plus `margin` times it, rounded up to the alignment.

    All of it becomes shared region.
    """
    alignment = ALIGNMENT_BYTES[layout]
    extra_bytes = Fraction(repr(margin)) * measured_bytes
    return measured_bytes + -(-extra_bytes // alignment) * alignment


def trace_identity(path: Path | str) -> str:
    """The SHA-256 of a recording's file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- loading ----


def load_plan(path: Path | str) -> Plan:
    """Read and check a plan file. Raises TauError with the place and the next step."""
    step = "give the path of a file that `tau plan -o` wrote"
    data = input_file.read(Path(path), "plan", FILE_BYTES_MAX, step)
    if data.startswith(MAGIC.encode()):
        raise TauError(f"{path} is a trace, not a plan", f"tau plan {path} -o plan.toml")
    if len(data) > FILE_BYTES_MAX:
        raise TauError(f"{path}: not a plan: larger than {FILE_BYTES_MAX} bytes", NEXT_STEP)
    try:
        document = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise TauError(
            f"{path}: not a plan: {str(error) or type(error).__name__}", NEXT_STEP
        ) from error
    return _Loader(str(path)).plan(document)


class _Loader:
    """Turns a parsed document into a Plan; every message names the file and the key."""

    def __init__(self, path: str) -> None:
        self.path = path

    def fail(self, text: str) -> TauError:
        return TauError(f"{self.path}: {text}", NEXT_STEP)

    def plan(self, document: dict[str, Any]) -> Plan:
        if document.get("format") != FORMAT:
            raise self.fail(f'not a plan: it lacks format = "{FORMAT}"')
        version = self.integer(document, "version", "", 1, EVENTS_MAX)
        if version > VERSION:
            raise TauError(
                f"{self.path}: made by a newer version (plan version {version}; this is {VERSION})",
                "install a newer tautochrone, or make the plan anew with this one",
            )
        for name in RESERVED_TABLES:
            if name in document:
                raise self.fail(f"[{name}] is reserved for a later version")
        self.only(document, ("format", "version", "heap", "trace"), "")
        heap = document.get("heap")
        traces = document.get("trace", [])
        if not isinstance(heap, dict) or not isinstance(traces, list):
            raise self.fail("it lacks [heap], or [[trace]] is no list of tables")
        plan = self.heap(
            heap, tuple(self.trace(trace, index) for index, trace in enumerate(traces))
        )
        validate(plan, self.path)
        for key in ("dedicated_bytes", "shared_bytes"):
            if self.integer(heap, key, "heap.", 0, HEAP_BYTES_MAX) != getattr(plan, key):
                raise self.fail(
                    f"heap.{key} is {heap[key]}, "
                    f"but the classes and heap_bytes give {getattr(plan, key)}"
                )
        return plan

    def heap(self, heap: dict[str, Any], traces: tuple[PlanTrace, ...]) -> Plan:
        self.only(
            heap,
            (
                "layout",
                "planner",
                "margin",
                "optimal_within",
                "dedicated_bytes",
                "shared_bytes",
                "heap_bytes",
                "classes",
            ),
            "heap.",
        )
        listed = heap.get("classes")
        if not isinstance(listed, list):
            raise self.fail("heap.classes is no list")
        if len(listed) > CLASSES_MAX:
            raise self.fail(
                f"heap.classes has {len(listed)} classes, at most {CLASSES_MAX} are possible"
            )
        return Plan(
            classes=tuple(self.plan_class(item, index) for index, item in enumerate(listed)),
            heap_bytes=self.integer(heap, "heap_bytes", "heap.", 0, HEAP_BYTES_MAX),
            planner=self.text(heap, "planner", "heap.", PLANNERS),
            optimal_within=self.fraction(heap, "optimal_within", 1.0),
            margin=self.fraction(heap, "margin", MARGIN_MAX),
            layout=self.text(heap, "layout", "heap.", tuple(ALIGNMENT_BYTES)),
            traces=traces,
        )

    def plan_class(self, item: Any, index: int) -> PlanClass:
        place = f"heap.classes[{index}]."
        self.only(item, ("size_bytes", "count"), place)
        return PlanClass(
            self.integer(item, "size_bytes", place, 1, SIZE_BYTES_MAX),
            self.integer(item, "count", place, 1, COUNT_MAX),
        )

    def trace(self, item: Any, index: int) -> PlanTrace:
        place = f"trace[{index}]."
        self.only(item, ("name", "sha256", "events", "peak_live_bytes", "incomplete"), place)
        digest = self.text(item, "sha256", place)
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise self.fail(f"{place}sha256 is not 64 hexadecimal digits")
        return PlanTrace(
            self.text(item, "name", place),
            digest,
            self.integer(item, "events", place, 0, EVENTS_MAX),
            self.integer(item, "peak_live_bytes", place, 0, EVENTS_MAX),
            self.text(item, "incomplete", place) if "incomplete" in item else "",
        )

    def only(self, table: Any, keys: tuple[str, ...], place: str) -> None:
        if not isinstance(table, dict):
            raise self.fail(f"{place.rstrip('.')} is no table")
        for key in table:
            if key not in keys:
                raise self.fail(f"{place}{in_one_line(key)} is unknown")

    def integer(self, table: dict[str, Any], key: str, place: str, least: int, most: int) -> int:
        value = table.get(key)
        if type(value) is not int or not least <= value <= most:
            raise self.fail(
                f"{place}{key} is {_short(value)}, expected an integer from {least} to {most}"
            )
        return value

    def fraction(self, table: dict[str, Any], key: str, most: float) -> float:
        value = table.get(key)
        if type(value) not in (int, float) or not 0 <= value <= most:
            raise self.fail(f"heap.{key} is {_short(value)}, expected a number from 0 to {most:g}")
        return float(value)

    def text(
        self, table: dict[str, Any], key: str, place: str, values: tuple[str, ...] = ()
    ) -> str:
        value = table.get(key)
        if not isinstance(value, str) or (values and value not in values):
            expected = "one of " + ", ".join(values) if values else "a text"
            raise self.fail(f"{place}{key} is {_short(value)}, expected {expected}")
        return value


def _short(value: Any) -> str:
    if value is None:
        return "missing"
    if type(value) is int and value.bit_length() > 128:
        return "a number beyond 128 bits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def validate(plan: Plan, where: str = "the plan") -> None:
    """Check what holds between the parts of a plan ([PLAN-3] … [PLAN-5]). Raises TauError."""
    if len(plan.classes) > CLASSES_MAX:
        raise TauError(
            f"{where}: {len(plan.classes)} classes, at most {CLASSES_MAX} are possible", NEXT_STEP
        )
    seen: dict[int, int] = {}
    for item in plan.classes:
        if not (1 <= item.size_bytes <= SIZE_BYTES_MAX and 1 <= item.count <= COUNT_MAX):
            raise TauError(f"{where}: class {tuple(item)} is out of bounds", NEXT_STEP)
        rounded = bucket_bytes(item.size_bytes, plan.layout)
        if rounded in seen:
            raise TauError(
                f"{where}: sizes {seen[rounded]} and {item.size_bytes} are the same class"
                f" ({rounded} bytes)",
                NEXT_STEP,
            )
        seen[rounded] = item.size_bytes
    if plan.dedicated_bytes > plan.heap_bytes:
        raise TauError(
            f"{where}: the classes take {plan.dedicated_bytes} bytes,"
            f" the heap has {plan.heap_bytes}",
            NEXT_STEP,
        )


# ---- writing ----


def plan_text(plan: Plan, made_by: str, notes: tuple[str, ...] = ()) -> str:
    """The plan file.

    Comments that say what it is, then the document. Equal plans and comments give equal bytes.
    """
    lines = [
        "# A heap plan: give heap_bytes of memory and these classes to the budgeted allocator.",
        f"# Made by tautochrone {__version__}: {_comment(made_by)}",
    ]
    lines += [f"# {_comment(note)}" for note in notes]
    lines += ["", f'format = "{FORMAT}"', f"version = {VERSION}", "", "[heap]"]
    lines += [
        f'layout = "{plan.layout}"',
        f'planner = "{plan.planner}"',
        f"margin = {float(plan.margin)!r}",
        f"optimal_within = {_plain_fraction(plan.optimal_within)}",
        f"dedicated_bytes = {plan.dedicated_bytes}",
        f"shared_bytes = {plan.shared_bytes}",
        f"heap_bytes = {plan.heap_bytes}",
    ]
    lines += ["classes = ["]
    lines += [f"    {{ size_bytes = {size}, count = {count} }}," for size, count in plan.classes]
    lines += ["]"]
    for trace in plan.traces:
        lines += [
            "",
            "[[trace]]",
            f"name = {_quoted(trace.name)}",
            f'sha256 = "{trace.sha256}"',
            f"events = {trace.events}",
            f"peak_live_bytes = {trace.peak_live_bytes}",
        ]
        lines += [f"incomplete = {_quoted(trace.incomplete)}"] if trace.incomplete else []
    return "\n".join(lines) + "\n"


def header_text(plan: Plan, made_by: str) -> str:
    """The plan as a C header for firmware.

    Compiles as C17 and C++17 before or after core/budget.h, and after the single-file core.
    """
    words = {"32": "TAU_WORD_BITS == 32", "host": "TAU_WORD_BITS == 64"}[plan.layout]
    rows = [f"    {{{size}u, {count}u}}," for size, count in plan.classes] or [
        "    {0u, 0u},  // none: all is shared"
    ]
    total = (
        " + ".join(
            f"{bucket_bytes(size, plan.layout)}ull * {count}u" for size, count in plan.classes
        )
        or "0"
    )
    return "\n".join(
        [
            "// A heap plan as a C header, generated by `tau plan --header`: do not edit.",
            f"// tautochrone {__version__}: {_comment(made_by)}",
            "//   alignas(TAU_ALIGNMENT) static unsigned char memory[TAU_PLAN_HEAP_BYTES];",
            "//   tau_budget_init(&heap, memory, sizeof memory, tau_plan_classes,",
            "//                   TAU_PLAN_CLASSES_COUNT);",
            "#ifndef TAU_PLAN_H",
            "#define TAU_PLAN_H",
            "",
            "// The single-file core has these already.",
            "#ifndef TAU_BUDGET_H",
            '#include "core/budget.h"',
            "#endif",
            "#ifndef TAU_CONFIG_H",
            '#include "core/config.h"',
            "#endif",
            "",
            f"#define TAU_PLAN_CLASSES_COUNT {len(plan.classes)}u",
            f"#define TAU_PLAN_DEDICATED_BYTES {plan.dedicated_bytes}u",
            f"#define TAU_PLAN_SHARED_BYTES {plan.shared_bytes}u",
            f"#define TAU_PLAN_HEAP_BYTES {plan.heap_bytes}u",
            "",
            "static const struct tau_budget_class tau_plan_classes[] = {",
            *rows,
            "};",
            "",
            f'TAU_STATIC_ASSERT({words}, "the plan was measured with another layout");',
            "TAU_STATIC_ASSERT(TAU_PLAN_CLASSES_COUNT <= TAU_BUDGET_CLASSES_MAX,",
            '                  "more classes than the core takes");',
            f"TAU_STATIC_ASSERT({total} == TAU_PLAN_DEDICATED_BYTES,\n"
            '                  "the classes add up");',
            "TAU_STATIC_ASSERT(TAU_PLAN_DEDICATED_BYTES + TAU_PLAN_SHARED_BYTES "
            "== TAU_PLAN_HEAP_BYTES,",
            '                  "the parts add up to the heap");',
            "",
            "#endif",
            "",
        ]
    )


def save_plan(
    plan: Plan, path: Path, made_by: str, notes: tuple[str, ...] = (), force: bool = False
) -> None:
    """Write the plan file as output_file.written does; `force` lets it replace a file."""
    validate(plan)
    with output_file.written(path, force) as partial:
        partial.write_text(plan_text(plan, made_by, notes), encoding="utf-8")


def save_header(plan: Plan, path: Path, made_by: str, force: bool = False) -> None:
    """Write the C header as output_file.written does; `force` lets it replace a file."""
    validate(plan)
    with output_file.written(path, force) as partial:
        partial.write_text(header_text(plan, made_by), encoding="utf-8")


def _plain_fraction(value: float) -> str:
    """A float that TOML reads back as the same number."""
    return repr(float(value))


def _comment(text: str) -> str:
    """TEXT on one line: control characters would end the comment, or are forbidden in it."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", text.encode("utf-8", "replace").decode())


def _quoted(text: str) -> str:
    """A TOML basic string."""
    clean = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match.group()):04x}", clean) + '"'
    )
