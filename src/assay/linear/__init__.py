"""Linear models."""

from __future__ import annotations

from assay.linear._linear_regression import LinearRegression
from assay.linear._ridge import Ridge
from assay.linear._ridge_path import RidgePath

__all__ = ["LinearRegression", "Ridge", "RidgePath"]
