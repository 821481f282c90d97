"""The kernel whose matrix the caller has computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.kernels._kernel import Kernel
from assay.kernels._products import Matrix, as_matrix, is_sparse
from assay.kernels._tiles import Fill


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The table itself holds the kernel: X is the Gram matrix at the fit, the cross matrix afterwards.

    Examples
    --------
    >>> from assay.kernels import Precomputed
    >>> Precomputed().gram([[2.0, 1.0], [1.0, 2.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    positive_definite: ClassVar[bool] = False

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            values = X[rows, columns]
            tile[...] = values.toarray() if is_sparse(values) else values

        return fill

    def gram(self, X: Any, *, out: NDArray | None = None) -> NDArray:
        """See `Kernel.gram`; the lower triangle of a square table is read."""
        X = as_matrix(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel must be a square matrix, one row and one column a sample. Got shape "
                f"{X.shape} instead."
            )
        return super().gram(X, out=out)

    def apply(self, X: Any, Z: Any, coef: NDArray) -> NDArray:
        """The product of the cross matrix with the coefficients."""
        return np.asarray(as_matrix(X) @ coef)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        return np.array(as_matrix(X).diagonal())
