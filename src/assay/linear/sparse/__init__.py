"""Regression with penalties that set coefficients to zero."""
