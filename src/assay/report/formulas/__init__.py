"""Formulas as they are written in documentation, set for a page."""
