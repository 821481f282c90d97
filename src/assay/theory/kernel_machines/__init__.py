"""Executable theory of kernel machines."""
