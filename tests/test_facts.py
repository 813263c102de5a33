"""The facts: names that Python may use, files that the generator writes, and its refusals."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone import facts
from tautochrone.errors import TauError
from testing.mutants import Mutant

ROOT = Path(__file__).resolve().parent.parent
NAMES = [name for name, value in vars(facts).items() if isinstance(value, facts.Facts)]
ADDRESS = "define TAU_COMPOSE_ADDRESS_SYSTEM 0x80000400u\n"
# A replacement in a file of the repository, and the generator's message.
STALE = {
    "a number": ("facts/trace.toml", "double_free = 4", "double_free = 8", "trace_format.h is st"),
    "an address": ("facts/gen/tau_compose_format.h", ADDRESS, "", "compose_format.h is stale"),
    "a list of files": ("hw/rtmmu.f", "rtmmu/rtl/tau_rtmmu.sv\n", "", "rtmmu.f is stale"),
    "a gap": ("facts/status.toml", "rights = [2,", "rights = [4,", r"numbers of \[cause\] must be"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_a_file_lacks_is_an_error(name: str) -> None:
    for _ in range(2):  # before and after the file was read
        with pytest.raises(AttributeError, match=r"\.toml has no OP_FRE$"):
            _ = getattr(facts, name).OP_FRE


def test_an_installation_without_facts_says_what_to_do() -> None:
    with pytest.raises(TauError, match="none.toml is missing from this installation") as refused:
        _ = facts.Facts("facts/none.toml", dict).OP_FREE
    assert "reinstall" in str(refused.value.next_step)


@pytest.mark.parametrize("what", STALE)
def test_what_is_not_generated_from_the_facts_is_found(tmp_path: Path, what: str) -> None:
    file, old, new, said = STALE[what]
    Mutant(what, file, old, new).applied(tmp_path, ("core", "hw", "facts"))
    generate = [sys.executable, tmp_path / "facts" / "gen.py"]
    done = subprocess.run([*generate, "--check"], capture_output=True, text=True)
    assert done.returncode == 1 and re.search(said, done.stderr), done.stderr
    if what != "a gap":
        subprocess.run(generate, check=True, capture_output=True)
        assert subprocess.run([*generate, "--check"], capture_output=True).returncode == 0
