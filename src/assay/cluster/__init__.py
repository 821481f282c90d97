"""Clusters: groups of rows that the data shows without being told."""

from __future__ import annotations

from assay.cluster._kmeans import KMeans, KMeansHistory
from assay.cluster._kmeans_certificates import Anova

__all__ = ["Anova", "KMeans", "KMeansHistory"]
