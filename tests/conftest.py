"""What the cross-side tests share: the installed command, and a recording of a real program."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from testing import command


class Tau:
    """Calls the command."""

    def __call__(self, *words: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `tau WORDS…` and return what came of it; its exit status must be `expect`."""
        return command.tau(*words, expect=expect)

    def json(self, *words: str | Path) -> dict[str, Any]:
        """Run `tau WORDS… --json` and return the document."""
        return json.loads(self(*words, "--json").stdout)


@pytest.fixture(scope="session")
def tau() -> Tau:
    """The command."""
    return Tau()


SQL = """
create table t(a, b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)
  insert into t select i, printf('%.*c', i * 7 % 90, 'x') from n;
create index x on t(b);
select count(*), group_concat(b) from t group by a % 5 order by b;
"""


@pytest.fixture(scope="session")
def recorded(tau: Tau, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a real program: a small database in memory, with many reallocs."""
    trace = tmp_path_factory.mktemp("recorded") / "sqlite3.tau"
    tau("record", "-o", trace, "--", "sqlite3", ":memory:", SQL)
    return trace
