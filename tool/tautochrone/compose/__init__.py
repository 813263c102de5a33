"""Composable systems: what `tau compose` builds, runs and compares (docs/design/kernel.md)."""
