"""Regression of several targets with coefficients of low rank."""
