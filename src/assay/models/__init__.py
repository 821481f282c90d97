"""What rooms share: bases by capability, selection, paths, inference."""

from assay.homes import publish
from assay.models.classes import Classifier
from assay.models.clusterer import Clusterer, PairwiseClusterer
from assay.models.density import Density
from assay.models.pairwise import PairwiseModel
from assay.models.path import FittedPath, PenaltyPath
from assay.models.regressor import Regressor
from assay.models.selection import Selection
from assay.models.transformer import Transformer

__all__ = [
    "Classifier",
    "Clusterer",
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
