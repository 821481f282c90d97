"""Intervals of the coefficients of a fitted model, where its `inference()` gives them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95


def coefficient_intervals(model: Any, coefficients: NDArray) -> NDArray | None:
    """Intervals of the coefficients, shape (n_rows, n_features, 2), or None.

    A model without `inference`, with a penalty, on columns of deficient rank or on separable classes has
    none: the picture then shows the coefficients alone. The row of a reference class is NaN.
    """
    found = _inference(model)
    if found is None:
        return None
    n_rows, n_features = coefficients.shape
    ends, params = np.asarray(found.conf_int(LEVEL), dtype=float), np.asarray(found.params, dtype=float)
    width = n_features + bool(found.has_intercept)
    if params.ndim == 2:  # a column for each target
        ends, params = np.moveaxis(ends, 2, 0), params.T
    else:  # one row of parameters after the other: one, or one for each class but the reference
        ends, params = ends.reshape(-1, width, 2), params.reshape(-1, width)
    ends, params = ends[:, -n_features:], params[:, -n_features:]
    if not np.isfinite(ends).all():
        return None
    if len(params) == n_rows:
        return ends
    # The reference class is the row of zeros: nothing is estimated there.
    placed = np.full((n_rows, n_features, 2), np.nan)
    others = np.flatnonzero(np.any(coefficients != 0, axis=1))
    if len(others) != len(params) or not np.allclose(coefficients[others], params):
        return None
    placed[others] = ends
    return placed


def _inference(model: Any) -> Any:
    if not hasattr(model, "inference"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.inference()
    except (ValueError, np.linalg.LinAlgError):
        return None
