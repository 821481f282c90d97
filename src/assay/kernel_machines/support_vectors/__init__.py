"""Machines whose solution is carried by some of the rows."""
