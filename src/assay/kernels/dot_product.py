"""Kernels of the inner product of two rows, and their features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.kernels.definiteness import is_psd
from assay.kernels.kernel import Kernel, ScaledKernel
from assay.kernels.series import (
    exponential_coefficients,
    exponential_features,
    exponential_tail,
    n_monomials,
    require_order_and_radius,
    require_room,
    require_terms,
    series_features,
)
from assay.kernels.tiles import Fill, Matrix, as_matrix, inner, scaled_exponential, squared_norms
from assay.parameters import integer, real, require

LARGEST_EXPONENT = 700.0


class DotProduct(Kernel):
    """A kernel that is a function of ⟨x, z⟩, turned into its values in place."""

    def _turn(self, values: NDArray) -> None:
        """Replace inner products by values of the kernel."""

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            inner(X[rows], Z[columns], tile)
            self._turn(tile)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        values = squared_norms(X)
        self.for_features(X.shape[1])._turn(values)
        return values

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: k(x, x) grows with ‖x‖."""
        value = np.array([float(radius) ** 2])
        with np.errstate(over="ignore"):
            self._turn(value)
        return float(value[0])


@dataclass(frozen=True)
class Linear(DotProduct):
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

    @property
    def separates_points(self) -> bool:
        """See `Kernel.separates_points`."""
        return True

    def feature_map(self, X: Any) -> Any:
        """The rows themselves: ⟨φ(x), φ(z)⟩ = k(x, z) with φ the identity."""
        return as_matrix(X)

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return n_features


@dataclass(frozen=True)
class Polynomial(DotProduct, ScaledKernel):
    """k(x, z) = (coef0 + γ ⟨x, z⟩)^degree, homogeneous with coef0 = 0.

    Parameters
    ----------
    degree : int at least 1, default=3
        Only whole degrees give a positive semi-definite kernel in general.
    gamma : float above 0 or None, default=None
        The scale of the inner product (c in Sangnier); None means one over the number of features.
    coef0 : float at least 0, default=1.0
        The constant; a negative one would not be positive semi-definite.

    Examples
    --------
    >>> from assay.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, gamma=1.0)
    >>> kernel.feature_map([[1.0, 3.0]]).round(3)    # 1, √2 x₁, √2 x₂, x₁², x₂², √2 x₁x₂
    array([[1.   , 1.414, 4.243, 1.   , 9.   , 4.243]])

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3; Peyré.
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        require("Polynomial", integer(at_least=1), degree=self.degree)
        super().__post_init__()
        require("Polynomial", real(at_least=0.0), coef0=self.coef0)

    def _turn(self, values: NDArray) -> None:
        """Turn inner products into kernel values in place, by products (a general power is far slower)."""
        values *= values.dtype.type(self.gamma)
        values += values.dtype.type(self.coef0)
        base = values.copy() if self.degree > 1 else values
        with np.errstate(over="ignore"):
            for bit in bin(self.degree)[3:]:
                values *= values
                if bit == "1":
                    values *= base

    def feature_map(self, X: Any) -> NDArray:
        """Weighted monomials φ with ⟨φ(x), φ(z)⟩ = k(x, z), by degree, pure powers first.

        There are C(n_features + degree, degree) of them (those of the full degree alone when coef0 = 0).
        """
        X = as_matrix(X)
        require_room("Polynomial", X.shape[0], self.n_features_out(X.shape[1]))
        gamma = self._scale(X)
        n, constant = self.degree, self.coef0
        return series_features(X, [math.comb(n, k) * constant ** (n - k) * gamma**k for k in range(n + 1)])

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return n_monomials(n_features, self.degree, exact=self.coef0 == 0)

    @property
    def separates_points(self) -> bool:
        """See `Kernel.separates_points`: even powers alone do not tell x from −x."""
        return self.coef0 > 0 or self.degree % 2 == 1

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`."""
        self._known_scale()
        return super().supremum(radius)


