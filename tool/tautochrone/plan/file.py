"""The plan: the division of a heap, and other sections, in a file for tools and people.

A plan file is TOML. docs/spec/plan.md has its rules, facts/plan.toml its schema. Loading is strict:
it refuses unknown keys, values out of range and wrong sums, and names the place.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tautochrone import __version__
from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError
from tautochrone.facts import plan_format, trace_format
from tautochrone.machine.core_build import ALIGNMENT_BYTES, BUCKET_MIN_BYTES
from tautochrone.files import input_file, output_file, schema, toml_file
from tautochrone.files.toml_file import FILE_BYTES_MAX
from tautochrone.plan.build import build_of
from tautochrone.plan.sections import (
    CODE,
    HEAP,
    TLB,
    WITHOUT_HEAP,
    record_of,
    record_type,
    section_named,
)

NEXT_STEP = "make the plan again with `tau plan`"
STEP_OF = {
    CODE: "make the plan again with `tau coldcode plan`",
    TLB: "make the plan again with `tau tlb plan`",
}
NEWER_STEP = "install a newer tautochrone, or make the plan again with this one"
FORMAT = plan_format.FORMAT
VERSION = plan_format.VERSION
HEAP_FACTS = plan_format.SECTIONS[HEAP]
CLASSES_MAX: int = HEAP_FACTS["classes"]["many"]
MARGIN_MAX: float = HEAP_FACTS["margin"]["most"]
PLANNERS = tuple(HEAP_FACTS["planner"]["values"])
BANDS = "bands"
BANDS_ALIGNMENT_MAX = 4096  # POOLS_ALIGNMENT_MAX_BYTES of core/pools.c
STATED = "stated"
LAYOUTS = tuple(HEAP_FACTS["layout"]["values"])
CLASS_FACTS = HEAP_FACTS["classes"]
SUMS = ("dedicated_bytes", "shared_bytes")  # stated in a file, computed by Plan
VERSION_FACTS = {"type": "integer", "least": 1, "most": schema.VERSION_MOST}


# A dedicated region, and a recording that a plan was made from, as the schema has them.
PlanClass = record_type("heap.classes")
PlanTrace = record_type("trace")


@dataclass(frozen=True)
class Plan:
    """A heap's division, and the other sections by name (plan/sections.py).

    The heap_bytes are dedicated_bytes + shared_bytes. They include `margin`, a fraction, which is
    from `margin_source`. `spread` is of several recordings. `sizes` says whether the recorded
    sizes are the target's (plan/sizes.py). Its memory starts at a multiple of
    `alignment_bytes`. A plan of tasks or of code has no heap: only sections (without_heap).
    """

    classes: tuple[PlanClass, ...]
    heap_bytes: int
    planner: str
    optimal_within: float
    margin: float = 0.0
    layout: str = "32"
    sizes: str = STATED
    traces: tuple[PlanTrace, ...] = field(default=())
    sections: Mapping[str, Any] = field(default_factory=dict)
    has_heap: bool = True
    alignment_bytes: int = 16
    margin_source: str | None = None
    spread: float | None = None
    recorded_counts: tuple[int, ...] | None = None
    stated_counts: tuple[int, ...] | None = None

    @property
    def system(self) -> str:
        """The heap of the core that the plan is for: tlsf, budget or pools."""
        if self.planner == BANDS:
            return "pools"
        return "budget" if self.classes else "tlsf"

    @property
    def alignment_unit(self) -> int:
        """TAU_ALIGNMENT of the core that it was measured with."""
        return build_of(self).alignment_in(self.layout)

    @property
    def check_level(self) -> int:
        """The check level of the core that heap_bytes was measured with."""
        return build_of(self).check_level

    @property
    def dedicated_bytes(self) -> int:
        """The bytes of all buckets."""
        return sum(
            bucket_bytes(item.size_bytes, self.alignment_unit) * item.count
            for item in self.classes
        )

    @property
    def shared_bytes(self) -> int:
        """The bytes of the shared region and of every control structure."""
        return self.heap_bytes - self.dedicated_bytes


def without_heap(sections: Mapping[str, Any]) -> Plan:
    """A plan of nothing but sections."""
    return Plan((), 0, PLANNERS[0], 0.0, sections=sections, has_heap=False)


def bucket_bytes(size_bytes: int, alignment: int) -> int:
    """The bytes of a bucket: `size_bytes` rounded up to the alignment, and room for two words."""
    return max(-(-size_bytes // alignment) * alignment, BUCKET_MIN_BYTES)


def with_margin(measured_bytes: int, margin: float, layout: str) -> int:
    """[PLAN-6] `measured_bytes` times 1 + `margin`, rounded up to the alignment.

    The margin becomes part of the shared region.
    """
    alignment = ALIGNMENT_BYTES[layout]
    extra_bytes = Fraction(repr(margin)) * measured_bytes
    return measured_bytes + -(-extra_bytes // alignment) * alignment


# ---- loading ----


def load_plan(path: Path | str) -> Plan:
    """Read and check the plan of a heap. Raises TauError with the place and the next step."""
    plan = load_any_plan(path)
    if not plan.has_heap:
        held = ", ".join(f"[{name}]" for name in plan.sections)
        raise TauError(f"{path}: a plan without [heap]; it has {held}", NEXT_STEP)
    return plan


def load_any_plan(path: Path | str) -> Plan:
    """Read and check a plan file, which may lack [heap]. Raises TauError as load_plan does."""
    verbs = "`tau plan -o`, `tau tlb plan -o` or `tau coldcode plan -o`"
    step = f"give the path of a plan, made with {verbs}"
    data = input_file.read(Path(path), "plan", FILE_BYTES_MAX, step)
    if data.startswith(trace_format.MAGIC.encode()):
        raise TauError(f"{path} is a trace, not a plan", f"tau plan {path} -o plan.toml")
    if len(data) > FILE_BYTES_MAX:
        raise TauError(f"{path}: not a plan: larger than {FILE_BYTES_MAX} bytes", NEXT_STEP)
    try:
        _, document = toml_file.parsed(data)
    except ValueError as error:
        raise TauError(f"{path}: not a plan: {error}", NEXT_STEP) from error
    step = NEXT_STEP
    if HEAP not in document:
        step = next((STEP_OF[name] for name in STEP_OF if name in document), NEXT_STEP)
    return _plan_of(schema.Reader(str(path), step, NEWER_STEP), document)


def _plan_of(reader: schema.Reader, document: dict[str, Any]) -> Plan:
    if document.get("format") != FORMAT:
        raise reader.fail(f'not a plan: it lacks format = "{FORMAT}"')
    version = reader.value("version", document.get("version"), VERSION_FACTS)
    if version > VERSION:
        raise reader.fail(
            f"made by a newer version (plan version {version}; this is {VERSION})",
            NEWER_STEP,
        )
    if version < VERSION:
        raise reader.fail(
            f"made by an earlier version (plan version {version}; this is {VERSION}), which did not"
            " note for which build and ABI"
        )
    _refuse_unknown(reader, document)
    has_heap = HEAP in document or not WITHOUT_HEAP.keys() & document.keys()
    is_heap = isinstance(document.get(HEAP), dict) or not has_heap
    if not is_heap or not isinstance(document.get("trace", []), list):
        raise reader.fail("it lacks [heap], or [[trace]] is not a list of tables")
    tables = {
        name: reader.section(name, document[name], facts)
        for name, facts in plan_format.SECTIONS.items()
        if name in document
    }
    traces = [
        record_of("trace", reader.table(f"trace[{index}].", trace, plan_format.TRACE))
        for index, trace in enumerate(document.get("trace", []))
    ]
    heap = tables.pop(HEAP, None)
    try:
        sections = {name: section_named(name).from_table(table) for name, table in tables.items()}
    except TauError as error:
        raise reader.fail(error.message, error.next_step) from error
    if heap is None:
        plan = without_heap(sections)
        validate(plan, reader.path)
        return plan
    stated = {key: heap.pop(key) for key in SUMS}
    heap["classes"] = tuple(PlanClass(**row) for row in heap["classes"])
    for name in ("recorded_counts", "stated_counts"):
        if name in heap:
            heap[name] = tuple(heap[name])
    plan = Plan(**heap, traces=tuple(traces), sections=sections)
    validate(plan, reader.path)
    for key, value in stated.items():
        if value != getattr(plan, key):
            raise reader.fail(
                f"heap.{key} is {value}, but classes and heap_bytes give {getattr(plan, key)}"
            )
    return plan


def _refuse_unknown(reader: schema.Reader, document: dict[str, Any]) -> None:
    """Raise TauError for a section or another key that is not in the schema."""
    for name, value in document.items():
        if name in ("format", "version", "trace", *plan_format.SECTIONS):
            continue
        if isinstance(value, dict | list):
            known = ", ".join(plan_format.SECTIONS)
            raise reader.fail(
                f"section [{in_one_line(name)}] is unknown; this version has {known}",
                NEWER_STEP,
            )
        raise reader.fail(f"{in_one_line(name)} is unknown")


def _is_within(value: int, fact: dict[str, Any]) -> bool:
    return bool(fact["least"] <= value <= fact["most"])


def validate(plan: Plan, where: str = "the plan") -> None:
    """Check the rules between the parts of a plan. Raises TauError.

    These are [PLAN-3] to [PLAN-5] and the rules of the other sections.
    """
    if len(plan.classes) > CLASSES_MAX:
        raise TauError(
            f"{where}: {len(plan.classes)} classes; at most {CLASSES_MAX} are allowed", NEXT_STEP
        )
    if plan.layout != "32" and build_of(plan).alignment_bytes:
        raise TauError(f"{where}: build.alignment_bytes is for 32-bit layouts", NEXT_STEP)
    seen: dict[int, int] = {}
    for item in plan.classes:
        if not all(map(_is_within, item, (CLASS_FACTS["size_bytes"], CLASS_FACTS["count"]))):
            raise TauError(f"{where}: class {tuple(item)} is out of range", NEXT_STEP)
        rounded = bucket_bytes(item.size_bytes, plan.alignment_unit)
        if rounded in seen:
            raise TauError(
                f"{where}: sizes {seen[rounded]} and {item.size_bytes} are the same class"
                f" ({rounded} bytes)",
                NEXT_STEP,
            )
        seen[rounded] = item.size_bytes
    if plan.alignment_bytes & (plan.alignment_bytes - 1):
        raise TauError(f"{where}: alignment_bytes is not a power of two", NEXT_STEP)
    if plan.planner == BANDS:
        _validate_bands(plan, where)
    if plan.dedicated_bytes > plan.heap_bytes:
        raise TauError(
            f"{where}: the pools take {plan.dedicated_bytes:,} bytes,"
            f" the heap has {plan.heap_bytes:,}",
            NEXT_STEP,
        )
    for name, value in plan.sections.items():
        broken = section_named(name).rule_broken(value)
        if broken:
            raise TauError(f"{where}: {broken}", STEP_OF.get(name, NEXT_STEP))


def _validate_bands(plan: Plan, where: str) -> None:
    """[PLAN-32]. Raises TauError."""
    blocks = [bucket_bytes(item.size_bytes, plan.alignment_unit) for item in plan.classes]
    if not blocks or blocks != sorted(blocks):
        raise TauError(f"{where}: the sizes of bands must increase", NEXT_STEP)
    if plan.alignment_bytes > BANDS_ALIGNMENT_MAX:
        raise TauError(
            f"{where}: pools have an alignment of at most {BANDS_ALIGNMENT_MAX:,} bytes", NEXT_STEP
        )
    if len(plan.recorded_counts or ()) != len(blocks):
        raise TauError(f"{where}: recorded_counts must have a number for each band", NEXT_STEP)
    if plan.stated_counts is not None and len(plan.stated_counts) != len(blocks):
        raise TauError(f"{where}: stated_counts must have a number for each band", NEXT_STEP)


# ---- writing ----


def plan_text(plan: Plan, made_by: str, notes: tuple[str, ...] = ()) -> str:
    """Return the text of the plan file: comments, then the document.

    Equal plans and comments give equal bytes.
    """
    lines = [
        f"# {_use_of(plan)}",
        f"# Made by tautochrone {__version__}: {comment(made_by)}",
    ]
    lines += [f"# {comment(note)}" for note in notes]
    lines += ["", f'format = "{FORMAT}"', f"version = {VERSION}"]
    for name, facts in plan_format.SECTIONS.items():
        if name in plan.sections or (name == HEAP and plan.has_heap):
            lines += ["", f"[{name}]", *_version_lines(facts)]
            if name == HEAP:
                table = schema.table_of(plan, facts)
            else:
                table = section_named(name).to_table(plan.sections[name])
            lines += schema.table_lines(table, facts)
    for trace in plan.traces:
        table = schema.table_of(trace, plan_format.TRACE)
        lines += ["", "[[trace]]", *schema.table_lines(table, plan_format.TRACE)]
    return "\n".join(lines) + "\n"


def _use_of(plan: Plan) -> str:
    if plan.system == "pools":
        return "A heap plan: give heap_bytes of memory and these bands to core/pools.h."
    if plan.has_heap:
        return "A heap plan: give heap_bytes of memory and these pools to the budgeted allocator."
    if TLB in plan.sections:
        return "A plan of TLB sets: map these runs, and give each task's heap its window."
    return "A plan of cold code: link the kernel with the fragment next to this file."


def _version_lines(facts: dict[str, Any]) -> list[str]:
    """The line with a section's version; none for version 1."""
    return [f"version = {facts['version']}"] if facts["version"] > 1 else []


def save_plan(
    plan: Plan, path: Path, made_by: str, notes: tuple[str, ...] = (), force: bool = False
) -> None:
    """Write the plan file as output_file.written does; `force` lets it replace a file."""
    validate(plan)
    with output_file.written(path, force) as partial:
        partial.write_text(plan_text(plan, made_by, notes), encoding="utf-8")


def replace_section(path: Path, plan: Plan, name: str, value: Any) -> None:
    """Write a plan's file again with another section of this name; its comments stay."""
    sections = {**plan.sections, name: value}
    changed = replace(plan, sections=sections)
    validate(changed)
    before = path.read_text(encoding="utf-8").splitlines()
    told = list(itertools.takewhile(lambda line: line.startswith("#"), before))
    written = plan_text(changed, "").splitlines()
    rest = itertools.dropwhile(lambda line: line.startswith("#"), written)
    with output_file.written(path, True) as partial:
        partial.write_text("\n".join([*told, *rest]) + "\n", encoding="utf-8")


def comment(text: str) -> str:
    """Return TEXT on one line, without the control characters that a comment cannot hold."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", text.encode("utf-8", "replace").decode())
