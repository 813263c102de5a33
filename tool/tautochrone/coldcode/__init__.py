"""Which code of a kernel is executed: recorded on QEMU, read, checked."""
