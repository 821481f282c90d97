"""Trials of clusterers."""
