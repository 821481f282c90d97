"""Distances between rows: matrices of them, and the trees that find neighbours without them."""

from __future__ import annotations

from assay.distances.matrix import condensed_distances, distance_matrix
from assay.distances.metrics import (
    METRICS,
    Metric,
    check_dissimilarity,
    check_metric,
    metric_domain,
)
from assay.distances.ranges import check_range, check_sums
from assay.distances.search import Nearest, Neighborhoods, NeighborSearch
from assay.distances.spanning import SpanningTree, euclidean_spanning_tree, spanning_tree
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
    "check_range",
    "check_sums",
    "condensed_distances",
    "distance_matrix",
    "euclidean_spanning_tree",
    "metric_domain",
    "spanning_tree",
]

publish(globals())
