"""Local means of all rows by a kernel."""
