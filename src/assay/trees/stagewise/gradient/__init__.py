"""Gradient boosting on any regressor."""
