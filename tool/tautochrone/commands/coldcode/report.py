"""`tau coldcode report`: `tau report`, which also shows recordings of code."""

from tautochrone.commands.report import command

__all__ = ["command"]
