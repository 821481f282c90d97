"""Hierarchies of clusters, built by merging or by splitting."""
