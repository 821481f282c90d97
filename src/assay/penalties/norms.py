"""Norms of vectors and matrices, their duals and inequalities; the nuclear norm as a penalty."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, at_most
from assay.parameters import refusal
from assay.penalties.penalty import euclidean, floating, non_negative, rounding


@dataclass(frozen=True, slots=True)
class Norm:
    """A norm: its name, its formula, the name of its dual, whether ‖AB‖ ≤ ‖A‖‖B‖."""

    name: str
    formula: str
    kind: Literal["vector", "matrix"]
    dual: str
    submultiplicative: bool
    function: Callable[[NDArray], NDArray]

    def __call__(self, x: NDArray) -> float:
        """The norm of x."""
        x = floating(x)
        if x.ndim != (1 if self.kind == "vector" else 2):
            raise refusal(f"the {self.name} norm", "x", f"a {self.kind}", x)
        return float(self.function(x)) if x.size else 0.0


def _lengths(x: NDArray) -> NDArray:
    return euclidean(x, axis=1)


def _most(axis: int) -> Callable[[NDArray], NDArray]:
    return lambda x: np.max(np.sum(np.abs(x), axis=axis))


def _maxima(axis: int) -> Callable[[NDArray], NDArray]:
    return lambda x: np.sum(np.max(np.abs(x), axis=axis))


NORMS: Mapping[str, Norm] = {
    norm.name: norm
    for norm in (
        Norm("l1", "Σ|x_j|", "vector", "linf", False, lambda x: np.sum(np.abs(x))),
        Norm("l2", "√Σx_j²", "vector", "l2", False, lambda x: np.sqrt(np.sum(x**2))),
        Norm("linf", "max|x_j|", "vector", "l1", False, lambda x: np.max(np.abs(x))),
        Norm("frobenius", "√Σx_jk²", "matrix", "frobenius", True, lambda x: np.sqrt(np.sum(x**2))),
        Norm("spectral", "σ₁", "matrix", "nuclear", True, lambda x: np.max(singular_values(x))),
        Norm("nuclear", "Σσ_i", "matrix", "spectral", True, lambda x: np.sum(singular_values(x))),
        Norm("induced_1", "max_k Σ_j|x_jk|, largest column sum", "matrix", "column_maxima", True, _most(0)),
        Norm("induced_inf", "max_j Σ_k|x_jk|, largest row sum", "matrix", "row_maxima", True, _most(1)),
        Norm("column_maxima", "Σ_k max_j|x_jk|", "matrix", "induced_1", True, _maxima(0)),
        Norm("row_maxima", "Σ_j max_k|x_jk|", "matrix", "induced_inf", True, _maxima(1)),
        Norm("l1_l2", "Σ_j ‖x_j‖₂, rows x_j", "matrix", "linf_l2", True, lambda x: np.sum(_lengths(x))),
        Norm("linf_l2", "max_j ‖x_j‖₂, rows x_j", "matrix", "l1_l2", False, lambda x: np.max(_lengths(x))),
        Norm("l1_l1", "Σ|x_jk|", "matrix", "linf_linf", True, lambda x: np.sum(np.abs(x))),
        Norm("linf_linf", "max|x_jk|", "matrix", "l1_l1", False, lambda x: np.max(np.abs(x))),
    )
}


def _named(owner: str, name: str) -> Norm:
    if name not in NORMS:
        raise refusal(owner, "name", f"one of {', '.join(NORMS)}", name)
    return NORMS[name]


def norm(x: NDArray, name: str) -> float:
    """The named norm of a vector or matrix; the names and formulas are the keys and values of `NORMS`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import norm
    >>> A = np.array([[3.0, 0.0], [4.0, 0.0]])
    >>> norm(A, "nuclear"), norm(A, "induced_1"), norm(A, "induced_inf")
    (5.0, 7.0, 4.0)

    References
    ----------
    Wei §1.2.1.
    """
    return _named("norm", name)(x)


def dual_norm(x: NDArray, name: str) -> float:
    """Supremum of ⟨x, z⟩ over the unit ball of the named norm.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import dual_norm
    >>> dual_norm(np.array([3.0, -4.0]), "l1")
    4.0
    """
    return NORMS[_named("dual_norm", name).dual](x)


def n_nonzero_rows(x: NDArray) -> int:
    """‖X‖_{2,0}, the number of rows that are not zero; not a norm.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import n_nonzero_rows
    >>> n_nonzero_rows(np.array([[0.0, 1.0], [0.0, 0.0]]))
    1
    """
    return int(np.count_nonzero(np.any(np.asarray(x) != 0, axis=1)))


def n_nonzero_diagonal(x: NDArray) -> int:
    """‖diag(X)‖₀, the number of diagonal entries that are not zero; not a norm.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import n_nonzero_diagonal
    >>> n_nonzero_diagonal(np.array([[0.0, 1.0], [0.0, 2.0]]))
    1
    """
    return int(np.count_nonzero(np.diag(x)))


def norm_inequalities(x: NDArray) -> Certificates:
    """The inequalities between the norms of x, measured.

    For a vector of d entries, ‖x‖∞ ≤ ‖x‖₂ ≤ ‖x‖₁ ≤ √d ‖x‖₂ ≤ d ‖x‖∞. For an m × n matrix of rank r,
    σ₁ ≤ ‖X‖_F ≤ ‖X‖_* ≤ √r ‖X‖_F ≤ r σ₁, σ₁² ≤ ‖X‖₁‖X‖∞ (induced norms), ‖X‖₁ ≤ √m σ₁ and ‖X‖∞ ≤ √n σ₁.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import norm_inequalities
    >>> norm_inequalities(np.array([1.0, -2.0, 2.0])).holds
    True
    """
    x = floating(x)
    if x.ndim == 1:
        size = {name: norm(x, name) for name in ("l1", "l2", "linf")}
        d = len(x)
        low = [("‖x‖∞", size["linf"]), ("‖x‖₂", size["l2"]), ("‖x‖₁", size["l1"])]
        links = list(pairwise([*low, ("√d ‖x‖₂", math.sqrt(d) * size["l2"]), ("d ‖x‖∞", d * size["linf"])]))
    else:
        names = ("spectral", "frobenius", "nuclear", "induced_1", "induced_inf")
        spectral, frobenius, nuclear, columns, rows = (norm(x, name) for name in names)
        rank = int(np.linalg.matrix_rank(x))
        m, n = x.shape
        low = [("σ₁", spectral), ("‖X‖_F", frobenius), ("‖X‖_*", nuclear)]
        links = [
            *pairwise([*low, ("√r ‖X‖_F", math.sqrt(rank) * frobenius), ("r σ₁", rank * spectral)]),
            (("σ₁²", spectral**2), ("‖X‖₁ ‖X‖∞", columns * rows)),
            (("‖X‖₁", columns), ("√m σ₁", math.sqrt(m) * spectral)),
            (("‖X‖∞", rows), ("√n σ₁", math.sqrt(n) * spectral)),
        ]
    return Certificates(
        at_most(f"{a} ≤ {b}.", a, small, large, source="Wei §1.2.1", tolerance=rounding(x) * x.size * large)
        for (a, small), (b, large) in links
    )


@dataclass(frozen=True, slots=True)
class Nuclear:
    """Ω(B) = α ‖B‖_* = α Σ_i σ_i(B), the sum of the singular values.

    A matrix penalty: every method returns one number for the whole (d, t) array. A (d,) array is a matrix of
    one column.

    Parameters
    ----------
    strength : float
        α, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Nuclear
    >>> Nuclear(1.0).proximal(np.diag([3.0, 0.5]), step=1.0)
    array([[2., 0.],
           [0., 0.]])

    References
    ----------
    Wei §1.2.1.
    """

    convex: ClassVar[bool] = True

    strength: float

    def __post_init__(self) -> None:
        non_negative("Nuclear", "strength", self.strength, ndim=(0,))

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of the matrix."""
        return self.strength * np.sum(singular_values(coef))

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding of the singular values at step · α."""
        coef = floating(coef)
        left, values, right = np.linalg.svd(_matrix(coef), full_matrices=False)
        kept = np.maximum(values - step * self.strength, 0).astype(coef.dtype)
        return ((left * kept) @ right).reshape(coef.shape)

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 when the spectral norm of U is at most α (within rounding), ∞ otherwise."""
        norm = self.dual_norm(dual)
        return np.where(norm <= self.strength * (1 + rounding(norm)), 0.0, np.inf)[()]

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """α ‖B‖_* − ⟨B, U⟩ when U is feasible, ∞ otherwise; never negative."""
        gap = self.value(coef) - np.sum(floating(coef) * dual)
        return np.maximum(gap, 0) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Frobenius distance from U to ∂Ω(B) = α {LRᵀ + W : LᵀW = 0, WR = 0, ‖W‖ ≤ 1}.

        L and R hold the singular vectors of B at its numerical rank: singular values below
        max(d, t) · eps · σ₁ count as zero.
        """
        matrix, dual = _matrix(floating(coef)), _matrix(floating(dual))
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        rank = int(np.sum(values > max(matrix.shape) * np.finfo(matrix.dtype).eps * values[0]))
        left, right = left[:, :rank], right[:rank]
        outside = dual - left @ (left.T @ dual)
        outside = outside - (outside @ right.T) @ right
        inside = dual - outside - self.strength * (left @ right)
        excess = np.maximum(singular_values(outside) - self.strength, 0)
        return np.sqrt(np.sum(inside**2) + np.sum(excess**2))

    def dual_norm(self, dual: NDArray) -> NDArray:
        """The spectral norm, dual to the nuclear norm."""
        return np.max(singular_values(dual))

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """The spectral norm of the gradient."""
        return self.dual_norm(gradient_at_zero)


def singular_values(coef: NDArray) -> NDArray:
    """Singular values, largest first."""
    return np.linalg.svd(_matrix(floating(coef)), compute_uv=False)


def _matrix(coef: NDArray) -> NDArray:
    return coef.reshape(len(coef), -1)