@dataclass(frozen=True)
class Exponential(DotProduct, ScaledKernel):
    """k(x, z) = exp(γ ⟨x, z⟩).

    Grows like exp(γ‖x‖²): scale the columns first.

    Parameters
    ----------
    gamma : float above 0 or None, default=None
        The scale γ; None means one over the number of features.

    Examples
    --------
    >>> from assay.kernels import Exponential
    >>> Exponential(gamma=1.0).gram([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])

    References
    ----------
    Sangnier §1.4.2.
    """

    gamma: float | None = None
    universal_on: ClassVar[str] = "compact sets"

    def _turn(self, values: NDArray) -> None:
        assert self.gamma is not None
        gamma = float(self.gamma)
        if gamma * float(np.max(values, initial=0.0)) <= LARGEST_EXPONENT:
            scaled_exponential(values, gamma)
            return
        # The compiled exponential stops at its largest argument: what overflows is infinite, not that.
        values *= values.dtype.type(gamma)
        with np.errstate(over="ignore"):
            np.exp(values, out=values)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        with np.errstate(over="ignore"):
            return np.exp(self._scale(X) * squared_norms(X)).astype(X.dtype)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`."""
        exponent = self._known_scale() * float(radius) ** 2
        return math.exp(exponent) if exponent < 709.0 else math.inf

    def taylor_features(self, X: Any, order: int) -> NDArray:
        """Features whose inner products are Σ_{k ≤ order} (γ⟨x, z⟩)^k / k!."""
        X = as_matrix(X)
        return exponential_features(X, self._scale(X), order)

    def truncated(self, order: int) -> Kernel:
        """The kernel Σ_{k ≤ order} (γ⟨x, z⟩)^k / k!, which converges to this one pointwise."""
        require_terms("Exponential.truncated", order)
        return Linear().polynomial(exponential_coefficients(self._known_scale(), order))

    def truncation_error(self, order: int, radius: float) -> float:
        """The largest error of `truncated` and `taylor_features` over rows with ‖x‖ ≤ radius.

        It is Σ_{k > order} (γ radius²)^k / k!, at most e^t t^{order + 1}/(order + 1)! with t = γ radius².
        """
        require_order_and_radius(order, radius)
        return exponential_tail(self._known_scale() * float(radius) ** 2, order, damped=False)


@dataclass(frozen=True)
class Sigmoid(DotProduct, ScaledKernel):
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
        super().__post_init__()
        require("Sigmoid", real(), coef0=self.coef0)

    def _turn(self, values: NDArray) -> None:
        values *= values.dtype.type(self.gamma)
        values += values.dtype.type(self.coef0)
        np.tanh(values, out=values)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: at most 1."""
        return math.tanh(self._known_scale() * float(radius) ** 2 + self.coef0)


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
            square = "The 'matrix' parameter of Bilinear must be square."
            raise ValueError(f"{square} Got shape {A.shape} instead.")
        verdict = is_psd(A)
        if not verdict:
            raise ValueError(
                "The 'matrix' parameter of Bilinear must be symmetric positive semi-definite. Got smallest "
                f"eigenvalue {verdict.min_eigenvalue:.3g} and asymmetry {verdict.asymmetry:.3g} instead."
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

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return n_features

    @property
    def separates_points(self) -> bool:
        """See `Kernel.separates_points`: A must be invertible."""
        return int(np.linalg.matrix_rank(self.matrix, hermitian=True)) == self.matrix.shape[0]

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: the largest eigenvalue of A times radius²."""
        largest = max(float(np.linalg.eigvalsh(self.matrix)[-1]), 0.0)
        return largest * float(radius) ** 2 if largest > 0.0 else 0.0

    def _matrix_for(self, X: Matrix) -> NDArray:
        if X.shape[1] != self.matrix.shape[0]:
            shape = self.matrix.shape
            raise ValueError(f"X has {X.shape[1]} features, but the 'matrix' of Bilinear has shape {shape}.")
        return self.matrix.astype(X.dtype)
