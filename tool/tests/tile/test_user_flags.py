"""Flags of system.toml and tasks.toml: those that pass, and those that do more than compile."""

import pytest

from tautochrone.tile import user_flags

ALLOWED = (
    *("-DSTATES=300", "-DNAME=\"a b\"", "-UNDEBUG", "-Iinclude", "-I/opt/own x", "-isystemown"),
    *("-O", "-O0", "-O3", "-Os", "-Ofast", "-g", "-g3", "-gdwarf-4", "-std=gnu17", "-xc", "-w"),
    *("-fno-inline", "-ffast-math", "-funroll-loops", "-mtune=size", "-Wall", "-Wno-unused"),
    *("-Wimplicit-fallthrough=3", "-Werror=vla", "-lm", "-lown", "-Lvendor/lib", "-pedantic"),
    *("-Wl,--defsym=pages=4", "-Wl,--wrap=malloc,--no-relax", "-Wl,--undefined=start"),
)
REFUSED = (
    # Programs, plugins, and other places of the compiler's own ones.
    *("-wrapper", "-wrapper=x", "-B.", "-B/tmp", "-fplugin=x.so", "-fplugin-arg-x-y", "-specs=x"),
    *("--specs=x", "-fuse-ld=own", "-fuse-linker-plugin", "-flto", "-flto=auto", "-fwpa"),
    *("-Wl,-plugin=x.so", "-Wl,-plugin,x.so", "-Wl,--plugin=x.so", "-Xlinker", "-Xassembler"),
    *("-fcompare-debug", "-foffload=x", "--sysroot=/tmp", "-no-canonical-prefixes", "-x ada"),
    # Further flags in files.
    *("@file", "-Wl,@file", "-Wl,--defsym=a=1,@file", "-Wp,@file", "-Wa,@file"),
    # Files that are written or replace the linker script.
    *("-o", "-ox", "-MFx", "-MD", "-E", "-S", "-M", "-dumpbase", "-aux-info", "-save-temps"),
    *("-fdump-tree-all", "-fopt-info-all=x", "-fprofile-use=x", "-fltrans-output-list=x"),
    *("-fdiagnostics-format=sarif-file", "-fsave-optimization-record", "-fcallgraph-info"),
    *("-ftest-coverage", "-fbranch-probabilities", "-fauto-profile=x", "-gsplit-dwarf"),
    *("-Wl,-T,x", "-Wl,-o,x", "-Wl,-Map=x", "-Wl,--dependency-file=x", "-Wl,--defsym=a=1,-o,x"),
    *("-Wl,", "-Wl,--wrap=a,", "-Tx", "-T", "-I", "-D", "-l", "-l:../x.a", "-l/tmp/x", "x.c", ""),
    *("-fx/y", "-mx/y", "-W=x/y", "-include", "-includex.h", "-imacros", "-nostartfiles"),
)  # fmt: skip


@pytest.mark.parametrize("flag", ALLOWED)
def test_a_flag_that_only_compiles_passes(flag: str) -> None:
    assert user_flags.refusal(["-O2", flag]) is None


@pytest.mark.parametrize("flag", REFUSED)
def test_a_flag_that_does_more_is_refused(flag: str) -> None:
    """[SYS-19]: by its place, whatever comes before it."""
    place, said = user_flags.refusal(["-O2", flag, "-w"]) or (-1, "")
    assert place == 1 and said.startswith(f"{flag} is not among the flags")


def test_the_linker_gets_its_flags() -> None:
    flags = ["-lm", "-O2", "-Lx", "-Wl,--gc-sections", "-Wall"]
    assert user_flags.linker_flags(flags) == ["-lm", "-Lx", "-Wl,--gc-sections"]
