"""What every penalty offers."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal


@runtime_checkable
class Penalty(Protocol):
    """A function Ω of the coefficients, of shape (d,) or (d, t).

    A separable penalty treats the columns of a (d, t) array as t problems of their own and returns one
    number a column; a matrix penalty (`RowSparse`, `Nuclear`) couples them and returns one number.
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
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refusal(owner, name, must_be, values) from None
    bad = np.any(np.isnan(found)) if infinite else not np.all(np.isfinite(found))
    if found.ndim not in ndim or bad:
        raise refusal(owner, name, must_be, values)
    return found


def non_negative(
    owner: str, name: str, values: Any, *, ndim: tuple[int, ...], infinite: bool = False
) -> NDArray:
    """The values as float64, none negative."""
    found = numbers(owner, name, values, ndim=ndim, infinite=infinite)
    if np.any(found < 0):
        raise refusal(owner, name, "at least 0", values)
    return found


def ratio(owner: str, name: str, value: Any) -> float:
    """A number between 0 and 1."""
    found = float(numbers(owner, name, value, ndim=(0,)))
    if not 0 <= found <= 1:
        raise refusal(owner, name, "between 0 and 1", value)
    return found


def rows_of(owner: str, values: NDArray, coef: NDArray, name: str = "weights") -> NDArray:
    """One value a row of the coefficients, shaped and typed to act on every column."""
    if len(values) != len(coef):
        raise refusal(owner, name, f"of length {len(coef)}, one a row of the coefficients", values)
    return values.reshape((-1,) + (1,) * (coef.ndim - 1)).astype(coef.dtype)


def columns_of(owner: str, strength: Any, coef: NDArray) -> NDArray:
    """One strength, or one a column of the coefficients, in their type."""
    found = np.asarray(strength, dtype=coef.dtype)
    if found.ndim and found.shape != coef.shape[1:]:
        raise refusal(owner, "strength", f"a number, or one a column of coefficients {coef.shape}", strength)
    return found


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
