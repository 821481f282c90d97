"""Paths of sparse solutions by coordinate descent on working sets."""
