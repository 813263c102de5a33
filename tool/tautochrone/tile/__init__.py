"""The simulated tile: built, started, watched, stopped, its records read, its cycles bounded."""
