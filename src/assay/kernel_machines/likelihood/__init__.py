"""Kernel machines whose scores are log-odds."""
