"""Nearest neighbours."""

from __future__ import annotations

from assay.homes import publish
from assay.neighbors.classification import KNeighborsClassifier
from assay.neighbors.kernel_means.estimator import NadarayaWatsonClassifier, NadarayaWatsonRegressor
from assay.neighbors.path import NeighborPath
from assay.neighbors.radius.classification import RadiusNeighborsClassifier
from assay.neighbors.radius.regression import RadiusNeighborsRegressor
from assay.neighbors.regression import KNeighborsRegressor
from assay.neighbors.unsupervised import NearestNeighbors

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "NadarayaWatsonClassifier",
    "NadarayaWatsonRegressor",
    "NearestNeighbors",
    "NeighborPath",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
]

publish(globals())
