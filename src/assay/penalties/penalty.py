"""What every penalty offers, and what those that weigh norms share."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal


@runtime_checkable
class Penalty(Protocol):
    """A function Ω of the coefficients, of shape (d,) or (d, t).

    A separable penalty treats the columns of a (d, t) array as t problems of their own and returns one
    number per column; a matrix penalty (`RowSparse`, `Nuclear`) couples them and returns one number.
    """

    convex: ClassVar[bool]

    def value(self, coef: NDArray) -> NDArray:
        """Ω(w)."""

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """argmin_v ½‖v − w‖² + step · Ω(v)."""

    def conjugate(self, dual: NDArray) -> NDArray:
        """Ω*(u) = sup_w ⟨w, u⟩ − Ω(w)."""

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w): zero exactly when w and u satisfy the optimality condition."""

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """Smallest strength for which zero is a solution, from the gradient of the risk at zero."""


# Checks and shapes that the penalties and the sets share.


def floating(values: Any) -> NDArray:
    """An array of floats; float32 stays float32."""
    values = np.asarray(values)
    return values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)


def rounding(*arrays: NDArray) -> float:
    """Relative slack granted to comparisons: sixteen units in the last place of the coarsest array."""
    return 16 * max(float(np.finfo(floating(values).dtype).eps) for values in arrays)


def numbers(owner: str, name: str, values: Any, *, ndim: tuple[int, ...], infinite: bool = False) -> NDArray:
    """The values as float64, of an allowed number of dimensions, without NaN."""
    words = ["number", "vector", "matrix"]
    kinds = " or ".join(f"a {words[n]}" for n in ndim)
    must_be = f"{kinds}, {'without NaN' if infinite else 'finite'}"
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise refusal(owner, name, must_be, values) from None
    bad = np.any(np.isnan(array)) if infinite else not np.all(np.isfinite(array))
    if array.ndim not in ndim or bad:
        raise refusal(owner, name, must_be, values)
    return array


def non_negative(owner: str, name: str, values: Any, **allowed: Any) -> NDArray:
    """The values as float64, as `numbers` allows them, none negative."""
    array = numbers(owner, name, values, **allowed)
    if np.any(array < 0):
        raise refusal(owner, name, "at least 0", values)
    return array


def ratio(owner: str, value: Any) -> float:
    """The share of the l1 norm, between 0 and 1."""
    number = float(numbers(owner, "l1_ratio", value, ndim=(0,)))
    if not 0 <= number <= 1:
        raise refusal(owner, "l1_ratio", "between 0 and 1", value)
    return number


def rows_of(owner: str, values: NDArray, coef: NDArray, name: str = "weights") -> NDArray:
    """One value per row of the coefficients, shaped and typed to act on every column."""
    if len(values) != len(coef):
        raise refusal(owner, name, f"of length {len(coef)}, one per row of the coefficients", values)
    return values.reshape((-1,) + (1,) * (coef.ndim - 1)).astype(coef.dtype)


def columns_of(owner: str, strength: Any, coef: NDArray) -> NDArray:
    """One strength, or one per column of the coefficients, in their type."""
    array = np.asarray(strength, dtype=coef.dtype)
    if array.ndim and array.shape != coef.shape[1:]:
        words = f"a number, or one per column of coefficients {coef.shape}"
        raise refusal(owner, "strength", words, strength)
    return array


def bounds(strength: Any, weights: NDArray) -> NDArray:
    """Strength times weights; an infinite weight stays infinite when the strength is zero."""
    excluded = np.isinf(weights)
    finite = np.asarray(strength, dtype=weights.dtype) * np.where(excluded, 0, weights)
    return np.where(excluded, weights, finite)


def product(factor: NDArray | float, magnitude: NDArray) -> NDArray:
    """Factor times magnitude with ∞ · 0 = 0."""
    out = np.zeros(np.broadcast_shapes(np.shape(factor), magnitude.shape), dtype=magnitude.dtype)
    return np.multiply(factor, magnitude, out=out, where=np.broadcast_to(magnitude != 0, out.shape))


