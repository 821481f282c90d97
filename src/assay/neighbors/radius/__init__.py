"""Votes and means of all rows within a radius."""
