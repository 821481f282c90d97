"""Moments of a table and the solutions of least squares."""
