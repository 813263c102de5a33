"""`tau coldcode profile`: records on QEMU which code of a kernel is executed."""

from pathlib import Path

import click

from tautochrone.commands.options import FORCE, JSON, CommandWord
from tautochrone.console import output
from tautochrone.console.numbers import FiniteRange
from tautochrone.facts import code_format
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--kernel",
    "elf",
    type=click.Path(path_type=Path),
    required=True,
    help="The kernel's ELF file with its symbols, for Linux vmlinux.",
)
@click.option("-o", "--output", "out", type=OutputPath(), required=True, help="Recording to write.")
@FORCE
@click.option(
    "--marker",
    metavar="FUNCTION",
    help="Function whose first execution ends boot, for Linux run_init_process or free_initmem"
    " (default: none: all is steady state).",
)
@click.option(
    "--touches-max",
    type=click.IntRange(min=1),
    default=code_format.TOUCHES_MAX_DEFAULT,
    show_default=True,
    help="Touches after which a function is hot and the rest are left out.",
)
@click.option(
    "--seconds",
    type=FiniteRange(min=0.1),
    help="Time limit in seconds (default: none).",
)
@JSON
@click.argument("arguments", nargs=-1, type=CommandWord(), metavar="[--] QEMU [ARGUMENTS]...")
def command(
    elf: Path,
    out: Path,
    force: bool,
    marker: str | None,
    touches_max: int,
    seconds: float | None,
    as_json: bool,
    arguments: tuple[str, ...],
) -> None:
    """Record on QEMU which code of a kernel is executed.

    \b
    tau coldcode profile --kernel vmlinux --marker free_initmem -o boot.taucode -- \\
        qemu-system-riscv64 -machine virt -nographic -no-reboot -kernel Image

    QEMU runs until it ends; the order of functions is recorded, too. The kernel is unmodified.
    Power the guest off, or end QEMU by SIGTERM: the counts are written at the end. QEMU's output
    goes to stderr.
    """
    from tautochrone.coldcode.kernel import read_kernel
    from tautochrone.coldcode.profile import How, profile
    from tautochrone.commands.info import code as info_code

    words = list(arguments[1:] if arguments[:1] == ("--",) else arguments)
    if not words:
        raise click.UsageError("name the command to record: … -- qemu-system-riscv64 …")
    output_file.check(out, force, [elf], as_json)
    how = How(marker, touches_max, seconds, force)
    result = info_code.result_of(profile(words, read_kernel(elf), out, how))
    output.emit(as_json, "coldcode profile", result, lambda: info_code.print_result(result))
