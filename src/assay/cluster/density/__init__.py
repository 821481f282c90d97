"""Clusters as regions of high density: DBSCAN, OPTICS, HDBSCAN."""
