"""Clustering by medoids: centres that are rows."""
