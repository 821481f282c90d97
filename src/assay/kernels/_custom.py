"""Kernels that are functions of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.kernels._kernel import Kernel
from assay.kernels._products import Matrix, as_matrix, is_sparse
from assay.kernels._tiles import Fill


@dataclass(frozen=True, eq=False)
class Custom(Kernel):
    """A function of two rows, or of two tables, as a kernel.

    Parameters
    ----------
    function : callable
        `function(x, z)`, a number for two rows; with `on_tables=True`, `function(X, Z)`, the cross matrix of
        two tables. It must be symmetric, and positive semi-definite where a method needs it: see `check_psd`.
    parameters : mapping, optional
        Further arguments by name.
    on_tables : bool, default=False
        Whether the function takes tables; far faster than one call a pair.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Custom
    >>> Custom(lambda x, z: float(np.minimum(x, z).sum())).gram([[1.0, 2.0], [3.0, 1.0]])
    array([[3., 2.],
           [2., 4.]])
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    on_tables: bool = False
    positive_definite: ClassVar[bool] = False

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def on_tables(rows: slice, columns: slice, tile: NDArray) -> None:
            tile[...] = self.function(X[rows], Z[columns], **self.parameters)

        def on_rows(rows: slice, columns: slice, tile: NDArray) -> None:
            left, right = _dense(X[rows]), _dense(Z[columns])
            for i, x in enumerate(left):
                for j, z in enumerate(right):
                    tile[i, j] = self.function(x, z, **self.parameters)

        return on_tables if self.on_tables else on_rows

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        fill = self._open(X, X)
        values = np.empty(X.shape[0], dtype=X.dtype)
        for i in range(X.shape[0]):
            fill(slice(i, i + 1), slice(i, i + 1), values[i : i + 1, None])
        return values


def _dense(X: Matrix) -> NDArray:
    return X.toarray() if is_sparse(X) else X
