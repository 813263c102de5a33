"""The names of enum tau_status by their numbers, read from core/status.h."""

from __future__ import annotations

import re

from core.tests.core_build import CORE

STATUS = re.findall(r"^    TAU_(\w+)", (CORE / "status.h").read_text(), flags=re.MULTILINE)
assert STATUS[0] == "OK"
