"""Tautochrone: record what a program does with its memory, plan its heap, replay the plan, report.
"""

__version__ = "0.1.0"
