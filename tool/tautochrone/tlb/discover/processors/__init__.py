"""Processors that can be asked: this machine, simulated ones, and the tile."""
