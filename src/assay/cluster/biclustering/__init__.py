"""Clusters of rows and columns at once, and of columns that overlap."""
