"""Maps of rows, for kernels k(A(x), A(z)): linear maps, monomials, lists of functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels.series import n_monomials, require_room
from assay.kernels.tiles import as_matrix, is_sparse
from assay.parameters import boolean, integer, require


@dataclass(frozen=True, eq=False)
class LinearMap:
    """The map x ↦ Ax of rows.

    Parameters
    ----------
    matrix : array of shape (n_features_out, n_features)

    Examples
    --------
    >>> from assay.kernels import LinearMap
    >>> LinearMap([[1.0, 1.0]])([[2.0, 3.0]])
    array([[5.]])
    """

    matrix: Any

    def __post_init__(self) -> None:
        A = np.array(self.matrix, dtype=np.float64)
        if A.ndim != 2 or A.size == 0 or not np.all(np.isfinite(A)):
            words = "The 'matrix' parameter of LinearMap must be a matrix of finite numbers."
            raise ValueError(f"{words} Got shape {A.shape} instead.")
        A.setflags(write=False)
        object.__setattr__(self, "matrix", A)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearMap) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.matrix.shape, self.matrix.tobytes()))

    def __repr__(self) -> str:
        return f"LinearMap({' '.join(repr(self.matrix.tolist()).split())})"

    def __call__(self, X: Any) -> NDArray:
        """The rows times Aᵀ."""
        X = as_matrix(X)
        if X.shape[1] != self.matrix.shape[1]:
            shape = self.matrix.shape
            raise ValueError(f"X has {X.shape[1]} features, but the 'matrix' of LinearMap has shape {shape}.")
        return np.asarray(X @ self.matrix.T.astype(X.dtype))

    def n_features_out(self, n_features: int) -> int:
        """The columns of the result."""
        return int(self.matrix.shape[0])

    def reach(self, radius: float) -> float:
        """The largest ‖Ax‖ over ‖x‖ ≤ radius."""
        largest = float(np.linalg.norm(self.matrix, 2))
        return largest * radius if largest > 0 else 0.0


@dataclass(frozen=True)
class Monomials:
    """All monomials x₁^{m₁} ⋯ x_d^{m_d} of total degree exactly `degree`, or at most.

    One column and `exact=False` give 1, x, …, x^r. There are C(d + r − 1, r) of them (C(d + r, r) with
    `exact=False`), told by `n_features_out` and refused where they would be too many.

    Parameters
    ----------
    degree : int at least 0
    exact : bool, default=True

    Examples
    --------
    >>> from assay.kernels import Monomials
    >>> Monomials(3, exact=False)([[2.0]])
    array([[1., 2., 4., 8.]])
    >>> Monomials(2)([[2.0, 3.0]])    # x₁², x₁x₂, x₂²
    array([[4., 6., 9.]])
    >>> Monomials(6).n_features_out(100)
    1609344100

    References
    ----------
    Rudi & Şimşekli §4.1.
    """

    degree: int
    exact: bool = True

    def __post_init__(self) -> None:
        require("Monomials", integer(at_least=0), degree=self.degree)
        require("Monomials", boolean, exact=self.exact)

    def n_features_out(self, n_features: int) -> int:
        """How many monomials there are in so many columns."""
        return n_monomials(n_features, self.degree, exact=self.exact)

    def __call__(self, X: Any) -> NDArray:
        """The monomials of every row, by degree and then in the order of the columns."""
        X = as_matrix(X)
        X = X.toarray() if is_sparse(X) else X
        require_room("Monomials", X.shape[0], self.n_features_out(X.shape[1]))
        degrees = [self.degree] if self.exact else range(self.degree + 1)
        indices = chain.from_iterable(combinations_with_replacement(range(X.shape[1]), r) for r in degrees)
        columns = []
        for exponents in map(Counter, indices):
            column = np.ones(X.shape[0], dtype=X.dtype)
            for feature, exponent in exponents.items():
                column *= X[:, feature] ** exponent
            columns.append(column)
        return np.column_stack(columns)


@dataclass(frozen=True)
class Functions:
    """The map x ↦ (f₁(x), …, f_m(x)) of a list of functions of a table, such as a part of a Fourier basis.

    Parameters
    ----------
    functions : sequence of callables
        Each takes a table and returns one number per row.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Functions, Linear
    >>> waves = Functions([lambda X: np.cos(X[:, 0]), lambda X: np.sin(X[:, 0])])
    >>> Linear().of(waves).gram([[0.0], [np.pi]]).round(12) + 0.0    # cos(x − z)
    array([[ 1., -1.],
           [-1.,  1.]])

    References
    ----------
    Rudi & Şimşekli §4.1.
    """

    functions: tuple[Callable[[Any], Any], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", tuple(self.functions))
        if not self.functions or not all(map(callable, self.functions)):
            raise ValueError("The 'functions' parameter of Functions must be a non-empty list of callables.")

    def n_features_out(self, n_features: int) -> int:
        """The number of functions."""
        return len(self.functions)

    def __call__(self, X: Any) -> NDArray:
        """The values of the functions, one column each."""
        X = as_matrix(X)
        X = X.toarray() if is_sparse(X) else X
        values = [per_row(function(X), X.shape[0], "Functions") for function in self.functions]
        return np.column_stack(values).astype(X.dtype, copy=False)


def per_row(values: Any, n_rows: int, owner: str) -> NDArray:
    """Numbers, one per row, as a function of the caller returned them."""
    result = np.asarray(values, dtype=np.float64)
    if result.shape != (n_rows,):
        asked = f"The function of {owner} must return one number per row, shape ({n_rows},)."
        raise ValueError(f"{asked} Got shape {result.shape} instead.")
    return result


def table_of(values: Any, n_rows: int, dtype: Any) -> Any:
    """The table that a map of the caller returned, one row per row; a vector is one column."""
    result = values if is_sparse(values) else np.asarray(values)
    result = result.reshape(n_rows, 1) if result.shape == (n_rows,) else result
    if result.ndim != 2 or result.shape[0] != n_rows:
        asked = f"The map of a composed kernel must return a table of {n_rows} rows."
        raise ValueError(f"{asked} Got shape {result.shape} instead.")
    return as_matrix(result).astype(dtype, copy=False)


def reach_of(rows_map: Any, radius: float) -> float:
    """The largest norm of A(x) over ‖x‖ ≤ radius, where the map knows it."""
    return float(rows_map.reach(radius)) if hasattr(rows_map, "reach") else math.inf
