"""Sums, products and multiples of kernels, and what all combinations of kernels share.

Tiles are combined in place, with one more tile per thread and level, and nothing of the size of the matrix.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels.kernel import Kernel
from assay.kernels.series import require_room
from assay.kernels.tiles import Fill, Matrix, Scratch, as_matrix
from assay.parameters import real, refusal, require

NON_NEGATIVE = real(at_least=0.0)


class Combination(Kernel):
    """A kernel made of others."""

    kernel: Kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return (self.kernel,)

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        """Whether every part is positive semi-definite by a theorem: then so is the combination."""
        return all(part.positive_definite for part in self.parts)

    def _require_features(self, X: Any) -> None:
        """Refuse features that are infinitely many, or too many."""
        X = as_matrix(X)
        size = self.n_features_out(X.shape[1])
        if math.isinf(size):
            Kernel.feature_map(self, X)
        require_room(repr(self), X.shape[0], size)


def require_part(owner: str, part: Any) -> None:
    """Check that something is a kernel of rows, which can be combined."""
    if not isinstance(part, Kernel):
        raise refusal(owner, "kernel", "a Kernel", part)
    if not part.combines:
        words = "reads a matrix and not rows: combine the matrices themselves"
        raise ValueError(f"{type(part).__name__} {words}.")


def product_bound(bounds: Iterable[float]) -> float:
    """The product of non-negative bounds, 0 as soon as one of them is."""
    values = list(bounds)
    return 0.0 if 0.0 in values else math.prod(values)


def inside(kernel: Kernel) -> str:
    """How a kernel is written inside a product or before a dot."""
    written = repr(kernel)
    # Sums, products, multiples and powers bind less strongly than a call.
    return (
        f"({written})" if type(kernel).__name__ in ("Sum", "Product", "Multiple", "PolynomialOf") else written
    )


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, z) = value ≥ 0, one constant feature.

    Examples
    --------
    >>> from assay.kernels import Constant, Linear
    >>> Linear() + 1.0 == Linear() + Constant(1.0)
    True
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        require("Constant", NON_NEGATIVE, value=self.value)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            tile.fill(self.value)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return np.full(X.shape[0], self.value, dtype=X.dtype)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`."""
        return float(self.value)

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return 1

    def feature_map(self, X: Any) -> NDArray:
        """One column of √value."""
        return np.sqrt(self.diagonal(X))[:, None]


class _Several(Combination):
    """A sum or a product: several kernels whose order does not matter."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if not self.kernels:
            raise ValueError(f"A {type(self).__name__} of kernels needs at least one. Got none.")
        for part in self.kernels:
            require_part(type(self).__name__, part)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """See `Combination.parts`."""
        return self.kernels

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and Counter(self.kernels) == Counter(other.kernels)

    def __hash__(self) -> int:
        return hash((type(self).__name__, frozenset(Counter(self.kernels).items())))

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return type(self)(tuple(part.for_features(n_features) for part in self.kernels))  # type: ignore[call-arg]

    def _open_with(self, combine: np.ufunc, X: Matrix, Z: Matrix) -> Fill:
        first, *others = [part._open(X, Z) for part in self.kernels]
        scratch = Scratch()

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            first(rows, columns, tile)
            other = scratch.tile(tile)
            for one in others:
                one(rows, columns, other)
                with np.errstate(over="ignore", invalid="ignore"):
                    combine(tile, other, out=tile)

        return fill


@dataclass(frozen=True, eq=False, repr=False)
class Sum(_Several):
    """k₁(x, z) + … + k_m(x, z), written k1 + k2: the features of all of them side by side.

    Examples
    --------
    >>> from assay.kernels import Linear, Polynomial
    >>> k = Linear() + 2 * Polynomial(2, gamma=1.0, coef0=0.0)
    >>> k
    Linear() + 2 * Polynomial(degree=2, gamma=1.0, coef0=0.0)
    >>> k.n_features_out(3), k.gram([[1.0, 1.0, 1.0]])
    (9, array([[21.]]))

    References
    ----------
    Sangnier §1.4.2, Property 23; Rudi & Şimşekli §4.3, Property 4.2.
    """

    kernels: tuple[Kernel, ...]

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.kernels))

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        return self._open_with(np.add, X, Z)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        return np.sum([part.diagonal(X) for part in self.kernels], axis=0)

    @property
    def universal_on(self) -> str:  # type: ignore[override]
        """The sets of the first universal part: the RKHS of a sum contains those of its parts."""
        return next((part.universal_on for part in self.kernels if part.universal), "")

    @property
    def separates_points(self) -> bool:
        """See `Kernel.separates_points`."""
        return any(part.separates_points for part in self.kernels)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: the sum of the bounds."""
        return sum(part.supremum(radius) for part in self.kernels)

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return sum(part.n_features_out(n_features) for part in self.kernels)

    def feature_map(self, X: Any) -> NDArray:
        """The features of all parts side by side."""
        self._require_features(X)
        return np.hstack([dense(part.feature_map(X)) for part in self.kernels])


