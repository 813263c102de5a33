"""`tau plan --guarantee`: what it writes holds in exactly its bytes, and its contract is true."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from tautochrone.heap.guarantee import excess, make_guarantee, sentence, with_margin
from tautochrone.heap.planners import bands
from tautochrone.installation import installed  # noqa: F401
from tautochrone.plan.file import load_plan
from tautochrone.trace.file import open_trace
from testing.random_trace import FREE, random_trace, write_events
