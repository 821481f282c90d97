"""Descent methods, their traces and their rates."""
