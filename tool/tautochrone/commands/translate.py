"""`tau translate`: a recording of the host's build with the sizes of the target's build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.commands.options import FORCE, JSON, PATH
from tautochrone.console import bars, output
from tautochrone.errors import EXIT_FAILED, EXIT_USAGE, TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath

if TYPE_CHECKING:
    from tautochrone.translate.making import Size, Translation
    from tautochrone.translate.matching import Candidate

CANDIDATES_SHOWN = 6
SITES_SHOWN = 3


@click.command()
@click.argument("recording", type=PATH)
@click.option(
    *("--from", "host"),
    type=PATH,
    required=True,
    metavar="HOST_ELF",
    help="The recorded program, compiled with -g.",
)
@click.option(
    *("--to", "target"),
    type=PATH,
    required=True,
    metavar="TARGET_ELF",
    help="The same program for the target, compiled with -g.",
)
@click.option(
    *("-o", "--output", "out"), type=OutputPath(), required=True, help="Recording to write."
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="FROM=TO[,…]",
    help="State that FROM bytes are TO bytes on the target, where types do not determine it."
    " Separate several by commas (default: ask for each).",
)
@click.option(
    "--keep",
    "kept",
    multiple=True,
    metavar="BYTES[,…]",
    help="State that this size is the same on the target, where types do not determine it, as for"
    " strings. Separate several by commas (default: ask for each).",
)
@click.option(
    "--keep-others",
    is_flag=True,
    help="Keep every other size that is not the size of a type (default: ask for each).",
)
@click.option(
    "--trust-types",
    is_flag=True,
    help="Translate a size by types even if a call site that asks for it also asks for others, as"
    " a wrapper of malloc does (default: ask for it).",
)
@FORCE
@JSON
def command(
    recording: Path,
    host: Path,
    target: Path,
    out: Path,
    sizes: tuple[str, ...],
    kept: tuple[str, ...],
    keep_others: bool,
    trust_types: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Translate the sizes of RECORDING, made on this machine, into a target's.

    \b
    tau translate program.tau --from ./program --to program.elf -o target.tau
    tau translate program.tau --from ./program --to program.elf -o target.tau --size 56=48 \\
      --keep 100,1024

    Structures with pointers have other sizes on a 32-bit target. The size of a call is
    translated if all types of that size in HOST_ELF have one and the same size in TARGET_ELF, and
    its call site asks for no other size. Types are matched by name. Every other size is listed
    with its types and call sites, and has to be stated with --size or --keep. Nothing is written
    until all are known.

    Strings and arrays can have the size of a type by chance. Call sites tell them from objects of
    the type, unless the program calls malloc through a wrapper. Then --trust-types translates by
    type anyway, which is wrong for such strings. A recording from the firmware itself
    (core/ports/record_wrap.c) has the target's sizes, and no such error.

    Exit status: 0 if the recording was translated; 1 if sizes have to be stated.
    """
    from tautochrone.trace.ending import note_ending
    from tautochrone.translate.making import Stated, translate

    stated = Stated(_pairs_of(sizes), frozenset(_numbers_of(kept)), keep_others, trust_types)
    output_file.check(out, force, [recording, host, target], as_json)
    with bars.Bar("reading types") as bar:
        told = translate(recording, host, target, out, stated, force, bar.told)
    result = _document(recording, out, told)
    for note in told.notes:
        output.note(f"tau: {note}")
    note_ending(recording, told.ending)
    if told.unknown:
        if as_json:
            output.emit(as_json, "translate", result, lambda: None)
            return EXIT_FAILED
        raise _unknown_error(recording, told)
    output.emit(as_json, "translate", result, lambda: _print(out, told))
    return 0


def _numbers_of(words: tuple[str, ...]) -> list[int]:
    """The numbers in options that may hold several."""
    return [_number(word, word) for words_in in words for word in words_in.split(",")]


def _pairs_of(words: tuple[str, ...]) -> dict[int, int]:
    """The pairs FROM=TO in options that may hold several."""
    pairs: dict[int, int] = {}
    for pair in (pair for words_in in words for pair in words_in.split(",")):
        before, sign, after = pair.partition("=")
        if not sign:
            raise TauError(f"--size {pair}: not FROM=TO", "for example --size 56=48", EXIT_USAGE)
        size, target = _number(before, pair), _number(after, pair)
        if pairs.setdefault(size, target) != target:
            raise TauError(
                f"--size {size}={pairs[size]} and --size {pair} contradict each other",
                "give one of them",
                EXIT_USAGE,
            )
    return pairs


def _number(word: str, whole: str) -> int:
    """A size in bytes, 1 or more."""
    text = word.strip()
    size = int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else 0
    if not 1 <= size < 1 << 64:
        raise TauError(f"{whole!r}: not a size in bytes", "give a number from 1 on", EXIT_USAGE)
    return size


