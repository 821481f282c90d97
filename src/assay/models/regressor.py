"""What regressors share: targets of one number or several, and residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import DataConversionWarning

from assay.base import Model
from assay.models import convergence
from assay.rows import Block, MemoryRows, Rows


class Regressor(RegressorMixin, Model):
    """Base of regressors: rows with a target, and what is left of it after the prediction."""

    def residuals(self, X: Any, y: Any) -> Any:
        """Observed minus predicted target."""
        return np.asarray(y) - self.predict(X)

    def _open_vector(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Validate parameters and data of a fit; the target becomes a vector."""
        return vector_target(self._open_rows(X, y, sample_weight, with_target=True), self)

    def _open_new_vector(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Validate data given after the fit in the same way."""
        return vector_target(self._open_new_rows(X, y, sample_weight, with_target=True), self)


def vector_target(data: Rows, owner: Any) -> Rows:
    """The same rows with a vector as target: a matrix of one column is flattened, with a warning.

    Raises
    ------
    ValueError
        If the target has several columns.
    """
    if data.n_targets > 1:
        raise ValueError(
            f"{type(owner).__name__} predicts one number, so y must be one-dimensional. Got "
            f"{data.n_targets} columns instead; fit one model per column."
        )
    if isinstance(data, MemoryRows) and data.y is not None and data.y.ndim == 2:
        convergence.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
        )
        return MemoryRows(data.X, data.y[:, 0], data.weight)
    return data


def target_dimension(block: Block) -> int:
    """1 for a vector target, 2 for a matrix."""
    assert block.y is not None
    return int(block.y.ndim)
