"""The sigmoid kernel, which is not a kernel in the strict sense."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernels._kernel import Kernel
from assay.kernels._products import POSITIVE_OR_DEFAULT, Matrix, as_matrix, inner, require, squared_norms
from assay.kernels._tiles import Fill


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(γ ⟨x, z⟩ + coef0), not positive semi-definite in general: see `check_psd`.

    Parameters
    ----------
    gamma : float above 0 or None, default=None
        The scale γ; None means one over the number of features.
    coef0 : float, default=1.0
        The constant.

    Examples
    --------
    >>> from assay.kernels import Sigmoid, check_psd
    >>> bool(check_psd(Sigmoid(gamma=1.0), [[0.0], [1.0], [5.0]]))
    False

    References
    ----------
    Wei §6.1.3.
    """

    gamma: float | None = None
    coef0: float = 1.0
    positive_definite: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require(self, "gamma", POSITIVE_OR_DEFAULT)
        require(self, "coef0", parameters.real())

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / n_features)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            inner(X[rows], Z[columns], tile)
            self._squash(tile)

        return fill

    def _squash(self, values: NDArray) -> None:
        values *= values.dtype.type(self.gamma)
        values += values.dtype.type(self.coef0)
        np.tanh(values, out=values)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        values = squared_norms(X)
        self.for_features(X.shape[1])._squash(values)
        return values
