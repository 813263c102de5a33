"""The facts of iface/ for Python: a generated module for each of its files."""
