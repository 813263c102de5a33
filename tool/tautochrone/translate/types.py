"""Reads the types of a program, with their sizes, from its DWARF (versions 2 to 5).

index = read_types(elf.get_dwarf_info(follow_links=False), pointer_bytes=8)
index.keys_of_size[56]                  # {("tag", "node"), ("typedef", "node_t")}
index.definitions[("tag", "node")]      # {Definition(56, "list.c", "list.h:12:8")}

A key is what a type is matched by in another build of the same program: its kind and its qualified
name. An anonymous structure has its place in the source as its name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from tautochrone.files import dwarf_entry
from tautochrone.files.dwarf_entry import number_of, text_of

Key = tuple[str, str]

POINTER: Key = ("pointer", "pointer")
TAGGED = {
    "DW_TAG_structure_type": "struct",
    "DW_TAG_class_type": "class",
    "DW_TAG_union_type": "union",
    "DW_TAG_enumeration_type": "enum",
}
SCOPES = {"DW_TAG_namespace", "DW_TAG_module", "DW_TAG_subprogram", *TAGGED}
POINTERS = {"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"}
QUALIFIERS = {
    f"DW_TAG_{word}_type"
    for word in ("const", "volatile", "restrict", "atomic", "packed", "shared", "immutable")
}
OTHER_TYPES = {
    f"DW_TAG_{word}"
    for word in (
        *("base_type", "typedef", "array_type", "subrange_type", "ptr_to_member_type"),
        "subroutine_type",
    )
}
KEPT = SCOPES | POINTERS | QUALIFIERS | OTHER_TYPES
# What leads to the entry that has the name, or, by a signature, to the definition.
ORIGINS = ("DW_AT_specification", "DW_AT_abstract_origin", "DW_AT_extension", "DW_AT_signature")
DEPTH_MAX = 100  # Types that refer to types. A damaged file can make a circle of them.


class Definition(NamedTuple):
    """One definition of a type: its bytes, the name of its unit's file, its place in the source."""

    size_bytes: int
    unit: str
    place: str


class Flexible(NamedTuple):
    """A structure that ends in a flexible array member: its bytes, and the bytes of one element."""

    size_bytes: int
    element_bytes: int


@dataclass
class TypeIndex:
    """The types of a program that have a size."""

    definitions: dict[Key, set[Definition]] = field(default_factory=lambda: defaultdict(set))
    keys_of_size: dict[int, set[Key]] = field(default_factory=lambda: defaultdict(set))
    flexible: dict[Key, set[Flexible]] = field(default_factory=lambda: defaultdict(set))
    labels: dict[Key, str] = field(default_factory=dict)

    def add(self, key: Key, label: str, definition: Definition) -> None:
        """Add a definition; the same one again changes nothing."""
        self.definitions[key].add(definition)
        self.keys_of_size[definition.size_bytes].add(key)
        self.labels.setdefault(key, label)

    def size_of(self, name: str) -> int:
        """The bytes of a type, named with or without struct. Raises ValueError if it has no one
        size.
        """
        keys = [key for key, label in self.labels.items() if name in (label, key[1])]
        found = sorted(one for key in keys for one in self.definitions[key])
        if not found:
            raise ValueError(f"the program has no type {name} of a known size")
        first, last = found[0], found[-1]
        if first.size_bytes != last.size_bytes:
            both = " and ".join(f"{one.size_bytes:,} bytes in {one.unit}" for one in (first, last))
            raise ValueError(f"{name} has {both}; state size_bytes")
        if any(key in self.flexible for key in keys):
            raise ValueError(f"{name} ends in an array of any length; state size_bytes")
        return first.size_bytes


@dataclass(slots=True)
class _Node:
    """The facts of one entry (DIE). References are the keys of _Reader.nodes."""

    tag: str
    name: str
    size_bytes: int | None
    type_at: Any
    same_as: Any  # The entry that ORIGINS lead to.
    scope_at: Any
    unit: str
    place: str
    is_declaration: bool
    counts: list[int | None] | None = None  # An array's dimensions.
    last_member: Any = None  # Its type.


class SplitDwarf(Exception):
    """The types are in another file; the argument says which."""


def read_types(
    dwarf: Any, pointer_bytes: int, told: Callable[[int, int], None] | None = None
) -> TypeIndex:
    """Read all types. `told` is called with the bytes of DWARF that are read and their total.

    Raises SplitDwarf, and what pyelftools raises for damaged DWARF.
    """
    reader = _Reader(pointer_bytes)
    total = dwarf.debug_info_sec.size
    for section, units in (("info", dwarf.iter_CUs()), ("types", dwarf.iter_TUs())):
        for unit in units:
            reader.read_unit(dwarf, section, unit)
            if told is not None and section == "info":
                told(unit.cu_offset, total)
    return reader.index()


