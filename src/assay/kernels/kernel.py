"""What a kernel is: a symmetric function of two rows, evaluated tile by tile, that can be combined."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels.tiles import (
    Fill,
    Matrix,
    as_matrix,
    fill_column,
    fill_cross,
    fill_gram,
    fill_product,
)
from assay.parameters import Domain, nothing, real, require

if TYPE_CHECKING:
    from assay.kernels.rkhs import RKHSFunction

POSITIVE = real(above=0.0)
POSITIVE_OR_DEFAULT = Domain("None (one over the number of features)", nothing.contains) | POSITIVE


class Kernel(ABC):
    """Base of all kernels: small immutable objects, compared by value.

    A subclass says in `_open` how a tile of k(x_i, z_j) is filled; Gram matrices, cross matrices and products
    with coefficients follow from it. `positive_definite` tells whether every Gram matrix of the kernel is
    positive semi-definite by a theorem; where it is False, `check_psd` looks at the data.

    Kernels are combined by what keeps them positive semi-definite, and by nothing else: `k1 + k2`, `k1 * k2`,
    `a * k` and `k + a` with a ≥ 0, `k ** n`, `k.polynomial(coefficients)`, `k.exp()` (or `np.exp(k)`),
    `k.reweighted(f)` for f(x) k(x, z) f(z), `k.normalized()`, `k.of(A)` for k(A(x), A(z)).

    What is known of a kernel: `supremum` bounds k(x, x), `universal` tells whether its functions approximate
    every continuous one, and where (`universal_on`), `n_features_out` counts the features of `feature_map`.
    """

    positive_definite: ClassVar[bool] = True
    combines: ClassVar[bool] = True
    """Whether it is a function of rows, which sums and products can take."""
    universal_on: ClassVar[str] = ""
    """Sets on which every continuous function is a uniform limit of functions of the RKHS; "" for none."""

    @abstractmethod
    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        """Prepare two tables of one dtype; return the function that fills a tile of their cross matrix."""

    @abstractmethod
    def diagonal(self, X: Any) -> NDArray:
        """The values k(x_i, x_i), shape (n_samples,)."""

    def for_features(self, n_features: int) -> Self:
        """The same kernel with the defaults that depend on the number of features filled in."""
        return self

    def gram(self, X: Any, *, out: NDArray | None = None) -> NDArray:
        """The symmetric matrix of k(x_i, x_j).

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        out : array of shape (n_samples, n_samples), optional
            Where the result goes; nothing else of that size is allocated.

        Returns
        -------
        K : array of shape (n_samples, n_samples)
            Exactly symmetric; float32 when `X` is.
        """
        X = as_matrix(X)
        out = _buffer(out, (X.shape[0], X.shape[0]), X.dtype)
        fill_gram(self.for_features(X.shape[1])._open(X, X), out)
        return out

    def cross(self, X: Any, Z: Any, *, out: NDArray | None = None) -> NDArray:
        """The matrix of k(x_i, z_j), shape (n_samples_X, n_samples_Z)."""
        X, Z = _alike(X, Z)
        out = _buffer(out, (X.shape[0], Z.shape[0]), X.dtype)
        fill_cross(self.for_features(X.shape[1])._open(X, Z), out)
        return out

    def columns(self, X: Any) -> Callable[[int], NDArray]:
        """A function that gives the column k(x_1, x_j), …, k(x_n, x_j) for j, prepared once for all columns.

        For methods that look at few columns, one after the other, and never at the whole matrix.
        """
        X = as_matrix(X)
        fill = self.for_features(X.shape[1])._open(X, X)

        def column(j: int) -> NDArray:
            out = np.empty((X.shape[0], 1), dtype=X.dtype)
            fill_column(fill, j, out)
            return out[:, 0]

        return column

    def apply(self, X: Any, Z: Any, coef: NDArray) -> NDArray:
        """The function Σ_j c_j k(z_j, ·) at the rows of `X`, without the cross matrix in memory.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples_X, n_features)
        Z : array or CSR matrix of shape (n_samples_Z, n_features)
        coef : array of shape (n_samples_Z,) or (n_samples_Z, n_outputs)

        Returns
        -------
        values : array of shape (n_samples_X,) or (n_samples_X, n_outputs)
        """
        X, Z = _alike(X, Z)
        fill = self.for_features(X.shape[1])._open(X, Z)
        return fill_product(fill, X.shape[0], np.asarray(coef, dtype=X.dtype))

    def __call__(self, X: Any, Z: Any = None) -> NDArray:
        """`gram(X)`, or `cross(X, Z)` with a second table."""
        return self.gram(X) if Z is None else self.cross(X, Z)

    @property
    def universal(self) -> bool:
        """Whether the RKHS is dense in the continuous functions on the sets that `universal_on` names."""
        return bool(self.universal_on)

    @property
    def separates_points(self) -> bool:
        """Whether some function of the RKHS tells any two rows apart; False also where it is not known."""
        return self.universal

    def supremum(self, radius: float = math.inf) -> float:
        """A number κ² with k(x, x) ≤ κ² for every row with ‖x‖ ≤ radius.

        The least one for the kernels of this module that are not combinations. It is infinite where k(x, x)
        has no bound, or where none is known (a function of the caller).
        """
        return math.inf

    def kappa(self, X: Any = None, *, radius: float = math.inf) -> float:
        """κ = sup √k(x, x): over the rows of a table, else over all rows with ‖x‖ ≤ radius."""
        if X is not None:
            return math.sqrt(max(float(np.max(self.diagonal(X), initial=0.0)), 0.0))
        return math.sqrt(self.supremum(radius))

    def n_features_out(self, n_features: int) -> float:
        """How many features `feature_map` makes of rows with `n_features` columns; inf where no number do."""
        return math.inf

    def feature_map(self, X: Any) -> Any:
        """Features φ(x) of every row with ⟨φ(x), φ(z)⟩ = k(x, z), where finitely many suffice."""
        words = "has no finite feature map: take `empirical_feature_map` of the rows, or a truncated series"
        raise ValueError(f"{type(self).__name__} {words} where the kernel has one.")

    def distance(self, X: Any, Z: Any) -> NDArray:
        """The distance d_k(x, z) = ‖k(·, x) − k(·, z)‖ = √(k(x, x) − 2k(x, z) + k(z, z)) of all pairs."""
        cross = self.cross(X, Z)
        cross *= -2.0
        cross += self.diagonal(X)[:, None]
        cross += self.diagonal(Z)
        return np.sqrt(np.maximum(cross, 0.0, out=cross), out=cross)

    def at(self, x: Any) -> RKHSFunction:
        """The canonical feature k(·, x) of a row, an element of the RKHS."""
        from assay.kernels.rkhs import RKHSFunction

        return RKHSFunction([1.0], np.atleast_2d(x), self)

    # Combinations: what each of them is, and why it is a kernel, is said in `assay.kernels.algebra`.

    def __add__(self, other: Any) -> Kernel:
        return _algebra().added(self, other)

    def __radd__(self, other: Any) -> Kernel:
        return _algebra().added(other, self)

    def __mul__(self, other: Any) -> Kernel:
        return _algebra().multiplied(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return _algebra().multiplied(other, self)

    def __pow__(self, exponent: int) -> Kernel:
        return _algebra().power(self, exponent)

    def __sub__(self, other: Any) -> Kernel:
        raise _algebra().lost("A difference of kernels", "add them, or move the term to the other side")

    __rsub__ = __sub__

    def __neg__(self) -> Kernel:
        raise _algebra().lost("A kernel with the opposite sign", "multiply it by a number at least 0")

    def __truediv__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            raise _algebra().lost("A quotient of kernels", "take a product or `normalized()`")
        return _algebra().divided(self, other)

    def __rtruediv__(self, other: Any) -> Kernel:
        raise _algebra().lost("A quotient of kernels", "take a product or `normalized()`")

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        """The kernel Σ_m c_m k(x, z)^m, for c_m ≥ 0 from the constant on."""
        return _algebra().PolynomialOf(self, tuple(coefficients))

    def exp(self) -> Kernel:
        """The kernel exp(k(x, z)); `np.exp(k)` is the same."""
        return _algebra().ExponentialOf(self)

    def reweighted(self, function: Any) -> Kernel:
        """The kernel f(x) k(x, z) f(z), for a function f of a table that returns a number per row."""
        return _algebra().Reweighted(self, function)

    def normalized(self) -> Kernel:
        """The kernel k(x, z)/√(k(x, x) k(z, z)), which is 1 at x = z."""
        return _algebra().Normalized(self)

    def of(self, rows_map: Any) -> Kernel:
        """The kernel k(A(x), A(z)): A a function of a table, or the matrix of a linear map x ↦ Ax."""
        return _algebra().composed(self, rows_map)


def _algebra() -> Any:
    # The combinations are kernels themselves: they are imported once both modules are there.
    from assay.kernels import algebra

    return algebra


class ScaledKernel(Kernel):
    """A kernel with a scale γ, by default one over the number of features."""

    gamma: float | None

    def __post_init__(self) -> None:
        require(type(self).__name__, POSITIVE_OR_DEFAULT, gamma=self.gamma)

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / n_features)  # type: ignore[type-var]

    def _scale(self, X: Matrix) -> float:
        """γ for the rows of a table."""
        return float(self.gamma or 1.0 / X.shape[1])

    def _known_scale(self) -> float:
        """γ, where it does not wait for a number of features."""
        if self.gamma is None:
            words = "has gamma=None, one over the number of features: call `for_features(n_features)` first"
            raise ValueError(f"{type(self).__name__} {words}.")
        return float(self.gamma)


def _alike(X: Any, Z: Any) -> tuple[Matrix, Matrix]:
    X, Z = as_matrix(X), as_matrix(Z)
    if X.shape[1] != Z.shape[1]:
        sizes = f"X has {X.shape[1]} features but Z has {Z.shape[1]}"
        raise ValueError(f"{sizes}; a kernel compares rows of one kind.")
    dtype = np.result_type(X.dtype, Z.dtype)
    return X.astype(dtype, copy=False), Z.astype(dtype, copy=False)


def _buffer(out: NDArray | None, shape: tuple[int, int], dtype: Any) -> NDArray:
    if out is None:
        return np.empty(shape, dtype=dtype)
    if out.shape != shape or out.dtype != dtype:
        got = f"shape {out.shape} and dtype {out.dtype}"
        raise ValueError(f"'out' must have shape {shape} and dtype {dtype}. Got {got} instead.")
    return out
