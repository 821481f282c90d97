"""The kernel of a positive semi-definite matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels._definiteness import is_psd
from assay.kernels._kernel import Kernel
from assay.kernels._products import Matrix, as_matrix, inner
from assay.kernels._tiles import Fill


@dataclass(frozen=True, eq=False)
class Bilinear(Kernel):
    """k(x, z) = xᵀAz with A symmetric positive semi-definite.

    Parameters
    ----------
    matrix : array of shape (n_features, n_features)
        The matrix A.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Bilinear
    >>> Bilinear(np.diag([1.0, 4.0])).gram([[1.0, 1.0], [2.0, 0.0]])
    array([[5., 2.],
           [2., 4.]])

    References
    ----------
    Sangnier §1.4.2.
    """

    matrix: Any

    def __post_init__(self) -> None:
        A = np.array(self.matrix, dtype=np.float64)
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(
                f"The 'matrix' parameter of Bilinear must be square. Got shape {A.shape} instead."
            )
        found = is_psd(A)
        if not found:
            raise ValueError(
                "The 'matrix' parameter of Bilinear must be symmetric positive semi-definite. Got smallest "
                f"eigenvalue {found.min_eigenvalue:.3g} and asymmetry {found.asymmetry:.3g} instead."
            )
        A.setflags(write=False)
        object.__setattr__(self, "matrix", A)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bilinear) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        left = np.ascontiguousarray(X @ self._matrix_for(X))

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            inner(left[rows], Z[columns], tile)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        features = self.feature_map(X)
        return np.einsum("ij,ij->i", features, features)

    def feature_map(self, X: Any) -> NDArray:
        """The rows times A^{1/2}."""
        X = as_matrix(X)
        values, vectors = np.linalg.eigh(self._matrix_for(X).astype(np.float64))
        root = (vectors * np.sqrt(values.clip(min=0.0))) @ vectors.T
        return np.asarray(X @ root.astype(X.dtype))

    def _matrix_for(self, X: Matrix) -> NDArray:
        if X.shape[1] != self.matrix.shape[0]:
            raise ValueError(
                f"X has {X.shape[1]} features, but the 'matrix' of Bilinear has shape {self.matrix.shape}."
            )
        return self.matrix.astype(X.dtype)
