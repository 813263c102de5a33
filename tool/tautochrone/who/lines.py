"""The function and the line of addresses, by DWARF (versions 2 to 5), with inlined calls.

frames_of(dwarf, [0x1139])      # {0x1139: (Frame("make_node", "list.c", 12), Frame("main", …))}

The linker leaves the debugging information of code that it dropped, at address 0 or 1. So of
several ranges with an address, the one that starts last counts.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tautochrone.files import dwarf_entry
from tautochrone.files.dwarf_entry import behind, number_of, text_of

Ranges = list[tuple[int, int]]  # Start, and the address behind the end.

LINKAGE_NAMES = ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name")
ORIGINS = ("DW_AT_abstract_origin", "DW_AT_specification")
OPAQUE = {
    f"DW_TAG_{word}_type" for word in ("structure", "class", "union", "enumeration", "array")
}
# Opcodes of line programs.
EXTENDED, DW_LNE_END_SEQUENCE, DW_LNE_SET_ADDRESS = 0, 1, 2
DW_LNS_COPY, DW_LNS_ADVANCE_PC, DW_LNS_ADVANCE_LINE, DW_LNS_SET_FILE = 1, 2, 3, 4
DW_LNS_CONST_ADD_PC, DW_LNS_FIXED_ADVANCE_PC = 8, 9
ADDRESS_BYTES_MAX = 8  # what claims more is damaged, and would make each later row slow
ORIGINS_MAX = 8  # from an inlined call to its function, and to its declaration in a class


class Frame(NamedTuple):
    """A place in the source. Texts are empty and the line is 0 where they are not known.

    `function` is the linker's name if there is one.
    """

    function: str
    file: str
    line: int


def frames_of(dwarf: Any, addresses: Iterable[int]) -> dict[int, tuple[Frame, ...]]:
    """The frames at each address, the innermost first: inlined calls, and the function itself.

    An address without a line is left out. Raises what pyelftools raises for damaged DWARF.
    """
    wanted = sorted(set(addresses))
    found: dict[int, tuple[Frame, ...]] = {}
    for unit, mine in _units_of(dwarf, wanted):
        program = dwarf.line_program_for_CU(unit) if dwarf.debug_line_sec is not None else None
        if program is None:
            continue
        folder = text_of(unit.get_top_DIE(), "DW_AT_comp_dir").rstrip("/") + "/"
        files = [path.removeprefix(folder) for path in dwarf_entry.files_of(program)]
        lines = _lines_of(program, mine)
        functions = _functions_of(dwarf, unit, mine)
        for address, (file, line) in lines.items():
            chain = _chain_of(dwarf, functions[address], address) if address in functions else []
            found[address] = tuple(_frames(dwarf, chain, files, (file, line)))
    return found


def _units_of(dwarf: Any, wanted: Sequence[int]) -> list[tuple[Any, list[int]]]:
    """The units that have code at the wanted addresses, with these."""
    best = _best((
        ([(row.begin_addr, row.begin_addr + row.length)], row.info_offset)
        for row in _rows_of_aranges(dwarf)
    ), wanted)  # fmt: skip
    if left := [address for address in wanted if address not in best]:
        best |= _best((
            (_ranges_of(dwarf, unit.get_top_DIE()), unit.cu_offset) for unit in dwarf.iter_CUs()
        ), left)  # fmt: skip
    mine: dict[int, list[int]] = {}
    for address, at in sorted(best.items()):
        mine.setdefault(at, []).append(address)
    return [(dwarf.get_CU_at(at), addresses) for at, addresses in mine.items()]


def _rows_of_aranges(dwarf: Any) -> Sequence[Any]:
    """The compiler's index of units by address, which saves reading all of them."""
    table = dwarf.get_aranges()
    return () if table is None else table.entries


def _best(rows: Iterable[tuple[Ranges, int]], wanted: Sequence[int]) -> dict[int, int]:
    """The offset of the row whose range with an address starts last, for each that is in one."""
    best: dict[int, tuple[int, int]] = {}
    for ranges, offset in rows:
        for start, end in ranges:
            for place in range(bisect.bisect_left(wanted, start), bisect.bisect_left(wanted, end)):
                best[wanted[place]] = max(best.get(wanted[place], (-1, 0)), (start, offset))
    return {address: offset for address, (_, offset) in best.items()}


