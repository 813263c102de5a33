"""Recordings on the machine code that a firmware will run: `tau verify`."""
