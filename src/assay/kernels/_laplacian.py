"""The Laplacian kernel of the Euclidean norm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels._kernel import Kernel
from assay.kernels._kernel_loops import scaled_exponential
from assay.kernels._products import (
    POSITIVE_OR_DEFAULT,
    Matrix,
    as_matrix,
    distance_tiles,
    require,
    scale_from_width,
)
from assay.kernels._tiles import Fill


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖₂), with the Euclidean norm.

    scikit-learn's `laplacian_kernel` takes the sum of absolute differences instead; the two agree on one
    column.

    Parameters
    ----------
    gamma : float above 0 or None, default=None
        The scale γ; None means one over the number of features. `from_scale` is exp(−‖x − z‖/σ).

    Examples
    --------
    >>> from assay.kernels import Laplacian
    >>> Laplacian(gamma=1.0).gram([[0.0, 0.0], [3.0, 4.0]]).round(4)
    array([[1.    , 0.0067],
           [0.0067, 1.    ]])

    References
    ----------
    Sangnier §1.4.2; Peyré (where it is printed with the squared norm, which is a Gaussian).
    """

    gamma: float | None = None

    def __post_init__(self) -> None:
        require(self, "gamma", POSITIVE_OR_DEFAULT)

    @classmethod
    def from_scale(cls, sigma: float) -> Self:
        """The kernel exp(−‖x − z‖/σ)."""
        return cls(gamma=1.0 / scale_from_width(cls.__name__, sigma))

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / n_features)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        assert self.gamma is not None
        scale, distances = -float(self.gamma), distance_tiles(X, Z)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            distances(rows, columns, tile)
            np.sqrt(tile, out=tile)
            scaled_exponential(tile, scale)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return np.ones(X.shape[0], dtype=X.dtype)
