"""A Linux kernel with cold code: its source, its build, and its run in QEMU."""
