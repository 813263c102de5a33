"""Composable systems: built, run and compared (docs/design/kernel.md)."""
