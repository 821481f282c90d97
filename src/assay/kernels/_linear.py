"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from assay.kernels._kernel import Kernel
from assay.kernels._products import Matrix, as_matrix, inner, squared_norms
from assay.kernels._tiles import Fill


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = ⟨x, z⟩.

    Examples
    --------
    >>> from assay.kernels import Linear
    >>> Linear().gram([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3; Peyré.
    """

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            inner(X[rows], Z[columns], tile)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        return squared_norms(as_matrix(X))

    def feature_map(self, X: Any) -> Any:
        """The rows themselves: ⟨φ(x), φ(z)⟩ = k(x, z) with φ the identity."""
        return as_matrix(X)