class _Reader:
    """Collects entries of all units first: a type may refer to one that comes later."""

    def __init__(self, pointer_bytes: int) -> None:
        self.pointer_bytes = pointer_bytes
        self.nodes: dict[tuple[str, int], _Node] = {}
        self.signatures: dict[int, tuple[str, int]] = {}
        self._names: dict[tuple[str, int], str] = {}

    def read_unit(self, dwarf: Any, section: str, unit: Any) -> None:
        """Read the entries of one unit in the order of the file."""
        top = unit.get_top_DIE() if section == "info" else None
        if top is not None and {"DW_AT_dwo_name", "DW_AT_GNU_dwo_name"} & top.attributes.keys():
            name = text_of(top, "DW_AT_dwo_name") or text_of(top, "DW_AT_GNU_dwo_name")
            raise SplitDwarf(name or "a .dwo file")
        header = unit.header
        signature = header.get("signature", header.get("type_signature"))
        if signature is not None and "type_offset" in header:
            self.signatures[signature] = (section, unit.cu_offset + header["type_offset"])
        name = PurePosixPath(text_of(top, "DW_AT_name")).name if top is not None else ""
        files = _files_of(dwarf, unit, top)
        # What each open entry is inside of: the scope, and the entry itself if it is kept.
        open_entries: list[tuple[Any, _Node | None]] = []
        held = dwarf.debug_info_sec if section == "info" else dwarf.debug_types_sec
        for die in dwarf_entry.entries(unit, held):
            if die.is_null():
                if open_entries:
                    open_entries.pop()
                continue
            scope, parent = open_entries[-1] if open_entries else (None, None)
            node = self._take(section, die, scope, parent, name, files)
            if die.has_children:
                at = (section, die.offset)
                is_scope = node is not None and die.tag in SCOPES
                open_entries.append((at if is_scope else scope, node))

    def _take(
        self, section: str, die: Any, scope: Any, parent: _Node | None, unit: str, files: list[str]
    ) -> _Node | None:
        """Keep an entry if it is a type or a scope, or add it to its structure or array."""
        type_at = self._reference(section, die, "DW_AT_type")
        if die.tag == "DW_TAG_member" and parent is not None and parent.tag in TAGGED:
            if "DW_AT_external" not in die.attributes:
                parent.last_member = type_at
        if die.tag == "DW_TAG_subrange_type" and parent is not None:
            if parent.tag == "DW_TAG_array_type":
                counts = parent.counts = parent.counts or []
                counts.append(_count_of(die))
                return None
        if die.tag not in KEPT:
            return None
        origins = (self._reference(section, die, name) for name in ORIGINS)
        node = _Node(
            tag=die.tag,
            name=text_of(die, "DW_AT_name"),
            size_bytes=number_of(die, "DW_AT_byte_size"),
            type_at=type_at,
            same_as=next((one for one in origins if one is not None), None),
            scope_at=scope,
            unit=unit,
            place=_place_of(die, files),
            is_declaration="DW_AT_declaration" in die.attributes,
        )
        self.nodes[(section, die.offset)] = node
        return node

    def _reference(self, section: str, die: Any, name: str) -> Any:
        """The key of the entry that an attribute refers to, or a signature; None if there is none.
        """
        found = die.attributes.get(name)
        if found is None or not isinstance(found.raw_value, int):
            return None
        if found.form == "DW_FORM_ref_sig8":
            return found.raw_value
        if found.form == "DW_FORM_ref_addr":
            return ("info", found.raw_value)
        if found.form in ("DW_FORM_GNU_ref_alt", "DW_FORM_ref_sup4", "DW_FORM_ref_sup8"):
            raise SplitDwarf("a file that was made by dwz")
        return (section, die.cu.cu_offset + found.raw_value)

    def _node(self, at: Any) -> _Node | None:
        if isinstance(at, int):
            at = self.signatures.get(at)
        return self.nodes.get(at) if at is not None else None

    def index(self) -> TypeIndex:
        """Return the collected types that have a size as an index."""
        index = TypeIndex()
        for at, node in self.nodes.items():
            key = None if node.is_declaration else self._key_of(at, node)
            size = None if key is None else self._size_of(at)
            if key is None or not size or size < 0:
                continue
            label = f"{TAGGED[node.tag]} {key[1]}" if node.tag in TAGGED else key[1]
            index.add(key, label, Definition(size, node.unit, node.place))
            element = self._flexible_element(node)
            if element:
                index.flexible[key].add(Flexible(size, element))
        return index

    def _key_of(self, at: Any, node: _Node) -> Key | None:
        if node.tag in TAGGED:
            return ("tag", self._qualified(at))
        if node.tag == "DW_TAG_typedef":
            return ("typedef", self._qualified(at))
        if node.tag == "DW_TAG_base_type":
            return ("base", node.name)
        if node.tag == "DW_TAG_array_type":
            return ("array", self._spelled(at))
        return POINTER if node.tag in POINTERS else None

    def _size_of(self, at: Any, depth: int = 0) -> int | None:
        """The bytes of a type; None if they are not known: a declaration, void, a variable array.
        """
        node = self._node(at)
        if node is None or depth > DEPTH_MAX:
            return None
        if node.size_bytes is not None:
            return node.size_bytes
        if node.tag in POINTERS:
            return self.pointer_bytes
        if node.tag == "DW_TAG_ptr_to_member_type":
            pointed = self._node(node.type_at)
            is_function = pointed is not None and pointed.tag == "DW_TAG_subroutine_type"
            return self.pointer_bytes * (2 if is_function else 1)
        if node.tag in TAGGED:
            return self._size_of(node.same_as, depth + 1)
        size = self._size_of(node.type_at, depth + 1)
        if node.tag != "DW_TAG_array_type":
            return size
        for count in node.counts or [None]:
            size = None if size is None or count is None else size * count
        return size

    def _flexible_element(self, node: _Node) -> int | None:
        """The bytes of an element of the flexible array member that a structure ends in."""
        last = self._node(node.last_member)
        if last is None or last.tag != "DW_TAG_array_type" or last.size_bytes is not None:
            return None
        first_count, *inner = last.counts or [None]
        if first_count:
            return None
        element = self._size_of(last.type_at)
        for count in inner:
            element = None if element is None or count is None else element * count
        return element

    def _qualified(self, at: Any, depth: int = 0) -> str:
        """The name of a type or scope, after the names of the scopes around it."""
        known = self._names.get(at)
        if known is not None:
            return known
        node = self._node(at)
        if node is None or depth > DEPTH_MAX:
            return ""
        origin = self._node(node.same_as)
        named = node if node.name or origin is None else origin
        if origin is not None and node.tag in SCOPES:
            # The entry that declares it stands in its scope; this one may stand outside.
            text = self._qualified(node.same_as, depth + 1)
        else:
            outer = self._qualified(node.scope_at, depth + 1) if node.scope_at else ""
            own = named.name or _anonymous(node)
            own += "()" if node.tag == "DW_TAG_subprogram" else ""
            text = f"{outer}::{own}" if outer else own
        self._names[at] = text
        return text

    def _spelled(self, at: Any, depth: int = 0) -> str:
        """A type as it is written in an array's key: `node*` and `char*` are both `pointer`."""
        node = self._node(at)
        if node is None or depth > DEPTH_MAX:
            return "void"
        if node.tag in QUALIFIERS:
            return self._spelled(node.type_at, depth + 1)
        if node.tag in POINTERS:
            return "pointer"
        if node.tag == "DW_TAG_array_type":
            dimensions = "".join(f"[{'' if n is None else n}]" for n in node.counts or [None])
            return self._spelled(node.type_at, depth + 1) + dimensions
        name = node.name if node.tag == "DW_TAG_base_type" else self._qualified(at)
        return f"{TAGGED[node.tag]} {name}" if node.tag in TAGGED else name or "void"


