"""Theorems on kernels and their spaces, seen at work."""
