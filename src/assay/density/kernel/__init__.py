"""Kernel densities, of rows and of bins."""
