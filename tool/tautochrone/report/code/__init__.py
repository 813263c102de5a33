"""Figures and sentences of a report about a kernel's cold code."""
