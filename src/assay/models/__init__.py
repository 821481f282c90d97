"""What rooms share: bases by capability, selection, paths, inference."""

from assay.homes import publish
from assay.models.capabilities import Density, PairwiseModel, Regressor, Transformer
from assay.models.classes import Classifier
from assay.models.clusterer import Clusterer, PairwiseClusterer
from assay.models.path import FittedPath, PenaltyPath
from assay.models.selection import Criterion, Selection

__all__ = [
    "Classifier",
    "Clusterer",
    "Criterion",
    "Density",
    "FittedPath",
    "PairwiseClusterer",
    "PairwiseModel",
    "PenaltyPath",
    "Regressor",
    "Selection",
    "Transformer",
]

publish(globals())
