"""Finite features whose inner products are near a kernel: landmarks and random frequencies."""
