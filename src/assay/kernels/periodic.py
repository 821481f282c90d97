"""Periodic kernels q(x − z) with non-negative Fourier coefficients, products over the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.kernels.kernel import POSITIVE, Kernel
from assay.kernels.series import require_room, require_terms
from assay.kernels.sums import tensor
from assay.kernels.tiles import Fill, Matrix, Scratch, as_matrix, is_sparse
from assay.parameters import Domain, integer, nothing, real, refusal, require

LARGEST_ORDER = 12
"""The largest order s of a Bernoulli spline: beyond, k is 1 + 2cos(2πu)/(2π)^{2s} to the last digit."""

_ORDER = Domain(
    f"an int from 1 to {LARGEST_ORDER}",
    lambda value: integer(at_least=1).contains(value) and value <= LARGEST_ORDER,
)


class Periodic(Kernel):
    """A kernel Π_j q((x_j − z_j)/period), q of period 1 with Fourier coefficients a_m ≥ 0.

    q(u) = Σ_m a_m cos(2πmu), and ⟨φ(x), φ(z)⟩ = q(x − z) for φ(x) = (√a₀, √a_m cos 2πmx, √a_m sin 2πmx, …):
    positive semi-definite because no a_m is negative. With several columns it is a product of such kernels.
    """

    period: float
    n_features: int | None

    def fourier_coefficients(self, order: int) -> NDArray:
        """a₀, …, a_order of q(u) = Σ_m a_m cos(2πmu)."""
        raise NotImplementedError

    def _require_numbers(self) -> None:
        owner = type(self).__name__
        require(owner, POSITIVE, period=self.period)
        require(owner, nothing | integer(at_least=1), n_features=self.n_features)

    def _peak(self) -> float:
        """q(0) = Σ_m a_m, the largest value."""
        raise NotImplementedError

    def _wave(self, u: NDArray, other: NDArray) -> None:
        """Replace differences u by q(u), in place, with the room of one more tile."""
        raise NotImplementedError

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        left, right, scratch = _columns(X, self.period), _columns(Z, self.period), Scratch()

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            u, other = scratch.tile(tile, 0), scratch.tile(tile, 1)
            tile.fill(1.0)
            for x, z in zip(left, right, strict=True):
                np.subtract(x[rows, None], z[columns], out=u)
                self._wave(u, other)
                tile *= u

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return np.full(X.shape[0], self._peak() ** X.shape[1], dtype=X.dtype)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: q(0) to the number of columns, which `for_features` fills in."""
        peak = self._peak()
        if self.n_features is not None:
            return peak**self.n_features
        return peak if peak <= 1.0 else math.inf

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return replace(self, n_features=n_features)  # type: ignore[type-var]

    def fourier_features(self, X: Any, order: int) -> NDArray:
        """Features whose inner products are Π_j Σ_{m ≤ order} a_m cos(2πm(x_j − z_j)/period).

        2·order + 1 of them for one column, all their products for more.
        """
        require_terms(f"{type(self).__name__}.fourier_features", order)
        X = as_matrix(X)
        coefficients = self.fourier_coefficients(order)
        count = _n_waves(coefficients) ** X.shape[1]
        require_room(f"the Fourier series of {type(self).__name__}", X.shape[0], count)
        return tensor(waves(column, coefficients) for column in _columns(X, self.period))

    def truncated(self, order: int) -> CosineSeries:
        """The kernel of the Fourier series up to an order, which converges to this one uniformly."""
        require_terms(f"{type(self).__name__}.truncated", order)
        return CosineSeries(tuple(self.fourier_coefficients(order)), self.period)

    def truncation_error(self, order: int, n_features: int = 1) -> float:
        """The largest error of `truncated` and `fourier_features`: q(0)^d − (Σ_{m ≤ order} a_m)^d.

        For one column it is Σ_{m > order} a_m; it is reached at x = z.
        """
        require_terms("truncation_error", order)
        require("truncation_error", integer(at_least=1), n_features=n_features)
        tail, peak = self._tail(order), self._peak()
        # q^d − p^d = (q − p) Σ_j q^{d−1−j} p^j keeps the digits of a small tail.
        kept = peak - tail
        return tail * sum(peak ** (n_features - 1 - j) * kept**j for j in range(n_features))

    def _tail(self, order: int) -> float:
        """Σ_{m > order} a_m."""
        raise NotImplementedError


