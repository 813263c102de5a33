"""Tautochrone: record what a program does with its memory, plan its heap, replay the plan, report.
"""

__version__ = "0.1.0"
# The cause and the next step.
OUT_OF_MEMORY = (
    "not enough memory",
    "close other programs, or raise RLIMIT_DATA (`ulimit -d`) and RLIMIT_AS (`ulimit -v`)",
)
