"""Kernels of changed rows: f(x) k(x, z) f(z), k(x, z)/√(k(x, x) k(z, z)), k(A(x), A(z))."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels.kernel import Kernel
from assay.kernels.maps import LinearMap, per_row, reach_of, table_of
from assay.kernels.sums import Combination, inside, require_part
from assay.kernels.tiles import Fill, Matrix, as_matrix, is_sparse
from assay.parameters import function, refusal, require


class _Reweighting(Combination):
    """f(x) k(x, z) f(z): the features of k times f."""

    def _factors(self, X: Matrix) -> NDArray:
        raise NotImplementedError

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        one, left = self.kernel._open(X, Z), self._factors(X)
        right = left if X is Z else self._factors(Z)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            one(rows, columns, tile)
            tile *= left[rows, None]
            tile *= right[columns]

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return self._factors(X) ** 2 * self.kernel.diagonal(X)

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return replace(self, kernel=self.kernel.for_features(n_features))  # type: ignore[type-var]

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`."""
        return self.kernel.n_features_out(n_features)

    def feature_map(self, X: Any) -> NDArray:
        """The features of the kernel times f(x)."""
        X = as_matrix(X)
        self._require_features(X)
        features = self.kernel.feature_map(X)
        features = features.toarray() if is_sparse(features) else features
        return features * self._factors(X)[:, None]


@dataclass(frozen=True, repr=False)
class Reweighted(_Reweighting):
    """f(x) k(x, z) f(z) for any function f, written k.reweighted(f).

    Parameters
    ----------
    kernel : Kernel
    function : callable
        Takes a table and returns one number per row.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Exponential, Gaussian
    >>> damping = lambda X: np.exp(-np.square(X).sum(axis=1))
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> np.allclose(Exponential(2.0).reweighted(damping).gram(X), Gaussian(1.0).gram(X))
    True

    References
    ----------
    Sangnier §1.4.2, Exercise 1.11.
    """

    kernel: Kernel
    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        require_part("Reweighted", self.kernel)
        require("Reweighted", function, function=self.function)

    def __repr__(self) -> str:
        return f"{inside(self.kernel)}.reweighted({_name(self.function)})"

    def _factors(self, X: Matrix) -> NDArray:
        return per_row(self.function(X), X.shape[0], "Reweighted").astype(X.dtype)


@dataclass(frozen=True, repr=False)
class Normalized(_Reweighting):
    """k(x, z)/√(k(x, x) k(z, z)), the cosine of the angle of the features, written k.normalized().

    A row with k(x, x) = 0 has no direction: its values are 0. The Gaussian kernel is the normalized
    exponential one.

    Examples
    --------
    >>> from assay.kernels import Linear
    >>> Linear().normalized().gram([[1.0, 0.0], [3.0, 4.0]])
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        require_part("Normalized", self.kernel)

    def __repr__(self) -> str:
        return f"{inside(self.kernel)}.normalized()"

    @property
    def universal_on(self) -> str:  # type: ignore[override]
        """That of the kernel: a universal one has k(x, x) > 0."""
        return self.kernel.universal_on

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: 1."""
        return 1.0

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return (self._factors(X) > 0).astype(X.dtype)

    def _factors(self, X: Matrix) -> NDArray:
        values = self.kernel.diagonal(X)
        if np.any(values < 0) or not np.all(np.isfinite(values)):
            got = f"{float(np.nanmin(values)):.3g} to {float(np.nanmax(values)):.3g}"
            raise ValueError(f"A normalized kernel needs finite k(x, x) at least 0. Got {got} instead.")
        return np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)


@dataclass(frozen=True, repr=False)
class Composed(Combination):
    """k(A(x), A(z)), a kernel restricted along a map of rows, written k.of(A).

    `Linear().of(φ)` is the kernel of a feature map φ.

    Parameters
    ----------
    kernel : Kernel
    rows_map : callable
        Takes a table and returns a table with as many rows. The maps of this module (`LinearMap`,
        `Monomials`) can be saved with a model, a function of your own cannot.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian, Linear, Monomials
    >>> Gaussian(1.0).of([[1.0, 0.0]]).gram([[0.0, 5.0], [0.0, -5.0]])    # the second column is not seen
    array([[1., 1.],
           [1., 1.]])
    >>> Linear().of(Monomials(2)).n_features_out(3)
    6

    References
    ----------
    Sangnier §1.4.2, Property 22.
    """

    kernel: Kernel
    rows_map: Callable[[Any], Any]

    def __post_init__(self) -> None:
        require_part("Composed", self.kernel)
        require("Composed", function, rows_map=self.rows_map)

    def __repr__(self) -> str:
        return f"{inside(self.kernel)}.of({_name(self.rows_map)})"

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`: the kernel sees the columns of A(x), where the map tells how many."""
        count = getattr(self.rows_map, "n_features_out", None)
        if count is None:
            return self
        return replace(self, kernel=self.kernel.for_features(int(count(n_features))))

    def _mapped(self, X: Matrix) -> Matrix:
        return table_of(self.rows_map(X), X.shape[0], X.dtype)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        left = self._mapped(X)
        right = left if X is Z else self._mapped(Z)
        return self.kernel.for_features(left.shape[1])._open(left, right)

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        return self.kernel.diagonal(self._mapped(as_matrix(X)))

    @property
    def universal_on(self) -> str:  # type: ignore[override]
        """Compact sets, where the kernel is universal on them and a linear map loses no direction."""
        A = self.rows_map.matrix if isinstance(self.rows_map, LinearMap) else None
        injective = A is not None and int(np.linalg.matrix_rank(A)) == A.shape[1]
        return "compact sets" if injective and self.kernel.universal_on == "compact sets" else ""

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: over the ball that the map reaches, where it knows."""
        return self.kernel.supremum(reach_of(self.rows_map, radius))

    def n_features_out(self, n_features: int) -> float:
        """See `Kernel.n_features_out`; inf for a map that does not tell."""
        count = getattr(self.rows_map, "n_features_out", None)
        return self.kernel.n_features_out(int(count(n_features))) if count is not None else math.inf

    def feature_map(self, X: Any) -> Any:
        """The features of the kernel at A(x)."""
        return self.kernel.feature_map(self._mapped(as_matrix(X)))


def composed(kernel: Kernel, rows_map: Any) -> Composed:
    """The kernel k(A(x), A(z)) of a map, or of the matrix of a linear one."""
    if not callable(rows_map):
        try:
            rows_map = LinearMap(rows_map)
        except (TypeError, ValueError):
            raise refusal("a composed kernel", "map", "a callable or a matrix", rows_map) from None
    return Composed(kernel, rows_map)


def _name(callable_: Any) -> str:
    return getattr(callable_, "__qualname__", None) or repr(callable_)
