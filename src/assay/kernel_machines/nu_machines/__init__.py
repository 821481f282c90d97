"""Machines that are told what share of the rows may err."""
