"""Kernel machines on features of their kernel."""