def _ranges_of(dwarf: Any, die: Any) -> Ranges:
    """The addresses of an entry's code; empty if it has none."""
    low, high = number_of(die, "DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
    at = number_of(die, "DW_AT_ranges")
    if at is None:
        if low is None or high is None or not isinstance(high.value, int):
            return []
        is_address = high.form.startswith("DW_FORM_addr")
        return [(low, high.value if is_address else low + high.value)]
    lists = dwarf.range_lists()
    if lists is None:
        return []
    base = number_of(die.cu.get_top_DIE(), "DW_AT_low_pc") or 0
    found = []
    for entry in lists.get_range_list_at_offset(at, die.cu):
        if hasattr(entry, "base_address"):
            base = entry.base_address
        else:
            start = 0 if entry.is_absolute else base
            found.append((start + entry.begin_offset, start + entry.end_offset))
    return found


def _lines_of(program: Any, wanted: Sequence[int]) -> dict[int, tuple[int, int]]:
    """The number of the file and the line of each address that the line program has."""
    best: dict[int, tuple[int, int, int]] = {}
    first = address = file = line = 0
    is_open = False
    for after, next_file, next_line, is_end in _rows_of(program):
        if is_open:
            low = bisect.bisect_left(wanted, address)
            for one in wanted[low : bisect.bisect_left(wanted, after)]:
                best[one] = max(best.get(one, (-1, 0, 0)), (first, file, line))
        else:
            first = after
        address, file, line, is_open = after, next_file, next_line, not is_end
    return {one: (file, line) for one, (_, file, line) in best.items()}


def _rows_of(program: Any) -> Iterator[tuple[int, int, int, bool]]:
    """Yield address, file, line, and whether a sequence ends, of each row of a line program.

    pyelftools decodes one too, ten times as slowly.
    """
    program.stream.seek(program.program_start_offset)
    code = program.stream.read(program.program_end_offset - program.program_start_offset)
    base, unit = program["opcode_base"], program["minimum_instruction_length"]
    line_base, line_range = program["line_base"], program["line_range"]
    order = "little" if program.structs.little_endian else "big"
    at, address, file, line = 0, 0, 1, 1
    while at < len(code):
        opcode = code[at]
        at += 1
        if opcode >= base:
            address += (opcode - base) // line_range * unit
            line += line_base + (opcode - base) % line_range
            yield address, file, line, False
        elif opcode == EXTENDED:
            size, at = _uleb(code, at)
            if size and code[at] == DW_LNE_END_SEQUENCE:
                yield address, file, line, True
                address, file, line = 0, 1, 1
            elif size and code[at] == DW_LNE_SET_ADDRESS:
                end = at + min(size, ADDRESS_BYTES_MAX + 1)
                address = int.from_bytes(code[at + 1 : end], order)
            at += size
        elif opcode == DW_LNS_COPY:
            yield address, file, line, False
        elif opcode == DW_LNS_FIXED_ADVANCE_PC:
            address += int.from_bytes(code[at : at + 2], order)
            at += 2
        elif opcode == DW_LNS_CONST_ADD_PC:
            address += (255 - base) // line_range * unit
        else:
            operands = []
            for _ in range(program["standard_opcode_lengths"][opcode - 1]):
                operand, after = _uleb(code, at)
                operands.append((operand, 7 * (after - at)))
                at = after
            if opcode == DW_LNS_ADVANCE_PC:
                address += operands[0][0] * unit
            elif opcode == DW_LNS_ADVANCE_LINE:
                value, bits = operands[0]
                line += value - (value >> bits - 1 << bits)
            elif opcode == DW_LNS_SET_FILE:
                file = operands[0][0]


def _uleb(code: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, and the place behind it."""
    value = shift = 0
    while code[at] & 0x80:
        value |= (code[at] & 0x7F) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise ValueError("a number of a line program has more than 64 bits")
    return value | code[at] << shift, at + 1


def _functions_of(dwarf: Any, unit: Any, wanted: Sequence[int]) -> dict[int, Any]:
    """The entry of the function that has each address."""
    held = dwarf.debug_info_sec
    functions = _functions_in(unit, held)
    best = _best(((_ranges_of(dwarf, die), die.offset) for die in functions), wanted)
    return {at: dwarf_entry.entry_at(unit, held, offset) for at, offset in best.items()}


def _functions_in(unit: Any, held: Any) -> Iterator[Any]:
    """Yield the entries of functions, without looking into them or into types."""
    at, end = unit.cu_die_offset, dwarf_entry.end_of(unit, held)
    while at < end:
        die = dwarf_entry.entry_at(unit, held, at)
        at += die.size
        if die.tag == "DW_TAG_subprogram":
            yield die
        if die.tag == "DW_TAG_subprogram" or die.tag in OPAQUE:
            at = max(at, behind(die))


def _chain_of(dwarf: Any, function: Any, address: int) -> list[Any]:
    """The function's entry and those of the inlined calls with the address, the outermost first."""
    chain, unit, held = [function], function.cu, dwarf.debug_info_sec
    at, depth, end = function.offset + function.size, 1, dwarf_entry.end_of(unit, held)
    while at < end and depth > 0 and function.has_children:
        die = dwarf_entry.entry_at(unit, held, at)
        at += die.size
        if die.is_null():
            depth -= 1
            continue
        ranges = _ranges_of(dwarf, die)
        is_in = any(start <= address < stop for start, stop in ranges)
        if is_in and die.tag == "DW_TAG_inlined_subroutine":
            chain.append(die)
        if ranges and not is_in and behind(die) > at:
            at = behind(die)
        elif die.has_children:
            depth += 1
    return chain


def _frames(
    dwarf: Any, chain: list[Any], files: list[str], innermost: tuple[int, int]
) -> Iterator[Frame]:
    """Yield the frames of a chain, the innermost first. An inlined call names where it was made."""
    number, line = innermost
    for die in reversed(chain or [None]):
        file = files[number] if 0 <= number < len(files) else ""
        yield Frame(_name_of(dwarf, die) if die is not None else "", file, line)
        if die is not None:
            number = number_of(die, "DW_AT_call_file") or 0
            line = number_of(die, "DW_AT_call_line") or 0


def _name_of(dwarf: Any, die: Any) -> str:
    """The name of a function by its entry, or by those that the entry refers to."""
    name = ""
    for _ in range(ORIGINS_MAX):
        for each in LINKAGE_NAMES:
            if linkage := text_of(die, each):
                return linkage
        name = name or text_of(die, "DW_AT_name")
        found = next((die.attributes[each] for each in ORIGINS if each in die.attributes), None)
        is_number = found is not None and isinstance(found.raw_value, int)
        if not is_number or found.form in ("DW_FORM_GNU_ref_alt", "DW_FORM_ref_sig8"):
            return name
        unit, at = die.cu, die.cu.cu_offset + found.raw_value
        if found.form == "DW_FORM_ref_addr":
            unit, at = dwarf.get_CU_containing(found.raw_value), found.raw_value
        die = dwarf_entry.entry_at(unit, dwarf.debug_info_sec, at)
    return name