def _anonymous(node: _Node) -> str:
    """A name for a type or namespace without one."""
    if node.tag == "DW_TAG_namespace":
        return "(anonymous namespace)"
    return f"(anonymous at {node.place})" if node.place else "(anonymous)"


def _files_of(dwarf: Any, unit: Any, top: Any) -> list[str]:
    """The names of the unit's source files, by the numbers that its entries use."""
    if top is None or "DW_AT_stmt_list" not in top.attributes or dwarf.debug_line_sec is None:
        return []
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return []
    return [PurePosixPath(path).name for path in dwarf_entry.files_of(program)]


def _place_of(die: Any, files: list[str]) -> str:
    """Where a type is defined, as FILE:LINE or FILE:LINE:COLUMN; empty if unknown."""
    line = number_of(die, "DW_AT_decl_line")
    if line is None:
        return ""
    number, column = number_of(die, "DW_AT_decl_file"), number_of(die, "DW_AT_decl_column")
    name = files[number] if number is not None and 0 <= number < len(files) else ""
    return f"{name}:{line}" if column is None else f"{name}:{line}:{column}"


def _count_of(die: Any) -> int | None:
    """The elements of one dimension; None if unknown, or computed at run time."""
    count = number_of(die, "DW_AT_count")
    if count is not None:
        return count
    upper, lower = number_of(die, "DW_AT_upper_bound"), number_of(die, "DW_AT_lower_bound")
    if upper is None or upper >= 1 << 62:
        return None
    return upper - (lower or 0) + 1
