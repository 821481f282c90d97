"""Quadratic discriminant analysis."""
