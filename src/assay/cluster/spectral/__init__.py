"""Clustering by the spectrum of a graph of rows."""
