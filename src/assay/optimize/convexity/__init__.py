"""Convex functions: checks, atoms, infima."""
