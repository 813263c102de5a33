"""A program on its planned heap: the environment of the preloaded allocator, and its report."""
