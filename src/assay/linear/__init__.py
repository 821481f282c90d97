"""Linear models."""

from __future__ import annotations

from assay.linear._confidence import ConfidenceRegion, WaldTest
from assay.linear._inference import Inference
from assay.linear._influence import Influence
from assay.linear._linear_regression import LinearRegression
from assay.linear._ridge import Ridge
from assay.linear._ridge_path import RidgePath

__all__ = [
    "ConfidenceRegion",
    "Inference",
    "Influence",
    "LinearRegression",
    "Ridge",
    "RidgePath",
    "WaldTest",
]
