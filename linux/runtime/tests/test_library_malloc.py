"""The C library's own tests of malloc, which Debian has in glibc-source, pass under `tau run`.

Method: compile them with the driver of the same package, and run each alone and on our heaps.
"""

import subprocess
from pathlib import Path

import pytest

from testing.runtime import MakePlan, RunProgram

ARCHIVES = Path("/usr/src/glibc")
TIMEOUT_S = 300
FILES = ("malloc/tst-*.[ch]", "malloc/mallocbug.c", "support/*.[ch]", "test-skeleton.c")
HEADERS = ("include/array_length.h", "include/libc-diag.h")
# Functions in support/ that the tests need.
SUPPORT = (
    *("check", "delayed_exit", "ignore_stderr", "oom_error", "set_fortify_handler", "temp_file"),
    *("support_quote_blob", "support_quote_string", "support_record_failure", "support_test_main"),
    *("support_test_compare_blob", "support_test_compare_failure", "support_test_verify_impl"),
    *("support_set_small_thread_stack_size", "support_shared_allocate", "write_message"),
    *("xasprintf", "xcalloc", "xchdir", "xfopen", "xfork", "xmalloc", "xmmap", "xmunmap"),
    *("xopen", "xposix_memalign", "xpthread_*", "xrealloc", "xsigaction", "xsignal"),
    *("xstrdup", "xsysconf", "xwaitpid"),
)
# Files that the package's configuration would have made.
OURS = {
    "paths.c": 'const char support_objdir_root[] = "/";\n',
    "include/malloc-size.h": "#define MALLOC_ALIGN_MASK 15\n",
}
FLAGS = ("-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE", "-DTIMEOUTFACTOR=1", "-include", "limits.h")
TESTS = (
    *("mallocbug", "tst-calloc", "tst-free-errno", "tst-mallinfo2", "tst-malloc"),
    *("tst-malloc-backtrace", "tst-malloc-check", "tst-malloc-thread-exit"),
    "tst-malloc-too-large",
    *("tst-mallocalign1", "tst-mallocfork", "tst-mallopt", "tst-memalign", "tst-mxfast"),
    *("tst-obstack", "tst-posix_memalign", "tst-pvalloc", "tst-pvalloc-fortify", "tst-realloc"),
    *("tst-reallocarray", "tst-tcfree1", "tst-tcfree2", "tst-tcfree3", "tst-trim1", "tst-valloc"),
)
# Seconds of computing, or a minute without us.
LONG = (
    *("tst-malloc-fork-deadlock", "tst-malloc-thread-fail"),
    *("tst-mallocfork2", "tst-mallocfork3"),
)
# It maps pages over the neighbors of a large object, which would be alone in pages of its own: only
# its part for all systems can apply.
MORE_FLAGS = {"tst-free-errno": ("-U__linux__",)}
# The first limits its address space, so that the reservation without a plan would be too much.
# The others wait for seconds.
PLANNED_ONLY = {"tst-malloc-thread-fail", "tst-malloc-fork-deadlock", "tst-malloc-thread-exit"}
LEFT_OUT = {
    "no call of malloc's family: internal containers": (
        *("tst-alloc_buffer", "tst-dynarray", "tst-dynarray-at-fail", "tst-dynarray-fail"),
        *("tst-scratch_buffer",),
    ),
    "the state of the C library's own heap: caches, lists, arenas, saved state, debugging": (
        *("tst-malloc-tcache-leak", "tst-malloc-usable", "tst-malloc-usable-tunables"),
        *("tst-malloc_info", "tst-malloc-stats-cancellation", "tst-mallocstate", "tst-mtrace"),
        *("tst-safe-linking", "tst-compathooks-off", "tst-compathooks-on"),
    ),
    "allocators in the executable, which `tau run` refuses": (
        *("tst-interpose-nothread", "tst-interpose-thread", "tst-interpose-skeleton"),
        *("tst-interpose-static-nothread", "tst-interpose-static-thread"),
        *("tst-interpose-aux", "tst-interpose-aux-nothread", "tst-interpose-aux-thread"),
    ),
}


class Suite:
    """The unpacked package."""

    def __init__(self, archive: Path, folder: Path) -> None:
        root = archive.name.removesuffix(".tar.xz")
        names = [f"{root}/{name}" for name in (*FILES, *HEADERS)]
        command = ["tar", "xf", archive, "-C", folder, "--wildcards", *names]
        subprocess.run(command, check=True, timeout=TIMEOUT_S)
        self.folder = folder / root
        for name, text in OURS.items():
            (self.folder / name).write_text(text)
        support = self.folder / "support"
        sources = [each for name in SUPPORT for each in sorted(support.glob(f"{name}.c"))]
        objects = self.folder / "objects"
        objects.mkdir()
        self._compile("-c", self.folder / "paths.c", *sources, folder=objects)
        made = sorted(objects.glob("*.o"))
        subprocess.run(["ar", "rc", objects / "driver.a", *made], check=True, timeout=TIMEOUT_S)

    def _compile(self, *words: object, folder: Path) -> None:
        include = [f"-I{self.folder / name}" for name in (".", "include", "support")]
        command = ["gcc", *FLAGS, *include, *map(str, words)]
        subprocess.run(command, check=True, cwd=folder, timeout=TIMEOUT_S)

    def names(self) -> set[str]:
        """All tests of malloc."""
        return {path.stem for path in (self.folder / "malloc").glob("*.c")}

    def program(self, name: str) -> Path:
        """One test's program."""
        out = self.folder / "malloc" / name
        if not out.exists():
            driver = self.folder / "objects" / "driver.a"
            words = (*MORE_FLAGS.get(name, ()), f"{out}.c", driver, "-pthread", "-o", out)
            self._compile(*words, folder=self.folder)
        return out


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """The tests, from the archive of the package."""
    archives = sorted(ARCHIVES.glob("glibc-*.tar.xz"))
    if not archives:
        pytest.skip(f"{ARCHIVES} has no archive: apt install glibc-source")
    return Suite(archives[0], tmp_path_factory.mktemp("glibc"))


def test_none_is_forgotten(suite: Suite) -> None:
    """Each test of the package is run, or left out with a reason."""
    left_out = {name for names in LEFT_OUT.values() for name in names}
    assert suite.names() == {*TESTS, *LONG} | left_out


def passes(suite: Suite, name: str, run: RunProgram, plan: MakePlan) -> None:
    """It passes alone, in a small plan with some spill, and without a plan."""
    program = suite.program(name)
    alone = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    small = ("--plan", plan(200_000, (24, 100), (112, 10)), "--spill", 40 << 20)
    try:
        for options in (small, ()) if name not in PLANNED_ONLY else (small,):
            done = run(program, options=options)
            assert done.status == 0, (options, done.stdout, done.stderr)
        output, _ = alone.communicate(timeout=TIMEOUT_S)
        assert alone.returncode == 0, output
    finally:
        alone.kill()


@pytest.mark.parametrize("name", TESTS)
def test_it_passes(suite: Suite, run: RunProgram, plan: MakePlan, name: str) -> None:
    """Each of the short ones."""
    passes(suite, name, run, plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_long_one_passes(suite: Suite, run: RunProgram, plan: MakePlan, name: str) -> None:
    """Those that fork in handlers and in all threads, or use up the memory in all threads."""
    passes(suite, name, run, plan)