@dataclass(frozen=True)
class CosineSeries(Periodic):
    """k(x, z) = Π_j Σ_m a_m cos(2πm(x_j − z_j)/period), finitely many a_m ≥ 0: trigonometric polynomials.

    Parameters
    ----------
    coefficients : sequence of numbers at least 0
        a₀, a₁, …
    period : float above 0, default=1.0
    n_features : int, optional
        Number of columns, for `supremum`; `for_features` fills it in.

    Examples
    --------
    >>> from assay.kernels import CosineSeries
    >>> k = CosineSeries([1.0, 0.5])
    >>> k.gram([[0.0], [0.5]]).round(12), k.n_features_out(1)
    (array([[1.5, 0.5],
           [0.5, 1.5]]), 3)

    References
    ----------
    Rudi & Şimşekli §4.3 (translation-invariant kernels on a bounded interval).
    """

    coefficients: tuple[float, ...]
    period: float = 1.0
    n_features: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given: Sequence[Any] = tuple(self.coefficients)
        if not given or not all(real(at_least=0.0).contains(value) for value in given):
            raise refusal("CosineSeries", "coefficients", "numbers at least 0, from the constant on", given)
        object.__setattr__(self, "coefficients", tuple(float(value) for value in given))
        self._require_numbers()

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        coefficients, scratch = np.array(self.coefficients), Scratch()
        left = [waves(column, coefficients) for column in _columns(X, self.period)]
        right = left if X is Z else [waves(column, coefficients) for column in _columns(Z, self.period)]

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            np.matmul(left[0][rows], right[0][columns].T, out=tile)
            for one, two in zip(left[1:], right[1:], strict=True):
                tile *= np.matmul(one[rows], two[columns].T, out=scratch.tile(tile))

        return fill

    def fourier_coefficients(self, order: int) -> NDArray:
        """See `Periodic.fourier_coefficients`."""
        return np.array([*self.coefficients, *[0.0] * order])[: order + 1]

    def _peak(self) -> float:
        return math.fsum(self.coefficients)

    def _tail(self, order: int) -> float:
        return math.fsum(self.coefficients[order + 1 :])

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return _n_waves(np.array(self.coefficients)) ** n_features

    def feature_map(self, X: Any) -> NDArray:
        """The cosines and sines of each column, and all their products."""
        return self.fourier_features(X, len(self.coefficients) - 1)


@dataclass(frozen=True)
class BernoulliSpline(Periodic):
    """k(x, z) = Π_j (1 + (−1)^{s−1} B_{2s}({u_j})/(2s)!) with u = (x − z)/period, B the Bernoulli polynomial.

    Its Fourier series is q(u) = 1 + 2 Σ_{m ≥ 1} cos(2πmu)/(2πm)^{2s}: for one column of period 1 the RKHS is
    the Sobolev space of periodic functions with norm ‖f‖² = (∫f)² + ∫(f^{(s)})², the space of periodic
    smoothing splines.

    Parameters
    ----------
    order : int from 1 to 12, default=1
        s, the number of derivatives.
    period : float above 0, default=1.0
    n_features : int, optional
        Number of columns, for `supremum`; `for_features` fills it in.

    Examples
    --------
    >>> from assay.kernels import BernoulliSpline
    >>> BernoulliSpline(1).gram([[0.0], [0.5]]).round(4)    # 1 + B₂(u)/2, B₂(u) = u² − u + 1/6
    array([[1.0833, 0.9583],
           [0.9583, 1.0833]])

    References
    ----------
    Rudi & Şimşekli §4.3 (translation-invariant kernels on a bounded interval).
    """

    order: int = 1
    period: float = 1.0
    n_features: int | None = field(default=None, repr=False)
    universal_on: ClassVar[str] = "compact sets shorter than a period"

    def __post_init__(self) -> None:
        require("BernoulliSpline", _ORDER, order=self.order)
        self._require_numbers()

    def _polynomial(self) -> NDArray:
        """Coefficients of (−1)^{s−1} B_{2s}(u)/(2s)! from the constant on."""
        degree, numbers = 2 * self.order, special.bernoulli(2 * self.order)
        scale = (-1.0) ** (self.order - 1) / math.factorial(degree)
        return np.array([scale * math.comb(degree, k) * numbers[degree - k] for k in range(degree + 1)])

    def _wave(self, u: NDArray, other: NDArray) -> None:
        np.floor(u, out=other)
        u -= other
        last, *lower = self._polynomial()[::-1].astype(u.dtype)
        other.fill(last)
        for value in lower:
            other *= u
            other += value
        np.add(other, 1.0, out=u)

    def fourier_coefficients(self, order: int) -> NDArray:
        """See `Periodic.fourier_coefficients`."""
        m = np.arange(1, order + 1)
        return np.concatenate([[1.0], 2.0 / (2.0 * np.pi * m) ** (2 * self.order)])

    def _peak(self) -> float:
        return 1.0 + self._tail(0)

    def _tail(self, order: int) -> float:
        power = 2 * self.order
        return 2.0 * float(special.zeta(power, order + 1)) / (2.0 * np.pi) ** power


