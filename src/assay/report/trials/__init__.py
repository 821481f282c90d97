"""Trials: which methods are tried on a table, on which rows, and what came of each."""