def quotient(numerator: NDArray, denominator: NDArray) -> NDArray:
    """Numerator over denominator, both non-negative, with 0/0 = 0, c/0 = ∞ and c/∞ = 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    out = np.where(np.broadcast_to(numerator > 0, shape), np.inf, 0.0).astype(numerator.dtype)
    return np.divide(numerator, denominator, out=out, where=np.broadcast_to(denominator > 0, shape))


def euclidean(values: NDArray, axis: int | None = 0) -> NDArray:
    """Euclidean norm along an axis, ∞ where an entry is infinite."""
    return np.sqrt(np.sum(values**2, axis=axis))


def shrinkage(norms: NDArray, threshold: NDArray) -> NDArray:
    """(1 − threshold/norm)₊, and 0 where the norm is zero."""
    return np.maximum(1 - np.divide(threshold, norms, out=np.ones_like(norms), where=norms > 0), 0)


class Weighted:
    """A strength, one for all columns or one per column, and one weight per row or block of rows."""

    __slots__ = ()

    convex: ClassVar[bool] = True
    per_column: ClassVar[bool] = False

    strength: Any
    weights: Any

    def __post_init__(self) -> None:
        owner = self._owner
        non_negative(owner, "strength", self.strength, ndim=(0, 1) if self.per_column else (0,))
        if hasattr(self, "l1_ratio"):
            object.__setattr__(self, "l1_ratio", ratio(owner, self.l1_ratio))
        if self.weights is not None:
            weights = non_negative(owner, "weights", self.weights, ndim=(1,), infinite=True)
            object.__setattr__(self, "weights", weights)

    def _weights(self, sizes: NDArray) -> NDArray:
        return np.ones_like(sizes) if self.weights is None else rows_of(self._owner, self.weights, sizes)

    def _bound(self, sizes: NDArray) -> NDArray:
        """α ω, shaped to act on one size per block (and column)."""
        strength = columns_of(self._owner, self.strength, sizes)
        return strength if self.weights is None else bounds(strength, self._weights(sizes))

    @property
    def _owner(self) -> str:
        return type(self).__name__


class BlockNorms(Weighted):
    """Ω(w) = α Σ_b ω_b ‖w_b‖₂ over blocks of coefficients; a kind says what its blocks are."""

    __slots__ = ()

    def _sums(self, values: NDArray) -> NDArray:
        """Sum of the values over each block."""
        raise NotImplementedError

    def _spread(self, factors: NDArray, coef: NDArray) -> NDArray:
        """Each coefficient times the factor of its block."""
        raise NotImplementedError

    def _norms(self, coef: NDArray) -> NDArray:
        return np.sqrt(self._sums(floating(coef) ** 2))

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column, or of the matrix."""
        norms = self._norms(coef)
        return np.sum(product(self._bound(norms), norms), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Each block scaled by (1 − step · α ω_b/‖w_b‖)₊."""
        norms = self._norms(coef)
        return self._spread(shrinkage(norms, step * self._bound(norms)), floating(coef))

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 where every ‖u_b‖ ≤ α ω_b (within rounding), ∞ elsewhere."""
        norms = self._norms(dual)
        inside = norms <= self._bound(norms) * (1 + rounding(norms))
        return np.where(np.all(inside, axis=0), 0.0, np.inf)[()]

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Σ_b α ω_b ‖w_b‖ − ⟨w_b, u_b⟩ where u is feasible, ∞ elsewhere; no term is negative."""
        norms = self._norms(coef)
        terms = np.maximum(product(self._bound(norms), norms) - self._sums(floating(coef) * dual), 0)
        return np.sum(terms, axis=0) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w); ∞ where an excluded block has a coefficient."""
        coef, dual = floating(coef), floating(dual)
        norms = self._norms(coef)
        bound = np.broadcast_to(self._bound(norms), norms.shape)
        excluded, active = np.isinf(bound), norms > 0
        scale = np.divide(np.where(excluded, 0, bound), norms, out=np.zeros_like(norms), where=active)
        at_coef = np.where(excluded, np.inf, self._norms(dual - self._spread(scale, coef)))
        return euclidean(np.where(active, at_coef, np.maximum(self._norms(dual) - bound, 0)))

    def dual_norm(self, dual: NDArray) -> NDArray:
        """max_b ‖u_b‖/ω_b, the norm dual to Σ ω_b ‖w_b‖; ∞ where u acts on an unpenalised block."""
        norms = self._norms(dual)
        return np.max(quotient(norms, self._weights(norms)), axis=0)

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """max_b ‖g_b‖/ω_b over the penalised blocks.

        With unpenalised blocks, g is the gradient at the fit of those alone, where their entries vanish.
        """
        norms = self._norms(gradient_at_zero)
        weights = self._weights(norms)
        return np.max(quotient(np.where(weights > 0, norms, 0), weights), axis=0)