@dataclass(frozen=True)
class ExpSineSquared(Periodic):
    """k(x, z) = exp(−(2/ℓ²) Σ_j sin²(π(x_j − z_j)/period)), the Gaussian kernel on a circle.

    Its Fourier coefficients are e^{−1/ℓ²} I_m(1/ℓ²), doubled from m = 1 on, with I_m the modified Bessel
    function. scikit-learn's kernel of that name takes the sine of the Euclidean distance, which is the same
    for one column and not positive semi-definite in general for more.

    Parameters
    ----------
    length_scale : float above 0, default=1.0
        ℓ.
    period : float above 0, default=1.0
    n_features : int, optional
        Number of columns, for `supremum`; `for_features` fills it in.

    Examples
    --------
    >>> from assay.kernels import ExpSineSquared
    >>> ExpSineSquared(period=2.0).gram([[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])

    References
    ----------
    Rudi & Şimşekli §4.3 (translation-invariant kernels on a bounded interval).
    """

    length_scale: float = 1.0
    period: float = 1.0
    n_features: int | None = field(default=None, repr=False)
    universal_on: ClassVar[str] = "compact sets shorter than a period"

    def __post_init__(self) -> None:
        require("ExpSineSquared", real(above=0.0, squared=True), length_scale=self.length_scale)
        self._require_numbers()

    def _wave(self, u: NDArray, other: NDArray) -> None:
        # The nearest whole period first: π times a large number has few digits left.
        np.rint(u, out=other)
        u -= other
        u *= u.dtype.type(np.pi)
        np.sin(u, out=u)
        np.square(u, out=u)
        u *= u.dtype.type(-2.0 / self.length_scale**2)
        np.exp(u, out=u)

    def fourier_coefficients(self, order: int) -> NDArray:
        """See `Periodic.fourier_coefficients`."""
        values = special.ive(np.arange(order + 1), self.length_scale**-2.0)
        return np.where(np.arange(order + 1) == 0, 1.0, 2.0) * values

    def _peak(self) -> float:
        return 1.0

    def _tail(self, order: int) -> float:
        return max(1.0 - math.fsum(self.fourier_coefficients(order)), 0.0)


def _columns(X: Matrix, period: float) -> list[NDArray]:
    """The columns of a table, in periods."""
    table = X.toarray() if is_sparse(X) else X
    return [np.ascontiguousarray(column) / table.dtype.type(period) for column in table.T]


def waves(column: NDArray, coefficients: NDArray) -> NDArray:
    """√a_m cos(2πmx) and √a_m sin(2πmx) of every m with a_m > 0, the constant first."""
    features = []
    for m, value in enumerate(coefficients):
        if m == 0 and value > 0:
            features.append(np.full(column.size, math.sqrt(value), dtype=column.dtype))
        elif value > 0:
            angle = (2.0 * np.pi * m) * (column - np.rint(column))
            features += [math.sqrt(value) * np.cos(angle), math.sqrt(value) * np.sin(angle)]
    return np.column_stack(features) if features else np.zeros((column.size, 1), dtype=column.dtype)


def _n_waves(coefficients: NDArray) -> int:
    positive = int(np.count_nonzero(coefficients > 0))
    return max(2 * positive - int(coefficients[0] > 0), 1)
