"""Risks of losses that are piecewise linear or quadratic."""