@dataclass(frozen=True, eq=False, repr=False)
class Product(_Several):
    """k₁(x, z) ⋯ k_m(x, z), written k1 * k2: all products of a feature of each (Schur).

    Examples
    --------
    >>> from assay.kernels import Gaussian, Linear
    >>> Linear() * Gaussian(1.0)
    Linear() * Gaussian(gamma=1.0)
    >>> (Linear() * Linear()).gram([[1.0, 2.0]])
    array([[25.]])

    References
    ----------
    Sangnier §1.4.2, Property 24; Rudi & Şimşekli §4.3, Property 4.2.
    """

    kernels: tuple[Kernel, ...]

    def __repr__(self) -> str:
        return " * ".join(map(inside, self.kernels))

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        return self._open_with(np.multiply, X, Z)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        return np.prod([part.diagonal(X) for part in self.kernels], axis=0)

    @property
    def universal_on(self) -> str:  # type: ignore[override]
        """The sets of all parts, where each of them is universal."""
        if not all(part.universal for part in self.kernels):
            return ""
        return ", ".join(dict.fromkeys(part.universal_on for part in self.kernels))

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: the product of the bounds."""
        if not self.positive_definite:
            return math.inf
        return product_bound(part.supremum(radius) for part in self.kernels)

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return math.prod(part.n_features_out(n_features) for part in self.kernels)

    def feature_map(self, X: Any) -> NDArray:
        """All products of a feature of each part."""
        self._require_features(X)
        return tensor(dense(part.feature_map(X)) for part in self.kernels)


def dense(features: Any) -> NDArray:
    """Features as an array."""
    return features.toarray() if hasattr(features, "toarray") else features


def tensor(tables: Iterable[NDArray]) -> NDArray:
    """All products of one column of each table, row by row."""
    first, *others = tables
    for other in others:
        first = np.einsum("ij,ik->ijk", first, other).reshape(first.shape[0], -1)
    return first


@dataclass(frozen=True, repr=False)
class Multiple(Combination):
    """a k(x, z) with a ≥ 0, written a * k.

    Examples
    --------
    >>> from assay.kernels import Linear
    >>> 2.0 * Linear(), Linear() / 4
    (2.0 * Linear(), 0.25 * Linear())
    >>> -1.0 * Linear()
    Traceback (most recent call last):
    assay.parameters.ParameterError: The 'factor' parameter of a multiple of a kernel must be a finite number
    at least 0. Got -1.0 instead.

    References
    ----------
    Sangnier §1.4.2, Property 23.
    """

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        require("a multiple of a kernel", NON_NEGATIVE, factor=self.factor)
        require_part("Multiple", self.kernel)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {inside(self.kernel)}"

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return replace(self, kernel=self.kernel.for_features(n_features))

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        one, factor = self.kernel._open(X, Z), X.dtype.type(self.factor)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            one(rows, columns, tile)
            tile *= factor

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        return float(self.factor) * self.kernel.diagonal(X)

    @property
    def universal_on(self) -> str:  # type: ignore[override]
        """That of the kernel, unless the factor is 0."""
        return self.kernel.universal_on if self.factor > 0 else ""

    @property
    def separates_points(self) -> bool:
        """See `Kernel.separates_points`."""
        return self.factor > 0 and self.kernel.separates_points

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`."""
        return product_bound((float(self.factor), self.kernel.supremum(radius)))

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return self.kernel.n_features_out(n_features)

    def feature_map(self, X: Any) -> Any:
        """√a times the features of the kernel."""
        return self.kernel.feature_map(X) * math.sqrt(self.factor)
