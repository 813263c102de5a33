"""C structures and functions for ctypes, from the compiler's reading of the headers.

    library = Library(Path("libtautochrone.so"))
    walk = library.struct("tau_walker_walk")(pages=addresses, count=len(addresses), ...)
    library.tau_walker_run(walk, ticks)  # arrays of numpy and structures where C has pointers

The types come from the library's debug information, or from the file that the build made of it
(docs/design/house.md). A type is "u32", "i64", "f8", "bool" or "char"; "*T" is a pointer to
T, and "*" one to anything; "[N]T" is an array; every other word is a structure.
"""

from __future__ import annotations

import ctypes
import functools
import json
import sys
from pathlib import Path
from typing import Any

NUMBERS = {
    **{name: getattr(ctypes, f"c_{name}") for name in ("bool", "char", "float", "double")},
    **{f"i{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}
SIGNED = (5, 6)  # DW_ATE_signed, DW_ATE_signed_char


class _Reader:
    """Reads the debug information of one library."""

    def __init__(self) -> None:
        self.structs: dict[str, Any] = {}

    def of(self, die: Any) -> str:
        """The type that an entry refers to; empty: void."""
        if "DW_AT_type" not in die.attributes:
            return ""
        return self._type(die.get_DIE_from_attribute("DW_AT_type"))

    def _type(self, die: Any) -> str:
        size = _value(die, "byte_size", 0)
        match die.tag.removeprefix("DW_TAG_"):
            case "base_type" if _name(die).lstrip("_").lower() in NUMBERS:
                return _name(die).lstrip("_").lower()
            case "base_type":
                sign = "i" if _value(die, "encoding") in SIGNED else "u"
                return f"{sign}{8 * size}"
            case "pointer_type":
                return "*" + self.of(die)
            case "array_type":
                # gcc writes a last index, clang a count.
                lasts = [_value(each, "upper_bound", -1) for each in die.iter_children()]
                counts = [_value(each, "count", 0) for each in die.iter_children()]
                sizes = map(max, counts, (last + 1 for last in lasts))
                return "".join(f"[{size}]" for size in sizes) + self.of(die)
            case "structure_type" if _name(die):
                self._struct(die, size)
                return _name(die)
            case "structure_type" | "union_type" | "subroutine_type":
                return ""  # there can only be pointers to it
        return self.of(die)  # typedef, const, enumeration

    def _struct(self, die: Any, size: int) -> None:
        """Describe a structure, unless a C file keeps it to itself."""
        if _name(die) in self.structs or "DW_AT_declaration" in die.attributes:
            return
        files = die.dwarfinfo.line_program_for_CU(die.cu)["file_entry"]
        if files[_value(die, "decl_file")].name.endswith(b".h"):
            self.structs[_name(die)] = fields = [size]
            for each in die.iter_children():
                fields.append([_name(each), _value(each, "data_member_location"), self.of(each)])


def _value(die: Any, name: str, default: Any = None) -> Any:
    found = die.attributes.get(f"DW_AT_{name}")
    return default if found is None else found.value


def _name(die: Any) -> str:
    return _value(die, "name", b"").decode()


def described(library: Path) -> dict[str, Any]:
    """The exported functions of a library that was built with -g, and their structures."""
    from elftools.elf.elffile import ELFFile

    reader, functions = _Reader(), {}
    with library.open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym").iter_symbols()
        exported = {each.name for each in symbols if each["st_shndx"] != "SHN_UNDEF"}
        for unit in elf.get_dwarf_info().iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                if die.tag == "DW_TAG_subprogram" and _name(die) in exported:
                    functions[_name(die)] = [reader.of(die)] + [
                        reader.of(each)
                        for each in die.iter_children()
                        if each.tag == "DW_TAG_formal_parameter"
                    ]
    return {"structs": reader.structs, "functions": functions}


class Struct(ctypes.Structure):
    """A structure of C. A pointer in it takes what a parameter takes, and keeps it alive."""

    kinds: dict[str, Any]

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.kinds.get(name)
        if isinstance(kind, _Pointer):
            self.__dict__.setdefault("_kept", {})[name] = value
            value = kind.address(value)
        super().__setattr__(name, value)

    def copy(self) -> Struct:
        """The same values in separate memory."""
        return type(self).from_buffer_copy(self)

    def plain(self) -> dict[str, Any]:
        """Its fields by name; arrays as tuples."""
        values = {name: getattr(self, name) for name in self.kinds}
        arrays = {name: tuple(it) for name, it in values.items() if isinstance(it, ctypes.Array)}
        return values | arrays


class _Pointer:
    """A parameter or field that points to values of type `target`; None: to anything."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.type = {None: ctypes.c_void_p, ctypes.c_char: ctypes.c_char_p}.get(
            target
        ) or ctypes.POINTER(target)

    def address(self, value: Any) -> Any:
        """VALUE as ctypes takes it here: a numpy array, a list of values, bytes, an address, or a
        ctypes value."""
        if hasattr(value, "__array_interface__"):
            if self.target is not None and value.dtype != self.target:
                raise TypeError(f"an array of {value.dtype}, not of {self.target.__name__}")
            assert value.flags.c_contiguous
            value = value.ctypes.data
        if isinstance(value, list):
            return (self.target * len(value))(*value) if value else None
        if isinstance(value, Struct):
            return ctypes.pointer(value)
        takes_bytes = self.type is ctypes.c_char_p
        is_address = isinstance(value, int) or (isinstance(value, bytes) and not takes_bytes)
        return ctypes.cast(value, self.type) if is_address else value

    def from_param(self, value: Any) -> Any:
        """VALUE as a parameter of this type."""
        return self.type.from_param(self.address(value))


class Library(ctypes.CDLL):
    """A library whose functions have the types of their declarations."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), use_errno=True)
        self._path = path
        self._structs: dict[str, type[Struct]] = {}

    @functools.cached_property
    def declared(self) -> dict[str, Any]:
        """What `described` answers for it."""
        made = self._path.with_suffix(".json")
        return json.loads(made.read_text()) if made.exists() else described(self._path)

    def __getitem__(self, name: str) -> Any:
        function = super().__getitem__(name)
        result, *parameters = map(self._kind, self.declared["functions"][name])
        function.restype, function.argtypes = _plain(result), parameters
        return function

    def struct(self, name: str) -> type[Struct]:
        """The class of a structure that a header defines."""
        if name not in self._structs:
            size, *fields = self.declared["structs"][name]
            kinds: dict[str, Any] = {}
            self._structs[name] = made = type(name, (Struct,), {"kinds": kinds})
            kinds.update({field: self._kind(kind) for field, _, kind in fields})
            made._fields_ = [(field, _plain(kind)) for field, kind in kinds.items()]
            here = [getattr(made, field).offset for field in kinds]
            assert (ctypes.sizeof(made), here) == (size, [offset for _, offset, _ in fields]), name
        return self._structs[name]

    def array(self, name: str, rows: Any) -> Any:
        """An array of values of a type."""
        return (_plain(self._kind(name)) * len(rows))(*rows)

    def _kind(self, name: str) -> Any:
        if name[:1] == "*":
            is_open = name[1:2] in ("*", "[") or name[1:] in NUMBERS | self.declared["structs"]
            return _Pointer(_plain(self._kind(name[1:])) if is_open else None)
        if name[:1] == "[":
            count, _, element = name[1:].partition("]")
            return _plain(self._kind(element)) * int(count)
        return (NUMBERS.get(name) or self.struct(name)) if name else None


def _plain(kind: Any) -> Any:
    return kind.type if isinstance(kind, _Pointer) else kind


if __name__ == "__main__":
    Path(sys.argv[1]).with_suffix(".json").write_text(json.dumps(described(Path(sys.argv[1]))))
