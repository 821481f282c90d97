"""Boosting on the partitions of a cluster."""
