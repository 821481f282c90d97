"""Polynomials and the exponential of a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels.dot_product import Linear
from assay.kernels.kernel import Kernel
from assay.kernels.series import n_series_features, series_features
from assay.kernels.sums import (
    NON_NEGATIVE,
    Combination,
    dense,
    inside,
    product_bound,
    require_part,
    tensor,
)
from assay.kernels.tiles import Fill, Matrix, Scratch, as_matrix
from assay.parameters import refusal


@dataclass(frozen=True, repr=False)
class PolynomialOf(Combination):
    """Σ_m c_m k(x, z)^m with c_m ≥ 0, written k.polynomial([c₀, c₁, …]), or k ** m for one power.

    Examples
    --------
    >>> from assay.kernels import Linear
    >>> Linear().polynomial([1, 2, 1]).gram([[1.0], [2.0]])    # (1 + xz)²
    array([[ 4.,  9.],
           [ 9., 25.]])
    >>> Linear() ** 2
    Linear() ** 2

    References
    ----------
    Sangnier §1.4.2, Property 25.
    """

    kernel: Kernel
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        given = self.coefficients
        object.__setattr__(self, "coefficients", tuple(float(value) for value in given))
        require_part("PolynomialOf", self.kernel)
        if not given or not all(NON_NEGATIVE.contains(value) for value in self.coefficients):
            words = "numbers at least 0, from the constant on"
            raise refusal("a polynomial of a kernel", "coefficients", words, list(given))

    def __repr__(self) -> str:
        *lower, last = self.coefficients
        if len(lower) > 0 and last == 1.0 and not any(lower):
            return f"{inside(self.kernel)} ** {len(lower)}"
        return f"{inside(self.kernel)}.polynomial({list(self.coefficients)})"

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return replace(self, kernel=self.kernel.for_features(n_features))

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        one, scratch = self.kernel._open(X, Z), Scratch()
        last, *lower = self.coefficients[::-1]

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            base = scratch.tile(tile)
            one(rows, columns, base)
            tile.fill(last)
            with np.errstate(over="ignore"):
                for value in lower:  # Horner
                    tile *= base
                    if value:
                        tile += tile.dtype.type(value)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        values = self.kernel.diagonal(X)
        with np.errstate(over="ignore"):
            return np.polynomial.polynomial.polyval(values, self.coefficients).astype(values.dtype)

    @property
    def _has_powers(self) -> bool:
        return any(self.coefficients[1:])

    @property
    def universal_on(self) -> str:  # type: ignore[override]
        """That of the kernel, where the polynomial is not constant."""
        return self.kernel.universal_on if self._has_powers else ""

    @property
    def separates_points(self) -> bool:
        """See `Kernel.separates_points`: it is safe to say where the kernel itself is one of the terms."""
        return self.universal or (any(self.coefficients[1:2]) and self.kernel.separates_points)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: the polynomial of the bound."""
        if not self.positive_definite:
            return math.inf
        bound = self.kernel.supremum(radius)
        powers = (product_bound((c, bound**m)) for m, c in enumerate(self.coefficients) if m)
        return self.coefficients[0] + sum(powers)

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        if isinstance(self.kernel, Linear):
            return n_series_features(n_features, self.coefficients)
        size = self.kernel.n_features_out(n_features)
        return sum(size**m if m else 1 for m, value in enumerate(self.coefficients) if value > 0)

    def feature_map(self, X: Any) -> NDArray:
        """Weighted monomials of a linear kernel; else products of features, one group per power."""
        X = as_matrix(X)
        self._require_features(X)
        if isinstance(self.kernel, Linear):
            return series_features(X, self.coefficients)
        features = dense(self.kernel.feature_map(X))
        power, groups = np.ones((X.shape[0], 1), dtype=X.dtype), []
        for value in self.coefficients:
            if value > 0:
                groups.append(math.sqrt(value) * power)
            if len(groups) < sum(c > 0 for c in self.coefficients):
                power = tensor((power, features))
        return np.hstack(groups) if groups else np.zeros((X.shape[0], 0), dtype=X.dtype)


@dataclass(frozen=True, repr=False)
class ExponentialOf(Combination):
    """exp(k(x, z)), written k.exp() or np.exp(k): the limit of the kernels Σ_{m ≤ M} k^m/m!.

    Universal on compact sets as soon as the functions of k tell points apart (Stone–Weierstrass).

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Exponential, Linear
    >>> k = np.exp(0.5 * Linear())
    >>> k
    (0.5 * Linear()).exp()
    >>> np.allclose(k.gram(np.eye(2)), Exponential(0.5).gram(np.eye(2))), k.universal
    (True, True)

    References
    ----------
    Sangnier §1.4.2, Corollary 27 and Exercise 1.11.
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        require_part("ExponentialOf", self.kernel)

    def __repr__(self) -> str:
        return f"{inside(self.kernel)}.exp()"

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return replace(self, kernel=self.kernel.for_features(n_features))

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        one = self.kernel._open(X, Z)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            one(rows, columns, tile)
            with np.errstate(over="ignore"):
                np.exp(tile, out=tile)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        with np.errstate(over="ignore"):
            return np.exp(self.kernel.diagonal(X))

    @property
    def universal_on(self) -> str:  # type: ignore[override]
        """Compact sets, where the functions of the kernel tell points apart."""
        return self.kernel.universal_on or ("compact sets" if self.kernel.separates_points else "")

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`."""
        bound = self.kernel.supremum(radius)
        return math.exp(bound) if bound < 709.0 else math.inf
