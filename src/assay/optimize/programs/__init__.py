"""Convex programmes, their duals, linear programmes, hulls."""
