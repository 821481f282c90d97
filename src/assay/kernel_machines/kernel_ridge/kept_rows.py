"""The training rows that are there: those of positive weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class KeptRows:
    """The training rows of positive weight, and the way back to all rows.

    Parameters
    ----------
    X : array or CSR matrix
        The training rows, or their Gram matrix when `precomputed`.
    weight : array of shape (n_samples,) or None
    precomputed : bool
    """

    def __init__(self, X: Any, weight: NDArray | None, *, precomputed: bool) -> None:
        self.X, self.weight = X, weight
        self.absent: NDArray | None = None
        """Indices of the rows of weight zero, or None when there are none."""
        self._indices: NDArray | None = None
        self._n_samples = X.shape[0]
        if weight is not None and not weight.all():
            self._indices, self.absent = np.flatnonzero(weight), np.flatnonzero(weight == 0)
            self.weight = weight[self._indices]
            self.X = X[self._indices]
            if precomputed:
                self.X = self.X[:, self._indices]

    @property
    def total_weight(self) -> float:
        """Sum of the weights: how many rows there are, repetitions counted."""
        return float(self._n_samples) if self.weight is None else float(self.weight.sum())

    def take(self, values: NDArray) -> NDArray:
        """The kept rows of an array."""
        return values if self._indices is None else values[self._indices]

    def put_back(self, values: NDArray) -> NDArray:
        """Kept rows in their places, zeros elsewhere."""
        if self._indices is None:
            return values
        result = np.zeros((self._n_samples, *values.shape[1:]), dtype=values.dtype)
        result[self._indices] = values
        return result


def as_columns(values: NDArray) -> NDArray:
    """A target or its coefficients, one column a target."""
    return values.reshape(len(values), -1)
