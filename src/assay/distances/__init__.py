"""Distances between rows: matrices of them, and the trees that find neighbours without them."""

from __future__ import annotations

from assay.distances._dissimilarity import check_dissimilarity
from assay.distances._matrix import condensed_distances, distance_matrix
from assay.distances._metrics import METRICS, Metric, check_metric, metric_domain
from assay.distances._search import Nearest, Neighborhoods, NeighborSearch
from assay.distances._spanning import SpanningTree, euclidean_spanning_tree, spanning_tree
from assay.homes import publish

__all__ = [
    "METRICS",
    "Metric",
    "Nearest",
    "NeighborSearch",
    "Neighborhoods",
    "SpanningTree",
    "check_dissimilarity",
    "check_metric",
    "condensed_distances",
    "distance_matrix",
    "euclidean_spanning_tree",
    "metric_domain",
    "spanning_tree",
]

publish(globals())
