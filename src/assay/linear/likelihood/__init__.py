"""Logistic regression and generalised linear models."""