def _document(recording: Path, out: Path, told: Translation) -> dict[str, Any]:
    """Return the JSON document."""
    from tautochrone.translate.making import BY_OPTION, BY_TYPES, KEPT

    return {
        "recording": str(recording),
        "output": None if told.unknown else str(out),
        "from": {"program": str(told.host.path), "abi": told.host.abi},
        "to": {"program": str(told.target.path), "abi": told.target.abi},
        "events": told.events,
        "peak_live_bytes": told.peak_live_bytes,
        "translated_peak_live_bytes": told.translated_peak_live_bytes,
        "translated": told.count(BY_TYPES, BY_OPTION),
        "kept": told.count(KEPT),
        "unknown": len(told.unknown),
        "sizes": [_size_document(told, one) for one in told.sizes],
        "ending": told.ending.document(),
    }


def _size_document(told: Translation, one: Size) -> dict[str, Any]:
    from tautochrone.translate.recording import SOURCES

    return {
        "size_bytes": one.call.size_bytes,
        "target_bytes": one.target_bytes,
        "by": one.how or None,
        "call_sites": SOURCES[one.call.source],
        "unknown_because": one.why or None,
        "allocations": one.asked.allocations,
        "types": [
            {"type": each.type, "target_bytes": list(each.target_sizes), "hint": each.is_hint}
            for each in one.match.candidates
        ],
        "sites": [
            {
                "module": module,
                "offset": offset,
                "function": _function(told, module, offset) or None,
                "allocations": count,
            }
            for (module, offset), count in one.asked.sites.most_common()
        ],
        "options": _options(one) if one.target_bytes is None else [],
    }


def _function(told: Translation, module: str, offset: int) -> str:
    """The program's function at a call site; empty for one in a library."""
    is_own = Path(module).name == told.host.path.name
    return told.host.function_at(offset) if is_own else ""


def _options(one: Size) -> list[str]:
    """The options that state a size, one of which has to be given."""
    size = one.call.size_bytes
    others = [target for target in one.match.target_sizes if target != size]
    stated = [f"--size {size}={target}" for target in others]
    return [*(stated or [f"--size {size}=BYTES"]), f"--keep {size}"]


def _print(out: Path, told: Translation) -> None:
    """Print how many sizes were translated, and how."""
    from tautochrone.translate.making import BY_OPTION, BY_TYPES, KEPT

    tell = output.note if output_file.is_stdout(out) else print
    peak = told.translated_peak_live_bytes or 0
    tell(
        f"{out}: {told.events:,} events for {told.target.abi}; peak {peak:,} bytes,"
        f" {told.peak_live_bytes:,} on {told.host.abi}"
    )
    counts = [f"{told.count(BY_TYPES):,} sizes translated by their types"]
    counts += [f"{count:,} by --size" for count in [told.count(BY_OPTION)] if count]
    counts += [f"{count:,} kept" for count in [told.count(KEPT)] if count]
    tell(", ".join(counts))
    for one in sorted(told.sizes, key=lambda one: -one.call.size_bytes * one.asked.allocations):
        types = _types_text(one.match.candidates)
        stated = {BY_OPTION: "stated", KEPT: "kept"}.get(one.how, "")
        remark = "; ".join(part for part in (stated, types) if part)
        tell(
            f"  {one.call.size_bytes:>10,} -> {one.target_bytes:>10,}"
            f"  {one.asked.allocations:>12,} allocations  {remark}"
        )
    tell(f"next: tau plan {out} -o plan.toml")


def _types_text(candidates: tuple[Candidate, ...]) -> str:
    """The types that an object may have, in one line."""
    shown = [
        f"{one.type} -> {' or '.join(f'{size:,}' for size in one.target_sizes) or 'not found'}"
        for one in candidates[:CANDIDATES_SHOWN]
    ]
    more = len(candidates) - len(shown)
    return ", ".join(shown + ([f"and {more:,} more types"] if more else []))


def _unknown_error(recording: Path, told: Translation) -> TauError:
    """The error that lists the sizes that have to be stated."""
    from tautochrone.translate.making import MIXED

    lines = []
    for one in sorted(told.unknown, key=lambda one: -one.call.size_bytes * one.asked.allocations):
        size, count = one.call.size_bytes, one.asked.allocations
        lines.append(
            f"{size:,} bytes, {output.count(count, 'allocation')}, {size * count:,} bytes in all:"
            f" {one.why}"
        )
        if one.match.candidates:
            may_be = "types" if one.match.has_type else "may be"
            lines.append(f"    {may_be}: {_types_text(one.match.candidates)}")
        places = [
            _function(told, *site) or f"{site[0] or 'unknown code'}+{site[1]:#x}"
            for site, _ in one.asked.sites.most_common()
        ]
        places = list(dict.fromkeys(places))
        if places:
            more = f" and {len(places) - SITES_SHOWN:,} more" if len(places) > SITES_SHOWN else ""
            lines.append(f"    called from: {', '.join(places[:SITES_SHOWN])}{more}")
        lines.append(f"    add one of: {', '.join(_options(one))}")
    is_mixed = any(one.why == MIXED for one in told.unknown)
    unknown = output.count(len(told.unknown), "size")
    return TauError(
        f"{recording}: {unknown} of {len(told.sizes):,} cannot be translated by types alone;"
        " nothing was written",
        "state each with --size FROM=TO, or with --keep BYTES if it does not depend on the target;"
        " --keep-others keeps all that no type has"
        + ("; --trust-types translates sizes with one answer" if is_mixed else ""),
        EXIT_FAILED,
        "\n".join(lines),
    )
