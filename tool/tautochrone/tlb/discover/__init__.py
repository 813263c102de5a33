"""Finds the TLBs of a processor by the time that walks over pages take."""
