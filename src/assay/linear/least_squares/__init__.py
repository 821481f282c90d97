"""Least squares and ridge: solution, inference, constraints."""
