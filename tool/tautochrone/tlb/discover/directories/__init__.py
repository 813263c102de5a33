"""Which sets of the last level entries of page directories go to, or that they go to none."""
