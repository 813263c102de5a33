"""The name of a failed test is printed as it fails.

Method: two tests, of which the first fails and the second reads the output so far.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
from pathlib import Path

def test_first():
    assert False

def test_second():
    assert "failed: test_two.py::test_first" in Path("said").read_text()
"""


def test_a_failed_test_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    command = [sys.executable, "-u", "-m", "pytest", "-q", "-p", "testing.plugins.failures"]
    with (tmp_path / "said").open("w") as said:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=said, timeout=300, env={"PYTHONPATH": str(ROOT)}
        )
    text = (tmp_path / "said").read_text()
    assert done.returncode == 1 and "1 failed, 1 passed" in text, text
