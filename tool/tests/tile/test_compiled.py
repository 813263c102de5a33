"""Objects for the tile are kept, and compiled again if anything that they are made of changed.

Method: the compiler's calls are counted.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tautochrone.compose import making
from tautochrone.compose.description import read_description
from tautochrone.errors import TauError
from tautochrone.targets import limited
from tautochrone.tile.compiled import compiled
from tautochrone.tile.sources import root

SYSTEM = root() / "kernel/systems/jpeg/system.toml"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The sources that were compiled, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run, found = limited.run, []

    def counted(command: Sequence[str], *given: object) -> CompletedProcess[str]:
        if "-c" in command and "-E" not in command:
            found.append(Path(command[command.index("-c") + 1]).name)
        return run(command, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(limited, "run", counted)
    yield found


def test_a_system_that_is_made_twice_is_compiled_once(calls: list[str], tmp_path: Path) -> None:
    """So `tau compose check` twice compiles once."""
    made = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        description = read_description(SYSTEM)
        made.append(making.hashes(making.make(description, folder), description))
        if number == 0:
            assert {"base.c", "buddy.c", "image.S", "strings.c"} <= set(calls)
            calls.clear()
    assert made[0] == made[1] and calls == []


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source that includes a header and a file of bytes, and makes the compiler warn."""
    (tmp_path / "bytes.bin").write_bytes(b"1234")
    (tmp_path / "limit.h").write_text("#define LIMIT 3\n")
    path = tmp_path / "source.c"
    path.write_text(
        '#include "limit.h"\n'
        '__asm__(".section .rodata\\n"\n'
        '".incbin \\"bytes.bin\\"\\n");\n'
        "int first(void) { int unused; return LIMIT; }\n"
    )
    return path


@pytest.mark.parametrize(
    "change",
    [
        ("limit.h", "#define LIMIT 4\n"),
        ("source.c", "int first(void) { return 3; }\n"),
        ("bytes.bin", "4321"),
    ],
)
def test_a_change_compiles_again(
    calls: list[str], source: Path, tmp_path: Path, change: tuple[str, str]
) -> None:
    flags = ["-Wno-error", "-fstack-usage"]
    first = compiled(source, root(), flags, tmp_path)
    assert "unused variable" in first.warnings and "first" in first.stack_usage
    assert compiled(source, root(), flags, tmp_path) == first and len(calls) == 1
    assert compiled(source, root(), [*flags, "-DONE"], tmp_path) != first and len(calls) == 2
    name, text = change
    (tmp_path / name).write_text(text)
    assert compiled(source, root(), flags, tmp_path) != first and len(calls) == 3


def test_a_failure_is_not_kept(calls: list[str], tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int first(void) { return")
    for count in (1, 2):
        with pytest.raises(TauError, match=r"wrong\.c cannot be compiled"):
            compiled(source, root())
        assert len(calls) == count


@pytest.mark.parametrize("suffix", [".o", ".json"])
def test_what_is_damaged_is_made_again(calls: list[str], source: Path, suffix: str) -> None:
    flags = ["-Wno-error"]
    made = compiled(source, root(), flags, source.parent)
    made.path.with_suffix(suffix).write_bytes(b"")
    assert compiled(source, root(), flags, source.parent) == made and len(calls) == 2
    assert made.path.with_suffix(suffix).read_bytes()
